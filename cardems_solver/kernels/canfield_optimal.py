"""Canfield in the fewest moves: A* over positions in which it is known what every card lies on.

Positions are the words of ``canfield_state`` for whole columns, whatever the rules (here a part of a column that is
carried counts as a move), with the number of cards drawn as it is. Draws are folded into the play of the card that they
bring up, at their cost. A search for any solution comes first: it proves what cannot be won, and its solution bounds
what A* need store.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardems_solver import reference
from cardems_solver.expand import expand
from cardems_solver.kernels import canfield
from cardems_solver.kernels.bits import U1, bit, lowest, popcount
from cardems_solver.kernels.canfield_moves import filled, laid, places_for, settled, taken_home
from cardems_solver.kernels.canfield_replay import applied
from cardems_solver.kernels.canfield_state import (
    MAX_MOVES,
    PRUNE_SAFE,
    STOCK_BITS,
    UNLIMITED,
    ends,
    height,
    on_tableau,
    reached,
    start_of,
    unpacked,
)
from cardems_solver.kernels.jit import entry, entry_making, jit
from cardems_solver.kernels.table import find, grown, rehash
from cardems_solver.limits import MEMORY, Limits
from cardems_solver.outcome import SOLVABLE, TO_COLUMN, TO_FOUNDATION, Outcome
from cardems_solver.position import Position
from cardems_solver.rules import Rules

BUCKETS = 4096
"""More than any length that matters: no solution of the first search is longer."""
COUNT, ENTRIES, EXPANDED, GENERATED, BEST, LIMIT, WON = range(7)
"""What ``Store.control`` holds: positions stored, queue entries used, positions expanded and generated, the lowest
bucket that may hold any, the length to stay below, and the won position of that length or -1."""
OPEN, DONE, POOL_FULL, INDEX_FULL, QUEUE_FULL = range(5)
_U34, _U50, _U52, _U56 = (np.uint64(i) for i in (34, 50, 52, 56))
_HEIGHTS, _ALL_HOME = np.uint64(0xFFFF), np.uint64(0xDDDD)


class Store(NamedTuple):
    """The arrays of a search.

    Attributes:
        words: uint64[n, 3], the positions.
        parents: int32[n], the position before on the shortest way found, -1 for the start.
        moves: int32[n], the move on that way, ``card | destination << 6``.
        lengths: int32[n], the length of that way, the safe moves home counted.
        bounds: int16[n], the least that is still to come.
        entries: int32[m, 2], the queue: a position and the next entry in its bucket, or -1.
        buckets: int32[BUCKETS], the first entry for each length in all, or -1.
        slots: uint32[2^k], the index (see ``table``).
        control: int64[7].
        new_words, new_moves, costs: uint64[MAX_MOVES, 3], int64[MAX_MOVES], int64[MAX_MOVES], room for the successors
            of one position.
        went: int64[1], room for ``settled``.
    """

    words: np.ndarray
    parents: np.ndarray
    moves: np.ndarray
    lengths: np.ndarray
    bounds: np.ndarray
    entries: np.ndarray
    buckets: np.ndarray
    slots: np.ndarray
    control: np.ndarray
    new_words: np.ndarray
    new_moves: np.ndarray
    costs: np.ndarray
    went: np.ndarray


@jit
def remaining(table, a, b, taps):
    """A lower bound on the length of what is still to come.

    Every card not home goes home by a move of its own, and every card in the stock must be drawn. A waste card that
    lies on a lower card of its suit leaves it for a column first, a move more, unless the waste is turned over, which
    means at least one draw more (and in ``taps`` the turning).
    """
    heights = (b >> _U34) & _HEIGHTS
    home = height(heights, 0) + height(heights, 1) + height(heights, 2) + height(heights, 3)
    left = b & STOCK_BITS
    drawn = np.int64((b >> _U50) & np.uint64(63))
    bound = 52 - home + (popcount(left) - drawn + table.draw - 1) // table.draw
    most = 2 if taps else 1
    lowest_below = np.uint64(0xFFFF)
    early = 0
    for _ in range(drawn):
        card = table.stock[lowest(left)]
        left &= left - U1
        shift = np.uint64(4 * (card & 3))
        rank = card >> 2
        if rank > np.int64((lowest_below >> shift) & np.uint64(15)):
            early += 1
            if early == most:
                break
        else:
            lowest_below = (lowest_below & ~(np.uint64(15) << shift)) | (np.uint64(rank) << shift)
    return bound + early


@jit
def packed(bases, turns, left, heights, drawn, reserve):
    return (
        bases | (np.uint64(turns) << _U52),
        left | (heights << _U34) | (np.uint64(drawn) << _U50) | (np.uint64(reserve) << _U56),
    )


@jit
def _add(table, bases, second, left, heights, drawn, turns, reserve, move, cost, words, moves, costs, n, went):
    """Settle a successor and append it. A safe move home stays safe where moves are counted: the line of play that
    ``is_safe`` makes out of another is no longer, for every move in it stands for one of the other's."""
    bases, second, left, heights, drawn, reserve = settled(
        table, bases, second, left, heights, drawn, turns, reserve, went
    )
    words[n, 0], words[n, 1] = packed(bases, turns, left, heights, drawn, reserve)
    words[n, 2] = second
    moves[n] = move
    costs[n] = cost + went[0]
    return n + 1


