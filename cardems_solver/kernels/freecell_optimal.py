"""The fewest moves in FreeCell, proved: A* over exact positions with the bound of ``freecell_bounds``.

**Order.** Positions are expanded layer by layer of f = moves made + bound: all with the lowest f, then all with the
next. A layer is worked off by walking over arrays of bytes, so that no queue takes memory: in passes, the positions
with most moves made first, and those found in the layer that is being worked off at once, the newest first. So once the
layer is that of the minimum a solution is found after a small part of it. While a layer is worked off, its f is a
proved lower bound.

**Only what a layer needs is stored.** A successor whose f is above the layer's is not stored; the position waits
again, for the next layer, instead (partial expansion: Yoshizumi, Miura & Ishida 2000). So no position is ever stored
whose f is above the minimum, however bad the first solutions (``freecell_beam``) are. Positions within blocks
(``freecell_blocks``) are not stored either.

**The bound** is looked up among known clauses for every successor, and made exact only for positions that are expanded.
So it may be too low for some, and f may fall along a path; a position reached with fewer moves than before is
expanded again. A layer is done when all positions that can be reached through its own and lower ones are expanded, and
any shorter solution would lead through such positions alone.

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
from cardems_solver.kernels.bits import U0, bit
from cardems_solver.kernels.freecell_beam import LEVELS, beam, candidates
from cardems_solver.kernels.freecell_blocks import (
    ASIDE,
    AT,
    BLOCK,
    END,
    FRAMES,
    HEIGHTS,
    IDLE,
    MADE,
    NEXTS,
    ROWS,
    advance,
    begin,
    enter,
    undo,
)
from cardems_solver.kernels.freecell_blocks import walk as new_walk
from cardems_solver.kernels.freecell_board import FULL, empty_board, height_of, home_count, spread
from cardems_solver.kernels.freecell_bounds import clauses as new_clauses
from cardems_solver.kernels.freecell_bounds import fewest_aside, hold, hold_without, refuted, within
from cardems_solver.kernels.freecell_moves import CARD, CELLS, COUNT, FOUNDATIONS, MAX_ROWS, SOURCE, TARGET, new_code
from cardems_solver.kernels.freecell_state import destination, start
from cardems_solver.kernels.freecell_store import find, path, put, rehash, words_of
from cardems_solver.kernels.jit import entry, jit
from cardems_solver.kernels.table import grown
from cardems_solver.limits import MEMORY, STATES, Limits
from cardems_solver.outcome import SOLVABLE, TO_FOUNDATION, UNDECIDED, UNSOLVABLE, Outcome, Step
from cardems_solver.position import Position
from cardems_solver.rules import Rules

STORED, LAYER, NEXT, AGAIN, DEEP, BEST, GOAL, EXPANDED, GENERATED, STACKED = range(10)
PAUSED, CROWDED, PROVED, SHORTER, TOO_LONG = range(5)
FIRST = 100_000
"""So many positions the search for any solution may store, before the search for the shortest begins."""
WIDTHS = 30, 300, 3000
"""Of the beam searches before the search for the shortest."""
EXACT, ASIDE_BITS = 0x80, 0x7F
"""Of what a position's bound counts as set aside: it is no less than it should be; the number."""
DEEPEST, STEP = 64, 8
"""Of the passes over a layer: the first is over positions with at least so many moves made, the next so many fewer."""
NONE = 255
"""As a length: no solution known. Longer ones cannot be told (lengths are bytes)."""


@jit
def _moving(board, walk):
    """The cards that the walk's last move took from their column or cell."""
    level = walk.level[0]
    row = walk.rows[level, walk.frames[level, AT] - 1]
    if row[SOURCE] >= CELLS:
        return bit(row[CARD])
    height = height_of(walk.frames[level, HEIGHTS], row[SOURCE])
    cards = U0
    for i in range(height - row[COUNT], height):
        cards |= bit(board.cards[row[SOURCE], i])
    return cards


@jit
def _gains(board, walk, clauses):
    """May the walk's last move make the bound's count of what is set aside one less, wherever the cards go?

    Only taking cards off a column's end does. The walk's ``gains`` hold for each frame what is known of taking the last
    card off each column: -1 nothing, else whether it may.
    """
    level = walk.level[0]
    before, gains = walk.frames[level], walk.gains[level]
    row = walk.rows[level, before[AT] - 1]
    source = row[SOURCE]
    if source >= CELLS or row[TARGET] == FOUNDATIONS or before[ASIDE] == 0:
        return False
    if row[COUNT] > 1:
        return not refuted(board, clauses, level, _moving(board, walk), False, before[ASIDE] - 1)
    if gains[source] < 0:
        gains[source] = not refuted(board, clauses, level, bit(row[CARD]), False, before[ASIDE] - 1)
    return gains[source] == 1


