"""The clauses of ``freecell_bounds`` that were learned last, and which of them hold in a position.

A set of clauses is two words, a bit for each. Those that hold after a move are those that held before it but for the
moved cards' own. In a position met anew they are found by its cards: those learned while all their cards were in place
hold unless one of these has moved; each of the others has an x that had moved, and is looked at where that x is in the
same run again.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, bit, lowest, popcount
from cardems_solver.kernels.freecell_board import FRAMES, height_of, next_rank
from cardems_solver.kernels.freecell_hitting import LEVELS, REMEMBERED, recall
from cardems_solver.kernels.freecell_relaxed import shortest_cycle
from cardems_solver.kernels.freecell_state import DECK
from cardems_solver.kernels.jit import jit

KEPT = 128
CLAUSES = np.dtype(
    [
        ("pairs", np.int64, (KEPT, 8)),
        ("runs", np.uint64, KEPT),
        ("having", np.uint64, (52, 2)),
        ("moved", np.uint64, (52 * 52, 2)),
        ("place", np.int64, KEPT),
        ("hitting", np.uint64, (52, 2)),
        ("near", np.uint64, (KEPT, 2)),
        ("sizes", np.uint64, (4, 2)),
        ("dealt", np.uint64, 2),
        ("next", np.int64),
        ("holding", np.uint64, (FRAMES, 2)),
        ("hits", np.uint64, FRAMES),
        ("memory", np.uint64, (REMEMBERED, 4)),
        ("levels", np.uint64, (LEVELS, 6)),
    ]
)
"""The clauses learned last, which of them hold, and what is known of sets that hit them (``jit.record``), modified in
place; all zeros before the first is learned. For positions that come from one deal only. A set of clauses is two
words, a bit for each clause.

    pairs       of each clause: x1, y1, x2, y2, ..., -1 where there is none
    runs        the runs that its x are in (a run is its deepest card). Should they come to be in others, that is
                another clause.
    having      the clauses that a card is in
    moved       those learned while an x that was not in place was in a run, by 52 * x + run. Of those without such an x
                see ``dealt``.
    place       where a clause is in ``moved``
    hitting     those that a run hits
    near        those that have a run in common with a clause
    sizes       those of one run, two, three, four
    dealt       those that hold as long as their cards lie where they were dealt
    next        where the next clause goes
    holding     those that hold in each position of a walk (``freecell_blocks``)
    hits        few runs that hit all of these, or 0
    memory      a set of clauses, runs that hit all of it or 0, and one more than the number that is known to be too few
    levels      see ``freecell_hitting``
"""


@jit
def _runs_of(board, clauses, i):
    """The runs of a kept clause if it holds on the board, else none."""
    pairs, cards, start, column, depth = clauses.pairs, board.cards, board.start, board.column, board.depth
    mask = U0
    for j in range(0, 8, 2):
        x = pairs[i, j]
        if x < 0:
            break
        y = pairs[i, j + 1]
        k = column[x]
        if column[y] != k or depth[x] <= depth[y]:
            return U0
        mask |= bit(cards[k, start[k, depth[x]]])
    return mask


@jit
def holding_of(board, clauses, word, some):
    """Those of some clauses that hold on the board: of the first 64 (word 0) or of the others (word 1)."""
    left = some
    while left:
        i = lowest(left)
        left &= left - U1
        if _runs_of(board, clauses, 64 * word + i) != clauses.runs[64 * word + i]:
            some ^= bit(i)
    return some


@jit
def having_any(clauses, cards):
    """The clauses that have one of the cards."""
    low, high = U0, U0
    while cards:
        card = lowest(cards)
        cards &= cards - U1
        low |= clauses.having[card, 0]
        high |= clauses.having[card, 1]
    return low, high


@jit
def hold(board, clauses):
    """Find the clauses that hold on the board, for the first frame."""
    away = np.uint64(board.in_cells | board.at_home)
    low, high = having_any(clauses, away)
    moved_low, moved_high = U0, U0
    other_low, other_high = U0, U0
    left = DECK & ~away & ~np.uint64(board.in_place)
    while left:
        card = lowest(left)
        left &= left - U1
        moved_low |= clauses.having[card, 0]
        moved_high |= clauses.having[card, 1]
        k = board.column[card]
        place = 52 * card + board.cards[k, board.start[k, board.depth[card]]]
        other_low |= clauses.moved[place, 0]
        other_high |= clauses.moved[place, 1]
    other_low = holding_of(board, clauses, 0, other_low & ~low)
    other_high = holding_of(board, clauses, 1, other_high & ~high)
    low = (clauses.dealt[0] & ~moved_low & ~low) | other_low
    high = (clauses.dealt[1] & ~moved_high & ~high) | other_high
    clauses.holding[0, 0], clauses.holding[0, 1] = low, high
    clauses.hits[0] = clauses.memory[recall(clauses, low, high), 2]


@jit
def hold_without(clauses, frame, card):
    """The clauses that hold in the next frame: those of this one without ``card``, which has been set aside."""
    low = clauses.holding[frame, 0] & ~clauses.having[card, 0]
    high = clauses.holding[frame, 1] & ~clauses.having[card, 1]
    clauses.holding[frame + 1, 0], clauses.holding[frame + 1, 1] = low, high
    memory = clauses.memory[recall(clauses, low, high)]
    clauses.hits[frame + 1] = memory[2] if memory[2] else clauses.hits[frame]


@jit
def learn(board, heights, nexts, clauses):
    """Keep the shortest cycle of a game that is stuck as a clause, in place of the oldest one."""
    at = clauses.next
    word, this = at >> 6, bit(at & 63)
    for card in range(52):
        clauses.having[card, word] &= ~this
        clauses.hitting[card, word] &= ~this
    for size in range(4):
        clauses.sizes[size, word] &= ~this
    for i in range(KEPT):
        clauses.near[i, word] &= ~this
    clauses.moved[clauses.place[at], word] &= ~this
    cards = U0
    cycle = shortest_cycle(board, heights, nexts)
    for j in range(0, 8, 2):
        clauses.pairs[at, j] = -1
        if cycle:
            s = (cycle & 7) - 1
            cycle >>= 3
            y = 4 * next_rank(nexts, s) + s
            k = board.column[y]
            x = board.cards[k, height_of(heights, k) - 1]
            clauses.pairs[at, j], clauses.pairs[at, j + 1] = x, y
            if bit(x) & ~np.uint64(board.in_place):
                clauses.place[at] = 52 * x + board.cards[k, board.start[k, board.depth[x]]]
            clauses.having[x, word] |= this
            clauses.having[y, word] |= this
            cards |= bit(x) | bit(y)
    runs = _runs_of(board, clauses, at)
    clauses.runs[at] = runs
    clauses.sizes[popcount(runs) - 1, word] |= this
    clauses.near[at, 0] = clauses.near[at, 1] = U0
    while runs:
        card = lowest(runs)
        runs &= runs - U1
        clauses.hitting[card, word] |= this
        for i in range(2):
            clauses.near[at, i] |= clauses.hitting[card, i]
    for i in range(KEPT):
        if clauses.near[at, i >> 6] & bit(i & 63):
            clauses.near[i, word] |= this
    if cards & ~np.uint64(board.in_place):
        clauses.dealt[word] &= ~this
        clauses.moved[clauses.place[at], word] |= this
    else:
        clauses.dealt[word] |= this
    clauses.next = (at + 1) % KEPT
    for i in range(REMEMBERED):
        if clauses.memory[i, word] & this:
            for j in range(4):
                clauses.memory[i, j] = U0
