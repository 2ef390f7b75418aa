"""Fewest moves in Klondike: A* over exact positions, with bounds at every moment.

First come a few quick searches that trust the estimate more than they should: best first by moves made plus a multiple
of the lower bound, with smaller and smaller multiples, each looking only for something better than the last. Then A*,
which stores nothing that cannot beat the solution in hand. Buckets are by moves made plus bound; within a bucket the
newest comes first, so the last one is searched in depth.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from cardems_solver.kernels.jit import entry, jit
from cardems_solver.kernels.klondike_bound import UNWINNABLE, bound
from cardems_solver.kernels.klondike_moves import ALL_PRUNING, ANYTHING, MOST, buffers, successors
from cardems_solver.kernels.klondike_pack import pack
from cardems_solver.kernels.klondike_store import find, path, put, rehash, words_of
from cardems_solver.kernels.klondike_words import PLANE, Table, home_cards
from cardems_solver.kernels.table import grown
from cardems_solver.limits import INTERRUPTED, MEMORY, TIME, Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE, Outcome, Step
from cardems_solver.position import Position
from cardems_solver.rules import Rules

CHUNK = 62
"""Open positions in one block of a bucket; a block is 64 words, the last of which is the number of the next one."""
BUCKETS = 4096
CLOSED = np.uint16(0x8000)
DISTANCE = np.uint16(0x7FFF)
NONE = 0x7FFF
"""Length of the best solution where there is none."""

STORED, EXPANDED, GENERATED, BEST, GOAL, NOW, BLOCKS, FREE, WEIGHT, LEAST = range(10)
"""Indices into the counters of ``search``: positions stored, expanded, generated; length of the best solution; its last
position; the bucket being searched; blocks in use; the first free one; weight on the bound, in eighths above 1; the
bound of the start."""

DONE, PAUSED, FULL, BLOCKED = range(4)
"""What ``search`` returns: nothing left that could be better (or, weighted, a solution); budget spent; no room for
positions; no room for blocks."""

BUDGET = 2048
"""Positions expanded between two looks at the limits, at most."""
QUICK = ((24, 40_000), (8, 40_000), (4, 40_000), (2, 60_000))
"""Weights of the quick searches and how many positions each may expand."""


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


@entry
def search(words, high, cost, slots, blocks, heads, fill, count, table, out, budget):
    """Expand up to ``budget`` positions; all arrays are modified in place.

    A negative budget only asks for the successors of the position ``~budget``: they are in ``out`` then, and what is
    returned is their end.

    words: uint64[n, 3], high: uint8[n], positions and those before, see ``klondike_store``; cost: uint16[n], moves
    made, and CLOSED once expanded; slots: uint32[2^k], their index; blocks: uint32[m, 64], heads, fill: int64[BUCKETS],
    the open positions; count: int64[10]; out: see ``klondike_moves.buffers``.
    Returns DONE, PAUSED, FULL or BLOCKED.
    """
    if budget < 0:
        node = ~budget
        a, b, c = words_of(words, node)
        return successors(a, b, c, table, out)
    order = np.zeros(512, np.int64)
    weight = count[WEIGHT]
    if count[STORED] == 0:
        a, b, c = words[0, 0], words[0, 1], words[0, 2]
        slots[-1 - find(slots, words, a, b, c)] = 1
        count[STORED] = 1
        count[BLOCKS] = 1
        h = bound(a, b, c, table, order)
        count[LEAST] = h
        count[NOW] = min(h + (h * weight) // 8, BUCKETS - 1)
        if home_cards(a, b, c) == PLANE:
            count[BEST] = 0
        _push(blocks, heads, fill, count, count[NOW], 0)
    while True:
        while count[NOW] < BUCKETS and heads[count[NOW]] == 0:
            count[NOW] += 1
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
            h = bound(a, b, c, table, order)
            if moves + h >= count[BEST] or h >= UNWINNABLE:
                continue
            if m < 0:
                slot = -1 - m
                m = count[STORED]
                count[STORED] += 1
                slots[slot] = m + 1
            put(words, high, m, a, b, c, node)
            cost[m] = moves
            if home_cards(a, b, c) == PLANE:
                count[BEST] = moves
                count[GOAL] = m
                if weight:
                    return DONE
                continue
            key = min(moves + h + (h * weight) // 8, BUCKETS - 1)
            if weight:
                count[NOW] = min(count[NOW], key)
            else:
                key = max(key, count[NOW])  # A bound holds for what comes after, too.
            _push(blocks, heads, fill, count, key, m)


@entry
def lower_bound(words, table):
    """The bound for one position; words: uint64[3]."""
    return bound(words[0], words[1], words[2], table, np.zeros(512, np.int64))


class _Search:
    """The arrays of one search, grown as need be."""

    def __init__(self, table: Table, root: np.ndarray, limits: Limits, weight: int, best: int):
        self.table, self.limits = table, limits
        self.words = np.zeros((4096, 3), np.uint64)
        self.words[0] = root
        self.high = np.zeros(4096, np.uint8)
        self.cost = np.zeros(4096, np.uint16)
        self.slots = np.zeros(8192, np.uint32)
        self.blocks = np.zeros((2560, 64), np.uint32)
        self.heads = np.zeros(BUCKETS, np.int64)
        self.fill = np.zeros(BUCKETS, np.int64)
        self.count = np.zeros(10, np.int64)
        self.count[BEST] = best
        self.count[WEIGHT] = weight
        self.out = buffers()

    @property
    def bytes(self) -> int:
        arrays = (self.words, self.high, self.cost, self.slots, self.blocks, self.heads, self.fill)
        return sum(array.nbytes for array in arrays)

    def expand(self, budget: int) -> tuple[int, str | None]:
        """Expand so many positions: DONE or PAUSED, and the limit if there is no memory to go on."""
        while True:
            status = self._call(budget)
            if status == FULL:
                if not self._grow():
                    return PAUSED, MEMORY
            elif status == BLOCKED:
                length = len(self.blocks) * 9 // 8
                if not self.limits.allows(self.bytes + self.blocks.nbytes // 8):
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
            budget,
        )

    def _grow(self) -> bool:
        """Make room for more positions, or say that the limits forbid it."""
        length = len(self.cost) + max(len(self.cost) // 8, MOST)
        more = (length - len(self.cost)) * (self.words.itemsize * 3 + self.high.itemsize + self.cost.itemsize)
        rehashed = length * 5 > len(self.slots) * 4
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


def minimum(
    position: Position,
    rules: Rules,
    metric: str,
    limits: Limits,
    progress: Callable[..., None] | None = None,
    prune: int = ALL_PRUNING,
    quick: tuple[tuple[int, int], ...] = QUICK,
) -> Outcome:
    """The fewest moves to a win, proved, or the best solution and the proved bound that a limit leaves.

    Args:
        metric: ``moves`` or ``taps``.
        progress: called with ``expanded``, ``stored``, ``length`` (None without a solution), ``lower_bound`` and, when
            a better solution is found, its ``steps``.
        prune: flags of ``klondike_moves``, for tests.
        quick: the weights and budgets of the quick searches.
    """
    table, root = pack(position, rules, metric, prune)
    best, steps = NONE, None
    least = 0
    expanded = generated = most_bytes = 0
    reason = None
    for weight, allowed in (*quick, (0, None)):
        search_ = _Search(table, root, limits, weight, best)
        count = search_.count
        while True:
            room = BUDGET if limits.states is None else max(1, (limits.states - int(count[STORED])) // 16)
            status, reason = search_.expand(min(BUDGET, room))
            least = max(least, min(int(count[LEAST]), int(count[BEST])))
            if weight == 0:
                least = max(least, min(int(count[NOW]), int(count[BEST])))
            better = int(count[BEST]) < best
            if better:
                best, steps = int(count[BEST]), search_.steps()
            if progress:
                news = {"steps": steps} if better else {}
                length = None if best == NONE else best
                done = expanded + int(count[EXPANDED])
                progress(expanded=done, stored=int(count[STORED]), length=length, lower_bound=least, **news)
            reason = reason or limits.exceeded(int(count[STORED]))
            if status == DONE or reason or (allowed and count[EXPANDED] >= allowed):
                break
        expanded += int(count[EXPANDED])
        generated += int(count[GENERATED])
        most_bytes = max(most_bytes, search_.bytes)
        exhausted = status == DONE and not better
        if exhausted or reason in (TIME, INTERRUPTED) or best == least:
            break
    proved = status == DONE and (weight == 0 or exhausted or best == least)
    found = {"expanded": expanded, "generated": generated, "stored": int(count[STORED]), "bytes": most_bytes}
    if steps is not None:
        return Outcome(
            SOLVABLE, None if proved else reason, steps, lower_bound=best if proved else least, optimal=proved, **found
        )
    if proved:
        return Outcome(UNSOLVABLE, **found)
    return Outcome(UNDECIDED, reason, lower_bound=least, **found)
