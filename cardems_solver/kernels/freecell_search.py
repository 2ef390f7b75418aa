"""Best-first search over FreeCell positions with children left unbuilt.

A position is scored (``freecell_guide``) when it is expanded; a child's score is that plus what its move changes, so a
child is one word in a bucket queue, its parent and its move, until its turn comes, and most never have theirs. Then the
move is made, all safe cards go home (``freecell_state.settle``), and the position is stored unless it is known.

The search comes in two kinds. The hasty one gives up after so many positions, and the next guide gets its turn; it
takes no card back from a foundation. The patient one goes on and leaves nothing out. When the queue of a search that
has left nothing out runs dry, every position that can be reached has been expanded, and the start cannot be won.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardems_solver.kernels.bits import U0, U1, lowest, popcount
from cardems_solver.kernels.freecell_guide import Weight, appraise, score
from cardems_solver.kernels.freecell_state import (
    COLUMNS,
    DEALT,
    DECK,
    MAX_MOVES,
    code_of,
    destination,
    exposed,
    list_moves_of,
    moved,
    safe_home,
    set_up,
)
from cardems_solver.kernels.jit import entry, jit
from cardems_solver.kernels.table import find
from cardems_solver.outcome import TO_FOUNDATION

BUCKETS = 4096
NODES, QUEUED, FREED, LOWEST, GENERATED = range(5)
RUNNING, FULL, WON, EXHAUSTED = range(4)

MOST_NODES = 1 << 27
MOST_ENTRIES = 1 << 28
_LINK = np.uint64(MOST_ENTRIES - 1)
_PARENT = np.uint64(MOST_NODES - 1)
_DEEP = (1 << 16) - 1
_S28, _S55 = np.uint64(28), np.uint64(55)


class Pool(NamedTuple):
    """What a search has seen and what waits. Node 0 is the start as it was given, before safe cards went home.

    Attributes:
        words: uint64[n, 3], the positions in the order in which they were expanded.
        before: uint32[n], the node before each.
        marks: uint16[n, 2], the move that led to it; how many moves deep it is, or _DEEP for more.
        slots: uint32[2^k], index of ``words[1:]`` (see ``table``).
        entries: uint64[m], from 1 on, the queued children: link, parent << 28, move << 55.
        heads: uint32[BUCKETS], each bucket's first entry, 0 for none.
        counts: int64[5]: nodes, entries ever used, first of the entries free again, a bucket below which all are
            empty, children generated.
        moves: uint16[MAX_MOVES], room to work in.
    """

    words: np.ndarray
    before: np.ndarray
    marks: np.ndarray
    slots: np.ndarray
    entries: np.ndarray
    heads: np.ndarray
    counts: np.ndarray
    moves: np.ndarray


def new_pool(nodes: int) -> Pool:
    """A pool with room for so many nodes, a power of two; a hasty search does not need more entries than it has."""
    return Pool(
        words=np.zeros((nodes, 3), np.uint64),
        before=np.zeros(nodes, np.uint32),
        marks=np.zeros((nodes, 2), np.uint16),
        slots=np.zeros(2 * nodes, np.uint32),
        entries=np.zeros(8 * nodes, np.uint64),
        heads=np.zeros(BUCKETS, np.uint32),
        counts=np.zeros(5, np.int64),
        moves=np.zeros(MAX_MOVES, np.uint16),
    )


@jit
def begin(pool, a, b, c):
    """Put the start into a pool whose slots are clear."""
    pool.heads[:] = 0
    pool.words[0, 0], pool.words[0, 1], pool.words[0, 2] = a, b, c
    pool.counts[NODES] = 1
    pool.counts[QUEUED] = 2
    pool.counts[FREED] = 0
    pool.counts[LOWEST] = 0
    pool.counts[GENERATED] = 0
    pool.marks[0, 1] = 0
    # The first entry: ace of hearts stays where it is.
    pool.entries[1] = np.uint64(code_of(a, b, c, 0)) << _S55
    pool.heads[0] = 1


@jit
def run(pool, slots, g, cells, returns, rule, budget):
    """Expand up to ``budget`` positions (fewer, when it meets many that are known).

    slots: those of the pool to use, cleared before the start; returns: 1 if foundation cards may come back; rule: what
    is sent home at once, see ``safe_home``.
    Returns RUNNING, FULL (the pool must grow), WON (by the last node) or EXHAUSTED.
    """
    words, before, marks, _, entries, heads, counts, moves = pool
    stored = words[1:]
    weights, move_score, layout, hidden, column, level, breaks, digging = g
    nodes = counts[NODES]
    queued = counts[QUEUED]
    freed = counts[FREED]
    bucket = counts[LOWEST]
    last = nodes + budget
    known = 16 * budget
    status = RUNNING
    while nodes < last and known > 0:
        if nodes == words.shape[0] or queued + MAX_MOVES > entries.size:
            status = FULL
            break
        while bucket < BUCKETS and heads[bucket] == 0:
            bucket += 1
        if bucket == BUCKETS:
            status = EXHAUSTED
            break
        e = np.int64(heads[bucket])
        chosen = entries[e]
        heads[bucket] = chosen & _LINK
        entries[e] = np.uint64(freed)
        freed = e
        parent = np.int64((chosen >> _S28) & _PARENT)
        move = np.int64(chosen >> _S55)
        a, b, c = moved(words[parent, 0], words[parent, 1], words[parent, 2], move >> 3, move & 7)
        tops = exposed(a, b, c, layout)
        while True:
            safe = (tops | (c & ~a)) & safe_home(c & a, rule)
            if safe == U0:
                break
            a |= safe
            b &= ~safe
            c |= safe
            tops = exposed(a, b, c, layout)
        at = find(slots, stored, a, b, c)
        if at >= 0:
            known -= 1
            continue
        node = nodes
        nodes += 1
        slots[-1 - at] = node  # plus one, as the table wants it, minus one, as node 0 is not in it
        words[node, 0], words[node, 1], words[node, 2] = a, b, c
        before[node] = parent
        marks[node, 0] = move
        depth = min(np.int64(marks[parent, 1]) + 1, _DEEP)
        marks[node, 1] = depth
        if c & a == DECK:
            status = WON
            break

        n = list_moves_of(a, b, c, tops, cells, returns, 1, moves)
        counts[GENERATED] += n
        free = min(cells - popcount(c & ~a), 4)
        empty = min(COLUMNS - popcount(a & b), 3)
        row = 48 * (4 * free + empty)
        base = score(a, b, c, weights, layout, hidden, column, level, breaks, digging)
        base += weights[Weight.CHOICE] * min(n, 20) + weights[Weight.DEPTH] * depth
        for i in range(n):
            m = np.int64(moves[i])
            card = m >> 3
            code = code_of(a, b, c, card)
            j = column[card]
            j = j if code == DEALT else COLUMNS
            guess = base + move_score[row + 8 * code + (m & 7)] + digging[j]
            guess = min(max(guess, 0), BUCKETS - 1)
            e = freed
            if e:
                freed = np.int64(entries[e])
            else:
                e = queued
                queued += 1
            entries[e] = np.uint64(heads[guess]) | (np.uint64(node) << _S28) | (np.uint64(m) << _S55)
            heads[guess] = e
            bucket = min(bucket, guess)
    counts[NODES] = nodes
    counts[QUEUED] = queued
    counts[FREED] = freed
    counts[LOWEST] = bucket
    return status


@jit
def _write_settled(a, b, c, layout, rule, steps, n):
    """Append to ``steps`` the safe moves home of a position; returns how many steps there are, and the words after."""
    while True:
        safe = (exposed(a, b, c, layout) | (c & ~a)) & safe_home(c & a, rule)
        if safe == U0:
            return n, a, b, c
        a |= safe
        b &= ~safe
        c |= safe
        while safe:
            steps[n, 0] = lowest(safe)
            steps[n, 1] = TO_FOUNDATION
            n += 1
            safe &= safe - U1


@jit
def write(pool, layout, rule, steps):
    """Write the steps from the start to the last node, the first of which is no move; returns how many, or -1 if
    there is no room for them. steps: an integer array [m, 2]."""
    depth = 0
    node = pool.counts[NODES] - 1
    while node > 0:
        node = np.int64(pool.before[node])
        depth += 1
    if 2 * depth + 52 > steps.shape[0]:
        return -1
    node = pool.counts[NODES] - 1
    # The moves, in order, from row ``first`` on, out of the way of the steps that are written over them.
    first = steps.shape[0] - depth
    for i in range(depth - 1, -1, -1):
        steps[first + i, 0] = pool.marks[node, 0] >> 3
        steps[first + i, 1] = pool.marks[node, 0] & 7
        node = np.int64(pool.before[node])
    a, b, c = pool.words[0, 0], pool.words[0, 1], pool.words[0, 2]
    n, a, b, c = _write_settled(a, b, c, layout, rule, steps, 0)
    for i in range(1, depth):
        card = np.int64(steps[first + i, 0])
        code = np.int64(steps[first + i, 1])
        steps[n, 0] = card
        steps[n, 1] = destination(card, code)
        a, b, c = moved(a, b, c, card, code)
        n, a, b, c = _write_settled(a, b, c, layout, rule, steps, n + 1)
    return n


@entry
def solve_many(
    pool,
    g,
    guides,
    moves,
    columns,
    heights,
    in_cells,
    home,
    cells,
    returns,
    most,
    stop,
    verdicts,
    lengths,
    expanded,
    generated,
    steps,
):
    """Try to decide many positions, each by hasty searches with one guide after the other.

    pool: with room for the largest budget; g: a Guidance to fill.
    guides: int64[k, Weight.SIZE]; moves: int64[k, 960], their ``move_scores``.
    columns: uint8[n, 8, h], deepest card first; heights: int64[n, 8]; in_cells, home: uint64[n], cards as bits.
    cells: how many there are; returns: may foundation cards come back?
    most: positions to expand for each at most; stop: uint8[1], ends the work when set.
    Written to where a position is decided: verdicts int8[n], 1 for solvable and 2 for unsolvable; where it is solvable:
    lengths int32[n], steps uint8[n, m, 2]; always: expanded and generated, int64[n].
    """
    for p in range(columns.shape[0]):
        if stop[0]:
            return
        expanded[p] = 0
        generated[p] = 0
        a, b, c = set_up(columns[p], heights[p], in_cells[p], home[p], g.layout)
        k = 0
        back = 0
        while k < guides.shape[0]:
            budget = min(guides[k, Weight.BUDGET], most - expanded[p], pool.words.shape[0] - 1)
            if back:
                budget = min(most - expanded[p], pool.words.shape[0] - 1)
            if budget <= 0:
                break
            appraise(g, guides[k], moves[k], columns[p], heights[p])
            used = 512
            while used < 2 * budget:
                used *= 2
            slots = pool.slots[:used]
            slots[:] = 0
            begin(pool, a, b, c)
            status = run(pool, slots, g, cells, back, back, budget)
            expanded[p] += pool.counts[NODES] - 1
            generated[p] += pool.counts[GENERATED]
            if status == WON:
                n = write(pool, g.layout, back, steps[p])
                if n >= 0:
                    verdicts[p] = 1
                    lengths[p] = n
                    break
            if status == EXHAUSTED and back == returns:
                verdicts[p] = 2
                break
            if back:
                break
            if status == EXHAUSTED:
                # Every guide would find the same; with foundation return there is more.
                back = 1
            else:
                k += 1


@entry
def start(pool, g, weights, moves, columns, heights, in_cells, home):
    """Put a position (``freecell_state.arrays``) into a pool whose slots are clear, for ``advance``."""
    a, b, c = set_up(columns, heights, in_cells, home, g.layout)
    appraise(g, weights, moves, columns, heights)
    begin(pool, a, b, c)


@entry
def advance(pool, g, cells, returns, rule, budget):
    """Let a patient search expand up to ``budget`` positions more; see ``run``."""
    return run(pool, pool.slots, g, cells, returns, rule, budget)


@entry
def trace(pool, layout, rule, steps):
    """The steps of a patient search that has won; see ``write``."""
    return write(pool, layout, rule, steps)
