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
        dearer to reach. They go home along with the move before, so that nothing in between need be stored.
PASSING drawing one, the plays of stock cards beyond a card that is safe as above are left out: on the way there it can
        go home for no extra draw.
STOCK   see ``klondike_store.dominated``.

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

TWIN, SPACE, FETCH, SAFE, PASSING, STOCK = 1, 2, 4, 8, 16, 32
ALL_PRUNING = 63

ANYTHING, ONTO, SEND, FILL = map(np.int64, range(4))
"""What must follow in a compound: nothing in particular; a card onto the one given; that card home; a king."""

MOST = 2048
"""Room for successors, half-made compounds included."""
LONGEST = 72
"""Room for the steps of a compound (a foundation has 13 cards) and all safe cards that go home after it."""

_KINGS = np.uint64(0xF << 48)
_UNREACHABLE = np.int64(10_000)
_DEAREST = np.int64(9_999)
_NO_CARD = np.int64(0)
_TO_COLUMN = np.int64(TO_COLUMN)
_TO_FOUNDATION = np.int64(TO_FOUNDATION)


def buffers() -> tuple[np.ndarray, ...]:
    """Empty room for ``successors``: words, cost, what must follow, on which card, number of steps, steps; and for
    ``reach``: three times a number a card."""
    lists = [np.zeros(MOST, np.int64) for _ in range(4)]
    return np.zeros((MOST, 3), np.uint64), *lists, np.zeros((MOST, LONGEST, 2), np.int8), np.zeros((3, 52), np.int64)


@jit
def reach(a, b, c, table, cost, after, turned):
    """For each card of the stock or waste that can be the waste's top without a play before: the price of the draws.

    cost: int64[52], draws (and turning over, where it counts), _UNREACHABLE where it cannot; after: int64[52], the size
    of the waste once the card is played; turned: int64[52], passes that it takes, where they are
    counted. All modified in place.
    """
    here = here_cards(a, b, c)
    draw = table.rules[DRAW]
    waste = waste_size(c)
    left = popcount(here & table.undealt)
    cost[:] = _UNREACHABLE
    may_turn = table.rules[LIMITED] == 0 or passes_of(b) > 0
    to_end = (left - waste + draw - 1) // draw + table.rules[TAPS]
    j = 0
    for i in range(table.stocked):
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
            turned[card] = table.rules[LIMITED]


@jit
def _put(out, n, at, card, code, target, follow, on, drawn, dearest):
    """Append the successor in which entry ``at`` also has a card moved, unless it is to be drawn and cannot be, or only
    for more than ``dearest``; returns the new end of the entries."""
    words, costs, follows, ons, steps, step, prices = out
    a, b, c = with_code(words[at, 0], words[at, 1], words[at, 2], card, code)
    cost = costs[at] + 1
    if drawn:
        price = prices[0, card]
        if price > dearest:
            return n
        cost += price
        b -= np.uint64(prices[2, card]) << S52
        c = (c & PLANE) | (np.uint64(prices[1, card]) << S52)
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
def successors(a, b, c, table, out):
    """All successors, compounds included, from entry 1 of ``out`` on; returns the end of the entries.

    Entries whose ``follow`` is not ANYTHING are half-made compounds, to be skipped.
    """
    words, costs, follows, ons, steps, _, prices = out
    words[0, 0], words[0, 1], words[0, 2] = a, b, c
    costs[0], follows[0], ons[0], steps[0] = 0, ANYTHING, _NO_CARD, 0
    reach(a, b, c, table, prices[0], prices[1], prices[2])
    n = np.int64(1)
    at = np.int64(0)
    while at < n:
        if at == 0 or follows[at] != ANYTHING:
            n = _extend(at, n, table, out)
        at += 1
    if table.rules[PRUNE] & SAFE:
        for at in range(1, n):
            if follows[at] == ANYTHING:
                _settle(at, table, out)
    return n


@jit
def _safe_card(a, b, c, table):
    """A safe card that goes home without a draw, -1 if there is none."""
    home = home_cards(a, b, c)
    todo = next_home(home) & ((U1 << np.uint64(4 * safe_height(home) + 4)) - U1)
    if todo == U0:
        return np.int64(-1)
    here = here_cards(a, b, c)
    undealt = here & table.undealt
    buried, _ = columns_of(a, b, c, table)
    bare = todo & ~(undealt | buried | parents(a, b, c))
    if bare != U0:
        return lowest(bare)
    waste = waste_size(c)
    if todo & undealt != U0 and waste > 0 and table.rules[DRAW] == 1:
        for i in range(table.stocked):
            card = table.stock[i]
            if here & bit(card) != U0:
                waste -= 1
                if waste == 0:
                    return card if todo & bit(card) != U0 else np.int64(-1)
    return np.int64(-1)


