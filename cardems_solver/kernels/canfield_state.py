"""A Canfield position as three 64-bit words, with its suits kept and its ranks counted from the base card.

Every column of Canfield is a run, so what is on the tableau (all that is not home, in the reserve or in the stock) is
arranged by saying which cards are the bases of columns and on which of its two possible parents every other card lies:

    word 0   bits 0-51 the bases of the columns, 52-57 turnings of the waste that are left (63: no limit)
    word 1   bits 0-33 the cards still in stock and waste, by their order; 34-49 the foundations' heights, four bits
             each; 50-55 how many of the stock cards lie on the waste; 56-59 cards in the reserve
    word 2   bits 0-51 the cards that lie on their second possible parent (suit ^ 3) and not on their first (suit ^ 2)

Draws are no moves of their own: a stock card may be played if some number of draws makes it the waste's top.

**Partial runs.** Then word 2 is always 0. Of the two cards of one rank and colour call one *free* when fewer cards that
are no bases lie on the two than there are of them on the tableau. A card on one may then be carried, with all that
lies on it, to the other and back, so either can be made free. Where both carry a card, which lies on which cannot be
changed, and need not: to make one of the two free, one of the carried cards must leave, and then the other can be
carried to either. So positions with the same bases can do the same.

**Partial runs, and spaces that any card fills**, once the reserve is gone: a card may also be carried to a space and
back, or a base onto a free card, so not even the bases matter. Word 0 then has none, and a position has as many
columns as it has at least to have: each card above the number of possible parents, counted by rank and colour, makes
one.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from cardems_solver.kernels.bits import U0, U1, U2, bit, popcount
from cardems_solver.kernels.jit import entry, jit, record
from cardems_solver.position import Position
from cardems_solver.rules import Rules

STOCK, RESERVE = 34, 13
UNLIMITED = 63
"""Turnings left: no limit. (More turnings than stock cards are never of use: each must be followed by a stock play.)"""
MAX_MOVES = 1024
"""More successors than any position has: 8 merges and none, times 34 stock cards, and 60 others."""

ANY_PARENT = 53
"""Destination in a move: a card on which it can lie and nothing lies."""
BASE, NOWHERE = -1, -2
"""What a card lies on: nothing but the table, or it is not in the columns."""
ELSEWHERE = 127
"""In ``Deal.where``: neither in the stock nor in the reserve at the start."""

U4, U5, U6, U7 = (np.uint64(i) for i in range(4, 8))
U34, U50, U52, U56 = (np.uint64(i) for i in (34, 50, 52, 56))
DECK = np.uint64((1 << 52) - 1)
STOCK_BITS = np.uint64((1 << STOCK) - 1)
_CHUNK, _CHUNKS = 7, 5
_U_CHUNK, _CHUNK_BITS = np.uint64(_CHUNK), np.uint64((1 << _CHUNK) - 1)
_FIRST_OF_TWO = np.uint64(0x5555555555555)
_RED = np.uint64(0x3333333333333)
_HC = np.uint64(0x5555555555555)
_LOW6, _LOW4 = np.uint64(63), np.uint64(15)


TABLE = np.dtype(
    [
        ("where", np.int64, 52),
        ("stock", np.int64, STOCK),
        ("reserve", np.int64, RESERVE),
        ("in_stock", np.uint64, _CHUNKS << _CHUNK),
        ("in_reserve", np.uint64, RESERVE + 1),
        ("reserve_top", np.uint64, RESERVE + 1),
        ("steps", np.uint64),
        ("draw", np.int64),
        ("free_draws", np.int64),
        ("partial", np.int64),
        ("any_space", np.int64),
        ("prune", np.int64),
    ]
)
"""What a search must know of the deal and the rules (``jit.record``).

    where       for each card its place in the stock (waste bottom first, then next drawn first), 64 + its place in the
                reserve (bottom first), or ELSEWHERE
    stock       the card at each place
    reserve     the card at each place
    in_stock    the cards that seven bits of word 1 stand for, for each group of seven bits
    in_reserve  the cards in a reserve of that many
    reserve_top the top card of a reserve of that many
    steps       bits 0, draw, 2 * draw, ...
    draw        cards drawn at once
    free_draws  1 if the number of draws does not matter
    partial     1 if parts of a column move and it does not matter how cards of one rank and colour lie
    any_space   1 if any card fills a space when the reserve is gone (and parts of a column move)
    prune       bits of PRUNE_*
