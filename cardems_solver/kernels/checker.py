"""A compiled referee: replays the steps of a solution on plain columns of cards, by rules given as integers.

It shares nothing with the searches and knows none of their tricks: cards lie in arrays, a step looks for its card, the
stock is drawn from until the card can be taken, and every condition of the rule page is asked in turn. All solutions of
a batch pass through it, as those of ``solve`` pass through ``reference``, against which this is tested.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

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

# Places in Table.count.
FREE_CELLS, RESERVE, TALON, DRAWN, PASS, BASE, MADE, TURNED, SINGLE = range(9)


class Table(NamedTuple):
    """A game in progress.

    Attributes:
        columns: uint8[8, 64], deepest card first.
        height: int64[8], cards in each column.
        down: int64[8], how many of them, from the deepest, are face down.
        in_cell: uint8[52], 1 for a card in a cell.
        home: int64[4], cards on each foundation.
        reserve: uint8[64], top last.
        talon: uint8[64], the waste from its bottom, and behind it the stock, next drawn first.
        count: int64[9]: free cells, cards in the reserve, cards in the talon, how many of them are in the waste, passes
            begun, base rank; moves made, times the waste was turned over, moves of single cards.
        single: int64[14, 9, 9], moves of single cards that carry n cards by so many free cells and empty columns.
    """

    columns: np.ndarray
    height: np.ndarray
    down: np.ndarray
    in_cell: np.ndarray
    home: np.ndarray
    reserve: np.ndarray
    talon: np.ndarray
    count: np.ndarray
    single: np.ndarray


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
def _single_moves() -> np.ndarray:
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


def new_table() -> Table:
    return Table(
        columns=np.zeros((8, 64), np.uint8),
        height=np.zeros(8, np.int64),
        down=np.zeros(8, np.int64),
        in_cell=np.zeros(52, np.uint8),
        home=np.zeros(4, np.int64),
        reserve=np.zeros(64, np.uint8),
        talon=np.zeros(64, np.uint8),
        count=np.zeros(9, np.int64),
        single=_single_moves(),
    )


def load(position: Position, rules: Rules) -> Table:
    """Any position as a table."""
    table = new_table()
    for i, column in enumerate(position.columns):
        table.columns[i, : len(column)] = column
        table.height[i] = len(column)
        table.down[i] = position.face_down[i]
    for c in position.cells:
        if c != EMPTY:
            table.in_cell[c] = 1
    table.home[:] = position.foundations
    table.reserve[: len(position.reserve)] = position.reserve
    talon = position.waste + position.stock
    table.talon[: len(talon)] = talon
    table.count[FREE_CELLS] = position.cells.count(EMPTY)
    table.count[RESERVE] = len(position.reserve)
    table.count[TALON] = len(talon)
    table.count[DRAWN] = len(position.waste)
    table.count[PASS] = position.passes
    table.count[BASE] = position.base
    return table


@jit
def _deal(t, rules, deck):
    """Lay out a deck, uint8[52] in the game's canonical card order, on the table (modified in place)."""
    t.height[:] = 0
    t.down[:] = 0
    t.in_cell[:] = 0
    t.home[:] = 0
    t.count[:] = 0
    t.count[PASS] = 1
    t.count[FREE_CELLS] = rules[CELLS]
    dealt = 0
    if rules[GAME] == FREECELL:
        for i in range(52):
            column = i % rules[COLUMNS]
            t.columns[column, t.height[column]] = deck[i]
            t.height[column] += 1
        dealt = 52
    elif rules[GAME] == KLONDIKE:
        for column in range(rules[COLUMNS]):
            for _ in range(column + 1):
                t.columns[column, t.height[column]] = deck[dealt]
                t.height[column] += 1
                dealt += 1
            t.down[column] = column
    else:
        t.count[BASE] = np.int64(deck[0]) >> 2
        t.home[np.int64(deck[0]) & 3] = 1
        for i in range(13):
            t.reserve[i] = deck[1 + i]
        t.count[RESERVE] = 13
        dealt = 14
        for column in range(rules[COLUMNS]):
            t.columns[column, 0] = deck[dealt]
            t.height[column] = 1
            dealt += 1
    for i in range(dealt, 52):
        t.talon[i - dealt] = deck[i]
    t.count[TALON] = 52 - dealt


@jit
def _height_in_suit(t, card):
    """How many cards its foundation holds before it: 0 for a card of the base rank."""
    return ((card >> 2) + 13 - t.count[BASE]) % 13


@jit
def _continues(t, child, parent):
    """One rank lower, counted from the base, and of the other colour."""
    lower = _height_in_suit(t, child) + 1 == _height_in_suit(t, parent)
    return lower and (child >> 1 & 1) != (parent >> 1 & 1)


@jit
def _in_talon(t, card):
    """The card's place in the talon, or -1."""
    for i in range(t.count[TALON]):
        if t.talon[i] == card:
            return i
    return -1


@jit
def _draw_to(t, rules, place):
    """Draw until the card at that place of the talon is the waste's top; False when it never will be."""
    turned = 0
    while t.count[DRAWN] != place + 1:
        if t.count[DRAWN] == t.count[TALON]:
            if turned == 2 or t.count[PASS] >= rules[PASSES]:
                return False
            turned += 1
            t.count[PASS] += 1
            t.count[TURNED] += 1
            t.count[DRAWN] = 0
        t.count[DRAWN] = min(t.count[DRAWN] + rules[DRAW], t.count[TALON])
        t.count[MADE] += 1
        t.count[SINGLE] += 1
    return True


