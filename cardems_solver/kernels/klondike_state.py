"""Klondike's state up to what cannot matter: which cards lie face up in the tableau, not where.

A face-up card is *locked* while it lies where it was dealt, at the foot of its column's run; else it is *free*: it
lies on one of the two cards of the next rank and other colour, or, a king, at the foot of a column. Free cards of one
rank and colour can trade places, so a position is the sets of visible, locked and stock cards and the foundations, and
it is legal exactly if, for each rank and colour, free cards of it are no more than visible cards of the next rank and
other colour, and columns that are not empty no more than seven. A run moves as a whole, so what lies on a card is of
no account when it moves to a column; it can go home if it can be made *bare*: if its rank and colour have a visible
card more than there are free cards to lie on them (see docs/klondike-proof.md).

A king at the foot of a column never gains by moving and counts as free. The cards beneath a locked one form layers;
each begins with a card that does not continue what it lies on, and comes up when the layer on it leaves. In a deal
every face-down card is a layer.

Words of a state: ``visible``, ``locked`` and ``stock`` (sets of cards; the stock's with those in the waste),
``nexts`` (for each suit the card that its foundation takes next; bit 52 + suit when full), and ``code``, a number that
no two states of a deal share: mixed radix over the stock's cards, layers left in each column, foundations, and, where
it matters, how far the stock has been drawn and in which pass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardems_solver import cards, reference
from cardems_solver.kernels.bits import U1, U2, U4, bit, popcount
from cardems_solver.kernels.jit import jit
from cardems_solver.position import Position
from cardems_solver.rules import Rules

PAIRS = np.uint64(0x5555555555555555)
LOW_PAIRS = np.uint64(0x3333333333333333)
CARDS = np.uint64((1 << 52) - 1)
KINGS = np.uint64(0xF << 48)
BLACK = np.uint64(0x000CCCCCCCCCCCCC)
RED = np.uint64(0x0003333333333333)
U3 = np.uint64(3)

# Columns of ``table``: what happens when a locked card leaves, and the stock card's share in the code.
MASK_UNDER, LOCK_UNDER, LAYER, STOCK_BIT, TABLE_COLUMNS = 0, 1, 2, 3, 4

# ``header``: numbers of a search that never change.
DRAW, STOCK_SIZE, LAST_PASS, POSITION_RADIX, PASS_RADIX, HEADER_SIZE = 0, 1, 2, 3, 4, 5


class Setup(NamedTuple):
    """A position made ready for the search.

    Attributes:
        table: uint64[52, 4], see above.
        suits: uint64[4], what a card going home adds to the code.
        foot: set of cards that leave their column empty when they leave.
        order: int64[52], the stock's cards in the order in which they are drawn, waste first; -1 after the last.
        header: int64[5], see above.
        state: uint64[5]: visible, locked, nexts, stock, code.
        place: int64[2]: order number of the first card not in the waste; passes begun, from 0.
    """

    table: np.ndarray
    suits: np.ndarray
    foot: np.uint64
    order: np.ndarray
    header: np.ndarray
    state: np.ndarray
    place: np.ndarray


class TooLarge(ValueError):
    """The position's code does not fit in 64 bits."""


def layers(column: tuple[int, ...], face_down: int) -> list[list[int]]:
    """The layers of a column, deepest first; the last is the one in play."""
    result: list[list[int]] = []
    for i, c in enumerate(column):
        if i > face_down and reference.continues(c, column[i - 1]):
            result[-1].append(c)
        else:
            result.append([c])
    return result


def _mask(held) -> int:
    return sum(1 << c for c in held)


def is_free(position: Position, rules: Rules) -> bool:
    """Can every stock card be played whenever one likes? Yes with one card drawn at a time and as many passes left as
    there are cards to play: no play needs more than one."""
    left = len(position.stock) + len(position.waste)
    return rules.draw == 1 and (rules.passes is None or rules.passes - position.passes >= left)


