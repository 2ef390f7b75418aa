"""Many Klondike deals decided in one compiled call: set up, searched and their solutions written, deal after deal."""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, bit
from cardems_solver.kernels.jit import entry_making, jit, jit_making
from cardems_solver.kernels.klondike_beam import search_beam, start_beam
from cardems_solver.kernels.klondike_chains import (
    BUDGET,
    LINKS,
    LOST,
    NODES,
    STORED,
    TABLE,
    TABLE_FULL,
    WON,
    Work,
    copy_codes,
)
from cardems_solver.kernels.klondike_search import begin, path, search
from cardems_solver.kernels.klondike_state import (
    CODE,
    DRAW,
    FOOT,
    LAYER,
    LOCK_UNDER,
    LOCKED,
    MASK_UNDER,
    NEXTS,
    STOCK,
    STOCK_BIT,
    VISIBLE,
)
from cardems_solver.kernels.klondike_steps import write_steps

NODES_A_TURN = 500
QUICK_NODES = 2_000
"""Nodes to search for a win before trying to refute the position with a free stock."""
WIDTH = 100
"""Then a beam of this width looks for a win, before the complete search."""
FIRST_SLOTS = 4096
NO_END = 1 << 62


@jit
def deal_out(deal, deck, weights):
    """Set up a deal: fill its table, order and words (modified in place).

    deck: uint8[52], columns 1 to 7, deepest first, then the stock. weights: uint64[7], what a layer of each column adds
    to the code.
    """
    table, words = deal.table, deal.words
    table[:] = U0
    words[:] = U0
    words[NEXTS] = 15
    n = 0
    for column in range(7):
        mask_under = lock_under = U0
        for _ in range(column + 1):
            c = np.int64(deck[n])
            n += 1
            b = bit(c)
            at_foot = mask_under == U0
            if at_foot and c >= 48:
                mask_under = b
                if column == 0:
                    words[VISIBLE] |= b
                continue
            if at_foot:
                words[FOOT] |= b
            table[c, MASK_UNDER], table[c, LOCK_UNDER] = mask_under, lock_under
            table[c, LAYER] = weights[column]
            words[CODE] += weights[column]
            mask_under = lock_under = b
        if lock_under != U0:
            words[VISIBLE] |= lock_under
            words[LOCKED] |= lock_under
    for i in range(24):
        c = np.int64(deck[n + i])
        deal.order[i] = c
        table[c, STOCK_BIT] = bit(i)
        words[STOCK] |= bit(c)
        words[CODE] += bit(i)


@jit
def lay_out(deck, columns, heights, home):
    """The columns as they are dealt, see ``klondike_steps.lay_out``; modified in place."""
    home[:] = 0
    n = 0
    for column in range(7):
        heights[column] = column + 1
        for i in range(column + 1):
            columns[column, i] = deck[n]
            n += 1


@jit_making
def run(deal, work, beam, width, tables, nodes, most, stop):
    """Search on for at most so many nodes, with at most ``most`` stored; returns (status, work).

    width: that of the beam, 0 for the complete search.
    tables: uint64[2, n, 1 or 2]; a growing search goes to and fro between them. What it does not use is all zeros.
    """
    status = BUDGET
    end = work.counts[NODES] + nodes
    while work.counts[NODES] < end and work.counts[STORED] < most and stop[0] == 0:
        budget = min(NODES_A_TURN, end - work.counts[NODES])
        status = search_beam(deal, work, beam, width, budget) if width else search(deal, work, budget)
        if status == TABLE_FULL:
            size = 2 * work.slots.shape[0]
            if size > tables.shape[1]:
                break
            larger = tables[1, :size] if work.counts[TABLE] == 0 else tables[0, :size]
            copy_codes(work.slots, larger)
            work.slots[:] = U0
            work.counts[TABLE] = 1 - work.counts[TABLE]
            work = with_slots(work, larger)
            status = BUDGET
        elif status != BUDGET:
            break
    return status, work


@jit_making
def with_slots(work, slots):
    return Work(work.stack, slots, work.counts, work.frames, work.met, work.accessible, work.record)


@entry_making
def _decide_many(
    decks,
    deal,
    easier,
    weights,
    work,
    beam,
    tables,
    other_work,
    other_tables,
    most,
    stop,
    verdicts,
    lengths,
    expanded,
    generated,
    steps,
):
    """See ``klondike.decide_many``. deal, easier: set up for the rules and for a free stock with foundation return,
    tables and words to be filled; ``easier`` has no numbers (all 0) when there is nothing easier."""
    columns, heights, home = np.zeros((7, 64), np.uint8), np.zeros(7, np.int64), np.zeros(4, np.int64)
    refute = easier.numbers[DRAW] != 0
    for i in range(decks.shape[0]):
        verdicts[i] = 0
        expanded[i] = generated[i] = 0
        if stop[0]:
            continue
        deal_out(deal, decks[i], weights)
        here = with_slots(work, tables[0, :FIRST_SLOTS])
        status = begin(deal, here)
        if status == BUDGET:
            status, here = run(deal, here, beam, 0, tables, QUICK_NODES if refute else NO_END, most, stop)
        if status == BUDGET and refute and here.counts[STORED] < most:
            deal_out(easier, decks[i], weights)
            there = with_slots(other_work, other_tables[0, :FIRST_SLOTS])
            status = begin(easier, there)
            if status == BUDGET:
                status, there = run(easier, there, beam, 0, other_tables, NO_END, most, stop)
            there.slots[:] = U0
            expanded[i] += there.counts[NODES]
            generated[i] += there.counts[LINKS]
            if status != LOST:
                for width in (WIDTH, 0):
                    here.slots[:] = U0
                    here = with_slots(work, tables[0, :FIRST_SLOTS])
                    expanded[i] += here.counts[NODES]
                    generated[i] += here.counts[LINKS]
                    begin(deal, here)
                    if width:
                        start_beam(beam, here)
                    status, here = run(deal, here, beam, width, tables, NO_END, most, stop)
                    if status in (WON, LOST):
                        break
        here.slots[:] = U0
        expanded[i] += here.counts[NODES]
        generated[i] += here.counts[LINKS]
        if status == LOST:
            verdicts[i] = 2
        elif status == WON:
            lay_out(decks[i], columns, heights, home)
            n = write_steps(columns, heights, home, here.record, path(deal, here), steps[i])
            if n >= 0:
                lengths[i] = n
                verdicts[i] = 1
