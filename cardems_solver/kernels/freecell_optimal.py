"""The fewest moves in FreeCell, proved: A* over exact positions with the bound of ``freecell_bounds``.

**Order.** The bound is consistent, so f = moves made + bound never falls along a path; positions are expanded layer
by layer of f: all with the lowest f, then all with the next. A layer is worked off by walking over one array of bytes,
so that no queue takes memory; those found in the layer that is being worked off are expanded at once, the newest first,
which finds a solution soon once the layer is that of the minimum. While a layer is worked off, its f is a proved lower
bound.

**Only what a layer needs is stored.** A successor whose f is above the layer's is not stored; the position waits
again, for the next layer, instead (partial expansion: Yoshizumi, Miura & Ishida 2000). So no position is ever stored
whose f is above the minimum, however bad the first solutions (``freecell_beam``) are.

The arrays of a search, all growing with it; 27 bytes a position and 4 a slot:

    words   uint64[n, 3]   the positions, see ``freecell_store``
    waiting uint8[n]       the layer in which a position waits to be expanded, else 0
    made    uint8[n]       moves made up to it
    asides  uint8[n]       what the bound counts as set aside
    slots   uint32[2^k]    index of the words
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from cardems_solver.kernels import freecell
from cardems_solver.kernels.freecell_beam import LEVELS, beam, candidates
from cardems_solver.kernels.freecell_board import AWAY, FULL, empty_board, home_count, spread
from cardems_solver.kernels.freecell_bounds import clauses as new_clauses
from cardems_solver.kernels.freecell_bounds import fewest_aside, within
from cardems_solver.kernels.freecell_moves import (
    CARD,
    CELLS,
    COUNT,
    FOUNDATIONS,
    MAX_ROWS,
    SOURCE,
    TARGET,
    list_rows,
    make,
    new_code,
    settle,
    unmake,
)
from cardems_solver.kernels.freecell_state import COLUMNS, destination, moved, start
from cardems_solver.kernels.freecell_store import find, path, put, rehash, words_of
from cardems_solver.kernels.jit import entry, jit
from cardems_solver.kernels.table import grown
from cardems_solver.limits import MEMORY, STATES, Limits
from cardems_solver.outcome import SOLVABLE, TO_FOUNDATION, UNDECIDED, UNSOLVABLE, Outcome, Step
from cardems_solver.position import Position
from cardems_solver.rules import Rules

STORED, LAYER, AT, AGAIN, BEST, GOAL, EXPANDED, GENERATED, STACKED = range(9)
PAUSED, CROWDED, PROVED, SHORTER, TOO_LONG = range(5)
FIRST = 100_000
"""So many positions the search for any solution may store, before the search for the shortest begins."""
WIDTHS = 30, 300, 3000
"""Of the beam searches before the search for the shortest."""
WIDER = (100_000, 10_000), (500_000, 40_000)
"""Once that many positions are stored, a beam search of that width: every position above the minimum that is not stored
saves more."""
NONE = 255
"""As a length: no solution known. Longer ones cannot be told (lengths are bytes)."""


@jit
def _aside_after(board, heights0, nexts0, aside0, row, heights, nexts, most, gains, clauses):
    """What the bound counts as set aside after a move, or anything above ``most`` if it is above.

    A move changes it by one at most. Sending a card home or returning one changes nothing: the relaxed game begins with
    sending home what can go. Taking a card from the column's end for good (to a cell, an empty column) makes
    it less by one or nothing; where it then lies can only make it more. heights0, nexts0, aside0: before the move;
    heights, nexts: after it, no safe cards sent home yet; gains: int64[8], modified in place: what is known of taking
    the last card off each column, -1 nothing, else whether it is one less.
    """
    source, target = row[SOURCE], row[TARGET]
    if target == FOUNDATIONS or source == FOUNDATIONS:
        return aside0
    if source < CELLS and aside0 > 0:
        less = True
        if row[COUNT] == 1:
            if gains[source] < 0:
                card = row[CARD]
                column, depth = board.column[card], board.depth[card]
                board.column[card], board.depth[card] = COLUMNS, AWAY
                gains[source] = 0
                if within(board, heights0 - (1 << (7 * source)), nexts0, aside0 - 1, clauses):
                    gains[source] = 1
                board.column[card], board.depth[card] = column, depth
            less = gains[source] == 1
            if less and target == CELLS:
                return aside0 - 1
        if less and within(board, heights, nexts, aside0 - 1, clauses):
            return aside0 - 1
    if target == CELLS or most < aside0 or within(board, heights, nexts, aside0, clauses):
        return aside0
    return aside0 + 1


@entry
def _search(
    words, waiting, made, asides, slots, counts, board, rows, gains, sent, clauses, dive, under, game, budget, stop
):
    """Expand up to ``budget`` positions.

    game: int64[4]: number of cells; may foundation cards return? do runs move as one? are safe cards sent home at once?
    dive: uint32[m], the stack of the newest. counts: int64[9]. Returns one of the constants above.
    """
    cells, returns, runs, safe = game[0], game[1], game[2], game[3]
    stored, layer, at, stacked = counts[STORED], counts[LAYER], counts[AT], counts[STACKED]
    status = PAUSED
    while budget > 0 and status == PAUSED and stop[0] == 0:
        if stored + MAX_ROWS > words.shape[0] or (stored + MAX_ROWS) * 4 > slots.size * 3:
            status = CROWDED
            break
        n = -1
        while stacked and n < 0:
            stacked -= 1
            if waiting[dive[stacked]] == layer:
                n = np.int64(dive[stacked])
        if n < 0:
            while at < stored and waiting[at] != layer:
                at += 1
            if at < stored:
                n = at
        if n < 0:
            at = 0
            if counts[AGAIN]:
                counts[AGAIN] = 0
                continue
            layer = counts[BEST]
            for i in range(stored):
                if waiting[i] and waiting[i] < layer:
                    layer = np.int64(waiting[i])
            if layer == counts[BEST]:
                status = PROVED
            continue
        budget -= 1
        counts[EXPANDED] += 1
        made0 = np.int64(made[n])
        waiting[n] = 0
        a0, b0, c0 = words_of(words, n)
        heights0, nexts0 = spread(board, a0, b0, c0, under, runs)
        aside0 = np.int64(asides[n])
        later = False
        for k in range(8):
            gains[k] = -1
        for i in range(list_rows(board, heights0, nexts0, cells, returns, runs, rows)):
            row = rows[i]
            a, b, c = moved(a0, b0, c0, row[CARD], new_code(board, heights0, row[CARD], row[TARGET]))
            heights, nexts = make(board, heights0, nexts0, runs, row)
            made1 = made0 + 1 - home_count(nexts)
            heights1, nexts1 = heights, nexts
            if safe:
                heights, nexts, a, b, c = settle(board, heights, nexts, a, b, c, sent)
            made1 += home_count(nexts)
            counts[GENERATED] += 1
            known = -1
            aside = 0
            total = made1 + 52 - home_count(nexts)
            most = layer - total
            fits = most >= 0 and most >= aside0 - 1
            if fits:
                known = find(slots, words, a, b, c)
                fits = known < 0 or made1 < made[known]
            if fits:
                aside = _aside_after(board, heights0, nexts0, aside0, row, heights1, nexts1, most, gains, clauses)
                fits = aside <= most
                later |= not fits
            else:
                later |= most < 0 or most < aside0 - 1
            unmake(board, heights0, row)
            if not fits:
                continue
            if known < 0:
                slots[-1 - known] = stored + 1
                known = stored
                stored += 1
            elif known < at:
                counts[AGAIN] = 1
            put(words, known, a, b, c, n)
            made[known] = made1
            asides[known] = aside
            waiting[known] = layer
            if nexts == FULL:
                counts[BEST] = made1
                counts[GOAL] = known
                status = SHORTER
                if made1 == layer:
                    status = PROVED
            elif stacked < dive.size:
                dive[stacked] = known
                stacked += 1
        if later and layer + 1 < counts[BEST]:
            waiting[n] = layer + 1
            if layer + 1 == NONE:
                status = TOO_LONG
    counts[STORED], counts[LAYER], counts[AT], counts[STACKED] = stored, layer, at, stacked
    return status


@entry
def _bound(board, a, b, c, under, runs, clauses):
    """The bound of a position."""
    heights, nexts = spread(board, a, b, c, under, runs)
    return 52 - home_count(nexts) + fewest_aside(board, heights, nexts, clauses)


@entry
def _between(before, after, board, rows, sent, under, game, out):
    """Write the steps from one position to its successor: a move, then the safe cards that go home.

    before, after: uint64[3]; out: int64[53, 2], modified in place. Returns how many; 0 if it is no successor.
    """
    a0, b0, c0 = before[0], before[1], before[2]
    heights0, nexts0 = spread(board, a0, b0, c0, under, game[2])
    for i in range(list_rows(board, heights0, nexts0, game[0], game[1], game[2], rows)):
        row = rows[i]
        code = new_code(board, heights0, row[CARD], row[TARGET])
        a, b, c = moved(a0, b0, c0, row[CARD], code)
        heights, nexts = make(board, heights0, nexts0, game[2], row)
        home = home_count(nexts)
        if game[3]:
            heights, nexts, a, b, c = settle(board, heights, nexts, a, b, c, sent)
        unmake(board, heights0, row)
        if a == after[0] and b == after[1] and c == after[2]:
            out[0, 0], out[0, 1] = row[CARD], destination(row[CARD], code)
            n = 1
            for j in range(home_count(nexts) - home):
                out[n, 0], out[n, 1] = sent[j], TO_FOUNDATION
                n += 1
            return n
    return 0


def below(position: Position) -> np.ndarray:
    """int64[52]: the card on which each card lies, -1 where none."""
    under = np.full(52, -1, np.int64)
    for column in position.columns:
        for lower, upper in pairwise(column):
            under[upper] = lower
    return under


class Search:
    """The arrays of one search, grown as it goes on."""

    def __init__(self, position: Position, rules: Rules, metric: str, limits: Limits, safe: bool = True) -> None:
        self.origin, self.limits = position, limits
        runs = int(metric == "moves")
        self.game = np.array([rules.cells, rules.foundation_return, runs, safe], np.int64)
        self.under = below(position)
        self.board = empty_board()
        self.clauses = new_clauses()
        self.rows = np.zeros((MAX_ROWS, 4), np.int64)
        self.gains = np.zeros(8, np.int64)
        self.sent = np.zeros(52, np.int64)
        self.dive = np.zeros(1 << 12, np.uint32)
        self.words = np.zeros((2048, 3), np.uint64)
        self.waiting = np.zeros(2048, np.uint8)
        self.made = np.zeros(2048, np.uint8)
        self.asides = np.zeros(2048, np.uint8)
        self.slots = np.zeros(4096, np.uint32)
        self.counts = np.zeros(9, np.int64)
        _, self.start = start(position)
        bound = _bound(self.board, *self.start, self.under, runs, self.clauses)
        self.words[0] = self.start
        self.waiting[0] = bound
        self.asides[0] = bound - 52 + sum(position.foundations)
        self.counts[STORED] = 1
        self.counts[LAYER] = bound
        self.counts[BEST] = NONE
        self.counts[GOAL] = -1
        rehash(self.slots, self.words, 1)

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in (self.words, self.waiting, self.made, self.asides, self.slots))

    def advance(self, budget: int) -> int:
        arrays = self.words, self.waiting, self.made, self.asides, self.slots, self.counts
        room = self.board, self.rows, self.gains, self.sent, self.clauses, self.dive
        return _search(*arrays, *room, self.under, self.game, budget, self.limits.stop)

    def affords(self, width: int) -> bool:
        """Is there time and memory for a beam search? (A quarter of a millisecond and 13 kB for each unit of width.)"""
        limits = self.limits
        left = 1e9 if limits.seconds is None else limits.seconds - limits.elapsed()
        return limits.exceeded() is None and left > width / 4000 and limits.allows(self.bytes + 13_000 * width)

    def beam(self, width: int) -> list[Step] | None:
        """A solution shorter than the best known one, if a beam search of that width finds one."""
        rows = LEVELS * width + 2
        words, made = np.zeros((rows, 3), np.uint64), np.zeros(rows, np.uint8)
        words[0] = self.start
        hashes = np.zeros(1 << (32 * width).bit_length(), np.uint64)
        room = self.board, self.rows, self.sent, self.under, self.game, self.limits.stop
        _, goal = beam(width, int(self.counts[BEST]), words, made, hashes, candidates(width), *room)
        return None if goal < 0 else self.steps(words, goal)

    def steps(self, words: np.ndarray, goal: int) -> list[Step]:
        """The steps to a position found."""
        steps: list[Step] = []
        out = np.zeros((53, 2), np.int64)
        for before, after in pairwise(path(words, goal)):
            n = _between(before, after, self.board, self.rows, self.sent, self.under, self.game, out)
            steps += [(int(card), int(target)) for card, target in out[:n]]
        return steps

    def grow(self) -> bool:
        """Make room for more positions; False where the limits do not allow it."""
        stored = int(self.counts[STORED])
        rows, slots = len(self.words), len(self.slots)
        if stored + MAX_ROWS > rows:
            rows += max(rows // 8, 8192)
        if (stored + MAX_ROWS) * 4 > slots * 3:
            slots *= 2
        if rows >= 2**32 or not self.limits.allows(rows * 27 + slots * 4):
            return False
        self.words = grown(self.words, rows)
        self.waiting, self.made = grown(self.waiting, rows), grown(self.made, rows)
        self.asides = grown(self.asides, rows)
        if slots != len(self.slots):
            self.slots = grown(self.slots, slots)
            self.slots[:] = 0
            rehash(self.slots, self.words, stored)
        return True


def minimum(position: Position, rules: Rules, metric: str, limits: Limits, progress=None, safe: bool = True) -> Outcome:
    """The shortest solution in a metric (``moves`` or ``cards``), or proved bounds when a limit ends the search.

    ``safe`` False leaves out the rule of ``freecell_moves.is_safe``.
    """
    search = Search(position, rules, metric, limits, safe)
    counts = search.counts
    steps: list[Step] | None = None

    def report(**news) -> None:
        if progress is not None:
            progress(expanded=int(counts[EXPANDED]), stored=int(counts[STORED]), lower_bound=int(counts[LAYER]), **news)

    def improved(better: list[Step]) -> None:
        nonlocal steps
        steps = better
        counts[BEST] = len(steps)
        report(steps=steps, length=len(steps))

    def widen(width: int) -> None:
        if counts[BEST] > counts[LAYER] and search.affords(width):
            better = search.beam(width)
            if better is not None:
                improved(better)

    if position.won:
        improved([])
    first = freecell.decide(position, rules, replace(limits, states=min(limits.states or FIRST, FIRST)))
    if first.verdict == UNSOLVABLE:
        return first
    # (Its solutions move runs, which ``cards`` does not allow.)
    if first.verdict == SOLVABLE and metric == "moves" and len(first.steps) < NONE:
        improved(first.steps)
    for width in WIDTHS:
        widen(width)

    wider = list(WIDER)
    status, reason = (PROVED if counts[BEST] <= counts[LAYER] else PAUSED), None
    budget = 200
    while status not in (PROVED, TOO_LONG) and reason is None:
        best = counts[BEST]
        status = search.advance(budget)
        budget = min(2 * budget, 5_000)
        if counts[BEST] != best:
            improved(search.steps(search.words, int(counts[GOAL])))
        if status == CROWDED and not search.grow():
            reason = MEMORY
        elif status not in (PROVED, TOO_LONG):
            reason = limits.exceeded(int(counts[STORED]))
            report()
            if reason is None and wider and counts[STORED] > wider[0][0]:
                widen(wider.pop(0)[1])
                if counts[BEST] <= counts[LAYER]:
                    status = PROVED
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
        bytes=search.bytes,
    )
