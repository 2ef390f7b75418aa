"""A FreeCell position spread out into columns, for what the three words cannot do at a glance: who lies under whom.

The fewest-moves search stores positions as three words (``freecell_state``) and spreads one out when it expands it.
Heights and foundations are packed into one integer each, so that a game played on from here (the relaxed games of
``freecell_relaxed``) is two numbers that are copied and compared for nothing:

    heights     7 bits a column: how many cards it holds
    nexts       4 bits a suit: the rank that its foundation takes next, 13 when it is full

A card of a column that lies at or above ``height`` is off the column; one in a cell or home has
depth AWAY, above any, in column number COLUMNS, whose height is 0.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, bit, lowest, popcount
from cardems_solver.kernels.freecell_state import BASE, CELL, COLUMNS, DEALT, FIRST, HOME, SECOND, with_code
from cardems_solver.kernels.jit import jit

AWAY = 100
FRAMES = 10
"""Of a walk (``freecell_blocks``): a position, after as many idle moves as there are cells (at most 8), and what the
last move leads to."""
FULL = 13 * 0x1111
"""``nexts`` when every card is home."""
_SUIT = np.uint64(0x1111111111111)


BOARD = np.dtype(
    [
        ("cards", np.int64, (COLUMNS, 64)),
        ("start", np.int64, (COLUMNS, 64)),
        ("column", np.int64, 52),
        ("depth", np.int64, 52),
        ("above", np.int64, 64),
        ("used", np.int64),
        ("in_cells", np.int64),
        ("at_home", np.int64),
        ("in_place", np.int64),
    ]
)
"""One position spread out (``jit.record``), modified in place.

    cards       the columns, deepest card first
    start       for each card of a column, the depth at which the part that moves together with it begins: the run that
                it ends, or the card itself in the ``cards`` metric
    column      the column in which a card lies, COLUMNS for one that lies in none
    depth       its depth there, AWAY for one that lies in none
    above       scratch: the card on a card, -1 where none
    used        number of columns in use
    in_cells    as bits: the cards in cells
    at_home     those on foundations
    in_place    those that lie on what they were dealt on, down to the column's base
"""


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
    cards, start, column, depth, above = board.cards, board.start, board.column, board.depth, board.above
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
    board.in_cells = left
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
    board.used = k
    board.in_place = in_place
    home = with_code(a, b, c, HOME)
    board.at_home = home
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