@jit
def _make(t, rules, card, destination):
    """Make one step on the table (modified in place); False when the rules forbid it, and the table is then spoilt."""
    suit = card & 3

    # Where the card is, and how many cards move with it.
    source = -1
    carried = 1
    for column in range(rules[COLUMNS]):
        for i in range(t.height[column]):
            if t.columns[column, i] == card:
                source = column
                carried = t.height[column] - i
                if i < t.down[column]:
                    return False
    if source >= 0:
        top = t.height[source]
        for i in range(top - carried + 1, top):
            if not _continues(t, np.int64(t.columns[source, i]), np.int64(t.columns[source, i - 1])):
                return False
    from_cell = t.in_cell[card] == 1
    place = _in_talon(t, card)
    from_reserve = t.count[RESERVE] > 0 and t.reserve[t.count[RESERVE] - 1] == card
    from_home = False
    if source < 0 and not from_cell and place < 0 and not from_reserve:
        from_home = t.home[suit] > 0 and _height_in_suit(t, card) == t.home[suit] - 1
        if not from_home or rules[RETURN] == 0:
            return False
    if place >= 0 and not _draw_to(t, rules, place):
        return False

    # Where it goes.
    target = -1
    empty = 0
    for column in range(rules[COLUMNS] - 1, -1, -1):
        if t.height[column] == 0:
            empty += 1
            if destination == TO_COLUMN:
                target = column
        elif t.columns[column, t.height[column] - 1] == destination:
            target = column
    single = 1
    if destination == TO_FOUNDATION:
        if from_home or carried != 1 or _height_in_suit(t, card) != t.home[suit]:
            return False
    elif destination == TO_CELL:
        if carried != 1 or t.count[FREE_CELLS] == 0:
            return False
    else:
        if target < 0 or target == source:
            return False
        to_empty = destination == TO_COLUMN
        if not to_empty and not _continues(t, card, destination):
            return False
        if rules[GAME] == FREECELL:
            helpers = empty - 1 if to_empty else empty
            if carried > (1 + t.count[FREE_CELLS]) << helpers:
                return False
            single = t.single[carried, t.count[FREE_CELLS], helpers]
        elif rules[GAME] == KLONDIKE:
            if to_empty and card >> 2 != 12:
                return False
        else:
            if source >= 0 and rules[PARTIAL] == 0 and carried != t.height[source]:
                return False
            if to_empty and place < 0 and rules[ANY_FILLS] == 0:
                return False

    # Make it so.
    if target >= 0:
        for i in range(carried):
            moved = card
            if source >= 0:
                moved = np.int64(t.columns[source, t.height[source] - carried + i])
            t.columns[target, t.height[target] + i] = moved
        t.height[target] += carried
    elif destination == TO_CELL:
        t.count[FREE_CELLS] -= 1
    else:
        t.home[suit] += 1
    if source >= 0:
        t.height[source] -= carried
        if t.down[source] > 0 and t.down[source] == t.height[source]:
            t.down[source] -= 1
        if t.height[source] == 0 and t.count[RESERVE] > 0:
            t.count[RESERVE] -= 1
            t.columns[source, 0] = t.reserve[t.count[RESERVE]]
            t.height[source] = 1
    elif from_cell:
        t.count[FREE_CELLS] += 1
    elif place >= 0:
        for i in range(place, t.count[TALON] - 1):
            t.talon[i] = t.talon[i + 1]
        t.count[TALON] -= 1
        t.count[DRAWN] -= 1
    elif from_reserve:
        t.count[RESERVE] -= 1
    else:
        t.home[suit] -= 1
    if from_cell != (destination == TO_CELL):
        t.in_cell[card] = destination == TO_CELL
    t.count[MADE] += 1
    t.count[SINGLE] += single
    return True


@jit
def _length(t, metric):
    if metric == 1:
        return t.count[MADE] + t.count[TURNED]
    return t.count[SINGLE] if metric == 2 else t.count[MADE]


@jit
def _replay(t, rules, steps):
    """Number of steps made before the list ended or a step was illegal, and whether it was the former."""
    for n in range(steps.shape[0]):
        card = np.int64(steps[n, 0])
        if card >= 52:
            return n, True
        if not _make(t, rules, card, np.int64(steps[n, 1])):
            return n, False
    return steps.shape[0], True


@entry
def replay(t, rules, steps):
    """Replay steps, uint8[m, 2], on a table (modified in place).

    Returns:
        how many steps were made; whether all were legal; whether all cards are home.
    """
    made, legal = _replay(t, rules, steps)
    return made, legal, t.home.sum() == 52


@entry
def check_many(t, rules, metric, decks, verdicts, steps, lengths):
    """Replay the solution of every deal with verdict 1.

    t: a table to work on; rules: int64[8], see ``rules_row``; metric: 0 moves, 1 taps, 2 cards.
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
        _, legal = _replay(t, rules, steps[n])
        if not legal or t.home.sum() != 52:
            return n
        lengths[n] = _length(t, metric)
    return -1