@jit
def successors(table, runs, any_fills, taps, a, b, c, words, moves, costs, went):
    """All positions after one move and the draws before it, settled; returns their number.

    runs: 1 if parts of columns move; any_fills: 1 if they may go to a space, too. words: uint64[MAX_MOVES, 3], moves,
    costs: int64[MAX_MOVES], went: int64[>= 1]: modified in place.
    """
    bases, turns, left, heights, drawn, reserve = unpacked(a, b)
    tableau = on_tableau(table, left, heights, reserve)
    free = ends(tableau, bases, c)
    top = table.reserve_top[reserve]
    n = 0

    for s in range(4):
        h = height(heights, s)
        card = 4 * h + s
        if h < 13 and (free | top) & bit(card):
            bases2, heights2, reserve2 = taken_home(table, bases, heights, reserve, card)
            move = card | TO_FOUNDATION << 6
            second2 = c & ~bit(card)
            n = _add(
                table, bases2, second2, left, heights2, drawn, turns, reserve2, move, 1, words, moves, costs, n, went
            )

    spaces = 4 - popcount(bases)
    movable = top | (tableau if runs else bases)
    while movable:
        card = lowest(movable)
        movable &= movable - U1
        m = bit(card)
        places = places_for(table, free, card)
        while places:
            parent = lowest(places)
            places &= places - U1
            bases2, second2 = laid(table, bases, c & ~m, card, parent)
            reserve2 = reserve
            if top & m:
                reserve2 -= 1
            elif bases & m:
                bases2, reserve2 = filled(table, bases2, reserve)
            move = card | parent << 6
            n = _add(
                table, bases2, second2, left, heights, drawn, turns, reserve2, move, 1, words, moves, costs, n, went
            )
        if any_fills and spaces > 0 and not (bases | top) & m:
            move = card | TO_COLUMN << 6
            n = _add(
                table, bases | m, c & ~m, left, heights, drawn, turns, reserve, move, 1, words, moves, costs, n, went
            )

    n_left = popcount(left)
    now, later = reached(table, n_left, drawn, turns)
    to_end = (n_left - drawn + table.draw - 1) // table.draw
    p = 0
    todo = left
    while todo:
        place = lowest(todo)
        todo &= todo - U1
        p += 1
        turns2 = turns
        if (now >> np.uint64(p)) & U1:
            cost = 1 + (p - drawn + table.draw - 1) // table.draw
        elif (later >> np.uint64(p)) & U1:
            cost = 1 + to_end + (p + table.draw - 1) // table.draw + taps
            if turns != UNLIMITED:
                turns2 -= 1
        else:
            continue
        card = table.stock[place]
        left2 = left & ~bit(place)
        if height(heights, card & 3) == card >> 2:
            heights2 = heights + (U1 << np.uint64(4 * (card & 3)))
            move = card | TO_FOUNDATION << 6
            n = _add(table, bases, c, left2, heights2, p - 1, turns2, reserve, move, cost, words, moves, costs, n, went)
        places = places_for(table, free, card)
        while places:
            parent = lowest(places)
            places &= places - U1
            bases2, second2 = laid(table, bases, c, card, parent)
            move = card | parent << 6
            n = _add(
                table, bases2, second2, left2, heights, p - 1, turns2, reserve, move, cost, words, moves, costs, n, went
            )
        if spaces > 0:
            move = card | TO_COLUMN << 6
            bases2 = bases | bit(card)
            n = _add(table, bases2, c, left2, heights, p - 1, turns2, reserve, move, cost, words, moves, costs, n, went)
    return n


