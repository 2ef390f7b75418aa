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

Helmert and Domshlak's LM-cut (2009) finds its landmarks in the same spirit, from critical paths.
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


@jit
def landmarks(a, b, c, here, order, left, waste, may_turn, free_again, moved, laid, again, table, todo):
    """How many paid actions are certain beyond those in ``moved``, ``laid`` and ``again``, which are free.

    order: int64[>= left], where the cards left are in ``table.stock``; todo: int64[256], scratch.
    """
    home0 = home_cards(a, b, c)
    bases = base_cards(a, b, c)
    on_first = a & ~b & ~c & PLANE
    on_second = ~a & b & ~c & PLANE
    undealt = here & table.undealt[0]
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
        while starts != U0:
            start = lowest(starts)
            starts &= starts - U1
            cut_move, cut_lay, cut_again, cut_back = U0, U0, U0, U0
            asked = bit(start)  # to be bare, or at hand
            asked_host = U0  # to have a bare host
            asked_empty = False
            todo[0] = start
            n = 1
            while n > 0:
                n -= 1
                x = todo[n]
                if x >= 64:  # a bare host for a card
                    x -= 64
                    if x >= 48:
                        if asked_empty:
                            continue
                        asked_empty = True
                        rest = bases
                        while rest != U0:
                            y = lowest(rest)
                            rest &= rest - U1
                            if buried & bit(y) != U0:
                                if asked & bit(y) == U0:
                                    asked |= bit(y)
                                    todo[n] = y
                                    n += 1
                                continue
                            if y < 48:
                                if hosted & bit(y) != U0:
                                    cut_move |= bit(y)
                                elif asked_host & bit(y) == U0:
                                    asked_host |= bit(y)
                                    todo[n] = 64 + y
                                    n += 1
                            # going home
                            z = lowest(next_home(goes_home) & (_SUIT << np.uint64(y & 3)))
                            if asked & bit(z) == U0:
                                asked |= bit(z)
                                todo[n] = z
                                n += 1
                        continue
                    for twin in range(2):
                        p = x + 4 - (x & 3) + ((x & 3) ^ (2 + twin))
                        pb = bit(p)
                        if undealt & pb != U0:
                            if at_hand & pb == U0:
                                if asked & pb == U0:
                                    asked |= pb
                                    todo[n] = p
                                    n += 1
                            elif hosted & pb != U0:
                                cut_lay |= pb
                            elif asked_host & pb == U0:
                                asked_host |= pb
                                todo[n] = 64 + p
                                n += 1
                        elif home0 & pb != U0:
                            while table.rules[RETURN]:
                                if hosted & bit(p) == U0:
                                    if asked_host & bit(p) == U0:
                                        asked_host |= bit(p)
                                        todo[n] = 64 + p
                                        n += 1
                                    break
                                if p >= 48 or home0 & bit(p + 4) == U0 or bare & bit(p + 4) != U0:
                                    cut_back |= bit(p)
                                    break
                                p += 4
                        elif asked & pb == U0:
                            asked |= pb
                            todo[n] = p
                            n += 1
                    continue
                # The card x must become bare, or come to hand; y is the card that is in its way.
                xb = bit(x)
                if undealt & xb != U0:
                    if may_turn:
                        cut_again |= xb
                    y = table.stock[order[top - 1]]
                    if hosted & bit(y) != U0:
                        cut_lay |= bit(y)
                    elif asked_host & bit(y) == U0:
                        asked_host |= bit(y)
                        todo[n] = 64 + y
                        n += 1
                else:
                    y = _on_top(x, on_first, on_second, table)
                    if buried & bit(y) != U0:
                        if asked & bit(y) == U0:
                            asked |= bit(y)
                            todo[n] = y
                            n += 1
                        continue
                    elsewhere = hosted
                    if on_first & bit(y) != U0:
                        elsewhere = on_bare_second
                    elif on_second & bit(y) != U0:
                        elsewhere = on_bare_first
                    if elsewhere & bit(y) != U0:
                        cut_move |= bit(y)
                    elif asked_host & bit(y) == U0:
                        asked_host |= bit(y)
                        todo[n] = 64 + y
                        n += 1
                z = lowest(next_home(goes_home) & (_SUIT << np.uint64(y & 3)))
                if asked & bit(z) == U0:
                    asked |= bit(z)
                    todo[n] = z
                    n += 1
            size = popcount(cut_move) + popcount(cut_lay) + popcount(cut_again) + popcount(cut_back)
            if size < best:
                best = size
                best_move, best_lay, best_again, best_back = cut_move, cut_lay, cut_again, cut_back
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
def _on_top(x, on_first, on_second, table):
    """The card that lies on a card at first."""
    if x >= 4:
        first = x - 4 - (x & 3) + ((x & 3) ^ 2)
        if on_first & bit(first) != U0:
            return first
        if on_second & bit(first ^ 1) != U0:
            return first ^ 1
    return table.above[x]


_SUIT = np.uint64(0x1111111111111)