@jit
def _settle(at, table, out):
    """Send home the safe cards of entry ``at``, so that no position in between need be stored."""
    words, costs, _, _, steps, step, _ = out
    while True:
        a, b, c = words[at, 0], words[at, 1], words[at, 2]
        card = _safe_card(a, b, c, table)
        if card < 0:
            return
        a, b, c = with_code(a, b, c, card, HOME)
        if table.undealt & bit(card) != U0 and code_of(words[at, 0], words[at, 1], words[at, 2], card) == HERE:
            c -= np.uint64(1) << S52
        words[at, 0], words[at, 1], words[at, 2] = a, b, c
        costs[at] += 1
        step[at, steps[at], 0] = card
        step[at, steps[at], 1] = _TO_FOUNDATION
        steps[at] += 1


@jit
def _extend(at, n, table, out):
    """Append what entry ``at`` can be extended to by one step; returns the new end of the entries."""
    words, _, follows, ons, _, _, prices = out
    a, b, c = words[at, 0], words[at, 1], words[at, 2]
    follow, on = follows[at], ons[at]
    if follow == SEND:
        return _put(out, n, at, on, HOME, _TO_FOUNDATION, ANYTHING, _NO_CARD, False, _DEAREST)

    prune = table.rules[PRUNE]
    can_return = table.rules[RETURN] == 1
    after_return = ONTO if prune & FETCH else ANYTHING
    home = home_cards(a, b, c)
    bases = base_cards(a, b, c)
    buried, tops = columns_of(a, b, c, table)
    undealt = here_cards(a, b, c) & table.undealt
    bare = PLANE & ~(home | undealt | buried | parents(a, b, c))
    next_up = next_home(home)
    empty = table.rules[COLUMNS] - popcount(bases)
    dearest = _DEAREST

    if follow == ANYTHING:
        card = _safe_card(a, b, c, table) if prune & SAFE else np.int64(-1)
        if card >= 0:
            return _put(out, n, at, card, HOME, _TO_FOUNDATION, ANYTHING, _NO_CARD, undealt & bit(card) != U0, _DEAREST)
        if prune & PASSING and table.rules[DRAW] == 1:
            todo = undealt & next_up & ((U1 << np.uint64(4 * safe_height(home) + 4)) - U1)
            while todo != U0:
                dearest = min(dearest, prices[0, lowest(todo)])
                todo &= todo - U1
        todo = (bare | undealt) & next_up
        while todo != U0:
            card = lowest(todo)
            todo &= todo - U1
            drawn = undealt & bit(card) != U0
            n = _put(out, n, at, card, HOME, _TO_FOUNDATION, ANYTHING, _NO_CARD, drawn, dearest)

    if follow != ONTO and empty > 0:
        todo = _KINGS & (tops | undealt | (home if can_return else U0))
        while todo != U0:
            card = lowest(todo)
            todo &= todo - U1
            need = after_return if home & bit(card) != U0 else ANYTHING
            drawn = undealt & bit(card) != U0
            n = _put(out, n, at, card, BASE, _TO_COLUMN, need, card, drawn, dearest)
    if follow == FILL:
        return n

    hosts = bare & ~np.uint64(15)
    if follow == ONTO:
        hosts &= bit(on)
    while hosts != U0:
        host = lowest(hosts)
        hosts &= hosts - U1
        for code in (FIRST, SECOND):
            card = host - 4 - (host & 3) + ((host & 3) ^ (1 + code))
            drawn = undealt & bit(card) != U0
            place = code_of(a, b, c, card)
            need, which = ANYTHING, _NO_CARD
            if place == code or buried & bit(card) != U0:
                continue
            if place == HERE:
                if not drawn and tops & bit(card) == U0:
                    continue
            elif place == BASE:
                if prune & SPACE:
                    if empty > 0:
                        continue
                    need = FILL
            elif place == HOME:
                if not can_return or next_up & bit(card + 4) == U0:
                    continue
                need, which = after_return, card
            elif prune & TWIN:
                which = host ^ 1
                if next_up & bit(which) == U0:
                    continue
                need = SEND
            n = _put(out, n, at, card, code, host, need, which, drawn, dearest)
    return n