@jit
def _store(table, taps, store, a, b, c, parent, move, length):
    """Note a way to a position and queue it, if it is shorter than those known and may lead to a better solution."""
    words, lengths, bounds, entries, buckets, control = (
        store.words,
        store.lengths,
        store.bounds,
        store.entries,
        store.buckets,
        store.control,
    )
    at = find(store.slots, words, a, b, c)
    if at >= 0:
        n = at
        if length >= lengths[n]:
            return
    else:
        bound = remaining(table, a, b, taps)
        if length + bound >= control[LIMIT]:
            return
        n = control[COUNT]
        store.slots[-1 - at] = n + 1
        words[n, 0], words[n, 1], words[n, 2] = a, b, c
        bounds[n] = bound
        control[COUNT] = n + 1
    store.parents[n] = parent
    store.moves[n] = move
    lengths[n] = length
    total = length + np.int64(bounds[n])
    if total >= control[LIMIT]:
        return
    if (b >> _U34) & _HEIGHTS == _ALL_HOME:
        control[LIMIT] = length
        control[WON] = n
        return
    entry_number = control[ENTRIES]
    control[ENTRIES] = entry_number + 1
    entries[entry_number, 0] = n
    entries[entry_number, 1] = buckets[total]
    buckets[total] = entry_number
    control[BEST] = min(control[BEST], total)


@entry
def begin(table, taps, store, start, limit):
    """Put the start into an empty store; only solutions shorter than ``limit`` are looked for."""
    store.buckets[:] = -1
    store.control[BEST] = limit
    store.control[LIMIT] = limit
    store.control[WON] = -1
    bases, turns, left, heights, drawn, reserve = unpacked(start[0], start[1])
    bases, second, left, heights, drawn, reserve = settled(
        table, bases, start[2], left, heights, drawn, turns, reserve, store.went
    )
    a, b = packed(bases, turns, left, heights, drawn, reserve)
    _store(table, taps, store, a, b, second, -1, 0, store.went[0])


@entry
def search(table, runs, any_fills, taps, store, budget):
    """Expand up to ``budget`` positions. Returns OPEN, DONE (nothing below the limit is left) or what is full."""
    words, lengths, bounds, entries, buckets, control = (
        store.words,
        store.lengths,
        store.bounds,
        store.entries,
        store.buckets,
        store.control,
    )
    new_words, new_moves, costs = store.new_words, store.new_moves, store.costs
    for _ in range(budget):
        total = control[BEST]
        while total < control[LIMIT] and buckets[total] < 0:
            total += 1
        control[BEST] = total
        if total >= control[LIMIT]:
            return DONE
        if control[COUNT] + MAX_MOVES > words.shape[0]:
            return POOL_FULL
        if 2 * (control[COUNT] + MAX_MOVES) > store.slots.size:
            return INDEX_FULL
        if control[ENTRIES] + MAX_MOVES > entries.shape[0]:
            return QUEUE_FULL
        first = np.int64(buckets[total])
        here = np.int64(entries[first, 0])
        buckets[total] = entries[first, 1]
        length = np.int64(lengths[here])
        if length + np.int64(bounds[here]) != total:
            continue  # a shorter way was found and queued since
        n = successors(
            table,
            runs,
            any_fills,
            taps,
            words[here, 0],
            words[here, 1],
            words[here, 2],
            new_words,
            new_moves,
            costs,
            store.went,
        )
        control[EXPANDED] += 1
        control[GENERATED] += n
        for i in range(n):
            _store(
                table,
                taps,
                store,
                new_words[i, 0],
                new_words[i, 1],
                new_words[i, 2],
                here,
                new_moves[i],
                length + costs[i],
            )
    return OPEN


@entry_making
def steps_to(table, start, store, goal, steps):
    """Write the moves and the safe moves home on the way to a position to ``steps``, int64[m, 2], as relabelled cards
    and destinations; returns how many."""
    depth = 0
    node = goal
    while store.parents[node] >= 0:
        node = np.int64(store.parents[node])
        depth += 1
    path = np.empty(depth + 1, np.int64)
    node = goal
    for i in range(depth, -1, -1):
        path[i] = node
        node = np.int64(store.parents[node])
    went = np.empty(53, np.int64)
    bases, turns, left, heights, drawn, reserve = unpacked(start[0], start[1])
    second = start[2]
    n = 0
    for i in range(depth + 1):
        if i > 0:
            before = path[i - 1]
            move = np.int64(store.moves[path[i]])
            steps[n, 0] = move & 63
            steps[n, 1] = move >> 6
            n += 1
            bases, second, left, heights, drawn, turns, reserve = applied(
                table, store.words[before, 0], store.words[before, 1], store.words[before, 2], move
            )
        settled(table, bases, second, left, heights, drawn, turns, reserve, went)
        for k in range(went[0]):
            steps[n, 0] = went[k + 1]
            steps[n, 1] = TO_FOUNDATION
            n += 1
    return n


