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
no two states of a deal share, but for how far the stock has been drawn: mixed radix over the stock's cards, layers
left in each column, foundations, and, where it matters, the pass.
"""

from __future__ import annotations

import numpy as np

from cardems_solver import cards, reference
from cardems_solver.kernels.bits import U0, U1, U2, U4, bit, lowest, popcount
from cardems_solver.kernels.jit import jit, record
from cardems_solver.position import Position
from cardems_solver.rules import Rules

PAIRS = np.uint64(0x5555555555555555)
LOW_PAIRS = np.uint64(0x3333333333333333)
CARDS = np.uint64((1 << 52) - 1)
KINGS = np.uint64(0xF << 48)
BLACK = np.uint64(0x000CCCCCCCCCCCCC)
RED = np.uint64(0x0003333333333333)
U3, U8, U16, U32 = (np.uint64(n) for n in (3, 8, 16, 32))

# Kinds of action.
HOME, RETURN, STOCK_HOME, STOCK_PLACE, SHIFT = range(5)

# Columns of ``table``: what happens when a locked card leaves, and the stock card's share in the code.
MASK_UNDER, LOCK_UNDER, LAYER, STOCK_BIT = range(4)

# ``numbers``: what does not change in a search.
ORDERED, RETURNS, DRAW, STOCK_SIZE, LAST_PASS, FIRST, PASS_RADIX, PRUNE, NUMBERS = range(9)

# ``numbers[PRUNE]``: which of the rules of docs/klondike-proof.md are in use.
PRUNE_SAFE, PRUNE_CHAINS, PRUNE_USEFUL = 1, 2, 4
PRUNE_ALL = PRUNE_SAFE | PRUNE_CHAINS | PRUNE_USEFUL

# ``words``: the state at the start, and the cards that leave their column empty when they leave.
VISIBLE, LOCKED, NEXTS, STOCK, CODE, FOOT, WORDS = range(7)


DEAL = np.dtype(
    [
        ("table", np.uint64, (52, 4)),
        ("suits", np.uint64, 4),
        ("order", np.int64, 52),
        ("numbers", np.int64, NUMBERS),
        ("words", np.uint64, WORDS),
    ]
)
"""A position made ready for the search (``jit.record``).

    table       see above
    suits       what a card going home adds to the code
    order       the stock's cards in the order in which they are drawn, waste first; -1 after the last
    numbers     does the stock's order matter; may foundation cards return; cards drawn at once; cards in stock and
                waste; passes that may yet be begun, -1 for any number; order number of the first card not in the waste;
                the pass's radix in the code; which pruning rules are in use
    words       see above
"""


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


def set_up(position: Position, rules: Rules, prune: int = PRUNE_ALL) -> np.void:
    """The search's arrays for a position.

    Raises:
        ValueError: a column's top card is face down.
        TooLarge: the code does not fit.
    """
    deal = record(DEAL)
    table, suits, numbers = deal["table"], deal["suits"], deal["numbers"]
    drawn = [*position.waste, *position.stock]
    for i, c in enumerate(drawn):
        table[c, STOCK_BIT] = 1 << i
    radix = 1 << len(drawn)
    code = radix - 1
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
        else:
            foot |= 1 << column[0]
        for layer in stack:
            table[layer[0], MASK_UNDER] = under_mask
            table[layer[0], LOCK_UNDER] = under_lock
            table[layer[0], LAYER] = radix
            under_mask, under_lock = _mask(layer), 1 << layer[0]
        locked |= under_lock
        code += radix * len(stack)
        radix *= len(stack) + 1
    numbers[RETURNS] = rules.foundation_return
    numbers[PRUNE] = prune
    numbers[DRAW] = rules.draw
    numbers[STOCK_SIZE] = len(drawn)
    numbers[LAST_PASS] = -1
    if not is_free(position, rules):
        numbers[ORDERED] = 1
        numbers[FIRST] = len(position.waste)
        if rules.passes is not None and rules.passes - position.passes < len(drawn):
            numbers[LAST_PASS] = rules.passes - position.passes
            numbers[PASS_RADIX] = radix
            radix *= rules.passes - position.passes + 1
    if radix > 1 << 64:
        raise TooLarge("this position has more states than 64 bits can number")
    deal["order"] = -1
    deal["order"][: len(drawn)] = drawn
    nexts = _mask(4 * position.foundations[s] + s for s in range(4))
    deal["words"] = np.array([visible, locked, nexts, _mask(drawn), code, foot], np.uint64)
    return deal


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
def is_safe(nexts, c, returns):
    """May card ``c``, the next of its suit, be sent home for good? Yes if nothing can want to lie on it: both cards of
    the other colour one rank lower are home for good. If cards may return, they could come back to carry the card two
    ranks lower of c's colour: so that one must be home, too (proof: docs/klondike-proof.md)."""
    low = bit(c & ~3) - U1
    other = RED if c & 2 else BLACK
    if nexts & low & other:
        return False
    return not returns or not (nexts & (low >> U4) & ~other)


