"""A compiled referee: replays the steps of a solution on plain columns of cards, by rules given as integers.

It shares nothing with the searches and knows none of their tricks: cards lie in arrays, a step looks for its card, the
stock is drawn from until the card can be taken, and every condition of the rule page is asked in turn. All solutions of
a batch pass through it, as those of ``solve`` pass through ``reference``, against which this is tested.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from cardems_solver.kernels.jit import entry, jit
from cardems_solver.outcome import TO_CELL, TO_COLUMN, TO_FOUNDATION
from cardems_solver.position import EMPTY, Position
from cardems_solver.rules import Rules

NO_STEP = 255
"""A row of steps ends at the first card number from 52 on; fill with this before a search writes."""

FREECELL, KLONDIKE, CANFIELD = 0, 1, 2
_GAMES = {"freecell": FREECELL, "klondike": KLONDIKE, "canfield": CANFIELD}

METRICS = {"moves": 0, "taps": 1, "cards": 2}

# Columns of a row of rules.
GAME, COLUMNS, CELLS, DRAW, PASSES, RETURN, PARTIAL, ANY_FILLS = range(8)
UNLIMITED_PASSES = 1 << 40

# A game in progress is a table of integers, int64[16, 64]. Rows 0 to 7 are the columns, deepest card first; the other
# rows are piles, too, and facts. A pile's row is also the name of the place where its cards are.
IN_CELLS = 8
"""No cards are listed: cells have no order."""
TALON = 9
"""The waste from its bottom, and behind it the stock, next drawn first."""
RESERVE = 10
"""Top last."""
HOME = 11
"""Not cards, but how many of each suit are home."""
HEIGHT = 12
"""How many cards are in each place, but for HOME."""
DOWN = 13
"""How many cards of each column, from the deepest, are face down."""
WHERE = 14
"""Where each card is."""
COUNT = 15
"""Numbers, in the places that follow."""
BASE, DRAWN, PASS, MADE, TURNED, SINGLE = range(6)
"""The base rank; cards of the talon that are in the waste; passes begun; moves made; times the waste was turned over;
moves of single cards."""


def rules_row(rules: Rules) -> np.ndarray:
    """The rules as integers, int64[8]."""
    return np.array(
        [
            _GAMES[rules.game],
            rules.columns,
            rules.cells,
            rules.draw,
            UNLIMITED_PASSES if rules.passes is None else rules.passes,
            rules.foundation_return,
            rules.partial_runs,
            rules.spaces == "any",
        ],
        np.int64,
    )


@cache
def single_moves() -> np.ndarray:
    """How many single-card moves stand for one move of n cards with e free cells and m empty columns, int64[14, 9, 9];
    0 where there is no room. The run is carried as ``expand.single_cards`` does it: by the cells alone where they do,
    otherwise the upper part goes to an empty column first, the rest over, and the upper part on top of it."""
    moves = np.zeros((14, 9, 9), np.int64)
    for m in range(9):
        for e in range(9):
            for n in range(1, min(13, (1 + e) << m) + 1):
                lower = (1 + e) << (m - 1) if m else 0
                if n <= e + 1:
                    moves[n, e, m] = 2 * n - 1
                elif n <= lower:
                    moves[n, e, m] = moves[n, e, m - 1]
                else:
                    moves[n, e, m] = 2 * moves[n - lower, e, m - 1] + moves[lower, e, m - 1]
    return moves


def new_table() -> np.ndarray:
    return np.zeros((16, 64), np.int64)


def load(position: Position) -> np.ndarray:
    """Any position as a table."""
    t = new_table()
    piles = dict(enumerate(position.columns))
    piles |= {TALON: position.waste + position.stock, RESERVE: position.reserve}
    t[WHERE, :52] = HOME
    for place, pile in piles.items():
        t[place, : len(pile)] = pile
        t[HEIGHT, place] = len(pile)
        t[WHERE, list(pile)] = place
    in_cells = [c for c in position.cells if c != EMPTY]
    t[WHERE, in_cells] = IN_CELLS
    t[HEIGHT, IN_CELLS] = len(in_cells)
    t[DOWN, : len(position.face_down)] = position.face_down
    t[HOME, :4] = position.foundations
    t[COUNT, BASE], t[COUNT, DRAWN], t[COUNT, PASS] = position.base, len(position.waste), position.passes
    return t


@jit
def _put(t, place, card):
    """Lay a card on a pile."""
    t[place, t[HEIGHT, place]] = card
    t[HEIGHT, place] += 1
    t[WHERE, card] = place


@jit
def _deal(t, rules, deck):
    """Lay out a deck, uint8[52] in the game's canonical card order, on the table (modified in place)."""
    t[HOME:] = 0
    t[COUNT, PASS] = 1
    dealt = 0
    if rules[GAME] == FREECELL:
        for i in range(52):
            _put(t, i % rules[COLUMNS], np.int64(deck[i]))
        dealt = 52
    elif rules[GAME] == KLONDIKE:
        for column in range(rules[COLUMNS]):
            for _ in range(column + 1):
                _put(t, column, np.int64(deck[dealt]))
                dealt += 1
            t[DOWN, column] = column
    else:
        base = np.int64(deck[0])
        t[COUNT, BASE] = base >> 2
        t[HOME, base & 3] = 1
        t[WHERE, base] = HOME
        for i in range(1, 14):
            _put(t, RESERVE, np.int64(deck[i]))
        dealt = 14
        for column in range(rules[COLUMNS]):
            _put(t, column, np.int64(deck[dealt]))
            dealt += 1
    for i in range(dealt, 52):
        _put(t, TALON, np.int64(deck[i]))


