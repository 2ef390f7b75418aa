"""A* over exact FreeCell positions with the bound of ``freecell_bounds``.

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
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardems_solver.kernels.bits import U0, bit, mix3
from cardems_solver.kernels.freecell_blocks import (
    ASIDE,
    AT,
    BLOCK,
    END,
    HEIGHTS,
    IDLE,
    MADE,
    NEXTS,
    ROWS,
    advance,
    begin,
    go_on,
    undo,
)
from cardems_solver.kernels.freecell_board import FULL, height_of, home_count, spread
from cardems_solver.kernels.freecell_bounds import refuted, within
from cardems_solver.kernels.freecell_clauses import hold, hold_without
from cardems_solver.kernels.freecell_moves import CARD, CELLS, COUNT, FOUNDATIONS, SOURCE, TARGET, new_code
from cardems_solver.kernels.freecell_state import moved
from cardems_solver.kernels.freecell_store import find, look_up_soon, put, words_of
from cardems_solver.kernels.jit import entry, jit
from cardems_solver.kernels.table import insert

STORED, LAYER, NEXT, AGAIN, DEEP, BEST, GOAL, EXPANDED, GENERATED, STACKED = range(10)
"""Indices into the counters of ``search``: positions stored; the layer being worked off; where the pass over it has
come to; must that pass be made again? the moves made that it asks for; length of the best solution and its last
position; positions expanded, generated; how many the stack of the newest holds."""
PAUSED, CROWDED, PROVED, SHORTER, TOO_LONG = range(5)
"""What ``search`` returns: budget spent; no room; nothing left that could be better; a better solution; solutions of
NONE moves or more cannot be told."""
EXACT, ASIDE_BITS = 0x80, 0x7F
"""Of what a position's bound counts as set aside: it is no less than it should be; the number."""
DEEPEST, STEP = 64, 8
"""Of the passes over a layer: the first is over positions with at least so many moves made, the next so many fewer."""
NONE = 255
"""As a length: no solution known. Longer ones cannot be told (lengths are bytes)."""
ROOM = 512
"""A position is expanded when there is room for so many more. (Should it have more successors, it is done again.)"""


class Pool(NamedTuple):
    """The positions stored. All arrays grow with the search: 27 bytes a position and 4 a slot.

    Attributes:
        words: uint64[n, 3]: see ``freecell_store``.
        waiting: uint8[n]: the layer in which a position waits to be expanded, else 0.
        made: uint8[n]: moves made up to it.
        asides: uint8[n]: what the bound counts as set aside, and EXACT.
        slots: uint32[2^k]: index of the words.
    """

    words: np.ndarray
    waiting: np.ndarray
    made: np.ndarray
    asides: np.ndarray
    slots: np.ndarray


@jit
def _moving(board, walk, row):
    """The cards that a move from the walk's frame takes from their column or cell; the run that they were in."""
    level = walk.level
    if row[SOURCE] >= CELLS:
        return bit(row[CARD]), U0
    height = height_of(walk.frames[level, HEIGHTS], row[SOURCE])
    cards = U0
    for i in range(height - row[COUNT], height):
        cards |= bit(board.cards[row[SOURCE], i])
    return cards, bit(board.cards[row[SOURCE], board.start[row[SOURCE], height - 1]])


@jit
def _gains(board, walk, clauses, row):
    """May a move from the walk's frame make the bound's count of what is set aside one less, wherever the cards go?

    Only taking cards off a column's end does. The walk's ``gains`` hold for each frame what is known of taking the last
    card off each column: -1 nothing, else whether it may.
    """
    level = walk.level
    aside, gains = walk.frames[level, ASIDE], walk.gains[level]
    source = row[SOURCE]
    if source >= CELLS or row[TARGET] == FOUNDATIONS or aside == 0:
        return False
    if row[COUNT] == 1 and gains[source] >= 0:
        return gains[source] == 1
    cards, run = _moving(board, walk, row)
    may = not refuted(board, clauses, level, cards, run, False, aside - 1)
    if row[COUNT] == 1:
        gains[source] = may
    return may


