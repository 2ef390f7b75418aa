"""Positions of a fewest-moves search in Klondike: three words, and the number of the position before in spare bits.

The words leave 12, 6 and 6 bits free; a byte apart holds the other eight of the predecessor's number. The index is
open-addressing, as in ``table``.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U1, mix3
from cardems_solver.kernels.jit import entry, jit

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
def find(slots, words, a, b, c):
    """Number of the position (a, b, c), or ``-1 - slot`` with the free slot where it belongs.

    slots: uint32[2^k], position number plus one, 0 where free; words: uint64[n, 3].
    """
    mask = np.uint64(slots.size) - U1
    i = mix3(a, b, c) & mask
    while True:
        node = slots[i]
        if node == 0:
            return -1 - np.int64(i)
        n = np.int64(node) - 1
        if words[n, 0] & _A == a and words[n, 1] & _BC == b and words[n, 2] & _BC == c:
            return n
        i = (i + U1) & mask


@entry
def rehash(slots, words, count):
    """Fill the zeroed ``slots`` (modified in place) with the first ``count`` positions."""
    mask = np.uint64(slots.size) - U1
    for n in range(count):
        a, b, c = words_of(words, n)
        i = mix3(a, b, c) & mask
        while slots[i]:
            i = (i + U1) & mask
        slots[i] = n + 1


def path(words: np.ndarray, high: np.ndarray, goal: int) -> list[int]:
    """The numbers of the positions from 0 to ``goal``."""
    nodes = [goal]
    while nodes[-1]:
        n = nodes[-1]
        a, b, c = (int(word) for word in words[n])
        nodes.append(a >> 52 | (b >> 58) << 12 | (c >> 58) << 18 | int(high[n]) << 24)
    return nodes[::-1]
