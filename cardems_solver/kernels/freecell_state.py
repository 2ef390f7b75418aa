"""A FreeCell position as three 64-bit words: where each card lies, in three bits, bit k of every card in word k.

    code 0   where it was dealt, on a card that it does not continue
         1   on its first possible parent, the next rank's suit ``suit ^ 2``
         2   on its second possible parent, the next rank's suit ``suit ^ 3``
         3   at the base of a column
         4   in a free cell
         5   on its foundation

Columns and cells carry no names, so positions that differ only in their order are the same three words, and all cards
that may move somewhere are found together with a few operations on words. "Dealt" means: as in the position that the
search starts from. What lies on what for code 0 is that position's *layout*, one flat array of words:

    layout[0:8]     for each column the dealt cards of it that have code 0 at the start
    layout[8:16]    for each column the index in this array of its first entry below
    layout[16:]     a column's entry n: the cards that are covered when n of its code-0 cards are still in place

All of it works for up to eight columns (missing ones are empty) and any number of cells.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from cardems_solver import cards
from cardems_solver.kernels.bits import U0, U1, U2, bit, lowest, popcount
from cardems_solver.kernels.jit import entry, jit
from cardems_solver.outcome import TO_CELL, TO_COLUMN, TO_FOUNDATION
from cardems_solver.position import EMPTY, Position

COLUMNS = 8
DEALT, FIRST, SECOND, BASE, CELL, HOME = range(6)
LAYOUT_SIZE = 16 + COLUMNS + 52
NEVER = 2
"""See ``safe_home``."""
MAX_MOVES = 512
"""More moves than any position has: 52 cards, each onto two parents, to an empty column, a cell or home."""

U3, U4, U5, U6, U7 = (np.uint64(i) for i in range(3, 8))
DECK = np.uint64((1 << 52) - 1)
_RED = np.uint64(0x3333333333333)
_BLACK = np.uint64(0xCCCCCCCCCCCCC)
_H = np.uint64(0x1111111111111)
_D = np.uint64(0x2222222222222)
_C = np.uint64(0x4444444444444)
_S = np.uint64(0x8888888888888)
_ACES = np.uint64(15)


@jit
def first_parents(x):
    """The first possible parents of the cards in ``x`` (none for a king)."""
    return (((x & _RED) << U6) | ((x & _BLACK) << U2)) & DECK


@jit
def second_parents(x):
    """The second possible parents of the cards in ``x`` (none for a king)."""
    return (((x & _H) << U7) | ((x & _D) << U5) | ((x & _C) << U3) | ((x & _S) << U1)) & DECK


@jit
def first_children(x):
    """The cards whose first possible parent is in ``x``."""
    return ((x & _BLACK) >> U6) | ((x & _RED) >> U2)


@jit
def second_children(x):
    """The cards whose second possible parent is in ``x``."""
    return ((x & _S) >> U7) | ((x & _C) >> U5) | ((x & _D) >> U3) | ((x & _H) >> U1)


@jit
def with_code(a, b, c, code):
    """The cards that have a code, of which only 0 to 5 occur."""
    if code == DEALT:
        return ~(a | b | c) & DECK
    if code == FIRST:
        return a & ~b & ~c
    if code == SECOND:
        return b & ~a
    if code == BASE:
        return a & b
    if code == CELL:
        return c & ~a
    return c & a


@jit
def code_of(a, b, c, card):
    """The code of a card."""
    s = np.uint64(card)
    return np.int64(((a >> s) & U1) | (((b >> s) & U1) << U1) | (((c >> s) & U1) << U2))


@jit
def moved(a, b, c, card, code):
    """The words after a card got another code."""
    m = bit(card)
    if code & 1:
        a |= m
    else:
        a &= ~m
    if code & 2:
        b |= m
    else:
        b &= ~m
    if code & 4:
        c |= m
    else:
        c &= ~m
    return a, b, c


@jit
def exposed(a, b, c, layout):
    """The cards at the ends of columns."""
    dealt = ~(a | b | c)
    covered = first_parents(a & ~b & ~c) | second_parents(b & ~a)
    for j in range(COLUMNS):
        covered |= layout[layout[8 + j] + np.uint64(popcount(dealt & layout[j]))]
    return ~(covered | c) & DECK


@jit
def foundation_tops(home):
    """The top cards of the foundations, ``home`` being the cards on them."""
    return home & ~(home >> U4)


@jit
def next_home(home):
    """The cards that the foundations take next."""
    return ((home << U4) | _ACES) & ~home & DECK


@jit
def safe_home(home, rule):
    """The cards of ``next_home(home)`` that lose nothing by going home at once if they can.

    rule: 0 where foundation cards do not return, 1 where they may, NEVER for no card at all (to test without it).

    Such a card z is of no use but as a place for the two cards of the next lower rank and other colour, and both are
    home. Without foundation return they stay there; take any winning line and leave out all moves of z: every other
    move is still legal, for a card less is in the way and nothing that still moves can lie on z.

    With foundation return they might come back to carry cards of z's colour two ranks below z. Let those be home as
    well. Then so is every card that is two or more ranks below z; call all these, the two, the card of z's suit next
    below z, and z the set S. It holds every card that can lie on a card of S and every card below one of S on its
    foundation. Leave out all moves of cards of S, once z is home: the other cards' moves are still legal, for they
    never need a place on a card of S, and their foundations hold at least as much.
    """
    if rule == NEVER:
        return U0
    ahead = next_home(home)
    safe = ahead & ((second_parents(home) & first_parents(home)) | _ACES)
    if rule:
        lower = ((home & (_H | _C)) << U1) | ((home & (_D | _S)) >> U1)
        safe &= (lower << (U4 + U4)) | np.uint64(255)
    return safe


@jit
def capacity(a, b, c, cells, to_empty):
    """How many cards can be moved as one: (1 + empty cells) x 2^(empty columns), an empty target apart."""
    free = cells - popcount(c & ~a)
    columns = COLUMNS - popcount(a & b)
    if to_empty:
        columns -= 1
    return (1 + free) << columns


@jit
def list_moves(a, b, c, layout, cells, returns, runs, out):
    """Every move of a position, as ``card << 3 | new code``; a run moves by its deepest card.

    cells: how many there are; returns: 1 if foundation cards may come back; runs: 0 for moves of one card only.
    out: uint16[MAX_MOVES], modified in place. Returns their number.
    """
    return list_moves_of(a, b, c, exposed(a, b, c, layout), cells, returns, runs, out)


@jit
def list_moves_of(a, b, c, tops, cells, returns, runs, out):
    """``list_moves`` where the exposed cards are known."""
    home = c & a
    in_cells = c & ~a
    loose = tops | in_cells
    to_home = loose & next_home(home)
    to_cell = tops
    if returns:
        loose |= foundation_tops(home)
        to_cell |= foundation_tops(home)
    if popcount(in_cells) >= cells:
        to_cell = U0

    # Runs, by their deepest cards, as long as there is room for one card more.
    empty = COLUMNS - popcount(a & b)
    room = capacity(a, b, c, cells, False) if runs else 1
    room_to_empty = 0 if empty == 0 else room >> 1 if runs else 1
    on_first = a & ~b & ~c
    on_second = b & ~a
    to_empty = loose if empty > 0 else U0
    longer = tops
    for count in range(2, room + 1):
        longer = first_parents(longer & on_first) | second_parents(longer & on_second)
        if longer == U0:
            break
        loose |= longer
        if count <= room_to_empty:
            to_empty |= longer
    to_empty &= ~(a & b)
    to_first = loose & first_children(tops)
    to_second = loose & second_children(tops)

    # Written whether they are moves or not: only the count depends on it, which no branch has to guess.
    n = 0
    movable = to_home | to_cell | to_first | to_second | to_empty
    while movable:
        card = lowest(movable)
        movable &= movable - U1
        s = np.uint64(card)
        out[n] = card << 3 | CELL
        n += np.int64(to_cell >> s & U1)
        out[n] = card << 3 | BASE
        n += np.int64(to_empty >> s & U1)
        out[n] = card << 3 | FIRST
        n += np.int64(to_first >> s & U1)
        out[n] = card << 3 | SECOND
        n += np.int64(to_second >> s & U1)
        out[n] = card << 3 | HOME
        n += np.int64(to_home >> s & U1)
    return n


@jit
def destination(card, code):
    """A move as an outcome's step says it: the card or kind of place that the card goes to."""
    if code == FIRST:
        return (card + 4) ^ 2
    if code == SECOND:
        return (card + 4) ^ 3
    if code == BASE:
        return TO_COLUMN
    if code == CELL:
        return TO_CELL
    return TO_FOUNDATION


