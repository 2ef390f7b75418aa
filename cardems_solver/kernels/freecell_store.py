"""Positions of a fewest-moves search: three words each, the number of the position before in their spare bits.

The words use 52 of their 64 bits; a position's predecessor takes 12, 12 and 8 of the others, so that 24 bytes a
position and its slot in the index are all that a path needs. The moves themselves are found again by making every one.

The index is open-addressing. Of 2^k slots each has k bits for a position's number plus one, 0 where it is free, and the
other 32 - k for ``table.tag_of`` its hash.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from cardems_solver.kernels.bits import U0, U1, mix3
from cardems_solver.kernels.freecell_state import DECK
from cardems_solver.kernels.jit import entry, jit
from cardems_solver.kernels.table import insert, tag_of

_LOW = np.uint64(0xFFF)
_S12 = np.uint64(12)
_S24 = np.uint64(24)
_S52 = np.uint64(52)


@jit
def words_of(words, n):
    """The three words of position n without its predecessor."""
    return words[n, 0] & DECK, words[n, 1] & DECK, words[n, 2] & DECK


@jit
def put(words, n, a, b, c, before):
    """Write position n and its predecessor."""
    p = np.uint64(before)
    words[n, 0] = a | ((p & _LOW) << _S52)
    words[n, 1] = b | (((p >> _S12) & _LOW) << _S52)
    words[n, 2] = c | ((p >> _S24) << _S52)


@intrinsic
def _fetch(context, array, index):
    """Have an array's entry brought into the processor's cache; goes on at once."""

    def generate(context, builder, signature, args):
        pointer = builder.gep(context.make_array(signature.args[0])(context, builder, args[0]).data, [args[1]])
        kind = ir.FunctionType(ir.VoidType(), [pointer.type] + 3 * [ir.IntType(32)])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(prefetch, [pointer, *(ir.Constant(ir.IntType(32), i) for i in (0, 3, 1))])
        return context.get_dummy_value()

    return types.none(array, index), generate


@jit
def look_up_soon(slots, a, b, c):
    """Have the slot at which ``find`` will begin brought into the cache: it would take much of the time of a search."""
    _fetch(slots, np.int64(mix3(a, b, c) & (np.uint64(slots.size) - U1)))


@jit
def find(slots, words, a, b, c):
    """Number of the position (a, b, c), or -1 if it is not there.

    slots: uint32[2^k], see ``table.insert``; words: uint64[n, 3].
    """
    mask = np.uint64(slots.size) - U1
    key = mix3(a, b, c)
    tag = tag_of(key, mask)
    i = key & mask
    while True:
        slot = np.uint64(slots[i])
        if slot == U0:
            return -1
        if slot & ~mask == tag:
            n = np.int64(slot & mask) - 1
            if words[n, 0] & DECK == a and words[n, 1] & DECK == b and words[n, 2] & DECK == c:
                return n
        i = (i + U1) & mask


@entry
def rehash(slots, words, count):
    """Fill the zeroed ``slots`` (modified in place) with the first ``count`` positions."""
    for n in range(count):
        a, b, c = words_of(words, n)
        insert(slots, mix3(a, b, c), n)


def path(words: np.ndarray, goal: int) -> list[int]:
    """The numbers of the positions from 0 to ``goal``."""
    path = [goal]
    while path[-1]:
        spare = [int(word) >> 52 for word in words[path[-1]]]
        path.append(spare[0] | spare[1] << 12 | spare[2] << 24)
    return path[::-1]