@jit
def _keep_gaining(board, walk, clauses):
    """Leave out the frame's moves that raise the bound."""
    level = walk.level
    frame, rows = walk.frames[level], walk.rows[level]
    kept = 0
    for i in range(frame[ROWS]):
        row = rows[i]
        if row[TARGET] == FOUNDATIONS or _gains(board, walk, clauses, row):
            for j in range(4):
                rows[kept, j] = row[j]
            kept += 1
    frame[ROWS] = kept


@jit
def _aside_after(board, walk, most, clauses):
    """What the bound counts as set aside after the walk's last move, or anything above ``most`` if it is above.

    A move changes it by one at most. Sending a card home or returning one changes nothing: the relaxed game begins with
    sending home what can go. Taking a card from the column's end for good (to a cell, an empty column) makes
    it less by one or nothing; where it then lies can only make it more.
    """
    level = walk.level
    row = walk.rows[level, walk.frames[level, AT] - 1]
    aside = walk.frames[level, ASIDE]
    if row[TARGET] == FOUNDATIONS or row[SOURCE] == FOUNDATIONS:
        return aside
    gains = _gains(board, walk, clauses, row)
    if row[TARGET] == CELLS:
        return aside - gains
    cards, run = _moving(board, walk, row)
    if gains and not refuted(board, clauses, level, cards, run, True, aside - 1):
        return aside - 1
    if most < aside or not refuted(board, clauses, level, cards, run, True, aside):
        return aside
    return aside + 1


@jit
def _choose(pool, dive, counts):
    """Number of the position to be expanded next, or -1 if none is left in a layer below the best solution."""
    waiting, made = pool.waiting, pool.made
    while counts[STACKED]:
        counts[STACKED] -= 1
        n = np.int64(dive[counts[STACKED]])
        if waiting[n] == counts[LAYER]:
            return n
    stored = counts[STORED]
    while True:
        layer, deep = counts[LAYER], counts[DEEP]
        n = counts[NEXT]
        while n < stored and (waiting[n] != layer or made[n] < deep):
            n += 1
        counts[NEXT] = n
        if n < stored:
            return n
        counts[NEXT] = 0
        if counts[AGAIN]:
            counts[AGAIN] = 0
        elif deep > 0:
            counts[DEEP] -= STEP
        else:
            counts[DEEP] = DEEPEST
            counts[LAYER] = counts[BEST]
            for i in range(stored):
                if waiting[i] and waiting[i] < counts[LAYER]:
                    counts[LAYER] = waiting[i]
            if counts[LAYER] == counts[BEST]:
                return -1


@jit
def _wait(n, pool, dive, counts):
    """Put position n among those that wait in the layer being worked off."""
    pool.waiting[n] = counts[LAYER]
    if n < counts[NEXT]:
        counts[AGAIN] = 1
    if counts[STACKED] < dive.size:
        dive[counts[STACKED]] = n
        counts[STACKED] += 1


@jit
def _put_off(n, pool, counts):
    """Let position n wait for the next layer, if that can have better solutions. Returns a status."""
    if counts[LAYER] + 1 < counts[BEST]:
        pool.waiting[n] = counts[LAYER] + 1
    elif counts[BEST] == NONE:
        return TOO_LONG
    return PAUSED


@jit
def _look_ahead(board, walk, slots):
    """Prepare to look up what the frame's moves lead to."""
    level = walk.level
    a, b, c = walk.words[level, 0], walk.words[level, 1], walk.words[level, 2]
    heights = walk.frames[level, HEIGHTS]
    for i in range(walk.frames[level, ROWS]):
        row = walk.rows[level, i]
        x, y, z = moved(a, b, c, row[CARD], new_code(board, heights, row[CARD], row[TARGET]))
        look_up_soon(slots, x, y, z)


