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
lower bound (``packing``), quickly.

**Its minimum** is a hitting set problem. Let x1 lie over y1, x2 over y2, ..., and y1 come before x2 in one suit, y2
before x3, ..., the last y before x1: if none of the x is set aside, none of these cards can go home. Such a *clause* is
a fact of any position in which each x still lies over its y. So clauses are kept, and a position starts from those that
hold in it: find a set of runs, small enough, that hits them all; there is none: the answer is no. Play the relaxed game
setting aside that set: it is won: the answer is yes; it gets stuck: its cycle is a clause that the set does not hit;
learn it and look again. (Implicit hitting sets: Chandrasekaran et al. 2011; cycles of FreeCell: Paul & Helmert 2016.)

A search asks this many times a position, of positions that differ little. So a set of clauses is two words; those that
hold after a move are those that held before it but for the moved cards' own; and what was found out about hitting a set
of clauses is remembered by the set itself, not by a hash of it.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, bit, lowest, mix3, popcount
from cardems_solver.kernels.freecell_board import FRAMES, FULL, height_of, next_rank
from cardems_solver.kernels.freecell_state import DECK
from cardems_solver.kernels.jit import jit, record

KEPT = 128
LEVELS = 54
REMEMBERED = 1 << 11
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
place. For positions that come from one deal only. A set of clauses is two words, a bit for each clause.

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
    levels      see ``_hitting_set``
