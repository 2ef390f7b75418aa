"""From a FreeCell position to the next that matters: cards put into cells only to get at what lies beneath them.

Call a move of a column's last card to a cell *idle* when it leaves the column non-empty. A search for the fewest moves
may take whole *blocks* for its steps: some idle moves and then one other move, c, where

* every idle move is off one column j, and c takes a card from j or lays one on j; or
* there are first idle moves off a column j, then some off another column k, and c moves from k onto j;

and then, as always, the safe cards that go home by themselves (``freecell_moves.is_safe``).

*From every position P that can be won, some shortest solution begins with a block.* Take a shortest solution from P in
which safe cards go home at once. Let c be its first move that is not idle, and M those before it. Idle moves off
different columns may change places: none needs anything of the other's column, and together they take as many cells.
So M can begin with those off the columns that c takes from or lays on. The others can just as well follow c: c
neither needs their columns nor the cards that they uncover, has more cells free without them, and after all of them
as many cells are taken as before. Here it matters that c does not move a card x which one of M brought to a cell. If c
lays x on the column that x came from, that move is among those that remain before c. Otherwise it would be shorter to
dig at the column where x is to go first, then at that of x, and to move x there directly; but the solution is a
shortest one. What remains before c are idle moves off the two columns that c touches, in any order of columns: if there
are moves off both, those off the column j that c lays its card on come first. No card became safe before c except by
the last of M, in which case its going home is c and c touches the column of that last move; so in the new order, too,
no safe card waits before c. After the block, a shortest solution from there follows, in which again safe cards go home
at once, and so on.

The positions within blocks need not be stored, and many that lie within none are never met: two half-dug columns to no
purpose. (It is the idea of commutativity pruning, e.g. Wehrle & Helmert 2012, taken from moves to the states
between them.)
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.freecell_board import FRAMES, height_of, home_count
from cardems_solver.kernels.freecell_moves import (
    CARD,
    CELLS,
    MAX_ROWS,
    SOURCE,
    TARGET,
    a_row,
    free_cells,
    from_column,
    last_cards,
    list_rows,
    make,
    new_code,
    onto_column,
    rooms,
    run_onto_columns,
    settle,
    to_cell,
    unmake,
)
from cardems_solver.kernels.freecell_state import moved
from cardems_solver.kernels.jit import jit

HEIGHTS, NEXTS, MADE, ASIDE, ONTO, FROM, ROWS, AT = range(8)
NOT = -1


WALK = np.dtype(
    [
        ("level", np.int64),
        ("rows", np.int64, (FRAMES, MAX_ROWS, 4)),
        ("frames", np.int64, (FRAMES, 8)),
        ("words", np.uint64, (FRAMES, 3)),
        ("gains", np.int64, (FRAMES, 8)),
        ("sent", np.int64, 52),
    ]
)
"""Where a walk through all blocks from a position is (``jit.record``), modified in place.

    level       of the frame whose moves are being made. The next one holds the position reached by the last.
    rows        moves of each frame
    frames      heights and nexts of the position; moves made; what the bound counts as set aside; columns j and k of
                the idle moves so far, or NOT; number of rows, and the next one
    words       the positions
    gains       see ``freecell_astar``
    sent        scratch, see ``settle``