@jit
def _expand(n, pool, counts, board, walk, clauses, dive, under, game):
    """Store the successors of position n that belong to the layer being worked off. Returns a status."""
    layer = counts[LAYER]
    a, b, c = words_of(pool.words, n)
    heights, nexts = spread(board, a, b, c, under, game[2])
    hold(board, clauses)
    aside = np.int64(pool.asides[n] & ASIDE_BITS)
    slack = layer - np.int64(pool.made[n]) - 52 + home_count(nexts)
    exact = pool.asides[n] & EXACT
    while aside < slack and not exact:
        exact = EXACT * within(board, heights, nexts, aside, clauses)
        aside += not exact
    status, later = PAUSED, aside >= slack
    begin(walk, board, heights, nexts, a, b, c, game, not later)
    walk.frames[0, MADE] = pool.made[n]
    walk.frames[0, ASIDE] = aside
    if later:
        # most positions have no such moves: then the bound need not be made exact
        _keep_gaining(board, walk, clauses)
        if walk.frames[0, ROWS] and not exact:
            exact = EXACT * within(board, heights, nexts, aside, clauses)
            aside += not exact
    pool.asides[n] = aside | exact
    if aside > slack or (later and walk.frames[0, ROWS] == 0):
        return _put_off(n, pool, counts)
    _look_ahead(board, walk, pool.slots)
    while True:
        kind = advance(walk, board, game)
        if kind == END:
            break
        counts[GENERATED] += 1
        level = walk.level
        child = walk.frames[level + 1]
        moves = child[MADE]
        # so many may be set aside after it
        most = layer - moves - 52 + home_count(child[NEXTS])
        aside = walk.frames[level, ASIDE]
        if most < 0 or most < aside - 1:
            later = True
            undo(walk, board)
            continue
        known = -1
        if kind == BLOCK:
            a, b, c = walk.words[level + 1, 0], walk.words[level + 1, 1], walk.words[level + 1, 2]
            known = find(pool.slots, pool.words, a, b, c)
            if known >= 0 and moves >= pool.made[known]:
                undo(walk, board)
                continue
        child[ASIDE] = _aside_after(board, walk, most, clauses)
        if child[ASIDE] > most:
            later = True
            undo(walk, board)
            continue
        if kind == IDLE:
            later |= child[ASIDE] == most
            hold_without(clauses, level, walk.rows[level, walk.frames[level, AT] - 1, CARD])
            go_on(walk, board, game, child[ASIDE] < most)
            if child[ASIDE] == most:
                _keep_gaining(board, walk, clauses)
            _look_ahead(board, walk, pool.slots)
            continue
        undo(walk, board)
        if known < 0:
            if counts[STORED] == pool.words.shape[0]:
                _wait(n, pool, dive, counts)
                return CROWDED
            insert(pool.slots, mix3(a, b, c), counts[STORED])
            known = counts[STORED]
            counts[STORED] += 1
        put(pool.words, known, a, b, c, n)
        pool.made[known] = moves
        pool.asides[known] = child[ASIDE]
        if child[NEXTS] == FULL:
            pool.waiting[known] = 0
            counts[BEST] = moves
            counts[GOAL] = known
            status = PROVED if moves == layer else SHORTER
        else:
            _wait(known, pool, dive, counts)
    if later and _put_off(n, pool, counts) == TOO_LONG:
        return TOO_LONG
    return status


@entry
def search(pool, counts, board, walk, clauses, dive, under, game, budget, stop):
    """Expand up to ``budget`` positions.

    game: int64[5]: number of cells; may foundation cards return? do runs move as one? are safe cards sent home at once?
    are positions within blocks left out?
    dive: uint32[m], the stack of the newest. counts: int64[10]. Returns one of the constants above.
    """
    for _ in range(budget):
        room = counts[STORED] + ROOM
        if room > pool.words.shape[0] or room * 4 > pool.slots.size * 3:
            return CROWDED
        n = _choose(pool, dive, counts)
        if n < 0:
            return PROVED
        pool.waiting[n] = 0
        counts[EXPANDED] += 1
        status = _expand(n, pool, counts, board, walk, clauses, dive, under, game)
        if status != PAUSED:
            return status
        if stop[0]:
            break
    return PAUSED