class Search:
    """One A* search, grown as it goes on."""

    def __init__(
        self, position: Position, rules: Rules, metric: str, limits: Limits, limit: int, prune: int = PRUNE_SAFE
    ) -> None:
        whole = rules.with_options(partial_runs=False)
        self.table, self.start, _ = start_of(position, whole, prune)
        self.table["free_draws"] = 0
        self.base, self.limits = position.base, limits
        self.rules = int(rules.partial_runs), int(rules.partial_runs and rules.spaces == "any"), int(metric == "taps")
        rows = 2 * MAX_MOVES
        self.store = Store(
            words=np.zeros((rows, 3), np.uint64),
            parents=np.zeros(rows, np.int32),
            moves=np.zeros(rows, np.int32),
            lengths=np.zeros(rows, np.int32),
            bounds=np.zeros(rows, np.int16),
            entries=np.zeros((rows, 2), np.int32),
            buckets=np.zeros(BUCKETS, np.int32),
            slots=np.zeros(4 * rows, np.uint32),
            control=np.zeros(7, np.int64),
            new_words=np.zeros((MAX_MOVES, 3), np.uint64),
            new_moves=np.zeros(MAX_MOVES, np.int64),
            costs=np.zeros(MAX_MOVES, np.int64),
            went=np.zeros(1, np.int64),
        )
        begin(self.table, self.rules[2], self.store, self.start, limit)

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.store)

    def count(self, which: int) -> int:
        return int(self.store.control[which])

    def advance(self, budget: int) -> int:
        return search(self.table, *self.rules, self.store, budget)

    def grow(self, status: int) -> bool:
        """Double what is full; False where the limits do not allow it."""
        s = self.store
        names = {
            POOL_FULL: ("words", "parents", "moves", "lengths", "bounds"),
            INDEX_FULL: ("slots",),
            QUEUE_FULL: ("entries",),
        }[status]
        full = {name: getattr(s, name) for name in names}
        if not self.limits.allows(self.bytes + sum(array.nbytes for array in full.values())):
            return False
        if max(map(len, full.values())) >= 1 << 30:
            return False
        self.store = None
        if status == INDEX_FULL:
            s = s._replace(slots=np.zeros(2 * len(s.slots), np.uint32))
            rehash(s.slots, s.words, s.control[COUNT])
        else:
            s = s._replace(**{name: grown(array, 2 * len(array)) for name, array in full.items()})
        self.store = s
        return True

    def steps(self) -> list[tuple[int, int]]:
        """The best solution found."""
        room = np.zeros((BUCKETS, 2), np.int64)
        n = steps_to(self.table, self.start, self.store, self.count(WON), room)

        def real(card: int) -> int:
            return (card + 4 * self.base) % 52

        return [(real(int(c)), real(int(to)) if to < 52 else int(to)) for c, to in room[:n]]


def minimum(
    position: Position, rules: Rules, metric: str, limits: Limits, progress=None, prune: int = PRUNE_SAFE
) -> Outcome:
    """Find a solution with the fewest moves, or the best and a bound within the limits.

    Args:
        position: a deal or any later position.
        rules: any rules of Canfield.
        metric: ``moves`` or ``taps``.
        limits: when to give up.
        progress: called now and then with ``expanded``, ``stored``, ``length`` (best so far), ``lower_bound`` and, when
            there is a better solution, ``steps``.
        prune: PRUNE_SAFE or 0.

    Raises:
        ValueError: no game of Canfield leads to the position.
    """
    first = canfield.decide(position, rules, limits)
    if first.verdict != SOLVABLE:
        return first._replace(optimal=False)
    steps = first.steps
    length = reference.length(position, rules, expand(position, rules, steps)[0], metric)
    if progress is not None:
        progress(expanded=first.expanded, stored=first.stored, length=length, steps=steps)
    astar = Search(position, rules, metric, limits, length, prune)
    reason, budget = None, 200
    while True:
        status = astar.advance(budget)
        budget = 20_000
        if astar.count(LIMIT) < length:
            length = astar.count(LIMIT)
            steps = astar.steps()
            if progress is not None:
                progress(expanded=first.expanded + astar.count(EXPANDED), length=length, steps=steps)
        if status == DONE:
            break
        if progress is not None:
            progress(
                expanded=first.expanded + astar.count(EXPANDED),
                stored=astar.count(COUNT),
                length=length,
                lower_bound=astar.count(BEST),
            )
        reason = limits.exceeded(astar.count(COUNT))
        if reason is None and status != OPEN and not astar.grow(status):
            reason = MEMORY
        if reason is not None:
            break
    return Outcome(
        SOLVABLE,
        reason,
        steps,
        expanded=first.expanded + astar.count(EXPANDED),
        generated=first.generated + astar.count(GENERATED),
        lower_bound=min(length, astar.count(BEST)),
        optimal=reason is None,
        most_home=52,
        stored=max(first.stored, astar.count(COUNT)),
        bytes=max(first.bytes, astar.bytes),
    )
