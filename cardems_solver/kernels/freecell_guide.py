"""What makes a FreeCell position look near to a win: a weighted sum that guides searches and proves nothing.

The sum (``Weight``) is over what a player looks at; lower is better. A *break* is a dealt card that does not continue
the card beneath it; all cards above a column's highest break that is still in place form one run. So how deep a card is
buried is counted in breaks, and what a column's breaks still hide is a table from their number to a sum.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from cardems_solver.kernels.bits import U1, lowest, popcount
from cardems_solver.kernels.freecell_state import (
    BASE,
    CELL,
    COLUMNS,
    DEALT,
    FIRST,
    HOME,
    LAYOUT_SIZE,
    SECOND,
    next_home,
)
from cardems_solver.kernels.jit import jit, jit_making


class Weight(IntEnum):
    """What the score adds up, lower being better; the places of the weights in a row of ``GUIDES``."""

    BUDGET = 0
    """Positions to expand with this row's weights (not a weight)."""
    START = 1
    """To keep scores above 0."""
    CARD_HOME = 2
    BREAK = 3
    """Each break that is in place."""
    LOWER = 4
    """Each card beneath a break that is of a lower rank than it."""
    LOWER_IN_SUIT = 5
    """The same, of its suit as well."""
    NEXT = 6
    """Each break above a card that its foundation takes next; above the second next; above the third."""
    LEAST = 9
    """Each break above the least buried of the next cards."""
    CHOICE = 10
    """Each move that the position has."""
    DEPTH = 11
    """Each move made so far."""
    CELLS = 12
    """Cells free: none, 1, 2, 3, 4 or more."""
    SPACES = 17
    """Columns empty: none, 1, 2, 3 or more."""
    STUCK = 21
    """No cell is free, no column empty."""
    TO_CELL = 22
    """The move: a card to a cell, ..."""
    TO_CARD = 23
    TO_SPACE = 24
    CARD_TO_CARD = 25
    """... a card from one possible parent to the other, ..."""
    OFF_CARD = 26
    """... a card from a possible parent to a cell or an empty column."""
    DUG_TO_CELL = 27
    SIZE = 28


GUIDES = np.array(
    [
        [int(weight) for weight in row.split()]
        for row in """
  600 2000 27 32 -2  2 11  0 0 -15 -2 14 171 100 50  2  -8  43 26  5   5 -13 -10 -19 -2 29 75 -7
  600 2000 49 23 10  1  6  0 3  -2 -1 21 162 135 42 -1 -11 105 63  5  -8  20 -11  -4 -1 26 39 -2
  500 2000 50 20  1 -5 11  1 0   2  0 19  85  68 22 -3  -7  44 41  1  -3   5   7   0  0 16 36  0
  500 2000 56 21  3 -3 11  1 0   4 -1 14 154  99 37 -3  -8  73 26 -1 -22   8  -2  -1 -4 21 27 -8
  500 2000 56  9  9  4 10  6 1  -8  1 16 145  52 32 -1  -4  73 36  5 -20  10  -1   5  3 25 29  1
  500 2000 56 40  4  0 12  4 0   0  0 16 140  92 36  0  -8  64 36  0 -16  12   4   0  0 20 28  0
 1000 2000 45 22  3  1 13  3 0   1  0 19 245 114 37 -5  -7  14 16  3 -11  11  -1  -1 -2 38 30 -2
 2000 2000 43 22  4 -3 14 10 0  -1 -3 18  70  51 54 -3  -5 103 40  2  -4  11   2  -4  0 28 17 -3
 3000 2000 58 18  7  0  1  2 0 -10 -2 25 143  49 22  3  -7  65 35  0 -11  15   5  -3  2 29 14  0
 3000 2000 49 23 10  1  6  0 3  -2 -1 21 162 135 42 -1 -11 105 63  5  -8  20 -11  -4 -1 26 39 -2
 4000 2000 50 20  4 -5 11  1 0   3 -2 16 165  81 35  0  -8  48 37  4 -21  15   4  -2  6 15 28  2
10000 2000 50 20  1 -5 11  1 0   2  0 19  85  68 22 -3  -7  44 41  1  -3   5   7   0  0 16 36  0
20000 2000 45 22  3  1 13  3 0   1  0 19 245 114 37 -5  -7  14 16  3 -11  11  -1  -1 -2 38 30 -2
10000 2000 27 32 -2  2 11  0 0 -15 -2 14 171 100 50  2  -8  43 26  5   5 -13 -10 -19 -2 29 75 -7
20000 2000 56  9  9  4 10  6 1  -8  1 16 145  52 32 -1  -4  73 36  5 -20  10  -1   5  3 25 29  1
""".strip().splitlines()
    ],
    np.int64,
)
"""Rows of weights, tried in turn: found by random search on Microsoft deals from 100001 on, each on what those before
it leave."""

PATIENT_GUIDE = GUIDES[6]
"""For the search that leaves nothing out."""


_FREE, _EMPTY = 5, 4


