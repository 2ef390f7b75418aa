"""Klondike's stock where its order matters: which cards can be played now, and which positions of it are one.

Where it stands is said by ``first``, the order number of the first card that is not in the waste, and the pass; both
in one word, ``first | pass << 8``.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, bit
from cardems_solver.kernels.jit import jit
from cardems_solver.kernels.klondike_state import DRAW, LAST_PASS, PASS_RADIX, POSITION_RADIX, STOCK_SIZE


@jit
def access(deal, stock, where, accessible):
    """Which stock cards can be played, drawing and turning over as needed: returns the set, and writes for each card
    the position and the pass after its play to ``accessible`` (int64[52, 2]; the earliest pass if there are several).

    Drawn d at a time from a waste of w out of m, the tops are w (if any), w + d, w + 2d .. and m, the last draw being
    short; after turning over d, 2d .. and m. Playing the top of a waste of w leaves one of w - 1.
    """
    draw = deal.numbers[DRAW]
    first = np.int64(where) & 0xFF
    turn = np.int64(where) >> 8
    left = 0
    waste = 0
    for i in range(deal.numbers[STOCK_SIZE]):
        if stock & bit(deal.order[i]):
            left += 1
            if i < first:
                waste += 1
    again = deal.numbers[LAST_PASS] < 0 or turn < deal.numbers[LAST_PASS]
    result = U0
    n = 0
    for i in range(deal.numbers[STOCK_SIZE]):
        c = deal.order[i]
        if not stock & bit(c):
            continue
        n += 1
        now = n == waste or (n > waste and ((n - waste) % draw == 0 or n == left))
        if now or (again and (n % draw == 0 or n == left)):
            result |= bit(c)
            accessible[c, 0] = i
            accessible[c, 1] = turn if now else turn + 1
    return result


@jit
def locate(deal, stock, first, turn):
    """(where, its part of the code) for a stock drawn up to order number ``first`` in pass ``turn``. With unlimited
    passes those positions are one that a turn of the stock leads back to: a waste of a multiple of the draw, or of
    all cards."""
    left = 0
    waste = 0
    after_waste = 0
    for i in range(deal.numbers[STOCK_SIZE]):
        if stock & bit(deal.order[i]):
            left += 1
            if i < first:
                waste += 1
                after_waste = i + 1
    first = after_waste
    if deal.numbers[LAST_PASS] < 0:
        turn = 0
        if waste % deal.numbers[DRAW] == 0 or waste == left:
            first = 0
    part = np.uint64(first) * np.uint64(deal.numbers[POSITION_RADIX])
    return np.uint64(first | turn << 8), part + np.uint64(turn) * np.uint64(deal.numbers[PASS_RADIX])
