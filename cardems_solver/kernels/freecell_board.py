"""A FreeCell position spread out into columns, for what the three words cannot do at a glance: who lies under whom.

The fewest-moves search stores positions as three words (``freecell_state``) and spreads one out when it expands it.
Heights and foundations are packed into one integer each, so that a game played on from here (the relaxed games of
``freecell_bounds``) is two numbers that are copied and compared for nothing:

    heights     7 bits a column: how many cards it holds
    nexts       4 bits a suit: the rank that its foundation takes next, 13 when it is full

A card of a column that lies at or above ``height`` is off the column; one in a cell or home has
depth AWAY, above any, in column number COLUMNS, whose height is 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardems_solver.kernels.bits import U0, U1, bit, lowest, popcount
from cardems_solver.kernels.freecell_state import BASE, CELL, COLUMNS, DEALT, FIRST, HOME, SECOND, with_code
from cardems_solver.kernels.jit import jit

AWAY = 100
FULL = 13 * 0x1111
"""``nexts`` when every card is home."""
USED, CELL_CARDS, HOME_CARDS, IN_PLACE = range(4)
_SUIT = np.uint64(0x1111111111111)


class Board(NamedTuple):
    """One position spread out; every array is int64 and modified in place.

    Attributes:
        cards: [8, 64] the columns, deepest card first.
        start: [8, 64] for each card of a column, the depth at which the part that moves together with it begins: the
            run that it ends, or the card itself in the ``cards`` metric.
        column: [52] the column in which a card lies, COLUMNS for one that lies in none.
        depth: [52] its depth there, AWAY for one that lies in none.
        above: [64] scratch: the card on a card, -1 where none.
        counts: [4] number of columns in use; as bits the cards in cells, those home, those that lie on what they were
            dealt on, down to the column's base.
    """

    cards: np.ndarray
    start: np.ndarray
    column: np.ndarray
    depth: np.ndarray
    above: np.ndarray
    counts: np.ndarray


def empty_board() -> Board:
    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, np.int64)

    return Board(zeros(COLUMNS, 64), zeros(COLUMNS, 64), zeros(52), zeros(52), zeros(64), zeros(4))


@jit
def height_of(heights, k):
    return (heights >> (7 * k)) & 127


@jit
def next_rank(nexts, s):
    return (nexts >> (4 * s)) & 15


@jit
def home_count(nexts):
    return (nexts & 15) + ((nexts >> 4) & 15) + ((nexts >> 8) & 15) + ((nexts >> 12) & 15)


@jit
def spread(board, a, b, c, under, runs):
    """Fill the board (modified in place); columns are numbered by their lowest cards, empty ones last.

    under: int64[52], the card on which a card was dealt. runs: 1 if cards move as runs.
    Returns heights, nexts.
    """
    cards, start, column, depth, above, counts = board
    for i in range(52):
        above[i] = -1
    left = with_code(a, b, c, DEALT)
    while left:
        card = lowest(left)
        above[under[card]] = card
        left &= left - U1
    left = with_code(a, b, c, FIRST)
    while left:
        card = lowest(left)
        above[(card + 4) ^ 2] = card
        left &= left - U1
    left = with_code(a, b, c, SECOND)
    while left:
        card = lowest(left)
        above[(card + 4) ^ 3] = card
        left &= left - U1
    left = with_code(a, b, c, CELL)
    counts[CELL_CARDS] = left
    while left:
        card = lowest(left)
        column[card] = COLUMNS
        depth[card] = AWAY
        left &= left - U1
    left = with_code(a, b, c, BASE)
    heights = 0
    in_place = U0
    k = 0
    while left:
        card = lowest(left)
        left &= left - U1
        n = 0
        below = -1
        undisturbed = True
        while card >= 0:
            cards[k, n] = card
            column[card] = k
            depth[card] = n
            start[k, n] = n
            if runs and below >= 0 and (below == (card + 4) ^ 2 or below == (card + 4) ^ 3):
                start[k, n] = start[k, n - 1]
            undisturbed &= under[card] == below
            if undisturbed:
                in_place |= bit(card)
            below = card
            card = above[card]
            n += 1
        heights |= n << (7 * k)
        k += 1
    counts[USED] = k
    counts[IN_PLACE] = in_place
    home = with_code(a, b, c, HOME)
    counts[HOME_CARDS] = home
    left = home
    while left:
        card = lowest(left)
        column[card] = COLUMNS
        depth[card] = AWAY
        left &= left - U1
    nexts = 0
    for s in range(4):
        nexts |= popcount(home & (_SUIT << np.uint64(s))) << (4 * s)
    return heights, nexts
