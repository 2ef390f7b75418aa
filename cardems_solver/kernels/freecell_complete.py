"""Best-first search over FreeCell positions, every one of them: finds a solution or proves that there is none.

Every move is followed by all safe moves home (``freecell_state.settle``). Positions wait in a bucket queue by a score
that guides the search and proves nothing; when the queue runs dry, every position that can be reached has been
expanded, and the deal cannot be won. (Moves of runs lead nowhere that moves of single cards do not, but sooner.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardems_solver.kernels.bits import U0, U1, lowest, popcount
from cardems_solver.kernels.freecell_guide import (
    COMPLETE_GUIDE,
    Weight,
    appraise,
    guidance,
    score,
    space_score,
)
from cardems_solver.kernels.freecell_state import (
    COLUMNS,
    HOME,
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

SCORES = 4096
STORED, EXPANDED, GENERATED, LOWEST, GOAL = range(5)
RUNNING, FULL, WON, EXHAUSTED = range(4)
_HOME_ALL = np.uint64((1 << 52) - 1)


class Pool(NamedTuple):
    """The positions of a search; all arrays but the last two grow with it.

    Attributes:
        words: uint64[n, 3], the positions in order of discovery.
        links: uint32[n, 2], the position before each; the next one in its bucket, plus one.
        marks: uint16[n, 2], the move that led to it; how many moves deep it is.
        slots: uint32[2^k], index of the words (see ``table``).
        heads: uint32[SCORES], the first position of each bucket, plus one.
        counts: int64[5], see the constants.
    """

    words: np.ndarray
    links: np.ndarray
    marks: np.ndarray
    slots: np.ndarray
    heads: np.ndarray
    counts: np.ndarray


@jit
def _add(pool, g, a, b, c, before, move, depth, cells):
    """Store a position and queue it, unless it is known."""
    words, links, marks, slots, heads, counts = pool
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
    guess, _ = score(a, b, c, g)
    guess += g.weights[Weight.DEPTH] * depth
    guess += space_score(cells - popcount(c & ~a), COLUMNS - popcount(a & b), g.weights)
    guess = min(max(guess, 0), SCORES - 1)
    links[n, 1] = heads[guess]
    heads[guess] = n + 1
    counts[LOWEST] = min(counts[LOWEST], guess)
    if (c & a) == _HOME_ALL:
        counts[GOAL] = n


@entry
def begin(pool, g, weights, columns, heights, in_cells, home, cells, returns, start):
    """Put the start into an empty pool, and into ``start``, uint64[3], as it is before any safe move home
    (``freecell_state.arrays`` gives columns to home)."""
    a, b, c = set_up(columns, heights, in_cells, home, g.layout)
    start[0], start[1], start[2] = a, b, c
    a, b, c = settle(a, b, c, g.layout, returns)
    appraise(g, weights, columns, heights)
    pool.counts[LOWEST] = SCORES
    pool.counts[GOAL] = -1
    _add(pool, g, a, b, c, 0, 0, 0, cells)


@entry
def advance(pool, g, budget, cells, returns):
    """Expand up to ``budget`` positions. Returns RUNNING, FULL (the arrays must grow), WON or EXHAUSTED."""
    words, links, marks, slots, heads, counts = pool
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
        n = list_moves(a, b, c, g.layout, cells, returns, 1, moves)
        counts[EXPANDED] += 1
        counts[GENERATED] += n
        for i in range(n):
            move = np.int64(moves[i])
            x, y, z = moved(a, b, c, move >> 3, move & 7)
            x, y, z = settle(x, y, z, g.layout, returns)
            _add(pool, g, x, y, z, node, move, depth, cells)
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
def trace(pool, layout, start, returns, steps):
    """Write the steps from ``start`` to the goal to ``steps``, int64[m, 2]; returns how many."""
    words, links, marks = pool.words, pool.links, pool.marks
    goal = pool.counts[GOAL]
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
    """One search, whose pool is made larger as it goes on."""

    def __init__(self, position: Position, rules: Rules, limits: Limits) -> None:
        self.cells, self.returns, self.limits = rules.cells, int(rules.foundation_return), limits
        self.guidance = guidance()
        self.pool = Pool(
            words=np.zeros((4096, 3), np.uint64),
            links=np.zeros((4096, 2), np.uint32),
            marks=np.zeros((4096, 2), np.uint16),
            slots=np.zeros(8192, np.uint32),
            heads=np.zeros(SCORES, np.uint32),
            counts=np.zeros(5, np.int64),
        )
        self.start = np.zeros(3, np.uint64)
        begin(self.pool, self.guidance, COMPLETE_GUIDE, *arrays(position), self.cells, self.returns, self.start)

    def count(self, which: int) -> int:
        return int(self.pool.counts[which])

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.pool)

    def advance(self, budget: int) -> int:
        return advance(self.pool, self.guidance, budget, self.cells, self.returns)

    def grow(self) -> bool:
        """Make room for twice as many positions; False where the limits do not allow it."""
        words, links, marks, slots, heads, counts = self.pool
        self.pool = None
        rows = 2 * len(words)
        allowed = rows < 2**32 and self.limits.allows(2 * (words.nbytes + links.nbytes + marks.nbytes + slots.nbytes))
        if allowed:
            words, links, marks, slots = (grown(array, 2 * len(array)) for array in (words, links, marks, slots))
            slots[:] = 0
            rehash(slots, words, counts[STORED])
        self.pool = Pool(words, links, marks, slots, heads, counts)
        return allowed

    def steps(self) -> list[Step]:
        """The solution found."""
        depth = int(self.pool.marks[self.count(GOAL), 1])
        steps = np.zeros((depth + 52, 2), np.int64)
        n = trace(self.pool, self.guidance.layout, self.start, self.returns, steps)
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
            reason = limits.exceeded(search.count(STORED))
            if progress is not None:
                progress(expanded=expanded + search.count(EXPANDED), stored=search.count(STORED))
    return Outcome(
        verdict={WON: SOLVABLE, EXHAUSTED: UNSOLVABLE}.get(status, UNDECIDED),
        reason=reason,
        steps=search.steps() if status == WON else None,
        expanded=expanded + search.count(EXPANDED),
        generated=generated + search.count(GENERATED),
        stored=search.count(STORED),
        bytes=search.bytes,
    )