@jit
def homes(nexts):
    """The cards on the foundations."""
    home = nexts >> U4
    home |= home >> U4
    home |= home >> U8
    home |= home >> U16
    return home | home >> U32


@jit
def restless(nexts):
    """The cards on the foundations that may have to come back: those that ``is_safe`` does not call safe there."""
    red = lowest(nexts & ~BLACK) >> 2
    black = lowest(nexts & ~RED) >> 2
    at_rest = RED & (bit(4 * min(black, red + 1) + 4) - U1) | BLACK & (bit(4 * min(red, black + 1) + 4) - U1)
    return homes(nexts) & ~at_rest


@jit
def unsettled(deal, nexts):
    """The cards on the foundations that may come back."""
    if deal.numbers[PRUNE] & PRUNE_SAFE:
        return restless(nexts)
    return homes(nexts)


@jit
def both(cards):
    """The cards and their twins."""
    return ((cards | (cards >> U1)) & PAIRS) * U3


@jit
def hosts_of(cards):
    """The cards that any of these may lie on."""
    pairs = both(cards)
    return (((pairs & LOW_PAIRS) << U2) | ((pairs >> U2) & LOW_PAIRS)) << U4


@jit
def guests_of(cards):
    """The cards that may lie on any of these."""
    pairs = both(cards)
    return (((pairs & LOW_PAIRS) << U2) | ((pairs >> U2) & LOW_PAIRS)) >> U4


@jit
def act(deal, kind, c, visible, locked, nexts, stock, code):
    """The state after an action (its code but for the stock's position)."""
    b = bit(c)
    if kind in (HOME, STOCK_HOME):
        nexts ^= b | (b << U4)
        code += deal.suits[c & 3]
    elif kind == RETURN:
        nexts ^= b | (b << U4)
        code -= deal.suits[c & 3]
    if kind == STOCK_HOME:
        stock ^= b
        code -= deal.table[c, STOCK_BIT]
    elif kind == STOCK_PLACE:
        stock ^= b
        visible |= b
        code -= deal.table[c, STOCK_BIT]
    elif kind == RETURN:
        visible |= b
    else:
        if kind == HOME:
            visible ^= b
        if locked & b:
            locked ^= b | deal.table[c, LOCK_UNDER]
            visible |= deal.table[c, MASK_UNDER]
            code -= deal.table[c, LAYER]
    return visible, locked, nexts, stock, code


@jit
def is_won(deal, locked, stock):
    """Can everything go home now? Yes with no layer under another, and the stock free or gone: the lowest card that is
    not home is in the stock or lies bare."""
    return locked & ~deal.words[FOOT] == U0 and (deal.numbers[ORDERED] == 0 or stock == U0)


@jit
def settle(deal, visible, locked, nexts, stock, code, record, n):
    """Send home what can go home without loss: where cards may return, every free card (this names the class);
    always what is safe, turning up layers, and from the stock where its order does not matter. Writes the actions to
    ``record`` from n on; returns the state and the new n."""
    returns = deal.numbers[RETURNS] != 0
    ordered = deal.numbers[ORDERED] != 0
    safe = deal.numbers[PRUNE] & PRUNE_SAFE != 0
    while True:
        bare, _ = room(visible, locked)
        able = visible & bare & nexts
        if returns and able & ~locked != U0:
            kind = HOME
            c = lowest(able & ~locked)
        else:
            kind = -1
            c = 0
            while safe and able != U0:
                c = lowest(able)
                if is_safe(nexts, c, returns):
                    kind = HOME
                    break
                able &= able - U1
            if kind < 0 and safe and not ordered:
                able = stock & nexts
                while able != U0:
                    c = lowest(able)
                    if is_safe(nexts, c, returns):
                        kind = STOCK_HOME
                        break
                    able &= able - U1
            if kind < 0:
                return visible, locked, nexts, stock, code, n
        visible, locked, nexts, stock, code = act(deal, kind, c, visible, locked, nexts, stock, code)
        record[n] = kind << 6 | c
        n += 1