@jit
def _aside_after(board, walk, most, clauses):
    """What the bound counts as set aside after the walk's last move, or anything above ``most`` if it is above.

    A move changes it by one at most. Sending a card home or returning one changes nothing: the relaxed game begins with
    sending home what can go. Taking a card from the column's end for good (to a cell, an empty column) makes
    it less by one or nothing; where it then lies can only make it more.
    """
    level = walk.level[0]
    row = walk.rows[level, walk.frames[level, AT] - 1]
    aside = walk.frames[level, ASIDE]
    if row[TARGET] == FOUNDATIONS or row[SOURCE] == FOUNDATIONS:
        return aside
    gains = _gains(board, walk, clauses)
    if row[TARGET] == CELLS:
        return aside - gains
    cards = _moving(board, walk)
    if gains and not refuted(board, clauses, level, cards, True, aside - 1):
        return aside - 1
    if most < aside or not refuted(board, clauses, level, cards, True, aside):
        return aside
    return aside + 1


@entry
def _search(words, waiting, made, asides, slots, counts, board, walk, clauses, dive, under, game, budget, stop):
    """Expand up to ``budget`` positions.

    game: int64[5]: number of cells; may foundation cards return? do runs move as one? are safe cards sent home at once?
    are positions within blocks left out?
    dive: uint32[m], the stack of the newest. counts: int64[10]. Returns one of the constants above.
    """
    stored, layer, at, stacked = counts[STORED], counts[LAYER], counts[NEXT], counts[STACKED]
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
            while at < stored and (waiting[at] != layer or made[at] < counts[DEEP]):
                at += 1
            if at < stored:
                n = at
        if n < 0:
            at = 0
            if counts[AGAIN]:
                counts[AGAIN] = 0
                continue
            if counts[DEEP] > 0:
                counts[DEEP] -= STEP
                continue
            counts[DEEP] = DEEPEST
            layer = counts[BEST]
            for i in range(stored):
                if waiting[i] and waiting[i] < layer:
                    layer = np.int64(waiting[i])
            if layer == counts[BEST]:
                status = PROVED
            continue
        budget -= 1
        counts[EXPANDED] += 1
        waiting[n] = 0
        a, b, c = words_of(words, n)
        heights, nexts = spread(board, a, b, c, under, game[2])
        hold(board, clauses, nexts, 0)
        aside = np.int64(asides[n] & ASIDE_BITS)
        slack = layer - np.int64(made[n]) - 52 + home_count(nexts)
        if not asides[n] & EXACT:
            while aside <= slack and not within(board, heights, nexts, aside, clauses, 0):
                aside += 1
            asides[n] = aside | EXACT * (aside <= slack)
        later = aside >= slack
        begin(walk, board, heights, nexts, a, b, c, game, not later)
        walk.frames[0, MADE] = made[n]
        walk.frames[0, ASIDE] = aside
        if aside > slack:
            walk.frames[0, AT] = walk.frames[0, ROWS]
        while True:
            kind = advance(walk, board, game)
            if kind == END:
                break
            level = walk.level[0]
            child = walk.frames[level + 1]
            counts[GENERATED] += 1
            made1 = child[MADE]
            most = layer - made1 - 52 + home_count(child[NEXTS])
            aside0 = walk.frames[level, ASIDE]
            if most < 0 or most < aside0 - 1:
                later = True
                undo(walk, board)
                continue
            if most < aside0 and not _gains(board, walk, clauses):
                later = True
                undo(walk, board)
                continue
            known = -1
            if kind == BLOCK:
                a, b, c = walk.words[level + 1, 0], walk.words[level + 1, 1], walk.words[level + 1, 2]
                known = find(slots, words, a, b, c)
                if known >= 0 and made1 >= made[known]:
                    undo(walk, board)
                    continue
            child[ASIDE] = _aside_after(board, walk, most, clauses)
            if child[ASIDE] > most:
                later = True
                undo(walk, board)
                continue
            if kind == IDLE:
                hold_without(clauses, level, walk.rows[level, walk.frames[level, AT] - 1, CARD])
                enter(walk, board, game, child[ASIDE] < most)
                later |= child[ASIDE] == most
                continue
            undo(walk, board)
            if known < 0:
                if stored == words.shape[0]:
                    # once more from the beginning, when there is room
                    waiting[n] = layer
                    counts[AGAIN] = 1
                    status = CROWDED
                    break
                slots[-1 - known] = stored + 1
                known = stored
                stored += 1
            elif known < at:
                counts[AGAIN] = 1
            put(words, known, a, b, c, n)
            made[known] = made1
            asides[known] = child[ASIDE]
            waiting[known] = layer
            if child[NEXTS] == FULL:
                counts[BEST] = made1
                counts[GOAL] = known
                status = SHORTER
                if made1 == layer:
                    status = PROVED
            elif stacked < dive.size:
                dive[stacked] = known
                stacked += 1
        if later and layer + 1 < counts[BEST] and status != CROWDED:
            waiting[n] = layer + 1
            if layer + 1 == NONE:
                status = TOO_LONG
    counts[STORED], counts[LAYER], counts[NEXT], counts[STACKED] = stored, layer, at, stacked
    return status


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
        level = walk.level[0]
        reached = walk.words[level + 1]
        if kind == IDLE and level + 2 <= most:
            enter(walk, board, game, 1)
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
        self.board = empty_board()
        self.clauses = new_clauses(FRAMES)
        self.walk = new_walk()
        self.dive = np.zeros(1 << 12, np.uint32)
        self.words = np.zeros((2048, 3), np.uint64)
        self.waiting = np.zeros(2048, np.uint8)
        self.made = np.zeros(2048, np.uint8)
        self.asides = np.zeros(2048, np.uint8)
        self.slots = np.zeros(4096, np.uint32)
        self.counts = np.zeros(10, np.int64)
        _, self.start = start(position)
        bound = _bound(self.board, *self.start, self.under, runs, self.clauses)
        self.words[0] = self.start
        self.waiting[0] = bound
        self.asides[0] = bound - 52 + sum(position.foundations)
        self.counts[STORED] = 1
        self.counts[LAYER] = bound
        self.counts[DEEP] = DEEPEST
        self.counts[BEST] = NONE
        self.counts[GOAL] = -1
        rehash(self.slots, self.words, 1)

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in (self.words, self.waiting, self.made, self.asides, self.slots))

    def advance(self, budget: int) -> int:
        arrays = self.words, self.waiting, self.made, self.asides, self.slots, self.counts
        room = self.board, self.walk, self.clauses, self.dive
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
        room = self.board, self.walk.rows[0], self.walk.sent, self.under, self.game, self.limits.stop
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
        stored = int(self.counts[STORED])
        rows, slots = len(self.words), len(self.slots)
        if stored + MAX_ROWS > rows:
            rows += max(rows // 16, 8192)
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


def minimum(
    position: Position, rules: Rules, metric: str, limits: Limits, progress=None, safe: bool = True, blocks: bool = True
) -> Outcome:
    """The shortest solution in a metric (``moves`` or ``cards``), or proved bounds when a limit ends the search.

    ``safe`` False leaves out the rule of ``freecell_moves.is_safe``, ``blocks`` False that of ``freecell_blocks``.
    """
    search = Search(position, rules, metric, limits, safe, blocks)
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

    if position.won:
        improved([])
    first = freecell.decide(position, rules, replace(limits, states=min(limits.states or FIRST, FIRST)))
    if first.verdict == UNSOLVABLE:
        return first
    # (Its solutions move runs, which ``cards`` does not allow.)
    if first.verdict == SOLVABLE and metric == "moves" and len(first.steps) < NONE:
        improved(first.steps)
    for width in WIDTHS:
        if counts[BEST] > counts[LAYER] and search.affords(width):
            better = search.beam(width)
            if better is not None:
                improved(better)

    status, reason = (PROVED if counts[BEST] <= counts[LAYER] else PAUSED), None
    budget = 200
    while status not in (PROVED, TOO_LONG) and reason is None:
        best = counts[BEST]
        status = search.advance(budget)
        budget = min(2 * budget, 5_000)
        if counts[BEST] != best:
            improved(search.steps(search.words, search.made, int(counts[GOAL])))
        if status == CROWDED and not search.grow():
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
        bytes=search.bytes,
    )