@jit
def _height_in_suit(base, card):
    """How many cards its foundation holds before it: 0 for a card of the base rank."""
    height = (card >> 2) - base
    return height if height >= 0 else height + 13


@jit
def _continues(base, child, parent):
    """One rank lower, counted from the base, and of the other colour."""
    lower = _height_in_suit(base, child) + 1 == _height_in_suit(base, parent)
    return lower and (child >> 1 & 1) != (parent >> 1 & 1)


@jit
def _draw_to(t, rules, place):
    """Draw until the card at that place of the talon is the waste's top; False when it never will be."""
    turned = 0
    while t[COUNT, DRAWN] != place + 1:
        if t[COUNT, DRAWN] == t[HEIGHT, TALON]:
            if turned == 2 or t[COUNT, PASS] >= rules[PASSES]:
                return False
            turned += 1
            t[COUNT, PASS] += 1
            t[COUNT, TURNED] += 1
            t[COUNT, DRAWN] = 0
        t[COUNT, DRAWN] = min(t[COUNT, DRAWN] + rules[DRAW], t[HEIGHT, TALON])
        t[COUNT, MADE] += 1
        t[COUNT, SINGLE] += 1
    return True


@jit
def _make(t, rules, single, card, destination):
    """Make one step on the table (modified in place); False when the rules forbid it, and the table is then spoilt."""
    suit = card & 3
    base = t[COUNT, BASE]
    columns = rules[COLUMNS]

    # Where the card is, how many cards move with it, and whether they may be taken.
    source = t[WHERE, card]
    carried = 1
    place = -1
    if source < columns:
        i = t[HEIGHT, source] - 1
        while t[source, i] != card:
            if not _continues(base, t[source, i], t[source, i - 1]):
                return False
            i -= 1
        if i < t[DOWN, source]:
            return False
        carried = t[HEIGHT, source] - i
    elif source == TALON:
        place = 0
        while t[TALON, place] != card:
            place += 1
        if not _draw_to(t, rules, place):
            return False
    elif source == RESERVE:
        if t[RESERVE, t[HEIGHT, RESERVE] - 1] != card:
            return False
    elif source == HOME and (rules[RETURN] == 0 or _height_in_suit(base, card) != t[HOME, suit] - 1):
        return False

    # Where it goes, and whether the place takes it.
    target = -1
    singles = 1
    if destination == TO_FOUNDATION:
        if source == HOME or carried != 1 or _height_in_suit(base, card) != t[HOME, suit]:
            return False
    elif destination == TO_CELL:
        if carried != 1 or t[HEIGHT, IN_CELLS] == rules[CELLS]:
            return False
    elif destination > TO_FOUNDATION:
        return False
    else:
        empty = 0
        for column in range(columns - 1, -1, -1):
            if t[HEIGHT, column] == 0:
                empty += 1
                target = column
        to_empty = destination == TO_COLUMN
        if not to_empty:
            target = t[WHERE, destination]
            if target >= columns or t[target, t[HEIGHT, target] - 1] != destination:
                return False
        if target < 0 or target == source:
            return False
        if not to_empty and not _continues(base, card, destination):
            return False
        if rules[GAME] == FREECELL:
            free = rules[CELLS] - t[HEIGHT, IN_CELLS]
            helpers = empty - 1 if to_empty else empty
            if carried > (1 + free) << helpers:
                return False
            singles = single[carried, free, helpers]
        elif rules[GAME] == KLONDIKE:
            if to_empty and card >> 2 != 12:
                return False
        else:
            if source < columns and rules[PARTIAL] == 0 and carried != t[HEIGHT, source]:
                return False
            if to_empty and source != TALON and rules[ANY_FILLS] == 0:
                return False

    # Take the cards away.
    if source < columns:
        t[HEIGHT, source] -= carried
    elif source == HOME:
        t[HOME, suit] -= 1
    else:
        t[HEIGHT, source] -= 1
        if source == TALON:
            for i in range(place, t[HEIGHT, TALON]):
                t[TALON, i] = t[TALON, i + 1]
            t[COUNT, DRAWN] -= 1

    # Put them down.
    if destination == TO_FOUNDATION:
        t[HOME, suit] += 1
        t[WHERE, card] = HOME
    elif destination == TO_CELL:
        t[HEIGHT, IN_CELLS] += 1
        t[WHERE, card] = IN_CELLS
    elif source < columns:
        for i in range(carried):
            _put(t, target, t[source, t[HEIGHT, source] + i])
    else:
        _put(t, target, card)

    # What follows by itself: a card is turned up, the reserve fills a space.
    if source < columns:
        if t[DOWN, source] > 0 and t[DOWN, source] == t[HEIGHT, source]:
            t[DOWN, source] -= 1
        if t[HEIGHT, source] == 0 and t[HEIGHT, RESERVE] > 0:
            t[HEIGHT, RESERVE] -= 1
            _put(t, source, t[RESERVE, t[HEIGHT, RESERVE]])
    t[COUNT, MADE] += 1
    t[COUNT, SINGLE] += singles
    return True


