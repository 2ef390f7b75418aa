"""Klondike, arrangement and all, in three words: where each card is, the stock's position, the passes left.

Bit planes 0-2 hold a three-bit code for each of the 52 cards:

    HERE      where it was dealt: face down, or on a card that it does not continue, or in stock or waste
    FIRST     on its first possible parent, the card of the next rank and suit ``s ^ 2``
    SECOND    on its second possible parent, of suit ``s ^ 3``
    BASE      at the base of a column
    HOME      on its foundation

Above the planes lie, in the second word, the passes that may still be begun (0 where they are not counted) and in the
third the size of the waste. Stock and waste together are the undealt cards that are HERE, in their old order; the waste
is the first ones of them. Columns have no names, so positions that differ only in their order are the same words.

A card that was dealt on a face-down card which it happens to continue is HERE, not FIRST or SECOND. Of the cards of a
column those that are HERE, the *stuck* cards, always are a bottom part of it, so their number says which they are.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, U2, bit, popcount
from cardems_solver.kernels.jit import jit

HERE, FIRST, SECOND, BASE, HOME = map(np.int64, (0, 1, 2, 3, 5))

PLANE = np.uint64((1 << 52) - 1)
S52 = np.uint64(52)
LOW6 = np.uint64(63)
_U3 = np.uint64(3)
_U4 = np.uint64(4)
_EVEN = np.uint64(0x5555555555555)
_LOW2 = np.uint64(0x3333333333333)

DRAW, LIMITED, RETURN, TAPS, COLUMNS, PRUNE = range(6)
"""Indices into a table's rules: cards drawn at once, are passes counted, foundation return, does turning the waste
over count, number of columns, pruning rules (see ``klondike_moves``)."""

_COLUMNS = 8
"""No game has more."""
TABLE = np.dtype(
    [
        ("rules", np.int64, 6),
        ("stuck", np.uint64, _COLUMNS),
        ("top", np.int64, (_COLUMNS, 52)),
        ("below", np.uint64, (_COLUMNS, 52)),
        ("under", np.int64, (_COLUMNS, 52)),
        ("above", np.int64, 52),
        ("stocked", np.int64),
        ("stock", np.int64, 52),
        ("undealt", np.uint64),
        ("spot", np.int64, 52),
        ("first", np.int64, 4),
        ("stacks", np.uint8, (4 << 13, 16)),
    ]
)
"""What stays the same in a search (``jit.record``).

    rules       see above
    stuck       the cards of a column that are HERE at the start
    top         by column: for k >= 1 the k-th stuck card from its base
    below       the cards dealt beneath it (0 for k = 0)
    under       the highest of those
    above       for each card, the one that was dealt on it
    stocked     how many cards waste and stock have
    stock       these, first drawn first
    undealt     the same as a set
    spot        for each of them, the bit that stands for it among those of its suit
    first       where a suit's rows begin in ``stacks``
    stacks      see ``klondike_bound.stack_costs``; no more rows than are needed are ever touched
"""


@jit
def code_of(a, b, c, card):
    k = np.uint64(card)
    return np.int64(((a >> k) & U1) | (((b >> k) & U1) << U1) | (((c >> k) & U1) << U2))


@jit
def with_code(a, b, c, card, code):
    """The words with one card's code changed."""
    k = np.uint64(card)
    keep = ~(U1 << k)
    x = np.uint64(code)
    return (a & keep) | ((x & U1) << k), (b & keep) | (((x >> U1) & U1) << k), (c & keep) | ((x >> U2) << k)


@jit
def home_cards(a, b, c):
    return a & ~b & c & PLANE


@jit
def base_cards(a, b, c):
    return a & b & ~c & PLANE


@jit
def here_cards(a, b, c):
    return ~(a | b | c) & PLANE


@jit
def parents(a, b, c):
    """The cards on which cards lie that continue them."""
    first = a & ~b & ~c & PLANE
    second = ~a & b & ~c & PLANE
    first = ((first & _LOW2) << U2) | ((first >> U2) & _LOW2)
    second = ((second & _LOW2) << U2) | ((second >> U2) & _LOW2)
    second = ((second & _EVEN) << U1) | ((second >> U1) & _EVEN)
    return (first | second) << _U4


@jit
def columns_of(a, b, c, table):
    """Two sets: the cards under stuck cards, which cannot move, and the highest stuck card of each column."""
    here = here_cards(a, b, c)
    buried, tops = U0, U0
    for i in range(table.rules[COLUMNS]):
        n = popcount(here & table.stuck[i])
        if n:
            buried |= table.below[i, n]
            tops |= bit(table.top[i, n])
    return buried, tops


@jit
def next_home(home):
    """The cards that the foundations take next."""
    return ((home << _U4) | np.uint64(15)) & ~home & PLANE


@jit
def waste_size(c):
    return np.int64((c >> S52) & LOW6)


@jit
def passes_of(b):
    return np.int64((b >> S52) & LOW6)