"""


PRUNE_SAFE = 1
PRUNE_MERGE = 2
PRUNE_ALL = 3


@jit
def first_parents(x):
    """The first possible parents of the cards in ``x``; those of rank 12 get bits above the deck."""
    return ((x & _RED) << U6) | ((x & ~_RED) << U2)


@jit
def swap_twins(x):
    """For every card in ``x`` the other one of its rank and colour."""
    return ((x & _HC) << U1) | ((x >> U1) & _HC)


@jit
def lower_group(x):
    """The cards one rank lower and of the other colour, position for position (suit ^ 2)."""
    return ((x & _RED) >> U2) | ((x & ~_RED) >> U6)


@jit
def children_of(x):
    """The cards that can lie on a card in ``x``."""
    one = lower_group(x)
    return (one | swap_twins(one)) & DECK


@jit
def home_cards(heights):
    """The cards on the foundations; heights: four bits a suit."""
    home = U0
    for s in range(4):
        h = (heights >> np.uint64(4 * s)) & _LOW4
        home |= ((U1 << (U4 * h)) - U1) & (np.uint64(0x1111111111111) << np.uint64(s))
    return home


@jit
def stock_cards(table, left):
    """The cards whose places in the stock are the bits of ``left``."""
    found = U0
    for k in range(_CHUNKS):
        found |= table.in_stock[(k << _CHUNK) + np.int64(left & _CHUNK_BITS)]
        left >>= _U_CHUNK
    return found


@jit
def on_tableau(table, left, heights, reserve):
    """The cards on the tableau: those that are nowhere else."""
    return DECK & ~(home_cards(heights) | table.in_reserve[reserve] | stock_cards(table, left))


@jit
def chains(tableau):
    """The fewest columns that can hold these cards."""
    one = (tableau | (tableau >> U1)) & _FIRST_OF_TWO
    two = (tableau & (tableau >> U1)) & _FIRST_OF_TWO
    return popcount(one & ~lower_group(one)) + popcount(two & ~lower_group(two))


@jit
def roomy(tableau, bases):
    """The cards that could lie on a free card (whether they are themselves on the tableau or not)."""
    carried = tableau & ~bases
    one = (carried | (carried >> U1)) & _FIRST_OF_TWO
    two = (carried & (carried >> U1)) & _FIRST_OF_TWO
    hosts_one = lower_group((tableau | (tableau >> U1)) & _FIRST_OF_TWO)
    hosts_two = lower_group((tableau & (tableau >> U1)) & _FIRST_OF_TWO)
    room = (hosts_one & ~one) | (hosts_two & ~two)
    return room | (room << U1)


@jit
def hosts_of(room):
    """The cards on which the cards in ``room`` could lie (whole groups of two in and out), and the lowest rank's, on
    which nothing ever lies."""
    return (first_parents(room) | _LOW4) & DECK


@jit
def ends(tableau, bases, second):
    """The last cards of the columns, where every card's parent is known."""
    carried = tableau & ~bases
    covered = first_parents(carried & ~second) | swap_twins(first_parents(carried & second) & DECK)
    return tableau & ~covered


@jit
def reached(table, n, drawn, turns):
    """Which of n stock cards can be made the waste's top, by place from 1 (bit p for the p-th): without turning the
    waste over, and with turning it over once.

    Every ``draw``-th card from the waste's top on, the waste's top itself, and the last; after turning over, every
    ``draw``-th from the first on.
    """
    if n == 0:
        return U0, U0
    within = (U2 << np.uint64(n)) - U2
    now = ((table.steps << np.uint64(drawn)) & within) | bit(n)
    if turns == 0:
        return now, U0
    return now, (table.steps & within) | bit(n)


@jit
def packed(table, bases, turns, left, heights, drawn, reserve):
    """Words 0 and 1. With no limit on turning over, all that matters of the number of cards drawn is which cards can be
    made the waste's top: a number that is a multiple of ``draw``, or all of them, gives the same as none."""
    if turns == UNLIMITED and ((table.steps >> np.uint64(drawn)) & U1 != U0 or drawn >= popcount(left)):
        drawn = 0
    if reserve == 0 and table.any_space:
        bases = U0
    a = bases | (np.uint64(turns) << U52)
    b = left | (heights << U34) | (np.uint64(drawn) << U50) | (np.uint64(reserve) << U56)
    return a, b


@jit
def height(heights, suit):
    return np.int64((heights >> np.uint64(4 * suit)) & _LOW4)


