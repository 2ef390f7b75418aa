"""From events (see ``canfield_moves``) to steps on real columns.

Where parts of columns move, an event does not say how cards lie, only that they can be laid so. Here they lie: every
card knows what it is on and what is on it, and what an event takes for granted is carried about first.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, bit, popcount
from cardems_solver.kernels.canfield_moves import filled, laid, settled, taken_home
from cardems_solver.kernels.canfield_state import (
    ANY_PARENT,
    BASE,
    ELSEWHERE,
    NOWHERE,
    UNLIMITED,
    reached,
    unpacked,
)
from cardems_solver.kernels.jit import jit, jit_making
from cardems_solver.outcome import TO_COLUMN, TO_FOUNDATION

BARE = -1
_DRAWN = np.uint64(63 << 50)


@jit
def applied(table, a, b, c, move):
    """The position after one event, not yet settled: bases, second, left, heights, drawn, turns, reserve."""
    bases, turns, left, heights, drawn, reserve = unpacked(a, b)
    second = c
    if move >> 24:
        bases, second = laid(table, bases, second, (move >> 12) & 63, (move >> 18) & 63)
    card = move & 63
    destination = (move >> 6) & 63
    place = table.where[card]
    in_stock = place < 64 and (left >> np.uint64(place)) & U1 != U0
    in_reserve = place != ELSEWHERE and 64 <= place < 64 + reserve
    if in_stock:
        p = popcount(left & ((U1 << np.uint64(place)) | ((U1 << np.uint64(place)) - U1)))
        now, _ = reached(table, popcount(left), drawn, turns)
        if turns != UNLIMITED and (now >> np.uint64(p)) & U1 == U0:
            turns -= 1
        left &= ~bit(place)
        drawn = p - 1
    if destination == TO_FOUNDATION:
        if in_stock:
            heights += U1 << np.uint64(4 * (card & 3))
        else:
            bases, heights, reserve = taken_home(table, bases, heights, reserve, card)
            second &= ~bit(card)
    elif destination == TO_COLUMN:
        bases |= bit(card)
        second &= ~bit(card)
    else:
        empties = bases & bit(card) != U0
        if in_reserve:
            reserve -= 1
        bases, second = laid(table, bases, second & ~bit(card), card, destination)
        if empties:
            bases, reserve = filled(table, bases, reserve)
    return bases, second, left, heights, drawn, turns, reserve


@jit
def _step(card, destination, base, steps, n):
    """Append a step, with the cards' real ranks; counts on without writing when there is no more room."""
    if n < steps.shape[0]:
        steps[n, 0] = (card + 4 * base) % 52
        steps[n, 1] = (destination + 4 * base) % 52 if destination < 52 else destination
    return n + 1


@jit
def _bare_host(below, above, card):
    """A card in the columns on which ``card`` can lie and nothing lies, or -1."""
    if card >= 48:
        return -1
    for host in ((card + 4) ^ 2, (card + 4) ^ 3):
        if below[host] != NOWHERE and above[host] == BARE:
            return host
    return -1


@jit
def _leave(below, above, card):
    """Take a card off what it lies on; True if that leaves a column empty."""
    parent = below[card]
    if parent >= 0:
        above[parent] = BARE
    return parent == BASE


@jit
def _columns(below):
    n = 0
    for card in range(52):
        n += below[card] == BASE
    return n


@jit
def _space(below, above, base, steps, n):
    """Lay one column on another where all four are taken."""
    if _columns(below) < 4:
        return n
    for card in range(52):
        if below[card] == BASE:
            host = _bare_host(below, above, card)
            if host >= 0:
                below[card] = host
                above[host] = card
                return _step(card, host, base, steps, n)
    return n


