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
four suits, so it has a cycle, and one of its tops has to be set aside. Trying each is the exact minimum; setting all of
them aside for one move gives a lower bound of it (``packing``), quickly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardems_solver.kernels.bits import U0, U1, bit, mix3
from cardems_solver.kernels.freecell_board import FULL, height_of, next_rank
from cardems_solver.kernels.jit import jit


class Memo(NamedTuple):
    """What is known of relaxed positions, and room for the search that finds it out. Modified in place.

    Attributes:
        table: uint64[2^k, 3]: positions with everything off the columns marked as home, each in the place that its hash
            gives it, the newest only. Above the 52 bits of the words: in word 0 how many must be set aside at least, in
            word 1 how many are enough (0: unknown).
        frames: int64[FRAMES, 5] and words: uint64[FRAMES]: the branches still open, deepest last.
    """

    table: np.ndarray
    frames: np.ndarray
    words: np.ndarray


FRAMES = 64
HEIGHTS, NEXTS, MOST, CYCLE, SLOT = range(5)
_DECK = np.uint64((1 << 52) - 1)
_S52 = np.uint64(52)


def memo(size: int = 1 << 16) -> Memo:
    return Memo(np.zeros((size, 3), np.uint64), np.zeros((FRAMES, 5), np.int64), np.zeros(FRAMES, np.uint64))


@jit
def send_home(board, heights, nexts, off):
    """The relaxed game after every card that can go home has gone: heights, nexts, cards off the columns."""
    column, depth = board.column, board.depth
    waiting = 15
    while waiting:
        for s in range(4):
            if not (waiting >> s) & 1:
                continue
            waiting &= ~(1 << s)
            rank = next_rank(nexts, s)
            before = rank
            while rank < 13:
                card = 4 * rank + s
                k = column[card]
                top = height_of(heights, k) - 1
                if depth[card] < top:
                    break
                if depth[card] == top:
                    heights -= 1 << (7 * k)
                    off |= bit(card)
                    if top:
                        waiting |= 1 << (board.cards[k, top - 1] & 3)
                rank += 1
            nexts += (rank - before) << (4 * s)
            waiting &= ~(1 << s)
    return heights, nexts, off


@jit
def shortest_cycle(board, heights, nexts):
    """Suits of the shortest cycle of a game that is stuck, 3 bits each (suit + 1), the last one lowest."""
    waits = 0
    for s in range(4):
        rank = next_rank(nexts, s)
        if rank < 13:
            k = board.column[4 * rank + s]
            waits |= ((board.cards[k, height_of(heights, k) - 1] & 3) + 1) << (3 * s)
    for length in range(1, 5):
        for s in range(4):
            t = s
            path = 0
            for _ in range(length):
                following = (waits >> (3 * t)) & 7
                if following == 0:
                    break
                path = (path << 3) | (t + 1)
                t = following - 1
            if path >> (3 * (length - 1)) and t == s:
                return path
    return 0


@jit
def set_aside(board, heights, nexts, off, s):
    """heights, cards off, after setting aside the top over the next card of suit s, and what moves with it."""
    k = board.column[4 * next_rank(nexts, s) + s]
    height = height_of(heights, k)
    start = board.start[k, height - 1]
    for i in range(start, height):
        off |= bit(board.cards[k, i])
    return heights - ((height - start) << (7 * k)), off


@jit
def packing(board, heights, nexts, most):
    """A lower bound on the cards or runs to be set aside, not counted further once it is above ``most``."""
    count = 0
    off = U0
    while True:
        heights, nexts, off = send_home(board, heights, nexts, off)
        if nexts == FULL:
            return count
        count += 1
        if count > most:
            return count
        cycle = shortest_cycle(board, heights, nexts)
        while cycle:
            heights, off = set_aside(board, heights, nexts, off, (cycle & 7) - 1)
            cycle >>= 3


@jit
def within(board, heights, nexts, a, b, c, most, memo):
    """Can the relaxed game be won by setting aside at most ``most`` cards or runs?

    a, b, c: the position's words; heights and nexts belong to it.
    """
    table, frames, words = memo
    mask = np.uint64(table.shape[0]) - U1
    off = U0
    size = 0
    while True:
        # down, as long as there is no choice
        won = False
        while most >= 0:
            heights, nexts, off = send_home(board, heights, nexts, off)
            if nexts == FULL:
                won = True
                break
            if most == 0:
                break
            cycle = shortest_cycle(board, heights, nexts)
            if cycle < 8:
                heights, off = set_aside(board, heights, nexts, off, cycle - 1)
                most -= 1
                continue
            ka, kb, kc = a | off, b & ~off, c | off
            slot = np.int64(mix3(ka, kb, kc) & mask)
            if table[slot, 0] & _DECK == ka and table[slot, 1] & _DECK == kb and table[slot, 2] == kc:
                if np.int64(table[slot, 0] >> _S52) > most:
                    break
                enough = np.int64(table[slot, 1] >> _S52)
                if enough and enough <= most:
                    won = True
                    break
            if packing(board, heights, nexts, most) > most:
                _note(table, slot, ka, kb, kc, most + 1, 0)
                break
            frames[size, HEIGHTS] = heights
            frames[size, NEXTS] = nexts
            frames[size, MOST] = most
            frames[size, CYCLE] = cycle
            frames[size, SLOT] = slot
            words[size] = off
            size += 1
            break
        if won:
            for i in range(size):
                slot = frames[i, SLOT]
                off = words[i]
                _note(table, slot, a | off, b & ~off, c | off, -1, frames[i, MOST])
            return True
        # back to the deepest branch with something left to try
        while size:
            i = size - 1
            if frames[i, CYCLE]:
                break
            off = words[i]
            _note(table, frames[i, SLOT], a | off, b & ~off, c | off, frames[i, MOST] + 1, 0)
            size -= 1
        if size == 0:
            return False
        i = size - 1
        s = (frames[i, CYCLE] & 7) - 1
        frames[i, CYCLE] >>= 3
        nexts = frames[i, NEXTS]
        most = frames[i, MOST] - 1
        heights, off = set_aside(board, frames[i, HEIGHTS], nexts, words[i], s)


@jit
def _note(table, slot, a, b, c, least, enough):
    """Write down that the relaxed position needs at least so many, or that so many are enough (0: not known)."""
    if table[slot, 0] & _DECK == a and table[slot, 1] & _DECK == b and table[slot, 2] == c:
        least = max(least, np.int64(table[slot, 0] >> _S52))
        if enough == 0:
            enough = np.int64(table[slot, 1] >> _S52)
    table[slot, 0] = a | (np.uint64(max(least, 0)) << _S52)
    table[slot, 1] = b | (np.uint64(enough) << _S52)
    table[slot, 2] = c


@jit
def fewest_aside(board, heights, nexts, a, b, c, memo):
    """The fewest cards or runs to be set aside in the relaxed game."""
    most = packing(board, heights, nexts, 99)
    while not within(board, heights, nexts, a, b, c, most, memo):
        most += 1
    return most
