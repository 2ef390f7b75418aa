"""A lower bound on the moves that a Klondike position still needs, draws included, for every draw count.

Every card that is not home moves home once, and every card still in the stock must be drawn. What cannot go home
straight from where it lies costs more:

Columns. A card above a lower one of its suit has to make way before it can go home. Of a run, which moves as one, at
least one card has to be moved in that way if any of them lies above a lower one of its suit among the stuck cards.

Stock. Look at one suit in the first sweep, that is until the waste is next turned over, and at the cards that go home
in it straight from the waste. Each is drawn onto the waste in the order of the stock, unless it is there already, and
taken from its top, in order of rank. That is sorting with one stack, and not every order can be so sorted: some cards
must be left out. Each of those goes to a column (a move more) or is drawn again in a later sweep. So drawing one, each
costs one; drawing d at once, r cards drawn again cost at least r / d draws, and a turning over where that counts.
``stack_costs`` finds the fewest cards to leave out for all sets of cards of a suit that may be left; a card put aside
may go home at any time.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, bit, popcount
from cardems_solver.kernels.jit import entry_making, jit
from cardems_solver.kernels.klondike_landmarks import landmarks
from cardems_solver.kernels.klondike_reach import LOST, must_draw_again
from cardems_solver.kernels.klondike_words import (
    COLUMNS,
    DRAW,
    FIRST,
    LIMITED,
    SECOND,
    TAPS,
    code_of,
    here_cards,
    home_cards,
    passes_of,
    waste_size,
)

UNWINNABLE = 1 << 20
"""The bound for positions that cannot be won."""
_SUIT = np.uint64(0x1111111111111)


@entry_making
def stack_costs(stock):
    """For one suit's cards of the stock, first drawn first: how many must be left out of the first sweep.

    stock: int64[m]. Returns uint8[2^m, 16]: for each set of cards left and each number of them in the waste.
    """
    m = stock.size
    costs = np.zeros((1 << m, 16), np.uint8)
    left = np.zeros(14, np.int64)
    for cards in range(1, 1 << m):
        n = 0
        lowest = -1
        for i in range(m):
            if cards >> i & 1:
                left[n] = i
                n += 1
                if lowest < 0 or stock[i] < stock[lowest]:
                    lowest = i
        for waste in range(n, -1, -1):
            best = 99
            if waste < n:
                best = np.int64(costs[cards, waste + 1])
            if waste > 0:
                top = left[waste - 1]
                rest = np.int64(costs[cards ^ (1 << top), waste - 1])
                best = rest if top == lowest else min(best, rest + 1)
            costs[cards, waste] = best
    return costs


@jit
def bound(a, b, c, table, order):
    """The lower bound for a position in three words; at least UNWINNABLE if it cannot be won.

    order: int64[512], scratch.
    """
    home = home_cards(a, b, c)
    here = here_cards(a, b, c)
    waste = waste_size(c)
    left = np.int64(0)
    for i in range(table.stocked):
        card = table.stock[i]
        if here & bit(card) != U0:
            order[left] = i
            left += 1
    draw = table.rules[DRAW]
    moves = 52 - popcount(home) + (left - waste + draw - 1) // draw
    may_turn = table.rules[LIMITED] == 0 or passes_of(b) > 0
    again = must_draw_again(a, b, c, here, order, left, waste, may_turn, table)
    if again == LOST:
        return UNWINNABLE
    columns, moved = _column_bound(a, b, c, here, table)
    stacked, sorted_suits = _stack_bound(again, order, left, waste, table)
    left_out = popcount(again) + stacked
    if again != U0:
        stock = (left_out + draw - 1) // draw + table.rules[TAPS]
        least = (popcount(again) + draw - 1) // draw + table.rules[TAPS]
    else:
        stock = left_out
        least = 0
        if may_turn:
            stock = min(left_out, (left_out + draw - 1) // draw + table.rules[TAPS])
    certain = landmarks(
        a, b, c, here, order, left, waste, may_turn, draw > 1 and may_turn, moved, U0, again, table, order[64:]
    )
    if certain < 0:
        return UNWINNABLE
    certain += least
    if stacked > 0 and not (draw > 1 and may_turn):
        free = sorted_suits & here & table.undealt
        more = landmarks(
            a, b, c, here, order, left, waste, may_turn, False, moved, free, again | free, table, order[64:]
        )
        certain = max(certain, more + least + stacked)
    return moves + columns + max(stock, certain)


@jit
def _stack_bound(again, order, left, waste, table):
    """How many cards, but those to be drawn again, must be left out of the first sweep."""
    sets0 = sets1 = sets2 = sets3 = 0
    wastes = 0
    for j in range(left):
        i = order[j]
        card = table.stock[i]
        if again & bit(card) != U0:
            continue
        suit = card & 3
        if suit == 0:
            sets0 |= table.spot[i]
        elif suit == 1:
            sets1 |= table.spot[i]
        elif suit == 2:
            sets2 |= table.spot[i]
        else:
            sets3 |= table.spot[i]
        if j < waste:
            wastes += 1 << (8 * suit)
    left_out = np.int64(0)
    suits = U0
    for suit in range(4):
        sets = sets0 if suit == 0 else sets1 if suit == 1 else sets2 if suit == 2 else sets3
        n = np.int64(table.stacks[table.first[suit] + sets, wastes >> (8 * suit) & 15])
        left_out += n
        if n > 0:
            suits |= _SUIT << np.uint64(suit)
    return left_out, suits


@jit
def _column_bound(a, b, c, here, table):
    """How many moves from column to column are certain because of one suit, and the cards of which so many move."""
    moves = 0
    moved = U0
    for i in range(table.rules[COLUMNS]):
        n = popcount(here & table.stuck[i])
        if n == 0:
            continue
        card = table.top[i, n]
        below = table.below[i, n]
        run = U0
        while True:
            run |= bit(card)
            if below & (_SUIT << np.uint64(card & 3)) & (bit(card) - U1) != U0:
                moves += 1
                moved |= run
                break
            if card < 4:
                break
            first = card - 4 - (card & 3) + ((card & 3) ^ 2)
            second = first ^ 1
            if code_of(a, b, c, first) == FIRST:
                card = first
            elif code_of(a, b, c, second) == SECOND:
                card = second
            else:
                break
        for k in range(1, n):
            card = table.top[i, k]
            if table.below[i, k] & (_SUIT << np.uint64(card & 3)) & (bit(card) - U1) != U0:
                moves += 1
                moved |= bit(card)
    return moves, moved