@jit
def _free(below, above, base, card, steps, n):
    """Carry away what lies on a card (in play with whole columns nothing does)."""
    burden = above[card]
    if burden == BARE:
        return n
    host = _bare_host(below, above, burden)
    if host < 0:
        n = _space(below, above, base, steps, n)
        above[card] = BARE
        below[burden] = BASE
        return _step(burden, TO_COLUMN, base, steps, n)
    above[card] = BARE
    above[host] = burden
    below[burden] = host
    return _step(burden, host, base, steps, n)


@jit
def _fill(table, below, reserve):
    """The reserve's top comes to an empty column."""
    if reserve > 0:
        reserve -= 1
        below[table.reserve[reserve]] = BASE
    return reserve


@jit
def _send_home(table, below, above, base, reserve, card, steps, n):
    """Append the steps that send a card home from wherever it is; returns the number in the reserve and of steps."""
    if below[card] != NOWHERE:
        n = _free(below, above, base, card, steps, n)
        emptied = _leave(below, above, card)
        below[card] = NOWHERE
        if emptied:
            reserve = _fill(table, below, reserve)
    elif reserve > 0 and table.reserve[reserve - 1] == card:
        reserve -= 1
    return reserve, _step(card, TO_FOUNDATION, base, steps, n)


@jit
def _make(table, below, above, base, reserve, card, destination, steps, n):
    """Append the steps that lay a card in the columns; returns the number in the reserve and of steps."""
    if destination == TO_COLUMN:
        n = _space(below, above, base, steps, n)
        below[card] = BASE
        return reserve, _step(card, TO_COLUMN, base, steps, n)
    host = destination
    if destination == ANY_PARENT:
        host = _bare_host(below, above, card)
    emptied = False
    if below[card] != NOWHERE:
        emptied = _leave(below, above, card)
    elif reserve > 0 and table.reserve[reserve - 1] == card:
        reserve -= 1
    below[card] = host
    above[host] = card
    n = _step(card, host, base, steps, n)
    if emptied:
        reserve = _fill(table, below, reserve)
    return reserve, n


@jit_making
def replay(table, start, lies_on, base, words, parents, moves, goal, steps):
    """Write the steps that lead to a position in the store.

    start: uint64[3], where the search started, before it was settled; lies_on: int64[52], what each card lay on there
    (a card, BASE or NOWHERE), ranks counted from ``base``. steps: int64 or uint8[m, 2], modified in place.
    Returns how many there are; more than m means that only the first m were written.
    """
    depth = 0
    node = goal
    while parents[node] >= 0:
        node = np.int64(parents[node])
        depth += 1
    path = np.empty(depth + 1, np.int64)
    node = goal
    for i in range(depth, -1, -1):
        path[i] = node
        node = np.int64(parents[node])

    below = lies_on.copy()
    above = np.full(52, BARE, np.int64)
    for card in range(52):
        if below[card] >= 0:
            above[below[card]] = card
    went = np.empty(53, np.int64)
    bases, turns, left, heights, drawn, reserve = unpacked(start[0], start[1])
    second = start[2]
    held = reserve
    n = 0
    for i in range(depth + 1):
        if i > 0:
            move = np.int64(moves[path[i]])
            a, c = words[path[i - 1], 0], words[path[i - 1], 2]
            b = words[path[i - 1], 1] | (words[path[i - 1], 3] & _DRAWN)
            bases, second, left, heights, drawn, turns, reserve = applied(table, a, b, c, move)
            if move >> 24:
                held, n = _make(table, below, above, base, held, (move >> 12) & 63, (move >> 18) & 63, steps, n)
            card = move & 63
            destination = (move >> 6) & 63
            if destination == TO_FOUNDATION:
                held, n = _send_home(table, below, above, base, held, card, steps, n)
            else:
                held, n = _make(table, below, above, base, held, card, destination, steps, n)
        settled(table, bases, second, left, heights, drawn, turns, reserve, went)
        for k in range(went[0]):
            held, n = _send_home(table, below, above, base, held, went[k + 1], steps, n)
    return n
