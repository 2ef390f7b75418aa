"""Klondike decided with no pruning at all: every action makes a node, nothing is settled, no chains, no safe moves.

Shares the words of a state and the stock's access with the kernel (both held against the reference by the tests), so it
is the oracle for everything that the kernel's search leaves out.
"""

from __future__ import annotations

import numba
import numpy as np

from cardems_solver.kernels import klondike_search as search
from cardems_solver.kernels.bits import U0, U1, U4, lowest
from cardems_solver.kernels.klondike_state import is_free, room, set_up
from cardems_solver.position import Position
from cardems_solver.rules import Rules


@numba.njit
def _solvable(state, place, table, suits, order, header, ordered, returns, most):
    """1 solvable, 0 not, -1 more than ``most`` nodes."""
    accessible = np.zeros((52, 2), np.int64)
    stack = [(state[0], state[1], state[2], state[3], state[4], place[0], place[1])]
    seen = {state[4]}
    while len(stack) > 0:
        visible, locked, nexts, stock, code, first, pass_ = stack.pop()
        if visible == U0 and stock == U0:
            return 1
        if len(seen) > most:
            return -1
        old = U0
        playable = stock
        if ordered:
            where, old = search.position_code(stock, first, pass_, order, header)
            playable = search.access(stock, np.uint64(first | pass_ << 8), order, header, accessible)
        bare, slots = room(visible, locked)
        for kind in (search.RETURN, search.STOCK_PLACE, search.SHIFT, search.STOCK_HOME, search.HOME):
            if kind == search.HOME:
                able = visible & bare & nexts
            elif kind == search.STOCK_HOME:
                able = playable & nexts
            elif kind == search.SHIFT:
                able = locked & slots
            elif kind == search.STOCK_PLACE:
                able = playable & slots
            else:
                able = (nexts >> U4) & slots if returns else U0
            while able != U0:
                c = lowest(able)
                able &= able - U1
                v, d, x, s, k = search.act(kind, c, visible, locked, nexts, stock, code, table, suits)
                f, p = first, pass_
                if ordered:
                    if kind == search.STOCK_HOME or kind == search.STOCK_PLACE:
                        f, p = accessible[c, 0], accessible[c, 1]
                    where, part = search.position_code(s, f, p, order, header)
                    f, p = np.int64(where) & 0xFF, np.int64(where) >> 8
                    k += part - old
                if k not in seen:
                    seen.add(k)
                    stack.append((v, d, x, s, k, f, p))
    return 0


def solvable(position: Position, rules: Rules, most: int = 1_000_000) -> bool | None:
    """Can the position be won? None if more than ``most`` nodes would be needed."""
    s = set_up(position, rules)
    state = s.state.copy()
    ordered = not is_free(position, rules)
    if ordered:
        state[4] += search.position_code(state[3], s.place[0], s.place[1], s.order, s.header)[1]
    answer = _solvable(state, s.place, s.table, s.suits, s.order, s.header, ordered, rules.foundation_return, most)
    return None if answer < 0 else bool(answer)
