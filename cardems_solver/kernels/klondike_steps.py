"""From the search's actions to steps: which card goes onto which, with the columns laid out as they really are.

The search knows only which cards are in the tableau; here the columns are kept. A card that is to go home while
something lies on it is bared first: what lies on it moves to the card's twin.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.jit import jit
from cardems_solver.kernels.klondike_state import HOME, RETURN, STOCK_HOME
from cardems_solver.outcome import TO_COLUMN, TO_FOUNDATION
from cardems_solver.position import Position

NO_ROOM = -1


def lay_out(position: Position) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(columns uint8[7, 64], deepest first; their heights int64[7]; cards on each foundation int64[4])."""
    columns = np.zeros((7, 64), np.uint8)
    heights = np.zeros(7, np.int64)
    for i, column in enumerate(position.columns):
        columns[i, : len(column)] = column
        heights[i] = len(column)
    return columns, heights, np.array(position.foundations, np.int64)


@jit
def _find(columns, heights, card):
    """(column, place in it) of a card, (-1, 0) when it is in none."""
    for i in range(7):
        for j in range(heights[i]):
            if columns[i, j] == card:
                return i, j
    return -1, 0


@jit
def _lay(columns, heights, card, source, start, steps, n):
    """Lay a card, and what lies on it in column ``source`` from ``start`` on (-1: it comes from elsewhere), on a column
    that takes it; write the step to ``steps`` at n."""
    target = -1
    for i in range(7):
        if i == source:
            continue
        if heights[i] == 0:
            if card >= 48 and target < 0:
                target = i
        else:
            top = np.int64(columns[i, heights[i] - 1])
            if (top >> 2) == (card >> 2) + 1 and (top >> 1 & 1) != (card >> 1 & 1):
                target = i
    steps[n, 0] = card
    steps[n, 1] = columns[target, heights[target] - 1] if heights[target] else TO_COLUMN
    if source < 0:
        columns[target, heights[target]] = card
        heights[target] += 1
    else:
        for j in range(start, heights[source]):
            columns[target, heights[target]] = columns[source, j]
            heights[target] += 1
        heights[source] = start


@jit
def write_steps(columns, heights, home, actions, count, steps):
    """Write the steps for ``count`` actions, and then for sending all that is left home, to ``steps`` (uint8[n, 2]);
    returns how many, or NO_ROOM. The arrays of ``lay_out`` are played along."""
    n = 0
    for a in range(count):
        if n + 2 > steps.shape[0]:
            return NO_ROOM
        kind, card = actions[a] >> 6, actions[a] & 63
        column, place = _find(columns, heights, card)
        if kind in (HOME, STOCK_HOME):
            if column >= 0:
                if place + 1 < heights[column]:
                    child = np.int64(columns[column, place + 1])
                    _lay(columns, heights, child, column, place + 1, steps, n)
                    n += 1
                heights[column] = place
            home[card & 3] += 1
            steps[n, 0] = card
            steps[n, 1] = TO_FOUNDATION
        else:
            if kind == RETURN:
                home[card & 3] -= 1
            _lay(columns, heights, card, column, place, steps, n)
        n += 1
    while True:
        suit = 0
        for s in range(1, 4):
            if home[s] < home[suit]:
                suit = s
        if home[suit] == 13:
            return n
        if n == steps.shape[0]:
            return NO_ROOM
        steps[n, 0] = 4 * home[suit] + suit
        steps[n, 1] = TO_FOUNDATION
        home[suit] += 1
        n += 1
