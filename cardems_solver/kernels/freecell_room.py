"""All places taken: can room be won back without more moves than the bound counts?

Most positions of a fewest-moves search have full cells and no empty column, and in many of them the bound of
``freecell_bounds``, which knows nothing of room, counts on moves that there is no place for.

**Room is won** when a column becomes empty, or one of the cards that are in cells now leaves its cell. Without an empty
column no position is won before that, and until then at most as many cards as there are free cells can go into cells
and stay there. So follow, with everything that could help still to be had (*delete relaxation*), which cards could come
to the ends of columns until then: ``ends``. For the next card of a column to get there, the one over it has to go:
home, or onto a parent in ``ends`` (alone, or with that part of its run that lies on it), or into a cell. By induction
on the moves, all cards that a real line of play exposes or sends home until it wins room are among those found so. (A
card that went into a cell and home from there is one of those that could go home. To take n cards to a parent takes
n - 1 free cells.)

**Without waste.** Say the bound counts n runs to be set aside, and no more moves are to be made than it counts. Then a
card that has been put into a cell leaves it for its foundation only, no card comes back from there, and the runs moved
before they go home are n at most. They hit every clause that holds now (``freecell_bounds``). So what moves otherwise
than home is part of a run that is in some hitting set of n runs. If under this condition, too, no column can be emptied
and no card of a cell go home, then the position needs one move more than the bound counts. With one move more than the
bound counts, either any run may move, but no card from a cell to a column; or such a card, but the others as above. (A
card that comes back from its foundation needs two more.)
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, bit, lowest, popcount
from cardems_solver.kernels.freecell_board import height_of, next_rank
from cardems_solver.kernels.freecell_bounds import can_hit, hold
from cardems_solver.kernels.freecell_state import COLUMNS
from cardems_solver.kernels.jit import jit

MOST_FREE = 2
"""With more free cells than that, room is taken to be there to be won."""


@jit
def _has_parent(ends, card):
    """Is a possible parent of the card in ``ends``?"""
    return card < 48 and ends & (bit((card + 4) ^ 2) | bit((card + 4) ^ 3)) != U0


@jit
def _follow(board, heights, ahead, ends, in_cells, free, lifts, may, count, more, clauses):
    """What may come to the ends of columns: is room won, the columns stuck for want of a cell, ``ends``, ``ahead``.

    ahead: as nexts, the cards that may have gone home; ends: cards that may come to an end, as bits; lifts: how many
    cards of each column may go into cells, 4 bits each. may: uint64[2], runs that may be moved, and that may not,
    modified in place; of others the ``count`` clauses kept tell, which are to be hit by ``more`` runs besides.
    """
    cards, start = board.cards, board.start
    while True:
        ends0, ahead0 = ends, ahead
        stuck = 0
        for k in range(COLUMNS):
            depth = height_of(heights, k) - 1
            lifted = (lifts >> (4 * k)) & 15
            while True:
                card = cards[k, depth]
                ends |= bit(card)
                if (card >> 2) >= next_rank(ahead, card & 3):
                    base = start[k, depth]
                    deepest = max(base, depth - free)
                    while deepest <= depth and not _has_parent(ends, cards[k, deepest]):
                        deepest += 1
                    if deepest > depth and lifted == 0:
                        stuck |= 1 << k
                        break
                    run = bit(cards[k, base])
                    if (may[0] | may[1]) & run == U0:
                        may[0 if can_hit(run, count, more, clauses) else 1] |= run
                    if may[1] & run:
                        break
                    lifted -= deepest > depth
                    while depth > deepest:
                        depth -= 1
                        ends |= bit(cards[k, depth])
                if depth == 0:
                    return True, stuck, ends, ahead
                depth -= 1
        for s in range(4):
            rank = next_rank(ahead, s)
            while rank < 13 and (ends >> np.uint64(4 * rank + s)) & U1:
                ahead += 1 << (4 * s)
                rank += 1
            if rank < 13 and (in_cells >> np.uint64(4 * rank + s)) & U1:
                return True, stuck, ends, ahead
        if ends == ends0 and ahead == ahead0:
            return False, stuck, ends, ahead


@jit
def can_win_room(board, heights, nexts, in_cells, free, aside, slack, may, clauses):
    """Can room be won with ``slack`` (0 or 1) moves more than the bound counts? May say so although it cannot.

    There is no empty column. in_cells: cards as bits; free: number of free cells; aside: what the bound counts as set
    aside; may: uint64[2], scratch.
    """
    if aside == 0 or free > (0 if slack else MOST_FREE):
        return True
    count, forced = hold(board, clauses)
    more = aside - popcount(forced) - 1
    # Of disjoint clauses, as many as there are runs to be set aside, each takes one run: no run is left for others.
    # (Nor for those in no clause; but the clauses kept may not tell how many runs are needed.)
    apart, used, named = 0, U0, U0
    for i in range(count):
        named |= clauses.held[i]
        if clauses.held[i] & used == U0:
            used |= clauses.held[i]
            apart += 1
    may[0], may[1] = forced, ~(forced | (used if apart > more else named))
    if apart <= more and can_hit(U0, count, more, clauses):
        may[0], may[1] = ~U0, U0
    won, stuck, ends, ahead = _follow(board, heights, nexts, U0, in_cells, free, 0, may, count, more, clauses)
    if won:
        return True
    if slack:
        left = in_cells
        while left:
            if _has_parent(ends, lowest(left)):
                return True
            left &= left - U1
        may[0], may[1] = ~U0, U0
        won, _, _, _ = _follow(board, heights, ahead, ends, in_cells, free, 0, may, count, more, clauses)
        return won
    # Each way to use the free cells by itself.
    for k in range(COLUMNS):
        if free and (stuck >> k) & 1:
            lifts = 1 << (4 * k)
            won, stuck2, ends2, ahead2 = _follow(
                board, heights, ahead, ends, in_cells, free, lifts, may, count, more, clauses
            )
            for j in range(COLUMNS):
                if not won and free > 1 and (stuck2 >> j) & 1 and (j >= k or not (stuck >> j) & 1):
                    both = lifts + (1 << (4 * j))
                    won, _, _, _ = _follow(
                        board, heights, ahead2, ends2, in_cells, free, both, may, count, more, clauses
                    )
            if won:
                return True
    return False