"""


def clauses() -> np.void:
    """Room for clauses, none learned yet."""
    room = record(CLAUSES)
    room["pairs"] = -1
    return room


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
def _holding_of(board, clauses, word, some):
    """Those of some clauses that hold on the board: of the first 64 (word 0) or of the others (word 1)."""
    left = some
    while left:
        i = lowest(left)
        left &= left - U1
        if _runs_of(board, clauses, 64 * word + i) != clauses.runs[64 * word + i]:
            some ^= bit(i)
    return some


@jit
def _having(clauses, cards):
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
    low, high = _having(clauses, away)
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
    other_low = _holding_of(board, clauses, 0, other_low & ~low)
    other_high = _holding_of(board, clauses, 1, other_high & ~high)
    low = (clauses.dealt[0] & ~moved_low & ~low) | other_low
    high = (clauses.dealt[1] & ~moved_high & ~high) | other_high
    clauses.holding[0, 0], clauses.holding[0, 1] = low, high
    clauses.hits[0] = clauses.memory[_recall(clauses, low, high), 2]


@jit
def hold_without(clauses, frame, card):
    """The clauses that hold in the next frame: those of this one without ``card``, which has been set aside."""
    low = clauses.holding[frame, 0] & ~clauses.having[card, 0]
    high = clauses.holding[frame, 1] & ~clauses.having[card, 1]
    clauses.holding[frame + 1, 0], clauses.holding[frame + 1, 1] = low, high
    memory = clauses.memory[_recall(clauses, low, high)]
    clauses.hits[frame + 1] = memory[2] if memory[2] else clauses.hits[frame]


@jit
def _recall(clauses, low, high):
    """Where in the memory a set of clauses is, if need be in place of another."""
    at = mix3(low, high, U0) & np.uint64(REMEMBERED - 1)
    memory = clauses.memory[at]
    if memory[0] != low or memory[1] != high:
        memory[0], memory[1], memory[2], memory[3] = low, high, U0, U0
    return at


@jit
def _all_hit(clauses, low, high, runs):
    """Do some runs hit all of a set of clauses?"""
    hitting = clauses.hitting
    while runs:
        card = lowest(runs)
        runs &= runs - U1
        low &= ~hitting[card, 0]
        high &= ~hitting[card, 1]
    return low | high == U0


@jit
def _runs_to_hit(clauses, low, high, most, guess):
    """A set of at most ``most`` runs that hits all of a set of clauses: is there one? The set. ``guess`` may be it."""
    memory = clauses.memory[_recall(clauses, low, high)]
    if most < np.int64(memory[3]):
        return False, U0
    if memory[2] and popcount(memory[2]) <= most:
        return True, memory[2]
    if guess and popcount(guess) <= most and _all_hit(clauses, low, high, guess):
        memory[2] = guess
        return True, guess
    hit, runs = _runs_besides_single(low, high, most, clauses)
    memory = clauses.memory[_recall(clauses, low, high)]
    if not hit:
        memory[3] = np.uint64(most + 1)
        return False, U0
    memory[2] = runs
    return True, runs


@jit
def _runs_besides_single(low, high, most, clauses):
    """The same by way of the smaller set of clauses that is left once those of a single run are hit."""
    single = U0
    while True:
        low1, high1 = low & clauses.sizes[0, 0], high & clauses.sizes[0, 1]
        if low1 | high1 == U0:
            break
        run = clauses.runs[lowest(low1) if low1 else 64 + lowest(high1)]
        card = lowest(run)
        low &= ~clauses.hitting[card, 0]
        high &= ~clauses.hitting[card, 1]
        single |= run
        most -= 1
    if most < 0:
        return False, U0
    memory = clauses.memory[_recall(clauses, low, high)]
    if most < np.int64(memory[3]):
        return False, U0
    if memory[2] and popcount(memory[2]) <= most:
        return True, memory[2] | single
    hit, runs = _hitting_set(low, high, most, clauses)
    if not hit:
        memory[3] = np.uint64(most + 1)
        return False, U0
    memory[2] = runs
    return True, runs | single


@jit
def _shortest(low, high, clauses):
    """A clause of fewest runs of a set that is not empty, of clauses of more than one run."""
    for size in range(1, 3):
        some = low & clauses.sizes[size, 0]
        if some:
            return lowest(some)
        some = high & clauses.sizes[size, 1]
        if some:
            return 64 + lowest(some)
    return lowest(low) if low else 64 + lowest(high)


@jit
def _apart(low, high, most, clauses):
    """Are there more than ``most`` clauses, of a set, no two of which have a run in common?"""
    near = clauses.near
    while low | high:
        most -= 1
        if most < 0:
            return True
        i = _shortest(low, high, clauses)
        low &= ~near[i, 0]
        high &= ~near[i, 1]
    return False


@jit
def _hitting_set(low, high, most, clauses):
    """A set of at most ``most`` runs that hits all of a set of clauses: is there one? The set.

    Depth first: a run of a shortest clause is taken, the one that hits most, and then the set is tried without it.
    """
    hitting, levels = clauses.hitting, clauses.levels
    taken, without = U0, U0
    level = 0
    while True:
        if most >= 0 and not _apart(low, high, most, clauses):
            if low | high == U0:
                return True, taken
            left = clauses.runs[_shortest(low, high, clauses)] & ~without
        else:
            left = U0
        while left == U0:
            # back to the last run taken that is not the only choice, and on without it
            level -= 1
            if level < 0:
                return False, U0
            low, high, taken, without = levels[level, 0], levels[level, 1], levels[level, 2], levels[level, 3]
            left = levels[level, 4]
            most = np.int64(levels[level, 5])
        run, hits = U0, 0
        some = left
        while some:
            one = some & (~some + U1)
            some ^= one
            card = lowest(one)
            hit = popcount(hitting[card, 0] & low) + popcount(hitting[card, 1] & high)
            if hit > hits:
                run, hits = one, hit
        left ^= run
        if left:
            levels[level, 0], levels[level, 1], levels[level, 2] = low, high, taken
            levels[level, 3], levels[level, 4], levels[level, 5] = without | run, left, np.uint64(most)
            level += 1
        card = lowest(run)
        low &= ~hitting[card, 0]
        high &= ~hitting[card, 1]
        taken |= run
        most -= 1


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
        _learn(board, heights, nexts, clauses)
        return False


@jit
def _learn(board, heights, nexts, clauses):
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


@jit
def refuted(board, clauses, frame, cards, run, landed, most):
    """Is it known that ``most`` set aside are too few, once ``cards`` have left their places in the frame's position?

    run: the run that they were in; landed: have they been laid on a column? (``board`` shows it then.)
    """
    low, high = _having(clauses, cards)
    other_low, other_high = U0, U0
    if landed:
        other_low = _holding_of(board, clauses, 0, low & ~clauses.dealt[0])
        other_high = _holding_of(board, clauses, 1, high & ~clauses.dealt[1])
    low = (clauses.holding[frame, 0] & ~low) | other_low
    high = (clauses.holding[frame, 1] & ~high) | other_high
    guess = clauses.hits[frame]
    if popcount(guess) > most:
        guess &= ~run
    hit, _ = _runs_to_hit(clauses, low, high, most, guess)
    return not hit


@jit
def within(board, heights, nexts, most, clauses):
    """Can the relaxed game be won by setting aside at most ``most`` cards or runs, from the position ``hold`` has seen?

    (True, too, should it take more clauses than are kept to tell: the bound may be too low, but never too high.)
    """
    for _ in range(KEPT):
        hit, runs = _runs_to_hit(clauses, clauses.holding[0, 0], clauses.holding[0, 1], most, U0)
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
