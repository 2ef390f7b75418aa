"""Best-first search over FreeCell positions, every one of them: finds a solution or proves that there is none.

Single-card moves only (moves of runs are made of them), each followed by all safe moves home
(``freecell_state.settle``).
Positions wait in a bucket queue by a score that guides the search and proves nothing; when the queue runs dry, every
position that can be reached has been expanded, and the deal cannot be won.

The arrays of a search, all growing with it:

    words   uint64[n, 3]   the positions, in order of discovery
    links   uint32[n, 2]   the position before it; the next one in its bucket
    marks   uint16[n, 2]   the move that led to it; how many moves deep it is
    slots   uint32[2^k]    index of the words (see ``table``)
    heads   uint32[SCORES] the first position of each bucket, plus one
    counts  int64[5]       see the constants
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, lowest, popcount
from cardems_solver.kernels.freecell_state import (
    COLUMNS,
    HOME,
    LAYOUT_SIZE,
    MAX_MOVES,
    arrays,
    destination,
    exposed,
    list_moves,
    moved,
    safe_home,
    set_up,
    settle,
)
from cardems_solver.kernels.jit import entry, jit
from cardems_solver.kernels.table import find, grown, rehash
from cardems_solver.limits import MEMORY, Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE, Outcome, Step
from cardems_solver.position import Position
from cardems_solver.rules import Rules

SCORES = 1024
STORED, EXPANDED, GENERATED, LOWEST, GOAL = range(5)
RUNNING, FULL, WON, EXHAUSTED = range(4)
_HOME_ALL = np.uint64((1 << 52) - 1)


@jit
def _score(a, b, c, layout, depth):
    """A guess at how far a position is from being won; lower is nearer."""
    dealt = ~(a | b | c)
    home = popcount(c & a)
    score = 400 + depth - 8 * home + 6 * popcount(c & ~a) + 5 * popcount(a & b)
    for j in range(COLUMNS):
        n = popcount(dealt & layout[j])
        score += 2 * n
    return min(max(score, 0), SCORES - 1)


@jit
def _add(a, b, c, before, move, depth, layout, words, links, marks, slots, heads, counts):
    """Store a position and queue it, unless it is known."""
    at = find(slots, words, a, b, c)
    if at >= 0:
        return
    n = counts[STORED]
    counts[STORED] = n + 1
    words[n, 0], words[n, 1], words[n, 2] = a, b, c
    slots[-1 - at] = n + 1
    links[n, 0] = before
    marks[n, 0] = move
    marks[n, 1] = depth
    score = _score(a, b, c, layout, depth)
    links[n, 1] = heads[score]
    heads[score] = n + 1
    counts[LOWEST] = min(counts[LOWEST], score)
    if (c & a) == _HOME_ALL:
        counts[GOAL] = n


@entry
def begin(columns, heights, in_cells, home, returns, start, layout, words, links, marks, slots, heads, counts):
    """Put the start into empty arrays and, as it is before any safe move home, into ``start``, uint64[3];
    ``freecell_state.arrays`` gives the first four arguments."""
    a, b, c = set_up(columns, heights, in_cells, home, layout)
    start[0], start[1], start[2] = a, b, c
    a, b, c = settle(a, b, c, layout, returns)
    counts[LOWEST] = SCORES
    counts[GOAL] = -1
    _add(a, b, c, 0, 0, 0, layout, words, links, marks, slots, heads, counts)


@entry
def advance(budget, cells, returns, layout, words, links, marks, slots, heads, counts):
    """Expand up to ``budget`` positions. Returns RUNNING, FULL (the arrays must grow), WON or EXHAUSTED."""
    moves = np.empty(MAX_MOVES, np.uint16)
    for _ in range(budget):
        if counts[GOAL] >= 0:
            return WON
        room = min(np.int64(words.shape[0]), np.int64(slots.size) // 2)
        if counts[STORED] + MAX_MOVES > room:
            return FULL
        bucket = counts[LOWEST]
        while bucket < SCORES and heads[bucket] == 0:
            bucket += 1
        counts[LOWEST] = bucket
        if bucket == SCORES:
            return EXHAUSTED
        node = np.int64(heads[bucket]) - 1
        heads[bucket] = links[node, 1]
        a, b, c = words[node, 0], words[node, 1], words[node, 2]
        depth = np.int64(marks[node, 1]) + 1
        n = list_moves(a, b, c, layout, cells, returns, 0, moves)
        counts[EXPANDED] += 1
        counts[GENERATED] += n
        for i in range(n):
            move = np.int64(moves[i])
            x, y, z = moved(a, b, c, move >> 3, move & 7)
            x, y, z = settle(x, y, z, layout, returns)
            _add(x, y, z, node, move, depth, layout, words, links, marks, slots, heads, counts)
    return RUNNING


@jit
def _write_home(before, after, steps, n):
    """Append the steps that send home the cards of ``after & ~before``, lowest ranks first."""
    z = after & ~before
    while z:
        steps[n, 0] = lowest(z)
        steps[n, 1] = destination(lowest(z), HOME)
        n += 1
        z &= z - U1
    return n


@jit
def _write_settled(a, b, c, layout, returns, steps, n):
    """Append the steps of ``settle``."""
    while True:
        z = (exposed(a, b, c, layout) | (c & ~a)) & safe_home(c & a, returns)
        if z == U0:
            return n
        n = _write_home(U0, z, steps, n)
        a |= z
        b &= ~z
        c |= z


@entry
def trace(goal, start, returns, layout, words, links, marks, steps):
    """Write the steps from ``start`` (uint64[3]) to position ``goal`` to ``steps``, int64[m, 2]; returns how many."""
    depth = np.int64(marks[goal, 1])
    path = np.empty(depth + 1, np.int64)
    node = goal
    for i in range(depth, -1, -1):
        path[i] = node
        node = np.int64(links[node, 0])
    n = _write_settled(start[0], start[1], start[2], layout, returns, steps, 0)
    for i in range(1, depth + 1):
        before = path[i - 1]
        move = np.int64(marks[path[i], 0])
        steps[n, 0] = move >> 3
        steps[n, 1] = destination(move >> 3, move & 7)
        n += 1
        a, b, c = moved(words[before, 0], words[before, 1], words[before, 2], move >> 3, move & 7)
        n = _write_settled(a, b, c, layout, returns, steps, n)
    return n


class Search:
    """The arrays of one search, grown as it goes on."""

    def __init__(self, position: Position, rules: Rules, limits: Limits) -> None:
        self.cells, self.returns, self.limits = rules.cells, int(rules.foundation_return), limits
        self.layout = np.zeros(LAYOUT_SIZE, np.uint64)
        self.words = np.zeros((4096, 3), np.uint64)
        self.links = np.zeros((4096, 2), np.uint32)
        self.marks = np.zeros((4096, 2), np.uint16)
        self.slots = np.zeros(8192, np.uint32)
        self.heads = np.zeros(SCORES, np.uint32)
        self.counts = np.zeros(5, np.int64)
        start = arrays(position)
        self.start = np.zeros(3, np.uint64)
        begin(*start, self.returns, self.start, *self._arrays())

    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.layout, self.words, self.links, self.marks, self.slots, self.heads, self.counts

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self._arrays())

    def advance(self, budget: int) -> int:
        return advance(budget, self.cells, self.returns, *self._arrays())

    def grow(self) -> bool:
        """Make room for more positions; False where the limits do not allow it."""
        rows = 2 * len(self.words)
        per_row = (self.words.nbytes + self.links.nbytes + self.marks.nbytes) // len(self.words)
        if rows >= 2**32 or not self.limits.allows(rows * (per_row + 2 * self.slots.itemsize)):
            return False
        self.words = grown(self.words, rows)
        self.links = grown(self.links, rows)
        self.marks = grown(self.marks, rows)
        self.slots = None
        self.slots = np.zeros(2 * rows, np.uint32)
        rehash(self.slots, self.words, self.counts[STORED])
        return True

    def steps(self) -> list[Step]:
        """The solution found."""
        depth = int(self.marks[self.counts[GOAL], 1])
        steps = np.zeros((depth + 52, 2), np.int64)
        n = trace(self.counts[GOAL], self.start, self.returns, self.layout, self.words, self.links, self.marks, steps)
        return [(int(card), int(destination)) for card, destination in steps[:n]]


def decide(position: Position, rules: Rules, limits: Limits, progress=None, expanded=0, generated=0) -> Outcome:
    """Solve the position or prove that it cannot be won; ``expanded`` and ``generated`` start from what an earlier
    search has done."""
    search = Search(position, rules, limits)
    budget = 500
    status, reason = RUNNING, None
    while status in (RUNNING, FULL) and reason is None:
        status = search.advance(budget)
        budget = min(2 * budget, 20_000)
        if status == FULL and not search.grow():
            reason = MEMORY
        elif status in (RUNNING, FULL):
            reason = limits.exceeded(search.counts[STORED])
            if progress is not None:
                progress(expanded=expanded + int(search.counts[EXPANDED]), stored=int(search.counts[STORED]))
    return Outcome(
        verdict={WON: SOLVABLE, EXHAUSTED: UNSOLVABLE}.get(status, UNDECIDED),
        reason=reason,
        steps=search.steps() if status == WON else None,
        expanded=expanded + int(search.counts[EXPANDED]),
        generated=generated + int(search.counts[GENERATED]),
        stored=int(search.counts[STORED]),
        bytes=search.bytes,
    )
