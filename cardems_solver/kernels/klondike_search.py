"""Klondike's complete search: depth first over the nodes of ``klondike_chains``; it ends when all has been searched."""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, U2
from cardems_solver.kernels.jit import jit, jit_making
from cardems_solver.kernels.klondike_chains import (
    BUDGET,
    HEIGHT,
    LOST,
    MARK,
    NODES,
    STACK_FULL,
    STORED,
    WHERE,
    WON,
    expand,
    insert,
)
from cardems_solver.kernels.klondike_state import CODE, FIRST, LOCKED, NEXTS, ORDERED, STOCK, VISIBLE, is_won, settle
from cardems_solver.kernels.klondike_stock import locate


@jit
def first_node(deal, record):
    """The state that the search begins with, settled, and how many actions in ``record`` lead to it."""
    w = deal.words
    return settle(deal, w[VISIBLE], w[LOCKED], w[NEXTS], w[STOCK], w[CODE], record, 0)


@jit
def begin(deal, work):
    """Put the first node on the stack; ``slots`` must be all zeros. Returns WON or BUDGET."""
    visible, locked, nexts, stock, code, _ = first_node(deal, work.record)
    where, wastes = U0, U1
    if deal.numbers[ORDERED] != 0:
        where, wastes, _ = locate(deal, code, np.uint64(deal.numbers[FIRST]))
    b = work.stack[0]
    b[VISIBLE], b[LOCKED], b[NEXTS], b[STOCK], b[CODE], b[WHERE] = visible, locked, nexts, stock, code, where
    b[MARK] = U0
    work.counts[:] = 0
    work.counts[HEIGHT] = work.counts[STORED] = 1
    if is_won(deal, locked, stock):
        return WON
    insert(work.slots, code, wastes, U0)
    return BUDGET


@jit
def search(deal, work, budget):
    """Search on for ``budget`` more nodes; returns a status. A node at which an array was full is marked with 2 and
    expanded again later; what it has led to by then stays on the stack."""
    counts, stack = work.counts, work.stack
    end = counts[NODES] + budget
    while counts[HEIGHT] > 0:
        node = counts[HEIGHT] - 1
        if stack[node, MARK] == U1:
            counts[HEIGHT] -= 1
            continue
        if counts[NODES] >= end:
            return BUDGET
        if node + 1 == stack.shape[0]:
            return STACK_FULL
        stack[node, MARK] = U1
        counts[NODES] += 1
        status = expand(deal, work, node, U0, U0)
        if status < 0:
            stack[node, MARK] = U2
            return -status
        if status == WON:
            return WON
    return LOST


@jit_making
def path(deal, work):
    """After a win: write to ``record`` the actions that lead from the position to the last node; return how many."""
    record = work.record
    height = work.counts[HEIGHT]
    actions = np.empty(record.size, np.int64)
    n = 0
    here = -1
    for node in range(height):
        if node < height - 1 and work.stack[node, MARK] == U0:
            continue
        if here < 0:
            _, _, _, _, _, more = first_node(deal, record)
        else:
            more = expand(deal, work, here, work.stack[node, CODE], work.stack[node, WHERE])
        actions[n : n + more] = record[:more]
        n += more
        here = node
    record[:n] = actions[:n]
    return n
