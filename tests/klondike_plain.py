"""Klondike decided with no pruning at all: every action makes a node, nothing is settled, no chains, no safe moves.

Shares the words of a state and the stock's access with the kernel (both held against the reference by the tests), so it
is the oracle for everything that the kernel's search leaves out.
"""

from __future__ import annotations

import numba
import numpy as np

from cardems_solver.kernels.bits import U0, U1, U4, lowest
from cardems_solver.kernels.klondike_state import (
    FIRST,
    HOME,
    ORDERED,
    RETURN,
    RETURNS,
    SHIFT,
    STOCK_HOME,
    STOCK_PLACE,
    act,
    room,
    set_up,
)
from cardems_solver.kernels.klondike_stock import access, locate, turns_apart
from cardems_solver.position import Position
from cardems_solver.rules import Rules


@numba.njit
def _solvable(deal, most):
    """1 solvable, 0 not, -1 more than ``most`` nodes."""
    ordered, returns = deal.numbers[ORDERED] != 0, deal.numbers[RETURNS] != 0
    accessible = np.zeros(52, np.uint64)
    w = deal.words
    code = w[4]
    where = U0
    if ordered:
        where = locate(deal, code, np.uint64(deal.numbers[FIRST]))[0]
    stack = [(w[0], w[1], w[2], w[3], code, where)]
    seen = {(code, where)}
    while len(stack) > 0:
        visible, locked, nexts, stock, code, where = stack.pop()
        if visible == U0 and stock == U0:
            return 1
        if len(seen) > most:
            return -1
        playable = stock
        if ordered:
            playable = access(deal, code, where, accessible)
        bare, slots = room(visible, locked)
        for kind in (RETURN, STOCK_PLACE, SHIFT, STOCK_HOME, HOME):
            if kind == HOME:
                able = visible & bare & nexts
            elif kind == STOCK_HOME:
                able = playable & nexts
            elif kind == SHIFT:
                able = locked & slots
            elif kind == STOCK_PLACE:
                able = playable & slots
            else:
                able = (nexts >> U4) & slots if returns else U0
            while able != U0:
                c = lowest(able)
                able &= able - U1
                v, d, x, s, k = act(deal, kind, c, visible, locked, nexts, stock, code)
                place = where
                if ordered:
                    if kind in (STOCK_HOME, STOCK_PLACE):
                        place = accessible[c]
                    place = locate(deal, k, place)[0]
                    k += turns_apart(deal, where, place)
                if (k, place) not in seen:
                    seen.add((k, place))
                    stack.append((v, d, x, s, k, place))
    return 0


def solvable(position: Position, rules: Rules, most: int = 1_000_000) -> bool | None:
    """Can the position be won? None if more than ``most`` nodes would be needed."""
    answer = _solvable(set_up(position, rules), most)
    return None if answer < 0 else bool(answer)