@jit
def unpacked(a, b):
    """Bases, turnings left, stock left, heights, number drawn, number in the reserve."""
    return (
        a & DECK,
        np.int64(a >> U52),
        b & STOCK_BITS,
        (b >> U34) & np.uint64(0xFFFF),
        np.int64((b >> U50) & _LOW6),
        np.int64(b >> U56),
    )


@jit
def build_table(table, n_stock, n_reserve):
    """Fill a table's other arrays (modified in place) from the cards in stock and reserve."""
    in_stock, in_reserve, reserve_top = table.in_stock, table.in_reserve, table.reserve_top
    where, stock, reserve = table.where, table.stock, table.reserve
    where[:] = ELSEWHERE
    in_stock[:] = U0
    for i in range(n_stock):
        where[stock[i]] = i
        k, j = i // _CHUNK, i % _CHUNK
        for word in range(1 << _CHUNK):
            if word >> j & 1:
                in_stock[(k << _CHUNK) + word] |= bit(stock[i])
    in_reserve[0] = U0
    reserve_top[0] = U0
    for i in range(n_reserve):
        where[reserve[i]] = 64 + i
        reserve_top[i + 1] = bit(reserve[i])
        in_reserve[i + 1] = in_reserve[i] | reserve_top[i + 1]


def relabelled(card: int, base: int) -> int:
    """A card with its rank counted from the base card's."""
    return (card - 4 * base) % 52


@entry
def _build_table(table, n_stock, n_reserve):
    build_table(table, n_stock, n_reserve)


def start_of(position: Position, rules: Rules, prune: int = PRUNE_ALL) -> tuple[np.void, np.ndarray, np.ndarray]:
    """The table, the words (uint64[3], not settled) of a position that a search starts from, and what each card lies on
    in it (int64[52]: a card, BASE or NOWHERE).

    Raises:
        ValueError: no game of Canfield leads to such a position: a column is not a run, or empty while the reserve is
        not,
            or stock or reserve are too many.
    """
    base = position.base
    stock = [relabelled(c, base) for c in position.waste + position.stock]
    reserve = [relabelled(c, base) for c in position.reserve]
    if len(stock) > STOCK or len(reserve) > RESERVE:
        raise ValueError(f"Canfield has {STOCK} cards in the stock and {RESERVE} in the reserve at most")
    columns = [[relabelled(c, base) for c in column] for column in position.columns]
    second = bases = 0
    lies_on = np.full(52, NOWHERE, np.int64)
    for i, column in enumerate(columns):
        if not column and reserve:
            raise ValueError(f"column {i + 1} is empty, but it is filled from the reserve at once")
        for c in column[:1]:
            bases |= 1 << c
            lies_on[c] = BASE
        for parent, child in pairwise(column):
            if child >> 2 != (parent >> 2) - 1 or not (child ^ parent) & 2:
                raise ValueError(f"column {i + 1} is not a run, as every column of Canfield is")
            second |= ((child ^ parent) & 1) << child
            lies_on[child] = parent
    table = empty_table(rules, prune)
    table["stock"][: len(stock)] = stock
    table["reserve"][: len(reserve)] = reserve
    _build_table(table, len(stock), len(reserve))
    turns = turnings(rules, position.passes, len(stock))
    heights = sum(h << 4 * s for s, h in enumerate(position.foundations))
    words = np.array(
        [
            bases | turns << 52,
            (1 << len(stock)) - 1 | heights << 34 | len(position.waste) << 50 | len(reserve) << 56,
            0 if rules.partial_runs else second,
        ],
        np.uint64,
    )
    return table, words, lies_on


def turnings(rules: Rules, passes: int, stock: int) -> int:
    """How often the waste may still be turned over, UNLIMITED where more often could not be of use: each turning must
    be followed by a stock play, and there are ``stock`` cards."""
    if rules.passes is None or rules.passes - passes >= stock:
        return UNLIMITED
    return rules.passes - passes


def empty_table(rules: Rules, prune: int = PRUNE_ALL) -> np.void:
    """A table for the rules, with no cards in it yet."""
    table = record(TABLE)
    table["steps"] = sum(1 << p for p in range(0, 64, rules.draw))
    table["draw"] = rules.draw
    table["free_draws"] = 1
    table["partial"] = rules.partial_runs
    table["any_space"] = rules.partial_runs and rules.spaces == "any"
    table["prune"] = prune
    return table
