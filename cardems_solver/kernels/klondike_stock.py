"""Klondike's stock where its order matters: which cards can be played now, and which positions of it are as good.

Where it stands is said by ``first``, the order number of the first card that is not in the waste, and the pass; both
in one word, ``first | pass << 8``. Which cards are left, in their order, the lowest bits of a state's code say.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, bit, lowest, popcount
from cardems_solver.kernels.jit import jit
from cardems_solver.kernels.klondike_state import DRAW, LAST_PASS, PASS_RADIX, STOCK_SIZE

_SHIFTS = (np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(8), np.uint64(16), np.uint64(32))
_U8, _FIRST = np.uint64(8), np.uint64(0xFF)
_ANY = ~U0


@jit
def access(deal, code, where, accessible):
    """Which stock cards can be played, drawing and turning over as needed: returns the set, and writes where the stock
    stands after each card's play to ``accessible`` (uint64[52]; in the earliest pass if there are several).

    Drawn d at a time from a waste of w out of m, the tops are w (if any), w + d, w + 2d .. and m, the last draw being
    short; after turning over d, 2d .. and m. Playing the top of a waste of w leaves one of w - 1.
    """
    draw = deal.numbers[DRAW]
    turn = np.int64(where >> _U8)
    rest = code & (bit(deal.numbers[STOCK_SIZE]) - U1)
    left = popcount(rest)
    waste = popcount(rest & (bit(where & _FIRST) - U1))
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
            accessible[c] = np.uint64(i | (turn if now else turn + 1) << 8)
    return result


@jit
def locate(deal, code, where):
    """(where, the size of the waste as a set, the sizes that are as good or better) for a stock from which a card has
    been played.

    What draws alone lead to is not better. So a waste of w is no better than one of w - d, w - 2d .. in the same pass,
    one of all cards no better than any; and with unlimited passes one of a multiple of the draw no better than any,
    since turning over and drawing leads to it.
    """
    draw = deal.numbers[DRAW]
    rest = code & (bit(deal.numbers[STOCK_SIZE]) - U1)
    drawn = rest & (bit(where & _FIRST) - U1)
    waste = popcount(drawn)
    for shift in _SHIFTS:
        drawn |= drawn >> shift
    first = np.uint64(popcount(drawn))
    if deal.numbers[LAST_PASS] < 0:
        if waste % draw == 0 or waste == popcount(rest):
            return U0, U1, _ANY
    else:
        first |= (where >> _U8) << _U8
        if waste == popcount(rest):
            return first, bit(waste), _ANY
    better = U0
    for size in range(waste, -1, -draw):
        better |= bit(size)
    return first, bit(waste), better


@jit
def turns_apart(deal, before, after):
    """What is added to the code between two places in the stock: passes are part of it where they are limited."""
    return ((after >> _U8) - (before >> _U8)) * np.uint64(deal.numbers[PASS_RADIX])
