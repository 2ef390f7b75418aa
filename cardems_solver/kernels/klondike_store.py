"""Positions of a fewest-moves search in Klondike: three words, and the number of the position before in spare bits.

The words leave 12, 6 and 6 bits free; a byte apart holds the other eight of the predecessor's number. The index is
open-addressing, as in ``freecell_store``; positions that differ only in the stock's are neighbours in it.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, mix3, popcount
from cardems_solver.kernels.jit import entry, jit
from cardems_solver.kernels.klondike_words import DRAW, LIMITED, TAPS, passes_of, waste_size
from cardems_solver.kernels.table import insert, tag_of

# Bits of a position's moves made: it has been expanded; all the others.
CLOSED = np.uint16(0x8000)
DISTANCE = np.uint16(0x7FFF)
FAR = np.int64(1 << 20)
"""The price of what cannot be."""

_A = np.uint64((1 << 52) - 1)
_BC = np.uint64((1 << 58) - 1)
_LOW12 = np.uint64(0xFFF)
_LOW6 = np.uint64(0x3F)
_S12 = np.uint64(12)
_S18 = np.uint64(18)
_S24 = np.uint64(24)
_S52 = np.uint64(52)
_S58 = np.uint64(58)


@jit
def words_of(words, n):
    """The three words of position n without its predecessor."""
    return words[n, 0] & _A, words[n, 1] & _BC, words[n, 2] & _BC


@jit
def put(words, high, n, a, b, c, before):
    """Write position n and its predecessor."""
    p = np.uint64(before)
    words[n, 0] = a | ((p & _LOW12) << _S52)
    words[n, 1] = b | (((p >> _S12) & _LOW6) << _S58)
    words[n, 2] = c | (((p >> _S18) & _LOW6) << _S58)
    high[n] = p >> _S24


@jit
def key_of(a, b, c):
    """A position's hash: the same for all that differ only in passes and size of the waste."""
    return mix3(a, b & _A, c & _A)


@jit
def find(slots, words, a, b, c):
    """Number of the position (a, b, c), or -1 if it is not there.

    slots: uint32[2^k], see ``table.insert``; words: uint64[n, 3].
    """
    mask = np.uint64(slots.size) - U1
    key = key_of(a, b, c)
    tag = tag_of(key, mask)
    i = key & mask
    while True:
        slot = np.uint64(slots[i])
        if slot == U0:
            return -1
        if slot & ~mask == tag:
            n = np.int64(slot & mask) - 1
            if words[n, 0] & _A == a and words[n, 1] & _BC == b and words[n, 2] & _BC == c:
                return n
        i = (i + U1) & mask


@jit
def dominated(slots, words, cost, a, b, c, moves, table):
    """Can the position (a, b, c) be reached in ``moves`` moves or fewer from a stored one by draws alone?

    Then it need not be stored: every solution from it is, with the draws in front, one from the stored position that is
    no longer and has as many plays. Nothing is lost by doing so again and again: among the positions met on the way to
    the minimum take one that needs the fewest plays; if it was expanded, the next position on its way, or what was
    stored instead of that one, needs fewer. Stored positions that can be so reached from this one need not be expanded
    (``cost`` is modified in place).
    """
    mask = np.uint64(slots.size) - U1
    key = key_of(a, b, c)
    tag = tag_of(key, mask)
    i = key & mask
    left = popcount(~(a | b | c) & _A & table.undealt)
    waste = waste_size(c)
    passes = passes_of(b)
    while True:
        slot = np.uint64(slots[i])
        if slot == U0:
            return False
        n = np.int64(slot & mask) - 1
        same = slot & ~mask == tag and words[n, 0] & _A == a
        if same and (words[n, 1] ^ b) & _A == U0 and (words[n, 2] ^ c) & _A == U0:
            other = np.int64((words[n, 2] >> _S52) & _LOW6)
            spare = np.int64((words[n, 1] >> _S52) & _LOW6)
            if other != waste or spare != passes:
                made = np.int64(cost[n] & DISTANCE)
                if made + draws(other, waste, left, spare, passes, table) <= moves:
                    return True
                if moves + draws(waste, other, left, passes, spare, table) <= made:
                    cost[n] |= CLOSED
        i = (i + U1) & mask


@jit
def draws(waste, then, left, passes, spare, table):
    """The price of drawing until the waste has ``then`` instead of ``waste`` cards of ``left``, FAR if that cannot be
    or would not leave ``spare`` of ``passes``."""
    draw = table.rules[DRAW]
    if then >= waste and ((then - waste) % draw == 0 or then == left) and passes >= spare:
        return (then - waste + draw - 1) // draw
    if (then % draw == 0 or then == left) and passes >= spare + table.rules[LIMITED]:
        return (left - waste + draw - 1) // draw + table.rules[TAPS] + (then + draw - 1) // draw
    return FAR


@entry
def rehash(slots, words, count):
    """Fill the zeroed ``slots`` (modified in place) with the first ``count`` positions."""
    for n in range(count):
        a, b, c = words_of(words, n)
        insert(slots, key_of(a, b, c), n)


def path(words: np.ndarray, high: np.ndarray, goal: int) -> list[int]:
    """The numbers of the positions from 0 to ``goal``."""
    nodes = [goal]
    while nodes[-1]:
        n = nodes[-1]
        a, b, c = (int(word) for word in words[n])
        nodes.append(a >> 52 | (b >> 58) << 12 | (c >> 58) << 18 | int(high[n]) << 24)
    return nodes[::-1]
