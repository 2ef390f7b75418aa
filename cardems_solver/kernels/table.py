"""Visited positions: three words each in a growing pool, found again through an open-addressing index.

The pool is exact (whole positions are compared, not hashes). ``slots`` holds pool numbers plus one, 0 where free; its
length is a power of two. Kernels stop with a status when pool or index is full; Python grows them and calls again.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U1, mix3
from cardems_solver.kernels.jit import entry, jit

_S32 = np.uint64(32)


@jit
def tag_of(key, mask):
    """The part of a hash that its place in an index of mask + 1 = 2^k slots does not tell, in the highest 32 - k of 32
    bits. A slot can keep it beside a position's number, so that few positions are read only to find others."""
    return (key >> _S32) & ~mask


@jit
def insert(slots, key, n):
    """Write a position's number n into an index that keeps tags (``tag_of``) and does not have it yet.

    slots: uint32[2^k], modified in place; key: the position's hash.
    """
    mask = np.uint64(slots.size) - U1
    i = key & mask
    while slots[i]:
        i = (i + U1) & mask
    slots[i] = tag_of(key, mask) | np.uint64(n + 1)


@jit
def find(slots, words, a, b, c):
    """Pool number of the position (a, b, c), or ``-1 - slot`` with the free slot where it belongs.

    slots: uint32[2^k], words: uint64[n, 3].
    """
    mask = np.uint64(slots.size) - U1
    i = mix3(a, b, c) & mask
    while True:
        node = slots[i]
        if node == 0:
            return -1 - np.int64(i)
        n = np.int64(node) - 1
        if words[n, 0] == a and words[n, 1] == b and words[n, 2] == c:
            return n
        i = (i + U1) & mask


@entry
def rehash(slots, words, count):
    """Fill the zeroed ``slots`` (modified in place) with the first ``count`` positions of the pool."""
    for n in range(count):
        slot = -1 - find(slots, words, words[n, 0], words[n, 1], words[n, 2])
        slots[slot] = n + 1


def grown(array: np.ndarray, length: int) -> np.ndarray:
    """The array made longer (new rows are zeros), in place where the allocator can: large blocks are not copied.

    The caller must drop every other reference to ``array``.
    """
    array.resize((length, *array.shape[1:]), refcheck=False)
    return array
