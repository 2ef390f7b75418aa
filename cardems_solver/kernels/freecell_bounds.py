"""A lower bound on the moves to go in FreeCell: every card moves home, and deadlocks cost one move more each.

**The relaxed game.** Any card at the end of a column may be *set aside* for one move, in the ``moves`` metric with the
run that it ends; cards set aside (and those in cells) take no room, never are in the way and go home when their turn
comes. Every card goes home for one move. The bound is the fewest moves in which the relaxed game is won.

*It never exceeds the true distance, and it falls by at most one a move (it is consistent).* Let a real move lead from
position P to Q. If it sends a card home, the relaxed game can do the same. If it takes the run from card x on to some
other place, set x and what lies on it aside: P' is then like Q but for cards of Q's columns that are off in P', and
whatever wins the relaxed game from Q also wins it from P', for taking cards off columns only ever makes more possible
(a card set aside that is set aside again is a move saved). A run formed later needs no extra care: its parts
were in the relaxed game set aside when the real ones moved to it. If the move returns a card from its foundation, P is
like Q but for that card being home: one move less, and nothing more in the way.

**Playing it.** Cards go home whenever they can: in the relaxed game nothing is gained by waiting. When none can, each
suit's next card lies under the top card of some column, and waits for the suit of that card: a function on at most
four suits, so it has a cycle, and one of its tops has to be set aside. Setting all of them aside for one move gives a
lower bound (``freecell_relaxed.packing``), quickly.

**Its minimum** is a hitting set problem. Let x1 lie over y1, x2 over y2, ..., and y1 come before x2 in one suit, y2
before x3, ..., the last y before x1: if none of the x is set aside, none of these cards can go home. Such a *clause* is
a fact of any position in which each x still lies over its y. So clauses are kept, and a position starts from those that
hold in it: find a set of runs, small enough, that hits them all; there is none: the answer is no. Play the relaxed game
setting aside that set: it is won: the answer is yes; it gets stuck: its cycle is a clause that the set does not hit;
learn it and look again. (Implicit hitting sets: Chandrasekaran et al. 2011; cycles of FreeCell: Paul & Helmert 2016.)

A search asks this many times a position, of positions that differ little. So a set of clauses is two words
(``freecell_clauses``), and what was found out about hitting it is remembered (``freecell_hitting``).
"""

from __future__ import annotations

from cardems_solver.kernels.bits import U0, bit, popcount
from cardems_solver.kernels.freecell_board import FULL, height_of, next_rank
from cardems_solver.kernels.freecell_clauses import KEPT, having_any, hold, holding_of, learn
from cardems_solver.kernels.freecell_hitting import runs_to_hit
from cardems_solver.kernels.freecell_relaxed import packing, send_home
from cardems_solver.kernels.jit import jit


@jit
def _play(board, heights, nexts, runs, clauses):
    """Can the relaxed game be won by setting aside none but the given runs? If not, a clause is learned."""
    cards, start = board.cards, board.start
    off = U0
    while True:
        heights, nexts, off = send_home(board, heights, nexts, off)
        if nexts == FULL:
            return True
        before = heights
        for s in range(4):
            rank = next_rank(nexts, s)
            if rank < 13:
                k = board.column[4 * rank + s]
                height = height_of(heights, k)
                if height == height_of(before, k) and runs & bit(cards[k, start[k, height - 1]]):
                    heights -= (height - start[k, height - 1]) << (7 * k)
        if heights != before:
            continue
        learn(board, heights, nexts, clauses)
        return False


@jit
def refuted(board, clauses, frame, cards, run, landed, most):
    """Is it known that ``most`` set aside are too few, once ``cards`` have left their places in the frame's position?

    run: the run that they were in; landed: have they been laid on a column? (``board`` shows it then.)
    """
    low, high = having_any(clauses, cards)
    other_low, other_high = U0, U0
    if landed:
        other_low = holding_of(board, clauses, 0, low & ~clauses.dealt[0])
        other_high = holding_of(board, clauses, 1, high & ~clauses.dealt[1])
    low = (clauses.holding[frame, 0] & ~low) | other_low
    high = (clauses.holding[frame, 1] & ~high) | other_high
    guess = clauses.hits[frame]
    if popcount(guess) > most:
        guess &= ~run
    hit, _ = runs_to_hit(clauses, low, high, most, guess)
    return not hit


@jit
def within(board, heights, nexts, most, clauses):
    """Can the relaxed game be won by setting aside at most ``most`` cards or runs, from the position ``hold`` has seen?

    (True, too, should it take more clauses than are kept to tell: the bound may be too low, but never too high.)
    """
    for _ in range(KEPT):
        hit, runs = runs_to_hit(clauses, clauses.holding[0, 0], clauses.holding[0, 1], most, U0)
        clauses.hits[0] = runs
        if not hit:
            return False
        if _play(board, heights, nexts, runs, clauses):
            return True
        hold(board, clauses)
    return True


@jit
def fewest_aside(board, heights, nexts, clauses):
    """The fewest cards or runs to be set aside in the relaxed game."""
    most = packing(board, heights, nexts, 99)
    hold(board, clauses)
    while not within(board, heights, nexts, most, clauses):
        most += 1
    return most
