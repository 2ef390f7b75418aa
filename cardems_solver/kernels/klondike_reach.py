"""What a Klondike position can reach if nothing is ever lost: bounds for the cards that must be drawn again.

In the relaxed game a card that could once be bare, or go home, or be played from the waste, can ever after: each set
only grows, until nothing is added. What is not reached there is not reached in the real game either. Played without
turning the waste over, it says which cards of stock and waste have to be drawn again; played on with every card of the
stock at hand, it recognises positions that are lost.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, U2, U4, bit, popcount
from cardems_solver.kernels.jit import jit
from cardems_solver.kernels.klondike_words import (
    COLUMNS,
    DRAW,
    PLANE,
    RETURN,
    base_cards,
    columns_of,
    home_cards,
    next_home,
    parents,
)

_EVEN = np.uint64(0x5555555555555)
_LOW2 = np.uint64(0x3333333333333)
_KINGS = np.uint64(0xF << 48)
LOST = np.uint64(1 << 63)


@jit
def _other_colour(x):
    """Each card's suit ``s`` becomes ``s ^ 2``."""
    return ((x & _LOW2) << U2) | ((x >> U2) & _LOW2)


@jit
def _twins(x):
    """Each card's suit ``s`` becomes ``s ^ 1``."""
    return ((x & _EVEN) << U1) | ((x >> U1) & _EVEN)


@jit
def must_draw_again(a, b, c, here, order, left, waste, may_turn, table):
    """The cards of stock and waste that cannot be played before the waste is turned over; LOST if the position is lost.

    order: int64[>= left], where the cards left are in ``table.stock``; the first ``waste`` of them are the waste.
    """
    home = home_cards(a, b, c)
    bases = base_cards(a, b, c)
    on_first = a & ~b & ~c & PLANE
    on_second = ~a & b & ~c & PLANE
    undealt = here & table.undealt
    draw = table.rules[DRAW]
    buried, _ = columns_of(a, b, c, table)
    bare = PLANE & ~(home | undealt | buried | parents(a, b, c))
    goes_home = home
    played = U0
    at_hand = U0
    if waste > 0:
        at_hand = bit(table.stock[order[waste - 1]])
    j = waste + draw
    while j < left:
        at_hand |= bit(table.stock[order[j - 1]])
        j += draw
    if left > waste:
        at_hand |= bit(table.stock[order[left - 1]])
    empty = popcount(bases) < table.rules[COLUMNS]
    turned = False
    missed = U0
    heights = np.int64(0)  # six bits a column: stuck cards left
    for i in range(table.rules[COLUMNS]):
        heights |= popcount(here & table.stuck[i]) << (6 * i)
    while True:
        bare0, home0, played0, empty0 = bare, goes_home, played, empty
        more = (bare | at_hand) & next_home(goes_home)
        while more != U0:
            goes_home |= more
            more = (bare | at_hand) & next_home(goes_home)
        on_bare_first = _other_colour(bare >> U4)
        on_bare_second = _twins(on_bare_first)
        hosted = on_bare_first | on_bare_second
        if empty:
            hosted |= _KINGS
        leaves = hosted | goes_home
        plays = at_hand & leaves & ~played
        played |= plays
        bare |= at_hand & hosted
        bare |= _other_colour(on_first & (goes_home | on_bare_second)) << U4
        bare |= _twins(_other_colour(on_second & (goes_home | on_bare_first))) << U4
        for i in range(table.rules[COLUMNS]):
            k = heights >> (6 * i) & 63
            if k > 0 and leaves & bit(table.top[i, k]) != U0:
                bare |= bit(table.under[i, k])
                buried ^= table.below[i, k] ^ table.below[i, k - 1]
                heights -= 1 << (6 * i)
        if table.rules[RETURN]:
            bare |= goes_home & hosted & (((~home | bare) >> U4) | _KINGS)
        if bases & ~buried & (goes_home | (hosted & ~_KINGS)) != U0:
            empty = True
        if plays != U0 and not turned:
            for k in range(left):
                if played & bit(table.stock[order[k]]) != U0:
                    if k > 0:
                        at_hand |= bit(table.stock[order[k - 1]])
                    if draw > 1:
                        for m in range(max(k, waste), left):
                            at_hand |= bit(table.stock[order[m]])
                        break
        if bare == bare0 and goes_home == home0 and played == played0 and empty == empty0:
            if turned or played == undealt or not may_turn:
                break
            turned = True
            missed = undealt & ~played
            at_hand = undealt
    if goes_home != PLANE:
        return LOST
    return missed
