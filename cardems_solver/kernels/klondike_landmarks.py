"""Moves that a Klondike position cannot do without: disjoint sets of paid actions, one of each of which must happen.

The relaxed game of ``klondike_reach`` again, but now each action beyond what every solution pays anyway has a price of
one: moving a run from where it lies (``moved``), laying a card of the waste on a column (``laid``), drawing a card
again (``again``), taking a card back from its foundation (``back``; two, for it must go home once more). Cards go home
for nothing, and cards of the stock are drawn for nothing once.

When nothing more goes home, take a card that should be next on its foundation and ask what keeps it: the one in its way
must go home or move; to go home it waits for the next card of its own suit, to move it needs one of two hosts bare, and
so on. Where an action waits for several things, one of them is followed. The actions met that wait for nothing
are a *landmark*: of the things asked for, none of which is there yet, some first one must come about, and so by an
action that waits for none of them, that is by one of those. So every solution takes one, for a price of one. From then
on they are free, so that nothing is paid for twice, and the relaxed game goes on.

Helmert and Domshlak's LM-cut (2009) finds its landmarks in the same spirit, from critical paths. The proof at length:
docs/klondike-bound.md.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, U4, bit, lowest, popcount
from cardems_solver.kernels.jit import jit
from cardems_solver.kernels.klondike_reach import _KINGS, _other_colour, _twins
from cardems_solver.kernels.klondike_words import (
    COLUMNS,
    PLANE,
    RETURN,
    base_cards,
    columns_of,
    home_cards,
    next_home,
    parents,
)

_SUIT = np.uint64(0x1111111111111)
_BARE, _HOST, _LEAVE = np.int64(0), np.int64(64), np.int64(128)


@jit
def landmarks(a, b, c, here, order, left, waste, may_turn, free_again, moved, laid, again, table, todo):
    """How many paid actions are certain beyond those in ``moved``, ``laid`` and ``again``, which are free.

    order: int64[>= left], where the cards left are in ``table.stock``; todo: int64[256], scratch.
    """
    home0 = home_cards(a, b, c)
    bases = base_cards(a, b, c)
    on_first = a & ~b & ~c & PLANE
    on_second = ~a & b & ~c & PLANE
    undealt = here & table.undealt
    buried, _ = columns_of(a, b, c, table)
    bare = PLANE & ~(home0 | undealt | buried | parents(a, b, c))
    goes_home = home0
    at_hand = again
    for k in range(max(waste - 1, 0), left):
        at_hand |= bit(table.stock[order[k]])
    if free_again:
        at_hand = undealt
    top = waste  # the highest card of the waste that is not gone is the top-th one
    empty = popcount(bases) < table.rules[COLUMNS]
    back = U0
    half_back = U0
    heights = np.int64(0)  # six bits a column: stuck cards left
    for i in range(table.rules[COLUMNS]):
        heights |= popcount(here & table.stuck[i]) << (6 * i)
    dealt = (home0, undealt, bases, on_first, on_second)
    cost = 0
    while True:
        # Let the relaxed game run.
        while True:
            bare0, home1, hand0, empty0 = bare, goes_home, at_hand, empty
            more = (bare | at_hand) & next_home(goes_home)
            while more != U0:
                goes_home |= more
                more = (bare | at_hand) & next_home(goes_home)
            if goes_home == PLANE:
                return cost
            on_bare_first = _other_colour(bare >> U4)
            on_bare_second = _twins(on_bare_first)
            hosted = on_bare_first | on_bare_second
            if empty:
                hosted |= _KINGS
            leaves = (hosted & moved) | goes_home
            bare |= at_hand & hosted & laid
            bare |= _other_colour(on_first & (goes_home | (on_bare_second & moved))) << U4
            bare |= _twins(_other_colour(on_second & (goes_home | (on_bare_first & moved)))) << U4
            for i in range(table.rules[COLUMNS]):
                k = heights >> (6 * i) & 63
                if k > 0 and leaves & bit(table.top[i, k]) != U0:
                    bare |= bit(table.under[i, k])
                    buried ^= table.below[i, k] ^ table.below[i, k - 1]
                    heights -= 1 << (6 * i)
            bare |= back & goes_home & hosted & (((~home0 | bare) >> U4) | _KINGS)
            if bases & ~buried & (goes_home | (hosted & moved & ~_KINGS)) != U0:
                empty = True
            while top > 0 and (goes_home | bare) & bit(table.stock[order[top - 1]]) != U0:
                top -= 1
                if top > 0:
                    at_hand |= bit(table.stock[order[top - 1]])
            if bare == bare0 and goes_home == home1 and at_hand == hand0 and empty == empty0:
                break
        # It is stuck: find a landmark from each suit's next card, and take the smallest.
        best = 1 << 30
        best_move, best_lay, best_again, best_back = U0, U0, U0, U0
        starts = next_home(goes_home)
        top_card = table.stock[order[top - 1]] if top > 0 else np.int64(0)
        now = (bare, goes_home, at_hand, buried, hosted, on_bare_first, on_bare_second)
        while starts != U0:
            start = lowest(starts)
            starts &= starts - U1
            move, lay, draw, take_back = _landmark(start, now, dealt, may_turn, top_card, best, table, todo)
            size = popcount(move) + popcount(lay) + popcount(draw) + popcount(take_back)
            if size < best:
                best = size
                best_move, best_lay, best_again, best_back = move, lay, draw, take_back
        if best == 0:
            return -1
        cost += 1
        moved |= best_move
        laid |= best_lay
        again |= best_again
        at_hand |= best_again
        back |= half_back & best_back
        half_back |= best_back


@jit
def _landmark(start, now, dealt, may_turn, top_card, best, table, todo):
    """What ``start`` needs to be bare or at hand, one of it first: runs moved, cards of the waste laid, cards drawn
    again, cards taken back. Not all of it if that is ``best`` or more.

    now: what is reached in the relaxed game (``top_card``: the highest card left on the waste); dealt: where cards
    were at first; todo: what is asked for and not yet looked into: ``x``, that the card is bare or at hand; 64 + x, a
    bare host for it; 128 + x, that it leaves its place.
    """
    bare, goes_home, at_hand, buried, hosted, on_bare_first, on_bare_second = now
    home0, undealt, bases, on_first, on_second = dealt
    move, lay, again, back = U0, U0, U0, U0
    asked, asked_host = bit(start), U0
    asked_empty = False
    todo[0] = start
    n = 1
    while n > 0:
        if popcount(move) + popcount(lay) + popcount(again) + popcount(back) >= best:
            break
        n -= 1
        kind, x = todo[n] >> 6, todo[n] & 63
        if kind == 0:
            if undealt & bit(x) != U0:
                if may_turn:
                    again |= bit(x)
                x = top_card
            else:
                x = _on_top(x, on_first, on_second, table)
                if buried & bit(x) != U0:
                    asked, n = _ask(x, _BARE, asked, todo, n)
                    continue
        elif kind == 1 and x < 48:
            for twin in range(2):
                host = x + 4 - (x & 3) + ((x & 3) ^ (2 + twin))
                hb = bit(host)
                if home0 & hb != U0:
                    if table.rules[RETURN]:
                        host = _first_back(host, home0, bare, hosted)
                        if hosted & bit(host) != U0:
                            back |= bit(host)
                        else:
                            asked_host, n = _ask(host, _HOST, asked_host, todo, n)
                elif undealt & hb == U0 or at_hand & hb == U0:
                    asked, n = _ask(host, _BARE, asked, todo, n)
                elif hosted & hb != U0:
                    lay |= hb
                else:
                    asked_host, n = _ask(host, _HOST, asked_host, todo, n)
            continue
        elif kind == 1:
            rest = U0 if asked_empty else bases
            asked_empty = True
            while rest != U0:
                y = lowest(rest)
                rest &= rest - U1
                if buried & bit(y) != U0:
                    asked, n = _ask(y, _BARE, asked, todo, n)
                else:
                    todo[n] = _LEAVE + y
                    n += 1
            continue
        # Card x leaves its place.
        xb = bit(x)
        if bases & xb & _KINGS == U0:  # A king gains nothing by going to another column.
            places = hosted
            if on_first & xb != U0:
                places = on_bare_second
            elif on_second & xb != U0:
                places = on_bare_first
            if places & xb == U0:
                asked_host, n = _ask(x, _HOST, asked_host, todo, n)
            elif undealt & xb != U0:
                lay |= xb
            else:
                move |= xb
        below = lowest(next_home(goes_home) & (_SUIT << np.uint64(x & 3)))
        asked, n = _ask(below, _BARE, asked, todo, n)
    return move, lay, again, back


@jit
def _ask(x, kind, asked, todo, n):
    """Ask for something about card x unless it is among those ``asked`` for; returns these and the new end of todo."""
    if asked & bit(x) != U0:
        return asked, n
    todo[n] = kind + x
    return asked | bit(x), n + 1


@jit
def _first_back(x, home0, bare, hosted):
    """The first card above a card on its foundation that can come back, or that first needs a host, or the card."""
    while hosted & bit(x) != U0 and x < 48 and home0 & bit(x + 4) != U0 and bare & bit(x + 4) == U0:
        x += 4
    return x


@jit
def _on_top(x, on_first, on_second, table):
    """The card that lies on a card at first."""
    if x >= 4:
        first = x - 4 - (x & 3) + ((x & 3) ^ 2)
        if on_first & bit(first) != U0:
            return first
        if on_second & bit(first ^ 1) != U0:
            return first ^ 1
    return table.above[x]
