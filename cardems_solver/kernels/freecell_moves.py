"""Moves on a spread-out FreeCell position: listing them, making one, taking it back.

A move is a row of four numbers: the deepest card that moves, how many move, where from and where to: a column, CELLS or
FOUNDATIONS. Of several empty columns the first stands for all.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, bit, lowest, popcount
from cardems_solver.kernels.freecell_board import AWAY, height_of, next_rank
from cardems_solver.kernels.freecell_state import BASE, CELL, COLUMNS, FIRST, HOME, SECOND, moved
from cardems_solver.kernels.jit import jit

CELLS, FOUNDATIONS = 8, 9
CARD, COUNT, SOURCE, TARGET = range(4)
MAX_ROWS = 512


@jit
def a_row(out, n, card, count, source, target):
    """Write a row; returns how many there are now."""
    out[n, CARD] = card
    out[n, COUNT] = count
    out[n, SOURCE] = source
    out[n, TARGET] = target
    return n + 1


@jit
def last_cards(board, heights):
    """The last cards of the columns, as bits."""
    last = U0
    for k in range(board.used):
        last |= bit(board.cards[k, height_of(heights, k) - 1])
    return last


@jit
def onto_columns(board, card, count, source, last, out, n):
    """Rows for ``count`` cards, ``card`` the deepest, that go on one of the columns' last cards."""
    if card < 48:
        for onto in ((card + 4) ^ 2, (card + 4) ^ 3):
            if last & bit(onto):
                n = a_row(out, n, card, count, source, board.column[onto])
    return n


@jit
def run_onto_columns(board, heights, k, room, last, out, n):
    """Rows for the parts of column k's last run, at most ``room`` cards, that go on other columns."""
    height = height_of(heights, k)
    for count in range(1, min(height - board.start[k, height - 1], room) + 1):
        n = onto_columns(board, board.cards[k, height - count], count, k, last, out, n)
    return n


@jit
def onto_column(board, heights, returns, nexts, j, out, n):
    """Rows for cards from cells and foundations that go on column j."""
    onto = board.cards[j, height_of(heights, j) - 1]
    if onto < 4:
        return n
    for card in ((onto - 4) ^ 2, (onto - 4) ^ 3):
        if board.in_cells >> card & 1:
            n = a_row(out, n, card, 1, CELLS, j)
        elif returns and (card >> 2) == next_rank(nexts, card & 3) - 1:
            n = a_row(out, n, card, 1, FOUNDATIONS, j)
    return n


@jit
def to_cell(board, heights, k, out, n):
    """The row for the last card of column k that goes to a cell."""
    return a_row(out, n, board.cards[k, height_of(heights, k) - 1], 1, k, CELLS)


@jit
def from_column(board, heights, nexts, free, room_to_empty, k, out, n):
    """Rows for cards of column k that go home, to a cell or to an empty column."""
    height = height_of(heights, k)
    top = board.cards[k, height - 1]
    if top >> 2 == next_rank(nexts, top & 3):
        n = a_row(out, n, top, 1, k, FOUNDATIONS)
    if free > 0:
        n = to_cell(board, heights, k, out, n)
    longest = height - board.start[k, height - 1]
    for count in range(1, min(longest, room_to_empty, height - 1) + 1):
        n = a_row(out, n, board.cards[k, height - count], count, k, board.used)
    return n


@jit
def free_cells(board, cells):
    """How many of the cells are free."""
    return cells - popcount(np.uint64(board.in_cells))


@jit
def rooms(board, free, runs):
    """Most cards that a move takes to a column in use, and to an empty one (0 where there is none)."""
    empty = COLUMNS - board.used
    if not runs:
        return 1, min(empty, 1)
    room = (1 + free) << empty
    return room, room >> 1 if empty else 0


@jit
def list_rows(board, heights, nexts, cells, returns, runs, raising, out):
    """Every move.

    cells: how many there are; returns: may foundation cards come back? runs: 0 for single cards only; raising: 0 to
    leave out moves from cells and foundations to other places than home, which always raise the bound
    (``freecell_bounds``). out: int64[MAX_ROWS, 4], modified in place. Returns their number.
    """
    used, free = board.used, free_cells(board, cells)
    room, room_to_empty = rooms(board, free, runs)
    n = 0
    last = last_cards(board, heights)
    left = np.uint64(board.in_cells)
    while left:
        card = lowest(left)
        left &= left - U1
        if card >> 2 == next_rank(nexts, card & 3):
            n = a_row(out, n, card, 1, CELLS, FOUNDATIONS)
        if raising:
            n = onto_columns(board, card, 1, CELLS, last, out, n)
            if room_to_empty:
                n = a_row(out, n, card, 1, CELLS, used)
    for k in range(used):
        n = from_column(board, heights, nexts, free, room_to_empty, k, out, n)
        n = run_onto_columns(board, heights, k, room, last, out, n)
    if raising and returns:
        for s in range(4):
            card = 4 * next_rank(nexts, s) + s - 4
            if card >= 0:
                n = onto_columns(board, card, 1, FOUNDATIONS, last, out, n)
                if room_to_empty:
                    n = a_row(out, n, card, 1, FOUNDATIONS, used)
                if free > 0:
                    n = a_row(out, n, card, 1, FOUNDATIONS, CELLS)
    return n


