"""A* for Klondike over exact positions in buckets; the same search with more weight on the bound, or as a beam.

Buckets are by moves made plus bound (weighted: plus a multiple of the bound); within a bucket the newest comes first,
so the last one is searched in depth. A beam goes by moves made, one level after the other, and expands only so many
positions of each, those with the least bound first. Nothing is stored that cannot beat the solution in hand.

Nor is a successor stored whose moves plus bound lie beyond the bucket being searched and a small window: its parent is
put back, into the bucket of the least one left out, and expanded once more when that one's time comes (partial
expansion, Yoshizumi, Miura and Ishida 2000). So what is stored depends little on how good the first solutions are.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from cardems_solver.kernels.jit import entry, entry_making, jit
from cardems_solver.kernels.klondike_bound import UNWINNABLE, bound
from cardems_solver.kernels.klondike_moves import ANYTHING, MOST, STOCK, buffers, successors
from cardems_solver.kernels.klondike_pack import pack
from cardems_solver.kernels.klondike_store import CLOSED, DISTANCE, dominated, find, key_of, path, put, rehash, words_of
from cardems_solver.kernels.klondike_words import PLANE, PRUNE, home_cards
from cardems_solver.kernels.table import grown, insert
from cardems_solver.limits import MEMORY, Limits
from cardems_solver.outcome import Step
from cardems_solver.position import Position
from cardems_solver.rules import Rules

CHUNK = 62
"""Open positions in one block of a bucket; a block is 64 words, the last of which is the number of the next one."""
BUCKETS = 4096
NONE = 0x7FFF
"""Length of the best solution where there is none."""
WIDE, NARROW = 1, 0
"""How far above the bucket being searched positions are stored while there is memory, and when it gets short."""

STORED, EXPANDED, GENERATED, BEST, GOAL, NOW, BLOCKS, FREE, WEIGHT, LEAST, WINDOW, LEVEL, USED = range(13)
"""Indices into the counters of ``search``: positions stored, expanded, generated; length of the best solution; its last
position; the bucket being searched; blocks in use; the first free one; weight on the bound, in eighths above 1, or,
below 0, the width of a beam; the bound of the start; how far above the bucket being searched a position may be and
still be stored; in a beam, the moves made at the level being searched and how many of its positions were expanded."""

DONE, PAUSED, FULL, BLOCKED, ENDED = range(5)
"""What ``search`` returns: nothing left that could be better (or, weighted, a solution); budget spent; no room for
positions; no room for blocks; nothing left but what a beam may have left out."""
RANKS = 16
"""Buckets of a level in a beam."""


@jit
def _push(blocks, heads, fill, count, key, node):
    if heads[key] == 0 or fill[key] == CHUNK:
        if count[FREE]:
            new = count[FREE]
            count[FREE] = np.int64(blocks[new, 63])
        else:
            new = count[BLOCKS]
            count[BLOCKS] += 1
        blocks[new, 63] = heads[key]
        heads[key] = new
        fill[key] = 0
    blocks[heads[key], fill[key]] = node
    fill[key] += 1


@jit
def _pop(blocks, heads, fill, count, key):
    fill[key] -= 1
    head = heads[key]
    node = np.int64(blocks[head, fill[key]])
    if fill[key] == 0:
        heads[key] = np.int64(blocks[head, 63])
        fill[key] = CHUNK if heads[key] else 0
        blocks[head, 63] = count[FREE]
        count[FREE] = head
    return node


@jit
def _bucket(moves, h, count):
    """The bucket of a position: by moves and bound, the bound weighted; in a beam by the moves, then by the bound."""
    if count[WEIGHT] >= 0:
        return min(moves + h + (h * count[WEIGHT]) // 8, BUCKETS - 1)
    return min(moves, BUCKETS // RANKS - 1) * RANKS + min((moves + h - count[LEAST]) // 2, RANKS - 1)


@entry
def search(words, high, cost, slots, blocks, heads, fill, count, table, out, order, budget):
    """Expand up to ``budget`` positions; all arrays are modified in place.

    A negative budget only asks for the successors of the position ``~budget``: they are in ``out`` then, and what is
    returned is their end.

    words: uint64[n, 3], high: uint8[n], positions and those before, see ``klondike_store``; cost: uint16[n], moves
    made, and CLOSED once expanded; slots: uint32[2^k], their index; blocks: uint32[m, 64], heads, fill: int64[BUCKETS],
    the open positions; count: int64[13]; out: see ``klondike_moves.buffers``; order: int64[512], scratch.
    Returns DONE, PAUSED, FULL, BLOCKED or ENDED.
    """
    if budget < 0:
        node = ~budget
        a, b, c = words_of(words, node)
        return successors(a, b, c, table, out)
    weight = count[WEIGHT]
    if count[STORED] == 0:
        a, b, c = words[0, 0], words[0, 1], words[0, 2]
        insert(slots, key_of(a, b, c), 0)
        count[STORED] = 1
        count[BLOCKS] = 1
        h = bound(a, b, c, table, order)
        count[LEAST] = h
        count[NOW] = _bucket(0, h, count)
        if home_cards(a, b, c) == PLANE:
            count[BEST] = 0
        _push(blocks, heads, fill, count, count[NOW], 0)
    while True:
        while count[NOW] < BUCKETS and heads[count[NOW]] == 0:
            count[NOW] += 1
        if weight < 0:
            if count[NOW] == BUCKETS:
                return ENDED
            if count[NOW] // RANKS != count[LEVEL]:
                count[LEVEL] = count[NOW] // RANKS
                count[USED] = 0
            elif count[USED] == -weight:
                count[NOW] = (count[LEVEL] + 1) * RANKS
                continue
        if count[NOW] == BUCKETS or (weight == 0 and count[NOW] >= count[BEST]):
            return DONE
        if budget == 0:
            return PAUSED
        if count[STORED] + out[1].size >= cost.size:
            return FULL
        if count[BLOCKS] + out[1].size >= blocks.shape[0]:
            return BLOCKED
        budget -= 1
        node = _pop(blocks, heads, fill, count, count[NOW])
        if cost[node] & CLOSED:
            continue  # It was reached in fewer moves and expanded since.
        made = np.int64(cost[node])
        cost[node] |= CLOSED
        a, b, c = words_of(words, node)
        n = successors(a, b, c, table, out)
        count[EXPANDED] += 1
        count[USED] += 1
        postponed = NONE
        for i in range(1, n):
            if out[2][i] != ANYTHING:
                continue
            count[GENERATED] += 1
            moves = made + out[1][i]
            if moves >= count[BEST]:
                continue
            a, b, c = out[0][i, 0], out[0][i, 1], out[0][i, 2]
            m = find(slots, words, a, b, c)
            if m >= 0 and np.int64(cost[m] & DISTANCE) <= moves:
                continue
            if table.rules[PRUNE] & STOCK and dominated(slots, words, cost, a, b, c, moves, table):
                continue
            h = bound(a, b, c, table, order)
            if moves + h >= count[BEST] or h >= UNWINNABLE:
                continue
            if weight == 0 and moves + h > count[NOW] + count[WINDOW]:
                postponed = min(postponed, moves + h)
                continue
            if m < 0:
                m = count[STORED]
                count[STORED] += 1
                insert(slots, key_of(a, b, c), m)
            put(words, high, m, a, b, c, node)
            cost[m] = moves
            if home_cards(a, b, c) == PLANE:
                count[BEST] = moves
                count[GOAL] = m
                if weight > 0:
                    return DONE
                continue
            key = _bucket(moves, h, count)
            if weight:
                count[NOW] = min(count[NOW], key)
            else:
                key = max(key, count[NOW])  # A bound holds for what comes after, too.
            _push(blocks, heads, fill, count, key, m)
        if postponed < count[BEST]:
            cost[node] &= DISTANCE
            _push(blocks, heads, fill, count, postponed, node)


@entry_making
def lower_bound(words, table):
    """The bound for one position; words: uint64[3]."""
    return bound(words[0], words[1], words[2], table, np.zeros(512, np.int64))


class Search:
    """One search for less than ``best`` moves, its arrays grown as need be; ``weight`` as in the counters."""

    def __init__(
        self, position: Position, rules: Rules, metric: str, prune: int, limits: Limits, weight: int, best: int
    ):
        self.table, root = pack(position, rules, metric, prune)
        self.limits = limits
        self.words = np.zeros((4096, 3), np.uint64)
        self.words[0] = root
        self.high = np.zeros(4096, np.uint8)
        self.cost = np.zeros(4096, np.uint16)
        self.slots = np.zeros(8192, np.uint32)
        self.blocks = np.zeros((2560, 64), np.uint32)
        self.heads = np.zeros(BUCKETS, np.int64)
        self.fill = np.zeros(BUCKETS, np.int64)
        self.count = np.zeros(13, np.int64)
        self.count[BEST] = best
        self.count[WEIGHT] = weight
        self.count[WINDOW] = WIDE
        self.out = buffers()
        self.order = np.zeros(512, np.int64)

    @property
    def bytes(self) -> int:
        arrays = (self.words, self.high, self.cost, self.slots, self.blocks, self.heads, self.fill)
        return sum(array.nbytes for array in arrays)

    def expand(self, budget: int) -> tuple[int, str | None]:
        """Expand so many positions: DONE or PAUSED, and the limit if there is no memory to go on."""
        end = int(self.count[EXPANDED]) + budget
        while True:
            status = self._call(end - int(self.count[EXPANDED]))
            if status == FULL:
                if not self._grow():
                    return PAUSED, MEMORY
            elif status == BLOCKED:
                length = len(self.blocks) * 17 // 16
                if not self.limits.allows(self.bytes + self.blocks.nbytes // 16):
                    return PAUSED, MEMORY
                self.blocks = grown(self.blocks, length)
            else:
                return status, None

    def _call(self, budget: int) -> int:
        return search(
            self.words,
            self.high,
            self.cost,
            self.slots,
            self.blocks,
            self.heads,
            self.fill,
            self.count,
            self.table,
            self.out,
            self.order,
            budget,
        )

    def _grow(self) -> bool:
        """Make room for more positions, or say that the limits forbid it."""
        length = len(self.cost) + max(len(self.cost) // 16, MOST)
        more = (length - len(self.cost)) * (self.words.itemsize * 3 + self.high.itemsize + self.cost.itemsize)
        rehashed = length * 10 > len(self.slots) * 9
        if rehashed:
            more += 2 * self.slots.nbytes
        if length >= 1 << 32 or not self.limits.allows(self.bytes + more):
            return False
        if rehashed:
            size = 2 * len(self.slots)
            self.slots = None
            self.slots = np.zeros(size, np.uint32)
            rehash(self.slots, self.words, self.count[STORED])
        self.words, self.high, self.cost = (
            grown(self.words, length),
            grown(self.high, length),
            grown(self.cost, length),
        )
        return True

    def steps(self) -> list[Step]:
        """The steps to the best solution's last position."""
        nodes = path(self.words, self.high, int(self.count[GOAL]))
        return [step for before, then in pairwise(nodes) for step in self._steps_between(before, then)]

    def _steps_between(self, before: int, then: int) -> list[Step]:
        """The steps from one position to a successor, by the cheapest way."""
        end = self._call(~before)
        words, costs, follows, _, lengths, steps, _ = self.out
        same = (words[1:end] == np.array(words_of.py_func(self.words, then))).all(axis=1) & (follows[1:end] == ANYTHING)
        entries = 1 + np.flatnonzero(same)
        entry_ = entries[np.argmin(costs[entries])]
        return [(int(card), int(target)) for card, target in steps[entry_, : lengths[entry_]]]