@jit
def set_up(columns, heights, in_cells, home, layout):
    """The words of a position in which a search starts, and its layout (written to ``layout``).

    columns: uint8[8, 52], deepest card first; heights: int64[8]; in_cells, home: cards as bits of a uint64.
    """
    a = home
    b = U0
    c = in_cells | home
    at = 16
    for j in range(COLUMNS):
        dealt = U0
        covered = U0
        layout[8 + j] = np.uint64(at)
        layout[at] = U0
        at += 1
        for i in range(heights[j]):
            card = np.int64(columns[j, i])
            m = bit(card)
            if i == 0:
                a |= m
                b |= m
                continue
            below = np.int64(columns[j, i - 1])
            if below == (card + 4) ^ 2:
                a |= m
            elif below == (card + 4) ^ 3:
                b |= m
            else:
                dealt |= m
                covered |= bit(below)
                layout[at] = covered
                at += 1
        layout[j] = dealt
    return a, b, c


@entry
def _set_up(columns, heights, in_cells, home, layout, words):
    words[0], words[1], words[2] = set_up(columns, heights, in_cells, home, layout)


def arrays(position: Position) -> tuple[np.ndarray, np.ndarray, np.uint64, np.uint64]:
    """A position as ``set_up`` takes it: columns uint8[8, 52], heights int64[8], cells and foundations as bits."""
    columns = np.zeros((COLUMNS, 52), np.uint8)
    heights = np.zeros(COLUMNS, np.int64)
    for j, column in enumerate(position.columns):
        columns[j, : len(column)] = column
        heights[j] = len(column)
    in_cells = sum(1 << c for c in position.cells if c != EMPTY)
    home = sum(1 << c for suit in range(4) for c in position.foundation_cards(suit))
    return columns, heights, np.uint64(in_cells), np.uint64(home)


