"""Klondike's stock where its order matters: which cards can be played now, and which positions of it are one.

Where it stands is said by ``first``, the order number of the first card that is not in the waste, and the pass; both
in one word, ``first | pass << 8``. Which cards are left, in their order, the lowest bits of a state's code say.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, bit, lowest, popcount
from cardems_solver.kernels.jit import jit
from cardems_solver.kernels.klondike_state import DRAW, LAST_PASS, PASS_RADIX, POSITION_RADIX, STOCK_SIZE

_SHIFTS = (np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(8), np.uint64(16), np.uint64(32))


@jit
def access(deal, code, where, accessible):
    """Which stock cards can be played, drawing and turning over as needed: returns the set, and writes for each card
    the position and the pass after its play to ``accessible`` (int64[52, 2]; the earliest pass if there are several).

    Drawn d at a time from a waste of w out of m, the tops are w (if any), w + d, w + 2d .. and m, the last draw being
    short; after turning over d, 2d .. and m. Playing the top of a waste of w leaves one of w - 1.
    """
    draw = deal.numbers[DRAW]
    turn = np.int64(where) >> 8
    rest = code & (bit(deal.numbers[STOCK_SIZE]) - U1)
    left = popcount(rest)
    waste = popcount(rest & (bit(np.int64(where) & 0xFF) - U1))
    again = deal.numbers[LAST_PASS] < 0 or turn < deal.numbers[LAST_PASS]
    result = U0
    n = 0
    next_now = waste if waste else draw  # the next top of this pass and of one begun anew
    next_again = draw
    while rest != U0:
        i = lowest(rest)
        rest &= rest - U1
        n += 1
        now = n in (next_now, left)
        after = n in (next_again, left)
        if n == next_now:
            next_now += draw
        if n == next_again:
            next_again += draw
        if now or (again and after):
            c = deal.order[i]
            result |= bit(c)
            accessible[c, 0] = i
            accessible[c, 1] = turn if now else turn + 1
    return result


@jit
def locate(deal, code, first, turn):
    """(where, its part of the code) for a stock drawn up to order number ``first`` in pass ``turn``. With unlimited
    passes those positions are one that a turn of the stock leads back to: a waste of a multiple of the draw, or of
    all cards."""
    rest = code & (bit(deal.numbers[STOCK_SIZE]) - U1)
    drawn = rest & (bit(first) - U1)
    waste = popcount(drawn)
    for shift in _SHIFTS:
        drawn |= drawn >> shift
    first = popcount(drawn)
    if deal.numbers[LAST_PASS] < 0:
        turn = 0
        if waste % deal.numbers[DRAW] == 0 or waste == popcount(rest):
            first = 0
    part = np.uint64(first) * np.uint64(deal.numbers[POSITION_RADIX])
    return np.uint64(first | turn << 8), part + np.uint64(turn) * np.uint64(deal.numbers[PASS_RADIX])
