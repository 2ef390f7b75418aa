"""Successors of a Klondike position for the fewest moves: draws folded into the play that they serve, at their cost.

With no pruning these are all moves of the rules, except draws that no play follows. The pruning rules keep a shortest
solution; each can be switched off. They rest on one exchange argument: a move that only makes room can be *delayed*
until just before the first move that needs the room, because until then every other move is as legal as before (one
more place is free, one more card is still where it was). So room is made only in a compound with the move that needs
it:

TWIN    a card goes from its parent to the parent's twin (same rank and colour) only to send the parent home at once.
        Until the parent goes home the two hosts take the same cards: carry out the solution without the move and with
        the two hosts' loads exchanged. It is as long, or shorter by the move if it is never needed.
SPACE   the base of a column goes onto another card only when no column is empty, and a king fills the space at once: an
        empty column serves no other end, and until then the base may as well stay.
RETURN  a card comes back from its foundation only to have a card put on it at once: as a card's place it serves no
        other end, and until then it may as well stay.
SAFE    when every card two or more ranks lower is home, a free card in a column (drawing one: on the waste, too) goes
        home at once, and nothing else is considered. Only cards one rank lower could ever lie on it; those of them that
        are not home are next on their foundations and have nothing to carry, so each such move can be replaced by
        sending that card home, which is no longer and uncovers the same. No card need come back from a foundation to
        it: what it could carry has no load either. Drawing one, taking a card from the waste never makes another one
        dearer to reach.
PASSING drawing one, the plays of stock cards beyond a card that is safe as above are left out: on the way there it can
        go home for no extra draw.

When a solution needs several compounds, delay the last such move first; what lies between it and its use holds no
move that is still to be delayed, so the compounds stay whole.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, bit, lowest, popcount
from cardems_solver.kernels.jit import jit
from cardems_solver.kernels.klondike_words import (
    BASE,
    COLUMNS,
    DRAW,
    FIRST,
    HERE,
    HOME,
    LIMITED,
    PLANE,
    PRUNE,
    RETURN,
    S52,
    SECOND,
    TAPS,
    base_cards,
    code_of,
    columns_of,
    here_cards,
    home_cards,
    next_home,
    parents,
    passes_of,
    waste_size,
    with_code,
)
from cardems_solver.outcome import TO_COLUMN, TO_FOUNDATION

TWIN, SPACE, FETCH, SAFE, PASSING = 1, 2, 4, 8, 16
ALL_PRUNING = 31

ANYTHING, ONTO, SEND, FILL = range(4)
"""What must follow in a compound: nothing in particular; a card onto the one given; that card home; a king."""

MOST = 2048
"""Room for successors, half-made compounds included."""
LONGEST = 20
"""Room for the steps of a compound: a foundation has 13 cards."""

_KINGS = np.uint64(0xF << 48)
_UNREACHABLE = 10_000


@jit
def buffers():
    """Empty room for ``successors``: words, cost, what must follow, on which card, number of steps, steps."""
    return (
        np.zeros((MOST, 3), np.uint64),
        np.zeros(MOST, np.int64),
        np.zeros(MOST, np.int64),
        np.zeros(MOST, np.int64),
        np.zeros(MOST, np.int64),
        np.zeros((MOST, LONGEST, 2), np.int64),
    )


@jit
def reach(a, b, c, table, cost, after, turned):
    """For each card of the stock or waste that can be the waste's top without a play before: the price of the draws.

    cost: int64[52], draws (and turning over, where it counts), _UNREACHABLE where it cannot; after: int64[52], the size
    of the waste once the card is played; turned: int64[52], times the waste is turned over. All modified in place.
    """
    here = here_cards(a, b, c)
    draw = table.rules[DRAW]
    waste = waste_size(c)
    left = popcount(here & table.undealt[0])
    cost[:] = _UNREACHABLE
    may_turn = table.rules[LIMITED] == 0 or passes_of(b) > 0
    to_end = (left - waste + draw - 1) // draw + table.rules[TAPS]
    j = 0
    for i in range(table.stock.size):
        card = table.stock[i]
        if here & bit(card) == U0:
            continue
        j += 1
        after[card] = j - 1
        turned[card] = 0
        if j >= waste and j > 0 and ((j - waste) % draw == 0 or j == left):
            cost[card] = (j - waste + draw - 1) // draw
        elif may_turn and (j % draw == 0 or j == left):
            cost[card] = to_end + (j + draw - 1) // draw
            turned[card] = 1


@jit
def _take(a, b, c, waste, turned):
    """The words after a card left the waste (its code apart)."""
    b -= np.uint64(turned) << S52
    c = (c & PLANE) | (np.uint64(waste) << S52)
    return b, c


@jit
def _add(out, n, a, b, c, cost, follow, on, at, card, target):
    """Append the successor that one more step makes of entry ``at``."""
    words, costs, follows, ons, steps, step = out
    words[n, 0], words[n, 1], words[n, 2] = a, b, c
    costs[n] = cost
    follows[n] = follow
    ons[n] = on
    m = steps[at]
    for i in range(m):
        step[n, i, 0] = step[at, i, 0]
        step[n, i, 1] = step[at, i, 1]
    step[n, m, 0] = card
    step[n, m, 1] = target
    steps[n] = m + 1
    return n + 1


@jit
def safe_height(home):
    """Cards of at most this rank are safe at home: every card two ranks lower is there."""
    height = 0
    row = np.uint64(15)
    while height < 13 and home & row == row:
        row <<= np.uint64(4)
        height += 1
    return height + 1


@jit
def successors(a, b, c, table, out, price, after, turned):
    """All successors, compounds included, from entry 1 of ``out`` on; returns the end of the entries.

    Entries whose ``follow`` is not ANYTHING are half-made compounds, to be skipped. ``price``, ``after``, ``turned``
    are room for ``reach``.
    """
    words, costs, follows, ons, steps, _ = out
    prune = table.rules[PRUNE]
    words[0, 0], words[0, 1], words[0, 2] = a, b, c
    costs[0], follows[0], ons[0], steps[0] = 0, ANYTHING, 0, 0
    n = 1
    at = 0
    reach(a, b, c, table, price, after, turned)
    while at < n:
        if at == 0 or follows[at] != ANYTHING:
            n = _extend(at, n, table, out, price, after, turned, prune)
        at += 1
    return n


@jit
def _extend(at, n, table, out, price, after, turned, prune):
    """Append what entry ``at`` can be extended to by one step."""
    words, costs, follows, ons, _, _ = out
    a, b, c = words[at, 0], words[at, 1], words[at, 2]
    follow, on, cost = follows[at], ons[at], costs[at]
    home = home_cards(a, b, c)
    bases = base_cards(a, b, c)
    buried, tops = columns_of(a, b, c, table)
    undealt = here_cards(a, b, c) & table.undealt[0]
    bare = PLANE & ~(home | undealt | buried | parents(a, b, c))
    next_up = next_home(home)

    if follow == SEND:
        x, y, z = with_code(a, b, c, on, HOME)
        return _add(out, n, x, y, z, cost + 1, ANYTHING, 0, at, on, TO_FOUNDATION)

    empty = table.rules[COLUMNS] - popcount(bases)
    beyond = _UNREACHABLE
    if follow == ANYTHING:
        safe = safe_height(home)
        free = bare & next_up
        if prune & SAFE and free != U0:
            card = lowest(free)
            if card >> 2 <= safe:
                x, y, z = with_code(a, b, c, card, HOME)
                return _add(out, n, x, y, z, cost + 1, ANYTHING, 0, at, card, TO_FOUNDATION)
        if table.rules[DRAW] == 1:
            todo = undealt & next_up
            while todo != U0:
                card = lowest(todo)
                todo &= todo - U1
                if card >> 2 <= safe:
                    if prune & SAFE and price[card] == 0:
                        y, z = _take(a, b, c, after[card], 0)[0], _take(a, b, c, after[card], 0)[1]
                        x, y, z = with_code(a, y, z, card, HOME)
                        return _add(out, n, x, y, z, cost + 1, ANYTHING, 0, at, card, TO_FOUNDATION)
                    if prune & PASSING:
                        beyond = min(beyond, price[card])
        while free != U0:
            card = lowest(free)
            free &= free - U1
            x, y, z = with_code(a, b, c, card, HOME)
            n = _add(out, n, x, y, z, cost + 1, ANYTHING, 0, at, card, TO_FOUNDATION)
        todo = undealt & next_up
        while todo != U0:
            card = lowest(todo)
            todo &= todo - U1
            if price[card] < _UNREACHABLE and price[card] <= beyond:
                y, z = _take(a, b, c, after[card], turned[card])
                x, y, z = with_code(a, y, z, card, HOME)
                n = _add(out, n, x, y, z, cost + 1 + price[card], ANYTHING, 0, at, card, TO_FOUNDATION)

    # Kings into an empty column.
    if follow != ONTO and empty > 0:
        for card in range(48, 52):
            here = bit(card)
            target = TO_COLUMN
            if tops & here:
                x, y, z = with_code(a, b, c, card, BASE)
                n = _add(out, n, x, y, z, cost + 1, ANYTHING, 0, at, card, target)
            elif undealt & here:
                if price[card] < _UNREACHABLE and price[card] <= beyond:
                    y, z = _take(a, b, c, after[card], turned[card])
                    x, y, z = with_code(a, y, z, card, BASE)
                    n = _add(out, n, x, y, z, cost + 1 + price[card], ANYTHING, 0, at, card, target)
            elif home & here and table.rules[RETURN]:
                x, y, z = with_code(a, b, c, card, BASE)
                need = ONTO if prune & FETCH else ANYTHING
                n = _add(out, n, x, y, z, cost + 1, need, card, at, card, target)
    if follow == FILL:
        return n

    # Cards onto a bare card.
    hosts = bit(on) if follow == ONTO else bare
    hosts &= ~np.uint64(15)
    while hosts != U0:
        host = lowest(hosts)
        hosts &= hosts - U1
        for code in (FIRST, SECOND):
            card = host - 4 - (host & 3) + ((host & 3) ^ (1 + code))
            here = bit(card)
            place = code_of(a, b, c, card)
            if buried & here:
                continue
            if place == HERE:
                if undealt & here:
                    if price[card] < _UNREACHABLE and price[card] <= beyond:
                        y, z = _take(a, b, c, after[card], turned[card])
                        x, y, z = with_code(a, y, z, card, code)
                        n = _add(out, n, x, y, z, cost + 1 + price[card], ANYTHING, 0, at, card, host)
                elif tops & here:
                    x, y, z = with_code(a, b, c, card, code)
                    n = _add(out, n, x, y, z, cost + 1, ANYTHING, 0, at, card, host)
            elif place == BASE:
                x, y, z = with_code(a, b, c, card, code)
                if prune & SPACE:
                    if empty == 0:
                        n = _add(out, n, x, y, z, cost + 1, FILL, 0, at, card, host)
                else:
                    n = _add(out, n, x, y, z, cost + 1, ANYTHING, 0, at, card, host)
            elif place == HOME:
                if table.rules[RETURN] and next_up & bit(card + 4):
                    x, y, z = with_code(a, b, c, card, code)
                    need = ONTO if prune & FETCH else ANYTHING
                    n = _add(out, n, x, y, z, cost + 1, need, card, at, card, host)
            elif place != code:
                x, y, z = with_code(a, b, c, card, code)
                if prune & TWIN:
                    twin = host ^ 1
                    if next_up & bit(twin):
                        n = _add(out, n, x, y, z, cost + 1, SEND, twin, at, card, host)
                else:
                    n = _add(out, n, x, y, z, cost + 1, ANYTHING, 0, at, card, host)
    return n