def set_up(position: Position, rules: Rules) -> Setup:
    """The search's arrays for a position.

    Raises:
        ValueError: a column's top card is face down.
        TooLarge: the code does not fit.
    """
    table = np.zeros((52, TABLE_COLUMNS), np.uint64)
    drawn = [*position.waste, *position.stock]
    for i, c in enumerate(drawn):
        table[c, STOCK_BIT] = 1 << i
    radix = 1 << len(drawn)
    code = radix - 1
    suits = np.zeros(4, np.uint64)
    for s in range(4):
        suits[s] = radix
        code += radix * position.foundations[s]
        radix *= 14
    visible = locked = foot = 0
    for column, face_down in zip(position.columns, position.face_down, strict=True):
        if not column:
            continue
        if face_down >= len(column):
            raise ValueError(f"{cards.name(column[-1])} is the top of a column, yet face down")
        stack = layers(column, face_down)
        visible |= _mask(stack[-1])
        under_mask = under_lock = 0
        if cards.rank(column[0]) == 12:
            under_mask = _mask(stack.pop(0))
        elif stack:
            foot |= 1 << stack[0][0]
        for layer in stack:
            table[layer[0], MASK_UNDER] = under_mask
            table[layer[0], LOCK_UNDER] = under_lock
            table[layer[0], LAYER] = radix
            under_mask, under_lock = _mask(layer), 1 << layer[0]
        locked |= under_lock
        code += radix * len(stack)
        radix *= len(stack) + 1
    header = np.zeros(HEADER_SIZE, np.int64)
    header[DRAW] = rules.draw
    header[STOCK_SIZE] = len(drawn)
    if not is_free(position, rules):
        header[POSITION_RADIX] = radix
        radix *= len(drawn) + 1
        redeals = len(drawn) if rules.passes is None else min(len(drawn), rules.passes - position.passes)
        limited = rules.passes is not None and redeals < len(drawn)
        header[LAST_PASS] = redeals if limited else -1
        header[PASS_RADIX] = radix if limited else 0
        if limited:
            radix *= redeals + 1
    if radix > 1 << 64:
        raise TooLarge("this position has more states than 64 bits can number")
    nexts = _mask(4 * position.foundations[s] + s for s in range(4))
    order = np.full(52, -1, np.int64)
    order[: len(drawn)] = drawn
    return Setup(
        table,
        suits,
        np.uint64(foot),
        order,
        header,
        np.array([visible, locked, nexts, _mask(drawn), code], np.uint64),
        np.array([len(position.waste), 0], np.int64),
    )


@jit
def room(visible, locked):
    """(bare, slots): the ranks and colours of which a card can be made bare, each as both its cards, and the cards that
    have somewhere to go in the tableau."""
    free = visible & ~locked
    hosts = (visible & PAIRS) + ((visible >> U1) & PAIRS)
    children = (free & PAIRS) + ((free >> U1) & PAIRS)
    children = ((((children & LOW_PAIRS) << U2) | ((children >> U2) & LOW_PAIRS)) << U4) & CARDS
    spare = hosts - children  # two bits a rank and colour; none borrows, for the state is legal
    bare = ((spare | (spare >> U1)) & PAIRS) * U3
    slots = (((bare & LOW_PAIRS) << U2) | ((bare >> U2) & LOW_PAIRS)) >> U4
    if popcount(locked | (visible & KINGS)) < 7:
        slots |= KINGS
    return bare, slots


@jit
def is_safe(nexts, c, may_return):
    """May card ``c``, the next of its suit, be sent home for good? Yes if nothing can want to lie on it: both cards of
    the other colour one rank lower are home for good. If cards may return, they could come back to carry the card two
    ranks lower of c's colour: so that one must be home, too (proof: docs/klondike-proof.md)."""
    low = bit(c & ~3) - U1
    other = RED if c & 2 else BLACK
    if nexts & low & other:
        return False
    return not may_return or not (nexts & (low >> U4) & ~other)
