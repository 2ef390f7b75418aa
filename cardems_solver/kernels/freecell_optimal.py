"""The fewest moves in FreeCell, proved: short solutions soon (``freecell_beam``), then A* (``freecell_astar``)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from cardems_solver.kernels import freecell
from cardems_solver.kernels.freecell_astar import (
    BEST,
    CROWDED,
    DEEP,
    DEEPEST,
    EXPANDED,
    GENERATED,
    GOAL,
    LAYER,
    NONE,
    PAUSED,
    PROVED,
    ROOM,
    STORED,
    TOO_LONG,
    Pool,
    search,
)
from cardems_solver.kernels.freecell_beam import LEVELS, beam, candidates
from cardems_solver.kernels.freecell_blocks import (
    AT,
    END,
    HEIGHTS,
    IDLE,
    MADE,
    WALK,
    advance,
    begin,
    go_on,
    undo,
)
from cardems_solver.kernels.freecell_board import BOARD, home_count, spread
from cardems_solver.kernels.freecell_bounds import fewest_aside
from cardems_solver.kernels.freecell_clauses import CLAUSES
from cardems_solver.kernels.freecell_moves import CARD, TARGET, new_code
from cardems_solver.kernels.freecell_state import destination, start
from cardems_solver.kernels.freecell_store import path, rehash, words_of
from cardems_solver.kernels.jit import entry, record
from cardems_solver.kernels.table import grown
from cardems_solver.limits import MEMORY, STATES, Limits
from cardems_solver.outcome import SOLVABLE, TO_FOUNDATION, UNDECIDED, UNSOLVABLE, Outcome, Step
from cardems_solver.position import Position
from cardems_solver.rules import Rules

FIRST = 100_000
"""So many positions the search for any solution may store, before the search for the shortest begins."""
WIDTHS = 30, 300
"""Of the beam searches before the search for the shortest."""
WIDE, FEW = 3000, 30_000
"""Of the one after so many positions, should they not be enough: it takes as long as some 100,000."""


@entry
def _bound(board, a, b, c, under, runs, clauses):
    """The bound of a position."""
    heights, nexts = spread(board, a, b, c, under, runs)
    return 52 - home_count(nexts) + fewest_aside(board, heights, nexts, clauses)


@entry
def _between(words, made, first, last, board, walk, under, game, out):
    """Write the steps from one stored position to the next: idle moves, another, then the safe cards that go home.

    first, last: their numbers; out: int64[69, 2], modified in place. Returns how many; 0 if there is no such way.
    """
    a, b, c = words_of(words, first)
    a1, b1, c1 = words_of(words, last)
    most = np.int64(made[last]) - np.int64(made[first])
    heights, nexts = spread(board, a, b, c, under, game[2])
    begin(walk, board, heights, nexts, a, b, c, game, 1)
    walk.frames[0, MADE] = 0
    while True:
        kind = advance(walk, board, game)
        if kind == END:
            return 0
        level = walk.level
        reached = walk.words[level + 1]
        if kind == IDLE and level + 2 <= most:
            go_on(walk, board, game, 1)
        elif walk.frames[level + 1, MADE] <= most and reached[0] == a1 and reached[1] == b1 and reached[2] == c1:
            n = level + 1
            for i in range(n):
                row = walk.rows[i, walk.frames[i, AT] - 1]
                out[i, 0] = row[CARD]
                out[i, 1] = destination(row[CARD], new_code(board, walk.frames[i, HEIGHTS], row[CARD], row[TARGET]))
            for i in range(walk.frames[n, MADE] - n):
                out[n, 0], out[n, 1] = walk.sent[i], TO_FOUNDATION
                n += 1
            return n
        else:
            undo(walk, board)


def below(position: Position) -> np.ndarray:
    """int64[52]: the card on which each card lies, -1 where none."""
    under = np.full(52, -1, np.int64)
    for column in position.columns:
        for lower, upper in pairwise(column):
            under[upper] = lower
    return under


class Search:
    """The arrays of one search, grown as it goes on."""

    def __init__(
        self, position: Position, rules: Rules, metric: str, limits: Limits, safe: bool = True, blocks: bool = True
    ) -> None:
        self.origin, self.limits = position, limits
        runs = int(metric == "moves")
        self.game = np.array([rules.cells, rules.foundation_return, runs, safe, blocks], np.int64)
        self.under = below(position)
        self.board = record(BOARD)
        self.clauses = record(CLAUSES)
        self.walk = record(WALK)
        self.dive = np.zeros(1 << 12, np.uint32)
        self.pool = Pool(
            np.zeros((2048, 3), np.uint64), *(np.zeros(2048, np.uint8) for _ in range(3)), np.zeros(4096, np.uint32)
        )
        self.counts = np.zeros(10, np.int64)
        _, self.start = start(position)
        bound = _bound(self.board, *self.start, self.under, runs, self.clauses)
        self.pool.words[0] = self.start
        self.pool.waiting[0] = bound
        self.pool.asides[0] = bound - 52 + sum(position.foundations)
        self.counts[STORED] = 1
        self.counts[LAYER] = bound
        self.counts[DEEP] = DEEPEST
        self.counts[BEST] = NONE
        self.counts[GOAL] = -1
        rehash(self.pool.slots, self.pool.words, 1)

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.pool)

    def advance(self, budget: int) -> int:
        room = self.board, self.walk, self.clauses, self.dive
        return search(self.pool, self.counts, *room, self.under, self.game, budget, self.limits.stop)

    def affords(self, width: int) -> bool:
        """Is there time and memory for a beam search? (An eighth of a millisecond and 13 kB for each unit of width.)"""
        limits = self.limits
        left = 1e9 if limits.seconds is None else limits.seconds - limits.elapsed()
        return limits.exceeded() is None and left > width / 8000 and limits.allows(self.bytes + 13_000 * width)

    def beam(self, width: int) -> list[Step] | None:
        """A solution shorter than the best known one, if a beam search of that width finds one."""
        rows = LEVELS * width + 2
        words, made = np.zeros((rows, 3), np.uint64), np.zeros(rows, np.uint8)
        words[0] = self.start
        hashes = np.zeros(1 << (32 * width).bit_length(), np.uint64)
        room = self.board, self.walk["rows"][0], self.walk["sent"], self.under, self.game, self.limits.stop
        _, goal = beam(width, int(self.counts[BEST]), words, made, hashes, candidates(width), *room)
        return None if goal < 0 else self.steps(words, made, goal)

    def steps(self, words: np.ndarray, made: np.ndarray, goal: int) -> list[Step]:
        """The steps to a position found."""
        steps: list[Step] = []
        out = np.zeros((69, 2), np.int64)
        for first, last in pairwise(path(words, goal)):
            n = _between(words, made, first, last, self.board, self.walk, self.under, self.game, out)
            steps += [(int(card), int(target)) for card, target in out[:n]]
        return steps

    def grow(self) -> bool:
        """Make room for more positions; False where the limits do not allow it."""
        stored, pool = int(self.counts[STORED]), self.pool
        rows, slots = len(pool.words), len(pool.slots)
        before = slots
        if stored + ROOM > rows:
            rows += max(rows // 16, 8192)
        if (stored + ROOM) * 4 > slots * 3:
            slots *= 2
        if rows >= 2**32 or not self.limits.allows(rows * 27 + slots * 4):
            return False
        index = grown(pool.slots, slots)
        self.pool = Pool(*(grown(array, rows) for array in pool[:4]), index)
        if slots != before:
            index[:] = 0
            rehash(index, self.pool.words, stored)
        return True


def minimum(
    position: Position, rules: Rules, metric: str, limits: Limits, progress=None, safe: bool = True, blocks: bool = True
) -> Outcome:
    """The shortest solution in a metric (``moves`` or ``cards``), or proved bounds when a limit ends the search.

    ``safe`` False leaves out the rule of ``freecell_moves.is_safe``, ``blocks`` False that of ``freecell_blocks``.
    """
    astar = Search(position, rules, metric, limits, safe, blocks)
    counts = astar.counts
    steps: list[Step] | None = None

    def report(**news) -> None:
        if progress is not None:
            progress(expanded=int(counts[EXPANDED]), stored=int(counts[STORED]), lower_bound=int(counts[LAYER]), **news)

    def improved(better: list[Step]) -> None:
        nonlocal steps
        steps = better
        counts[BEST] = len(steps)
        report(steps=steps, length=len(steps))

    if position.won:
        improved([])
    first = freecell.decide(position, rules, replace(limits, states=min(limits.states or FIRST, FIRST)))
    if first.verdict == UNSOLVABLE:
        return first
    # (Its solutions move runs, which ``cards`` does not allow.)
    if first.verdict == SOLVABLE and metric == "moves" and len(first.steps) < NONE:
        improved(first.steps)

    def beam(width: int) -> None:
        better = astar.beam(width) if counts[BEST] > counts[LAYER] and astar.affords(width) else None
        if better is not None:
            improved(better)

    for width in WIDTHS:
        beam(width)
    status, reason, budget, wide_to_come = PAUSED, None, 200, True
    while True:
        if wide_to_come and (counts[STORED] > FEW or reason is not None):
            beam(WIDE)
            wide_to_come = False
        if counts[BEST] <= counts[LAYER]:
            status = PROVED
        if status in (PROVED, TOO_LONG) or reason is not None:
            break
        best = counts[BEST]
        status = astar.advance(budget)
        budget = min(2 * budget, 5_000)
        if counts[BEST] != best:
            improved(astar.steps(astar.pool.words, astar.pool.made, int(counts[GOAL])))
        if status == CROWDED and not astar.grow():
            reason = MEMORY
        elif status not in (PROVED, TOO_LONG):
            reason = limits.exceeded(int(counts[STORED]))
            report()
    solved, proved = steps is not None, status == PROVED
    return Outcome(
        verdict=SOLVABLE if solved else UNSOLVABLE if proved else UNDECIDED,
        reason=STATES if status == TOO_LONG else reason,
        steps=steps,
        expanded=int(counts[EXPANDED]),
        generated=int(counts[GENERATED]),
        lower_bound=int(counts[LAYER]) if solved or not proved else None,
        optimal=solved and proved,
        stored=int(counts[STORED]),
        bytes=astar.bytes,
    )
