"""Klondike's search for a win, layer by layer: of each layer only the most promising nodes are expanded.

Every event takes a card from the stock, turns some up, or leaves a column empty; so the cards in the stock, those not
turned up and those that still lie where they were dealt are fewer after it, all told. Nodes that have the same number
of them make a layer. A depth-first search spends millions of nodes below one early mistake; a layer holds many
different beginnings side by side. Where nothing was left out, an end without a win proves that there is none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardems_solver.kernels.bits import U0, popcount
from cardems_solver.kernels.jit import jit
from cardems_solver.kernels.klondike_chains import (
    BUDGET,
    CUT,
    HEIGHT,
    LOST,
    MARK,
    NODE_SIZE,
    NODES,
    PROMISE,
    STACK_FULL,
    WON,
    expand,
)
from cardems_solver.kernels.klondike_state import LOCKED, NEXTS, STOCK, VISIBLE, homes

LAYERS = 60
"""More than 52 cards and 7 columns make."""
CHOSEN = LAYERS
"""The list of the nodes of a layer that are to be expanded."""
SCORES = 160
LEFT_OUT = LAYERS + 1


class Beam(NamedTuple):
    """What a beam search keeps besides the search's arrays.

    Attributes:
        first: int64[LAYERS + 2], the first node of each layer and of the CHOSEN ones, -1 where none; LEFT_OUT: is any?
        after: int32[n], the node after each in its list, -1 at the end.
        histogram: int64[SCORES].
    """

    first: np.ndarray
    after: np.ndarray
    histogram: np.ndarray


def new_beam(nodes: int) -> Beam:
    return Beam(np.full(LAYERS + 2, -1, np.int64), np.full(nodes, -1, np.int32), np.zeros(SCORES, np.int64))


@jit
def _place(beam, stack, node):
    """Put a node into its layer, with its score for PROMISE: the lower, the better. Cards at home count twice as
    much as cards turned up."""
    b = stack[node]
    home = popcount(homes(b[NEXTS]))
    hidden = 52 - home - popcount(b[VISIBLE]) - popcount(b[STOCK])
    layer = hidden + popcount(b[STOCK]) + popcount(b[LOCKED])
    b[PROMISE] = np.uint64(hidden + 2 * (52 - home))
    beam.after[node] = beam.first[layer]
    beam.first[layer] = node


@jit
def _choose(beam, stack, layer, width):
    """Move the best nodes of a layer to the CHOSEN; the others are left out."""
    beam.histogram[:] = 0
    node = beam.first[layer]
    while node >= 0:
        beam.histogram[np.int64(stack[node, PROMISE])] += 1
        node = np.int64(beam.after[node])
    limit = 0
    spare = width
    while limit < SCORES and beam.histogram[limit] <= spare:
        spare -= beam.histogram[limit]
        limit += 1
    node = beam.first[layer]
    beam.first[layer] = -1
    while node >= 0:
        after = np.int64(beam.after[node])
        score = np.int64(stack[node, PROMISE])
        if score < limit or (score == limit and spare > 0):
            if score == limit:
                spare -= 1
            beam.after[node] = beam.first[CHOSEN]
            beam.first[CHOSEN] = node
        else:
            beam.first[LEFT_OUT] = 1
        node = after


@jit
def start_beam(beam, work):
    """Make ready for a search whose first node is on the stack."""
    beam.first[:] = -1
    beam.first[LEFT_OUT] = 0
    _place(beam, work.stack, 0)


@jit
def search_beam(deal, work, beam, width, budget):
    """Search on for ``budget`` more nodes, the stack holding all nodes met; returns a status. LOST: all was searched;
    CUT: nothing is left, but nodes were left out. After a win only the line to it is left on the stack."""
    counts, stack = work.counts, work.stack
    end = counts[NODES] + budget
    while True:
        node = beam.first[CHOSEN]
        if node < 0:
            layer = LAYERS - 1
            while layer >= 0 and beam.first[layer] < 0:
                layer -= 1
            if layer < 0:
                return CUT if beam.first[LEFT_OUT] else LOST
            _choose(beam, stack, layer, width)
            continue
        if counts[NODES] >= end:
            return BUDGET
        if counts[HEIGHT] == stack.shape[0]:
            return STACK_FULL
        counts[NODES] += 1
        met = counts[HEIGHT]
        status = expand(deal, work, node, U0, U0)
        for i in range(met, counts[HEIGHT]):
            stack[i, MARK] = np.uint64(node)
            _place(beam, stack, i)
        if status < 0:
            return -status  # it stays chosen, and is expanded again
        if status == WON:
            _keep_line(work, counts[HEIGHT] - 1)
            return WON
        beam.first[CHOSEN] = beam.after[node]


@jit
def _keep_line(work, node):
    """Leave on the stack only the nodes that lead to this one, as a depth-first search would, marked as expanded."""
    stack, counts = work.stack, work.counts
    n = 1
    i = node
    while i > 0:
        i = np.int64(stack[i, MARK])
        n += 1
    counts[HEIGHT] = n
    # The line's nodes stand in the order of their numbers, so each moves down or stays: mark the way forward first.
    after = node
    i = node
    while i > 0:
        before = np.int64(stack[i, MARK])
        stack[i, MARK] = np.uint64(after)
        after = i
        i = before
    stack[0, MARK] = np.uint64(after)
    i = 0
    for place in range(n):
        after = np.int64(stack[i, MARK])
        for k in range(NODE_SIZE):
            stack[place, k] = stack[i, k]
        stack[place, MARK] = np.uint64(1)
        i = after