def move_scores(guide: np.ndarray) -> np.ndarray:
    """What moves add to the score of the position before them, by free cells (4 for more) and empty columns (3 for
    more) before the move, the card's code before and after it: int64[5 * 4 * 6 * 8]. Digging is not in it."""
    free, empty, code, to = np.ogrid[:_FREE, :_EMPTY, :6, :8]
    free = np.clip(free + (code == CELL) - (to == CELL), 0, _FREE - 1)
    empty = np.clip(empty + (code == BASE) - (to == BASE), 0, _EMPTY - 1)
    on_card = (code == FIRST) | (code == SECOND)
    to_card = (to == FIRST) | (to == SECOND)
    total = guide[Weight.CELLS + free] + guide[Weight.SPACES + empty] + guide[Weight.STUCK] * (free + empty == 0)
    total = total + guide[Weight.CARD_HOME] * (0 + (code == HOME) - (to == HOME))
    total += guide[Weight.TO_CELL] * (to == CELL) + guide[Weight.TO_SPACE] * (to == BASE)
    total += guide[Weight.TO_CARD] * to_card + guide[Weight.CARD_TO_CARD] * (to_card & on_card)
    total += guide[Weight.OFF_CARD] * (on_card & ((to == CELL) | (to == BASE)))
    total += guide[Weight.DUG_TO_CELL] * ((code == DEALT) & (to == CELL))
    return total.ravel()


class Guidance(NamedTuple):
    """What the score of a position needs besides the position, for the searches from one start.

    Attributes:
        weights: int64[Weight.SIZE], a guide.
        moves: int64[960], its ``move_scores``.
        layout: uint64[LAYOUT_SIZE], see ``freecell_state``.
        hidden: int64[LAYOUT_SIZE], indexed like the layout's last part: what so many breaks of a column cost.
        column: int64[60], the column in which a card was dealt, COLUMNS if in none (or if there is no such card).
        level: int64[60], how many of that column's breaks are at or beneath the card.
        breaks: int64[9], how many breaks each column of the position scored last holds; 0 in the end.
        digging: int64[9], what digging up the highest of them changes; 0 in the end.
    """

    weights: np.ndarray
    moves: np.ndarray
    layout: np.ndarray
    hidden: np.ndarray
    column: np.ndarray
    level: np.ndarray
    breaks: np.ndarray
    digging: np.ndarray


def guidance() -> Guidance:
    """An empty one, for ``appraise`` to fill."""
    return Guidance(
        weights=np.zeros(Weight.SIZE, np.int64),
        moves=np.zeros(_FREE * _EMPTY * 6 * 8, np.int64),
        layout=np.zeros(LAYOUT_SIZE, np.uint64),
        hidden=np.zeros(LAYOUT_SIZE, np.int64),
        column=np.full(60, COLUMNS, np.int64),
        level=np.zeros(60, np.int64),
        breaks=np.zeros(COLUMNS + 1, np.int64),
        digging=np.zeros(COLUMNS + 1, np.int64),
    )


@jit_making
def appraise(g, weights, moves, columns, heights):
    """Make a guidance, whose layout is that of the start, ready for a guide.

    weights, moves: the guide and its ``move_scores``.
    columns: uint8[8, h], the start, deepest card first; heights: int64[8].
    """
    g.weights[:] = weights
    g.moves[:] = moves
    for card in range(52):
        g.column[card] = COLUMNS
    for j in range(COLUMNS):
        at = np.int64(g.layout[8 + j])
        first = at
        total = 0
        g.hidden[at] = 0
        for i in range(heights[j]):
            card = np.int64(columns[j, i])
            g.column[card] = j
            if i > 0:
                below = np.int64(columns[j, i - 1])
                if below != (card + 4) ^ 2 and below != (card + 4) ^ 3:
                    at += 1
                    total += weights[Weight.BREAK]
                    for k in range(i):
                        beneath = np.int64(columns[j, k])
                        if beneath >> 2 < card >> 2:
                            total += weights[Weight.LOWER]
                            if beneath & 3 == card & 3:
                                total += weights[Weight.LOWER_IN_SUIT]
                    g.hidden[at] = total
            g.level[card] = at - first


@jit
def score(a, b, c, weights, layout, hidden, column, level, breaks, digging):
    """The score of a position, but for its cells and empty columns, which a guidance's ``moves`` count with each move.

    Leaves in ``breaks`` and ``digging`` what its breaks are and what digging up one changes. (The guidance comes in
    pieces: Numba would count references to each of its arrays in every call.)
    """
    dealt = ~(a | b | c)
    total = weights[Weight.START] - weights[Weight.CARD_HOME] * popcount(c & a)
    for j in range(COLUMNS):
        n = popcount(dealt & layout[j])
        at = np.int64(layout[8 + j]) + n
        breaks[j] = n
        digging[j] = hidden[at - 1] - hidden[at]
        total += hidden[at]
    least = 20
    z = next_home(c & a)
    while z:
        card = lowest(z)
        z &= z - U1
        for k in range(3):
            j = column[card]
            above = max(breaks[j] - level[card], 0)
            total += weights[Weight.NEXT + k] * above
            digging[j] -= weights[Weight.NEXT + k] * min(above, 1)
            if k == 0:
                least = min(least, above)
            card += 4
    return total + weights[Weight.LEAST] * least
