"""The relaxed game of ``freecell_bounds``: cards set aside take no room and go home when their turn comes."""

from __future__ import annotations

from cardems_solver.kernels.bits import U0, bit
from cardems_solver.kernels.freecell_board import FULL, height_of, next_rank
from cardems_solver.kernels.jit import jit


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