@jit
def new_code(board, heights, card, target):
    """The code (``freecell_state``) of the deepest card moved, once it has moved."""
    if target == FOUNDATIONS:
        return HOME
    if target == CELLS:
        return CELL
    height = height_of(heights, target)
    if height == 0:
        return BASE
    if board.cards[target, height - 1] == (card + 4) ^ 2:
        return FIRST
    return SECOND


@jit
def make(board, heights, nexts, runs, row):
    """Make a move on the board (modified in place). Returns heights, nexts after it."""
    card, count, source, target = row[CARD], row[COUNT], row[SOURCE], row[TARGET]
    if source == FOUNDATIONS:
        nexts -= 1 << (4 * (card & 3))
    elif source < CELLS:
        heights -= count << (7 * source)
    if target == FOUNDATIONS:
        nexts += 1 << (4 * (card & 3))
        return heights, nexts
    if target == CELLS:
        board.depth[card] = AWAY
        board.column[card] = COLUMNS
        return heights, nexts
    height = height_of(heights, target)
    first = height_of(heights, source) if source < CELLS else 0
    begin = height
    if height:
        begin = board.start[target, height - 1]
    for i in range(count):
        if source < CELLS:
            card = board.cards[source, first + i]
        board.cards[target, height + i] = card
        board.column[card] = target
        board.depth[card] = height + i
        board.start[target, height + i] = begin if runs else height + i
    heights += count << (7 * target)
    return heights, nexts


@jit
def unmake(board, heights, row):
    """Take a move back; ``heights`` as before the move. (What lay in the target beyond its height does not matter.)"""
    card, count, source, target = row[CARD], row[COUNT], row[SOURCE], row[TARGET]
    if target == FOUNDATIONS:
        return
    if source >= CELLS:
        board.depth[card] = AWAY
        board.column[card] = COLUMNS
        return
    first = height_of(heights, source) - count
    for i in range(count):
        card = board.cards[source, first + i]
        board.column[card] = source
        board.depth[card] = first + i


@jit
def is_safe(nexts, s):
    """Does a suit's next card z, of rank r, lose nothing by going home at once?

    It does not when both cards d of the other colour and rank r - 2 are home, and the card e of z's colour and other
    suit and rank r - 3. For take any winning line from here, and change it as follows. z goes home now, for the move
    that it needs in any case. Call z, the two d' of rank r - 1 and other colour, the e' of rank r - 2 of z's colour
    and other suit, and all that is home below them, the set S. A card of S that is home once stays there; leave out its
    further moves. Where the line lays a d' on z, or on a d' an e', and the card below is home by now, send the card
    home instead (with a d' the e' on it first): it can go, for the card before it is home and stays there. All else
    stays as it is. Every move left is legal: only d', z's children, lie on z, only e' and a card of z's suit that is
    home lie on a d', only cards that are home on e', so no card outside S ever misses a place; what is home in the line
    is home here; and cells and columns are at least as empty. It is no longer: z moves once, and where d' and e' go
    home in place of one move (maybe as one run) they need not go home later. Foundation return makes no difference:
    what the line returns to lie on cards of S is in S.
    """
    rank = next_rank(nexts, s)
    return (
        next_rank(nexts, s ^ 2) >= rank - 1
        and next_rank(nexts, s ^ 3) >= rank - 1
        and next_rank(nexts, s ^ 1) >= rank - 2
    )


@jit
def settle(board, heights, nexts, a, b, c, sent):
    """Send every safe card home that can go. Returns heights, nexts and words; the board stays as it is.

    sent: int64[52], modified in place: the cards, in order.
    """
    n = 0
    moved_one = True
    while moved_one:
        moved_one = False
        for s in range(4):
            while True:
                rank = next_rank(nexts, s)
                if rank == 13:
                    break
                card = 4 * rank + s
                k = board.column[card]
                top = height_of(heights, k) - 1
                if board.depth[card] < top or not is_safe(nexts, s):
                    break
                if board.depth[card] == top:
                    heights -= 1 << (7 * k)
                nexts += 1 << (4 * s)
                a, b, c = moved(a, b, c, card, HOME)
                sent[n] = card
                n += 1
                moved_one = True
    return heights, nexts, a, b, c
