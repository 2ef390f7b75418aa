"""A quick FreeCell search that finds most solutions and proves nothing: greedy best-first with children left unbuilt.

A position is scored when it is expanded; a child's score is that plus what its move changes, so a child is one word in
a bucket queue (its parent and its move) until its turn comes, and most never have theirs. Moves carry whole runs; safe
cards go home at once. Positions already expanded are recognised by a hash in a small table that forgets, and
foundation cards never return: when the search fails, or its budget is spent, nothing is known.

The score weighs (``Weight``) what a player looks at. A *break* is a dealt card that does not continue the card beneath
it; all cards above a column's highest break that is still in place form one run. So how deep a card is buried is
counted in breaks, and what a column's breaks still hide is a table (``_appraise``) from their number to a sum.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from cardems_solver.kernels.bits import U0, U1, lowest, mix3, popcount
from cardems_solver.kernels.freecell_state import (
    BASE,
    CELL,
    COLUMNS,
    DEALT,
    FIRST,
    HOME,
    LAYOUT_SIZE,
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


class Weight(IntEnum):
    """What the score adds up, lower being better; the places of the weights in a row of ``GUIDES``."""

    BUDGET = 0
    """Positions to expand with this row's weights (not a weight)."""
    START = 1
    """To keep scores above 0."""
    CARD_HOME = 2
    BREAK = 3
    """Each break that is in place."""
    LOWER = 4
    """Each card beneath a break that is of a lower rank than it."""
    LOWER_IN_SUIT = 5
    """The same, of its suit as well."""
    NEXT = 6
    """Each break above a card that its foundation takes next; above the second next; above the third."""
    LEAST = 9
    """Each break above the least buried of the next cards."""
    CHOICE = 10
    """Each move that the position has."""
    DEPTH = 11
    """Each move made so far."""
    CELLS = 12
    """Cells free: none, 1, 2, 3, 4 or more."""
    SPACES = 17
    """Columns empty: none, 1, 2, 3 or more."""
    STUCK = 21
    """No cell is free, no column empty."""
    TO_CELL = 22
    """The move: a card to a cell, ..."""
    TO_CARD = 23
    TO_SPACE = 24
    KING_TO_SPACE = 25
    CARD_TO_CARD = 26
    """... a card from one possible parent to the other, ..."""
    OFF_CARD = 27
    """... a card from a possible parent to a cell or an empty column."""
    DUG_TO_CELL = 28
    SIZE = 29