def start(position: Position) -> tuple[np.ndarray, np.ndarray]:
    """The layout, uint64[LAYOUT_SIZE], and the words, uint64[3], of a position that a search starts from."""
    layout, words = np.zeros(LAYOUT_SIZE, np.uint64), np.zeros(3, np.uint64)
    _set_up(*arrays(position), layout, words)
    return layout, words


def decoded(words: np.ndarray, origin: Position) -> Position:
    """The position that the words say, ``origin`` being the one that the search started from; columns and cells come
    in some order."""
    codes = [sum((int(word) >> c & 1) << k for k, word in enumerate(words)) for c in cards.DECK]
    dealt_below = {c: below for column in origin.columns for below, c in pairwise(column)}
    on = {}
    for c in cards.DECK:
        if codes[c] == DEALT:
            on[dealt_below[c]] = c
        elif codes[c] in (FIRST, SECOND):
            on[(c + 4) ^ (codes[c] + 1)] = c
    columns = []
    for c in cards.DECK:
        if codes[c] == BASE:
            columns.append([c])
            while columns[-1][-1] in on:
                columns[-1].append(on[columns[-1][-1]])
    columns += [[] for _ in range(max(len(origin.columns), len(columns)) - len(columns))]
    in_cells = [c for c in cards.DECK if codes[c] == CELL]
    in_cells += [EMPTY] * (len(origin.cells) - len(in_cells))
    foundations = tuple(sum(codes[cards.card(rank, suit)] == HOME for rank in range(13)) for suit in range(4))
    return Position(tuple(map(tuple, columns)), (0,) * len(columns), tuple(in_cells), foundations)
