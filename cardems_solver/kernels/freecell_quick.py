"""A quick FreeCell search that finds most solutions and proves nothing: greedy best-first with children left unbuilt.

A position is scored when it is expanded; a child's score is that plus what its move changes, so a child is one word in
a bucket queue (its parent and its move) until its turn comes, and most never have theirs. Moves carry whole runs; safe
cards go home at once. Positions already expanded are recognised by a hash in a small table that forgets, and
foundation cards never return: when the search fails, or its budget is spent, nothing is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardems_solver.kernels.bits import U0, U1, lowest, mix3, popcount
from cardems_solver.kernels.freecell_guide import Guidance, Weight, appraise, guidance, score, space_score
from cardems_solver.kernels.freecell_state import (
    BASE,
    CELL,
    COLUMNS,
    DEALT,
    FIRST,
    HOME,
    MAX_MOVES,
    SECOND,
    code_of,
    destination,
    exposed,
    first_children,
    first_parents,
    moved,
    next_home,
    safe_home,
    second_children,
    second_parents,
    set_up,
)
from cardems_solver.kernels.jit import entry, jit
from cardems_solver.outcome import TO_FOUNDATION

BUCKETS = 4096
NODES = 20_000
ENTRIES = 24 * NODES
SEEN = 1 << 15
_DECK = np.uint64((1 << 52) - 1)
_PARENT = np.uint64((1 << 20) - 1)
_LINK = np.uint64((1 << 24) - 1)
_S24, _S44 = np.uint64(24), np.uint64(44)
_SALT = np.uint64(0x9E3779B97F4A7C15)


class Room(NamedTuple):
    """What a search works in; ``room`` makes one, one serves any number of searches in turn.

    Attributes:
        guidance: of the start and the weights in use.
        words: uint64[NODES, 3], the expanded positions.
        links: uint32[NODES], the position before each.
        marks: uint16[NODES, 2], the move that led to it; how many moves deep it is.
        entries: uint64[ENTRIES], queued children: next entry in the bucket, parent << 24, move << 44.
        heads: uint32[BUCKETS], each bucket's first entry, 0 for none.
        seen: uint64[SEEN], hashes of expanded positions.
        moves: uint16[MAX_MOVES].
        counts: int64[3]: positions expanded, children generated, searches made.
    """

    guidance: Guidance
    words: np.ndarray
    links: np.ndarray
    marks: np.ndarray
    entries: np.ndarray
    heads: np.ndarray
    seen: np.ndarray
    moves: np.ndarray
    counts: np.ndarray


def room() -> Room:
    return Room(
        guidance=guidance(),
        words=np.zeros((NODES, 3), np.uint64),
        links=np.zeros(NODES, np.uint32),
        marks=np.zeros((NODES, 2), np.uint16),
        entries=np.zeros(ENTRIES, np.uint64),
        heads=np.zeros(BUCKETS, np.uint32),
        seen=np.zeros(SEEN, np.uint64),
        moves=np.zeros(MAX_MOVES, np.uint16),
        counts=np.zeros(3, np.int64),
    )


def size(r: Room) -> int:
    """Bytes that its arrays take."""
    return sum(array.nbytes for array in (*r[1:], *r.guidance))


@jit
def _list_moves(r, a, b, c, tops, free, empty):
    """``freecell_state.list_moves`` without returns, and with whole runs only to an empty column. Returns how many."""
    moves = r.moves
    in_cells = c & ~a
    loose = tops | in_cells
    n = 0
    targets = loose & next_home(c & a)
    while targets:
        moves[n] = (lowest(targets) << 3) | HOME
        n += 1
        targets &= targets - U1
    if free > 0:
        targets = tops
        while targets:
            moves[n] = (lowest(targets) << 3) | CELL
            n += 1
            targets &= targets - U1
    room = (1 + free) << empty
    room_to_empty = room >> 1 if empty > 0 else 0
    dealt = ~(a | b | c)
    on_first = a & ~b & ~c
    on_second = b & ~a
    first = first_children(tops)
    second = second_children(tops)
    may_leave = ~(a & b)
    count = 1
    run_tops = tops
    while loose:
        targets = loose & first
        while targets:
            moves[n] = (lowest(targets) << 3) | FIRST
            n += 1
            targets &= targets - U1
        targets = loose & second
        while targets:
            moves[n] = (lowest(targets) << 3) | SECOND
            n += 1
            targets &= targets - U1
        if count <= room_to_empty:
            targets = loose & may_leave
            while targets:
                moves[n] = (lowest(targets) << 3) | BASE
                n += 1
                targets &= targets - U1
        may_leave = dealt
        count += 1
        if count > room:
            break
        run_tops = first_parents(run_tops & on_first) | second_parents(run_tops & on_second)
        loose = run_tops
    return n


@jit
def _search(r, a, b, c, cells, budget):
    """Search from a start whose tables are filled. Returns the number of a won position, or -1."""
    g, entries, heads = r.guidance, r.entries, r.heads
    weights, layout, hidden = g.weights, g.layout, g.hidden
    heads[:] = 0
    mask = np.uint64(r.seen.size) - U1
    r.counts[2] += 1
    salt = np.uint64(r.counts[2]) * _SALT
    nodes = 0
    queued = 1
    lowest_bucket = BUCKETS
    parent = 0
    move = 0
    depth = 0
    while nodes < budget:
        # The position whose turn has come is a, b, c.
        tops = exposed(a, b, c, layout)
        while True:
            z = (tops | (c & ~a)) & safe_home(c & a, 0)
            if z == U0:
                break
            a |= z
            b &= ~z
            c |= z
            tops = exposed(a, b, c, layout)
        key = mix3(a, b, c) ^ salt
        if r.seen[key & mask] != key:
            r.seen[key & mask] = key
            node = nodes
            nodes += 1
            r.words[node, 0], r.words[node, 1], r.words[node, 2] = a, b, c
            r.links[node] = parent
            r.marks[node, 0] = move
            r.marks[node, 1] = depth
            if c & a == _DECK:
                r.counts[0] += nodes
                return node

            free = cells - popcount(c & ~a)
            empty = COLUMNS - popcount(a & b)
            base, buried = score(a, b, c, g)
            n = _list_moves(r, a, b, c, tops, free, empty)
            depth += 1
            base += weights[Weight.CHOICE] * min(n, 20) + weights[Weight.DEPTH] * depth
            dealt = ~(a | b | c)
            r.counts[1] += n
            if queued + n > entries.size:
                break

            for i in range(n):
                m = np.int64(r.moves[i])
                card = m >> 3
                to = m & 7
                code = code_of(a, b, c, card)
                guess = base
                free_after = free
                empty_after = empty
                if code == DEALT:
                    j = g.column[card]
                    at = np.int64(layout[8 + j]) + popcount(dealt & layout[j])
                    guess += hidden[at - 1] - hidden[at] - (buried >> (7 * j) & 127)
                elif code == CELL:
                    free_after += 1
                elif code == BASE:
                    empty_after += 1
                on_card = code in (FIRST, SECOND)
                if to == HOME:
                    guess -= weights[Weight.CARD_HOME]
                elif to == CELL:
                    free_after -= 1
                    guess += weights[Weight.TO_CELL]
                    if on_card:
                        guess += weights[Weight.OFF_CARD]
                    elif code == DEALT:
                        guess += weights[Weight.DUG_TO_CELL]
                elif to == BASE:
                    empty_after -= 1
                    guess += weights[Weight.TO_SPACE]
                    if on_card:
                        guess += weights[Weight.OFF_CARD]
                    elif card >= 48:
                        guess += weights[Weight.KING_TO_SPACE]
                else:
                    guess += weights[Weight.TO_CARD]
                    if on_card:
                        guess += weights[Weight.CARD_TO_CARD]
                guess = min(max(guess + space_score(free_after, empty_after, weights), 0), BUCKETS - 1)
                entries[queued] = np.uint64(heads[guess]) | (np.uint64(node) << _S24) | (np.uint64(m) << _S44)
                heads[guess] = queued
                queued += 1
                lowest_bucket = min(lowest_bucket, guess)

        while lowest_bucket < BUCKETS and heads[lowest_bucket] == 0:
            lowest_bucket += 1
        if lowest_bucket == BUCKETS:
            break
        chosen = entries[heads[lowest_bucket]]
        heads[lowest_bucket] = chosen & _LINK
        parent = np.int64((chosen >> _S24) & _PARENT)
        move = np.int64(chosen >> _S44)
        depth = np.int64(r.marks[parent, 1]) + 1
        a, b, c = moved(r.words[parent, 0], r.words[parent, 1], r.words[parent, 2], move >> 3, move & 7)
    r.counts[0] += nodes
    return -1


@jit
def _write_settled(a, b, c, layout, steps, n):
    """Append to ``steps`` the safe moves home of a position; returns how many steps there are, and the words after."""
    while True:
        safe = (exposed(a, b, c, layout) | (c & ~a)) & safe_home(c & a, 0)
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
def _write(r, a, b, c, goal, steps):
    """Write the steps from the start to a won position; returns how many, -1 if there is no room for them."""
    depth = np.int64(r.marks[goal, 1])
    if depth > MAX_MOVES or depth + 52 > steps.shape[0]:
        return -1
    layout = r.guidance.layout
    node = goal
    for i in range(depth - 1, -1, -1):
        r.moves[i] = r.marks[node, 0]
        node = np.int64(r.links[node])
    n, a, b, c = _write_settled(a, b, c, layout, steps, 0)
    for i in range(depth):
        move = np.int64(r.moves[i])
        steps[n, 0] = move >> 3
        steps[n, 1] = destination(move >> 3, move & 7)
        a, b, c = moved(a, b, c, move >> 3, move & 7)
        n, a, b, c = _write_settled(a, b, c, layout, steps, n + 1)
    return n


@entry
def solve_many(
    r, guides, columns, heights, in_cells, home, cells, most, stop, verdicts, lengths, expanded, generated, steps
):
    """Try to solve many positions, each with one guide after the other.

    r: a Room; guides: int64[k, Weight.SIZE].
    columns: uint8[n, 8, h], deepest card first; heights: int64[n, 8]; in_cells, home: uint64[n], cards as bits.
    cells: how many there are; most: positions to expand for each at most; stop: uint8[1], ends the work when set.
    Written to where a solution is found: verdicts int8[n] = 1, lengths int32[n], steps uint8[n, m, 2]; always: expanded
    and generated, int64[n].
    """
    for p in range(columns.shape[0]):
        if stop[0]:
            return
        r.counts[0] = 0
        r.counts[1] = 0
        a, b, c = set_up(columns[p], heights[p], in_cells[p], home[p], r.guidance.layout)
        for k in range(guides.shape[0]):
            budget = min(guides[k, Weight.BUDGET], most - r.counts[0], NODES)
            if budget <= 0:
                break
            appraise(r.guidance, guides[k], columns[p], heights[p])
            goal = _search(r, a, b, c, cells, budget)
            if goal >= 0:
                n = _write(r, a, b, c, goal, steps[p])
                if n >= 0:
                    verdicts[p] = 1
                    lengths[p] = n
                break
        expanded[p] = r.counts[0]
        generated[p] = r.counts[1]