GUIDES = np.array(
    [
        [int(weight) for weight in row.split()]
        for row in """
 400 2000 56 20 4  0 12  4 0   0  0 16 140  92 36  0 -8  64 36  0 -16 12  4  0  0  0 20 28  0
 300 2000 50 20 1 -5 11  1 0   2  0 19  85  68 22 -3 -7  44 41  1  -3  5  7  0  0 -4 16 36  0
 300 2000 56 21 3 -3 11  1 0   4 -1 14 154  99 37 -3 -8  73 26 -1 -22  8 -2 -1 -4  1 21 27 -8
 300 2000 56  9 9  4 10  6 1  -8  1 16 145  52 32 -1 -4  73 36  5 -20 10 -1  5  3  3 25 29  1
 300 2000 56 40 4  0 12  4 0   0  0 16 140  92 36  0 -8  64 36  0 -16 12  4  0  0  0 20 28  0
 500 2000 45 22 3  1 13  3 0   1  0 19 245 114 37 -5 -7  14 16  3 -11 11 -1 -1 -2  2 38 30 -2
1000 2000 43 22 4 -3 14 10 0  -1 -3 18  70  51 54 -3 -5 103 40  2  -4 11  2 -4  0  4 28 17 -3
1000 2000 50 20 1 -5 11  1 0   2  0 19  85  68 22 -3 -7  44 41  1  -3  5  7  0  0 -4 16 36  0
2000 2000 58 18 7  0  1  2 0 -10 -2 25 143  49 22  3 -7  65 35  0 -11 15  5 -3  2 -2 29 14  0
""".strip().splitlines()
    ],
    np.int64,
)
"""Rows of weights, tried in turn: found by random search on Microsoft deals from 100001 on, each on what those before
it leave."""

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
        layout: uint64[LAYOUT_SIZE], see ``freecell_state``.
        hidden: int32[LAYOUT_SIZE], indexed like the layout's last part: what a column's breaks cost.
        column: int64[52], the column in which a card was dealt, COLUMNS if in none.
        level: int64[52], how many of that column's breaks are at or beneath the card.
        words: uint64[NODES, 3], the expanded positions.
        links: uint32[NODES], the position before each.
        marks: uint16[NODES, 2], the move that led to it; how many moves deep it is.
        entries: uint64[ENTRIES], queued children: next entry in the bucket, parent << 24, move << 44.
        heads: uint32[BUCKETS], each bucket's first entry, 0 for none.
        seen: uint64[SEEN], hashes of expanded positions.
        moves: uint16[MAX_MOVES].
        counts: int64[3]: positions expanded, children generated, searches made.
    """

    layout: np.ndarray
    hidden: np.ndarray
    column: np.ndarray
    level: np.ndarray
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
        layout=np.zeros(LAYOUT_SIZE, np.uint64),
        hidden=np.zeros(LAYOUT_SIZE, np.int32),
        column=np.zeros(52, np.int64),
        level=np.zeros(52, np.int64),
        words=np.zeros((NODES, 3), np.uint64),
        links=np.zeros(NODES, np.uint32),
        marks=np.zeros((NODES, 2), np.uint16),
        entries=np.zeros(ENTRIES, np.uint64),
        heads=np.zeros(BUCKETS, np.uint32),
        seen=np.zeros(SEEN, np.uint64),
        moves=np.zeros(MAX_MOVES, np.uint16),
        counts=np.zeros(3, np.int64),
    )


@jit
def _appraise(r, columns, heights, guide):
    """Fill the tables ``hidden``, ``column`` and ``level`` for a start."""
    for card in range(52):
        r.column[card] = COLUMNS
    for j in range(COLUMNS):
        at = np.int64(r.layout[8 + j])
        first = at
        total = 0
        r.hidden[at] = 0
        for i in range(heights[j]):
            card = np.int64(columns[j, i])
            r.column[card] = j
            if i > 0:
                below = np.int64(columns[j, i - 1])
                if below != (card + 4) ^ 2 and below != (card + 4) ^ 3:
                    at += 1
                    total += guide[Weight.BREAK]
                    for k in range(i):
                        beneath = np.int64(columns[j, k])
                        if beneath >> 2 < card >> 2:
                            total += guide[Weight.LOWER]
                            if beneath & 3 == card & 3:
                                total += guide[Weight.LOWER_IN_SUIT]
                    r.hidden[at] = total
            r.level[card] = at - first


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
def _search(r, a, b, c, cells, guide, budget):
    """Search from a start whose tables are filled. Returns the number of a won position, or -1."""
    layout, hidden, column, level, entries, heads = r.layout, r.hidden, r.column, r.level, r.entries, r.heads
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
            home = c & a
            if home == _DECK:
                r.counts[0] += nodes
                return node

            # Its score, and in ``buried``, a byte a column, what digging up one break is worth for the next cards.
            dealt = ~(a | b | c)
            free = cells - popcount(c & ~a)
            empty = COLUMNS - popcount(a & b)
            score = guide[Weight.START] - guide[Weight.CARD_HOME] * popcount(home)
            for j in range(COLUMNS):
                score += hidden[np.int64(layout[8 + j]) + popcount(dealt & layout[j])]
            least = 20
            buried = 0
            z = next_home(home)
            while z:
                card = lowest(z)
                z &= z - U1
                for k in range(3):
                    j = column[card]
                    breaks = 0
                    if j < COLUMNS:
                        breaks = max(popcount(dealt & layout[j]) - level[card], 0)
                        if breaks > 0:
                            score += guide[Weight.NEXT + k] * breaks
                            buried += guide[Weight.NEXT + k] << (7 * j)
                    if k == 0:
                        least = min(least, breaks)
                    card += 4
                    if card >= 52:
                        break
            n = _list_moves(r, a, b, c, tops, free, empty)
            depth += 1
            score += guide[Weight.LEAST] * least + guide[Weight.CHOICE] * min(n, 20) + guide[Weight.DEPTH] * depth
            r.counts[1] += n
            if queued + n > entries.size:
                break

            for i in range(n):
                m = np.int64(r.moves[i])
                card = m >> 3
                to = m & 7
                code = code_of(a, b, c, card)
                guess = score
                free_after = free
                empty_after = empty
                if code == DEALT:
                    j = column[card]
                    at = np.int64(layout[8 + j]) + popcount(dealt & layout[j])
                    guess += hidden[at - 1] - hidden[at] - (buried >> (7 * j) & 127)
                elif code == CELL:
                    free_after += 1
                elif code == BASE:
                    empty_after += 1
                on_card = code in (FIRST, SECOND)
                if to == HOME:
                    guess -= guide[Weight.CARD_HOME]
                elif to == CELL:
                    free_after -= 1
                    guess += guide[Weight.TO_CELL]
                    if on_card:
                        guess += guide[Weight.OFF_CARD]
                    elif code == DEALT:
                        guess += guide[Weight.DUG_TO_CELL]
                elif to == BASE:
                    empty_after -= 1
                    guess += guide[Weight.TO_SPACE]
                    if on_card:
                        guess += guide[Weight.OFF_CARD]
                    elif card >= 48:
                        guess += guide[Weight.KING_TO_SPACE]
                else:
                    guess += guide[Weight.TO_CARD]
                    if on_card:
                        guess += guide[Weight.CARD_TO_CARD]
                if free_after + empty_after == 0:
                    guess += guide[Weight.STUCK]
                guess += guide[Weight.CELLS + min(free_after, 4)] + guide[Weight.SPACES + min(empty_after, 3)]
                guess = min(max(guess, 0), BUCKETS - 1)
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
    node = goal
    for i in range(depth - 1, -1, -1):
        r.moves[i] = r.marks[node, 0]
        node = np.int64(r.links[node])
    n, a, b, c = _write_settled(a, b, c, r.layout, steps, 0)
    for i in range(depth):
        move = np.int64(r.moves[i])
        steps[n, 0] = move >> 3
        steps[n, 1] = destination(move >> 3, move & 7)
        a, b, c = moved(a, b, c, move >> 3, move & 7)
        n, a, b, c = _write_settled(a, b, c, r.layout, steps, n + 1)
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
        a, b, c = set_up(columns[p], heights[p], in_cells[p], home[p], r.layout)
        for g in range(guides.shape[0]):
            budget = min(guides[g, Weight.BUDGET], most - r.counts[0], NODES)
            if budget <= 0:
                break
            _appraise(r, columns[p], heights[p], guides[g])
            goal = _search(r, a, b, c, cells, guides[g], budget)
            if goal >= 0:
                n = _write(r, a, b, c, goal, steps[p])
                if n >= 0:
                    verdicts[p] = 1
                    lengths[p] = n
                break
        expanded[p] = r.counts[0]
        generated[p] = r.counts[1]