@jit
def _replay(t, rules, single, steps):
    """Number of steps made before the list ended or a step was illegal, and whether it was the former."""
    for n in range(steps.shape[0]):
        card = np.int64(steps[n, 0])
        if card >= 52:
            return n, True
        if not _make(t, rules, single, card, np.int64(steps[n, 1])):
            return n, False
    return steps.shape[0], True


@jit
def _won(t):
    return t[HOME, 0] + t[HOME, 1] + t[HOME, 2] + t[HOME, 3] == 52


@entry
def replay(t, rules, single, steps):
    """Replay steps, uint8[m, 2], on a table (modified in place).

    Returns:
        how many steps were made; whether all were legal; whether all cards are home.
    """
    made, legal = _replay(t, rules, single, steps)
    return made, legal, _won(t)


@entry
def check_many(t, rules, single, metric, decks, verdicts, steps, lengths):
    """Replay the solution of every deal with verdict 1.

    t: a table to work on; rules: int64[8] from ``rules_row``; single: from ``single_moves``; metric: from ``METRICS``.
    decks: uint8[n, 52] in the game's canonical card order; verdicts: int8[n]; steps: uint8[n, m, 2].
    lengths: int32[n], set to the length of each solution and to -1 for the other deals.

    Returns:
        the first deal whose solution is illegal or does not win, or -1 when there is none.
    """
    for n in range(decks.shape[0]):
        lengths[n] = -1
        if verdicts[n] != 1:
            continue
        _deal(t, rules, decks[n])
        _, legal = _replay(t, rules, single, steps[n])
        if not legal or not _won(t):
            return n
        if metric == 2:
            lengths[n] = t[COUNT, SINGLE]
        elif metric == 1:
            lengths[n] = t[COUNT, MADE] + t[COUNT, TURNED]
        else:
            lengths[n] = t[COUNT, MADE]
    return -1