"""


@jit
def _fits(board, heights, card, k, free):
    """Can what lies on the run that a card of column k is in be put into at most ``free`` cells?"""
    height = height_of(heights, k)
    end = height - 1
    while board.start[k, end] > board.depth[card]:
        end = board.start[k, end] - 1
    return height - 1 - end <= free


@jit
def _is_idle(heights, row):
    return row[TARGET] == CELLS and row[SOURCE] < CELLS and height_of(heights, row[SOURCE]) > 1


@jit
def _list(walk, board, game, level, raising):
    """List the moves of a frame."""
    frame, rows = walk.frames[level], walk.rows[level]
    heights, nexts, j, k = frame[HEIGHTS], frame[NEXTS], frame[ONTO], frame[FROM]
    cells, returns, runs = game[0], game[1], game[2]
    for i in range(8):
        walk.gains[level, i] = -1
    frame[AT] = 0
    if j == NOT:
        frame[ROWS] = list_rows(board, heights, nexts, cells, returns, runs, raising, rows)
        return
    free = free_cells(board, cells)
    room, room_to_empty = rooms(board, free, runs)
    n = 0
    if k == NOT:
        n = from_column(board, heights, nexts, free, room_to_empty, j, rows, n)
        n = run_onto_columns(board, heights, j, room, last_cards(board, heights), rows, n)
        if raising:
            n = onto_column(board, heights, returns, nexts, j, rows, n)
    onto = board.cards[j, height_of(heights, j) - 1]
    dug = NOT
    if onto >= 4:
        for card in ((onto - 4) ^ 2, (onto - 4) ^ 3):
            i = board.column[card]
            height = height_of(heights, i)
            if board.depth[card] >= height or i == j or (k != NOT and i != k):
                continue
            if board.start[i, height - 1] <= board.depth[card] and height - board.depth[card] <= room:
                n = a_row(rows, n, card, height - board.depth[card], i, j)
            if free > 0 and height > 1 and i != dug and _fits(board, heights, card, i, free):
                n = to_cell(board, heights, i, rows, n)
                dug = i
    frame[ROWS] = n


@jit
def begin(walk, board, heights, nexts, a, b, c, game, raising):
    """Start from a position, spread out on the board. game: see ``freecell_astar``; raising: see ``list_rows``."""
    frame = walk.frames[0]
    frame[HEIGHTS] = heights
    frame[NEXTS] = nexts
    frame[ONTO] = NOT
    frame[FROM] = NOT
    walk.words[0, 0], walk.words[0, 1], walk.words[0, 2] = a, b, c
    walk.level = 0
    _list(walk, board, game, 0, raising)


END, IDLE, BLOCK = range(3)


@jit
def advance(walk, board, game):
    """Make the walk's next move. Returns IDLE, BLOCK if a block ends with it, or END if there is none.

    The position reached is in the frame above that of ``level``. Call ``go_on`` (only after IDLE) to go on from there,
    or else ``undo``.
    """
    while True:
        level = walk.level
        before, after = walk.frames[level], walk.frames[level + 1]
        if before[AT] == before[ROWS]:
            if level == 0:
                return END
            _leave(walk, board, game)
            continue
        row = walk.rows[level, before[AT]]
        before[AT] += 1
        heights0 = before[HEIGHTS]
        a, b, c = walk.words[level, 0], walk.words[level, 1], walk.words[level, 2]
        a, b, c = moved(a, b, c, row[CARD], new_code(board, heights0, row[CARD], row[TARGET]))
        heights, nexts = make(board, heights0, before[NEXTS], game[2], row)
        after[MADE] = before[MADE] + 1 - home_count(nexts)
        kind = IDLE if game[4] and _is_idle(heights0, row) else BLOCK
        if game[3]:
            home = home_count(nexts)
            heights, nexts, a, b, c = settle(board, heights, nexts, a, b, c, walk.sent)
            if kind == IDLE and home_count(nexts) != home:
                if before[ONTO] != NOT and before[ONTO] != row[SOURCE]:
                    undo(walk, board)
                    continue
                kind = BLOCK
        after[HEIGHTS] = heights
        after[NEXTS] = nexts
        after[MADE] += home_count(nexts)
        walk.words[level + 1, 0], walk.words[level + 1, 1], walk.words[level + 1, 2] = a, b, c
        after[ONTO], after[FROM] = before[ONTO], before[FROM]
        if after[ONTO] == NOT:
            after[ONTO] = row[SOURCE]
        elif row[SOURCE] != after[ONTO]:
            after[FROM] = row[SOURCE]
        return kind


@jit
def undo(walk, board):
    """Take the last move back."""
    level = walk.level
    unmake(board, walk.frames[level, HEIGHTS], walk.rows[level, walk.frames[level, AT] - 1])


@jit
def _leave(walk, board, game):
    """Take back the idle move that led to the frame: the card's place in its column may have been written over."""
    walk.level -= 1
    level = walk.level
    row = walk.rows[level, walk.frames[level, AT] - 1]
    card, k = row[CARD], row[SOURCE]
    board.in_cells ^= 1 << card
    i = height_of(walk.frames[level, HEIGHTS], k) - 1
    under = board.cards[k, i - 1]
    board.cards[k, i] = card
    board.start[k, i] = i
    if game[2] and (under == (card + 4) ^ 2 or under == (card + 4) ^ 3):
        board.start[k, i] = board.start[k, i - 1]
    undo(walk, board)


@jit
def go_on(walk, board, game, raising):
    """Go on from the position reached."""
    level = walk.level
    board.in_cells |= 1 << walk.rows[level, walk.frames[level, AT] - 1, CARD]
    walk.level += 1
    _list(walk, board, game, level + 1, raising)
