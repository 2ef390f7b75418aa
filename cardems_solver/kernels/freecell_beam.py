"""Short FreeCell solutions soon, proving nothing: beam search.

From all positions of a level every move is made; of the positions that this leads to the ``width`` most promising ones
are the next level. Promising is first of all a low sum of moves made and bound (``packing``, the quick one), then
free cells, empty columns, and few cards over those that go home next. Positions met before (as far as a table of hashes
remembers) and those that cannot lead to a shorter solution than the best known one are left out.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U1, mix3, popcount
from cardems_solver.kernels.freecell_board import FULL, height_of, home_count, next_rank, spread
from cardems_solver.kernels.freecell_moves import CARD, TARGET, list_rows, make, new_code, settle, unmake
from cardems_solver.kernels.freecell_relaxed import packing
from cardems_solver.kernels.freecell_state import CELL, moved, with_code
from cardems_solver.kernels.freecell_store import put, words_of
from cardems_solver.kernels.jit import entry, jit

BRANCHES = 24
"""Room for so many candidates for each position of a level; more are left out."""
SCORES = 4096
LEVELS = 250


@jit
def _score(board, heights, nexts, in_cells, moves):
    """The lower the better. in_cells: cards in cells; moves: made and, by the bound, to come."""
    covering = 0
    for s in range(4):
        rank = next_rank(nexts, s)
        if rank < 13:
            card = 4 * rank + s
            k = board.column[card]
            covering += max(height_of(heights, k) - 1 - board.depth[card], 0)
    empty = 0
    for k in range(8):
        empty += height_of(heights, k) == 0
    return 16 * moves + 8 * in_cells - 12 * empty + 2 * covering + 128


def candidates(width: int) -> tuple[np.ndarray, ...]:
    """Room for a level's candidates: words, moves made, the position before, score; and for a histogram of scores."""
    most = width * BRANCHES
    lists = [np.zeros(most, np.int64) for _ in range(3)]
    return np.zeros((most, 3), np.uint64), *lists, np.zeros(SCORES, np.int64)


@entry
def beam(width, best, words, made, level, room, board, rows, sent, under, game, stop):
    """Search once. words: uint64[n, 3] with the start as position 0, made: uint8[n], both filled (position and moves
    made) and both with room for LEVELS * width + 1 positions. level: uint64[2^k] zeros, for hashes. room: see
    ``candidates``.

    Returns the length of the best solution below ``best`` and its position's number, or ``best`` and -1.
    """
    found, found_made, before, scores, histogram = room
    cells, returns, runs, safe = game[0], game[1], game[2], game[3]
    most = scores.size
    mask = np.uint64(level.size) - U1
    goal = -1
    first, stored = 0, 1
    while first < stored and stored + width <= words.shape[0] and stop[0] == 0:
        count = 0
        for n in range(first, stored):
            a0, b0, c0 = words_of(words, n)
            heights0, nexts0 = spread(board, a0, b0, c0, under, runs)
            for i in range(list_rows(board, heights0, nexts0, cells, returns, runs, 1, rows)):
                if count == most:
                    break
                row = rows[i]
                a, b, c = moved(a0, b0, c0, row[CARD], new_code(board, heights0, row[CARD], row[TARGET]))
                heights, nexts = make(board, heights0, nexts0, runs, row)
                length = np.int64(made[n]) + 1 - home_count(nexts)
                if safe:
                    heights, nexts, a, b, c = settle(board, heights, nexts, a, b, c, sent)
                length += home_count(nexts)
                key = mix3(a, b, c)
                left = 52 - home_count(nexts)
                if length + left < best and level[key & mask] != key:
                    level[key & mask] = key
                    total = length + left + packing(board, heights, nexts, best - length - left)
                    if total < best:
                        found[count, 0], found[count, 1], found[count, 2] = a, b, c
                        found_made[count] = length
                        before[count] = n
                        in_cells = popcount(with_code(a, b, c, CELL))
                        scores[count] = min(_score(board, heights, nexts, in_cells, total), SCORES - 1)
                        count += 1
                        if nexts == FULL:
                            best = length
                            goal = -2 - n
                            found[0, 0], found[0, 1], found[0, 2] = a, b, c
                            found_made[0] = length
                            before[0] = n
                unmake(board, heights0, row)
        if goal < -1:
            put(words, stored, found[0, 0], found[0, 1], found[0, 2], before[0])
            made[stored] = best
            goal = stored
            stored += 1
        histogram[:] = 0
        for i in range(count):
            histogram[scores[i]] += 1
        limit, total = 0, 0
        while limit < SCORES and total + histogram[limit] <= width:
            total += histogram[limit]
            limit += 1
        spare = width - total
        first = stored
        for i in range(count):
            if scores[i] < limit or (scores[i] == limit and spare > 0):
                spare -= scores[i] == limit
                if stored < words.shape[0]:
                    put(words, stored, found[i, 0], found[i, 1], found[i, 2], before[i])
                    made[stored] = found_made[i]
                    stored += 1
    return best, goal
