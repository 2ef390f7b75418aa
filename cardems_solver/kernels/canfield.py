"""Canfield, solvable or not: best-first search over the positions of ``canfield_state`` until one is won or none is
left.

Every position is stored exactly, and those are expanded first that look nearest to a win. So an end without a win
proves that there is none, and that no more cards can reach the foundations than in the best position met.

With no limit on turning over, the number of cards drawn decides only which stock cards can be reached, and after one of
them is played it is the same whatever it was before. So positions that differ in nothing else are one position with
several *entries*. An entry is stored only if it reaches a stock card that no earlier one did, and then only the plays
of such cards are new (other moves lead to positions that are entered in the same way).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardems_solver.kernels.bits import U0, U1, bit, mix3, popcount
from cardems_solver.kernels.canfield_moves import settled, successors
from cardems_solver.kernels.canfield_replay import replay
from cardems_solver.kernels.canfield_state import (
    BASE,
    MAX_MOVES,
    NOWHERE,
    PRUNE_ALL,
    STOCK_BITS,
    UNLIMITED,
    build_table,
    empty_table,
    height,
    packed,
    reached,
    start_of,
    turnings,
    unpacked,
)
from cardems_solver.kernels.jit import entry, entry_making, jit, jit_making
from cardems_solver.kernels.table import find, grown
from cardems_solver.limits import MEMORY, Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE, Outcome
from cardems_solver.position import Position
from cardems_solver.rules import Rules

BUCKETS = 256
WIDE_FROM, WIDTH, ROOM = 20_000, 16, 2 * MAX_MOVES
"""Positions stored from which on so many are expanded at a time, and the room for their successors."""
COUNT, EXPANDED, GENERATED, MOST, WON, BEST = range(6)
"""What ``Store.control`` holds: positions stored, expanded, generated; the most cards home in any; the number of a won
one, or -1; the lowest bucket that may hold any."""
OPEN, DONE, POOL_FULL, INDEX_FULL = range(4)
_LATER = np.uint64(1 << 63)
_PLACES = np.uint64((1 << 35) - 2)
_DRAWN = np.uint64(63 << 50)
_U34, _U50, _U52, _U56, _HEIGHTS = np.uint64(34), np.uint64(50), np.uint64(52), np.uint64(56), np.uint64(0xFFFF)


class Store(NamedTuple):
    """The arrays of a search.

    Attributes:
        words: uint64[n, 4], a position without its number of cards drawn (unless turning over is limited), and that
            number (bits 50-55) with the stock cards that it reaches: of a first entry all those that any entry reaches
            (bits 1-34, by place among those left), of a LATER one those that it was the first to reach.
        parents: int32[n], from which position each was first met, -1 for the start.
        moves: int32[n], and by which event (see ``successors``).
        queue: int32[n], the next position in the same bucket, or -1.
        slots: uint32[2^k], the index (see ``table``).
        buckets: int32[BUCKETS], the first position in each bucket, or -1.
        control: int64[6].
        new_words, new_moves, new_parents, looked: uint64[ROOM, 3], int64[ROOM], int64[ROOM], uint64[ROOM], room for
            the successors of the positions that are expanded at a time.
        went: int64[1], room for ``settled``.
    """

    words: np.ndarray
    parents: np.ndarray
    moves: np.ndarray
    queue: np.ndarray
    slots: np.ndarray
    buckets: np.ndarray
    control: np.ndarray
    new_words: np.ndarray
    new_moves: np.ndarray
    new_parents: np.ndarray
    looked: np.ndarray
    went: np.ndarray


@jit
def home_count(b):
    heights = (b >> _U34) & _HEIGHTS
    return height(heights, 0) + height(heights, 1) + height(heights, 2) + height(heights, 3)


@jit
def score(b, home):
    """How far from a win a position looks; the lower the sooner it is expanded."""
    reserve = np.int64(b >> _U56)
    left = popcount(b & STOCK_BITS)
    on_columns = 52 - home - left - reserve
    return (4 * reserve + 2 * left + on_columns) >> 1


@jit
def _reach(table, a, b):
    """The stock cards that can be reached in a position, by place among those left."""
    turns = np.int64(a >> _U52)
    drawn = np.int64((b & _DRAWN) >> _U50)
    now, later = reached(table, popcount(b & STOCK_BITS), drawn, turns)
    return now | later


@jit
def _add(table, store, a, b, c, parent, move):
    """Store and queue a position or a new entry to it, unless that adds nothing."""
    words, queue, buckets, control = store.words, store.queue, store.buckets, store.control
    reach = _reach(table, a, b)
    drawn = b & _DRAWN
    if np.int64(a >> _U52) == UNLIMITED:
        b &= ~_DRAWN
    at = find(store.slots, words, a, b, c)
    n = control[COUNT]
    if at < 0:
        store.slots[-1 - at] = n + 1
        words[n, 3] = reach | drawn
        home = home_count(b)
        if home > control[MOST]:
            control[MOST] = home
            if home == 52:
                control[WON] = n
    else:
        reach &= ~words[at, 3]
        if reach == U0:
            return
        words[at, 3] |= reach
        words[n, 3] = reach | drawn | _LATER
    words[n, 0], words[n, 1], words[n, 2] = a, b, c
    store.parents[n] = parent
    store.moves[n] = move
    control[COUNT] = n + 1
    s = score(b, home_count(b))
    queue[n] = buckets[s]
    buckets[s] = n
    control[BEST] = min(control[BEST], s)


@jit
def _index(slots, words, count):
    """Fill the zeroed ``slots`` (modified in place) with the first entries among the first ``count``."""
    for n in range(count):
        if words[n, 3] & _LATER == U0:
            at = find(slots, words, words[n, 0], words[n, 1], words[n, 2])
            slots[-1 - at] = n + 1


@jit
def _begin(table, store, start):
    """Put the settled start into the store, whose index must hold zeros."""
    store.buckets[:] = -1
    store.control[:] = 0
    store.control[WON] = -1
    store.control[BEST] = BUCKETS
    bases, turns, left, heights, drawn, reserve = unpacked(start[0], start[1])
    bases, second, left, heights, drawn, reserve = settled(
        table, bases, start[2], left, heights, drawn, turns, reserve, store.went
    )
    a, b = packed(table, bases, turns, left, heights, drawn, reserve)
    _add(table, store, a, b, second, -1, 0)


@jit
def _search(table, store, budget):
    """Expand positions up to ``budget`` times. Returns OPEN, DONE (won, or none left) or what is full.

    A long search expands several at a time: their successors' places in the index are looked at together first,
    independent reads, so that their cache misses overlap.
    """
    words, buckets, control = store.words, store.buckets, store.control
    new_words, new_moves, new_parents, looked = store.new_words, store.new_moves, store.new_parents, store.looked
    mask = np.uint64(store.slots.size) - U1
    for _ in range(budget):
        if control[WON] >= 0:
            return DONE
        s = control[BEST]
        while s < BUCKETS and buckets[s] < 0:
            s += 1
        control[BEST] = s
        if s == BUCKETS:
            return DONE
        width, room = (1, MAX_MOVES) if control[COUNT] < WIDE_FROM else (WIDTH, ROOM)
        if control[COUNT] + room > words.shape[0]:
            return POOL_FULL
        if 2 * (control[COUNT] + room) > store.slots.size:
            return INDEX_FULL
        n = 0
        while width > 0 and buckets[s] >= 0 and n + MAX_MOVES <= room:
            width -= 1
            here = np.int64(buckets[s])
            buckets[s] = store.queue[here]
            a = words[here, 0]
            b = words[here, 1] | (words[here, 3] & _DRAWN)
            places = words[here, 3] & _PLACES
            if words[here, 3] & _LATER == U0:
                places = _reach(table, a, b)
            first = n
            n += successors(table, a, b, words[here, 2], places, new_words[n:], new_moves[n:], store.went)
            new_parents[first:n] = here
            control[EXPANDED] += 1
        control[GENERATED] += n
        for i in range(n):
            b = new_words[i, 1]
            if np.int64(new_words[i, 0] >> _U52) == UNLIMITED:
                b &= ~_DRAWN
            looked[i] = store.slots[mix3(new_words[i, 0], b, new_words[i, 2]) & mask]
        for i in range(n):
            if looked[i]:
                looked[i] = words[np.int64(looked[i]) - 1, 3]
        for i in range(n):
            _add(table, store, new_words[i, 0], new_words[i, 1], new_words[i, 2], new_parents[i], new_moves[i])
    return OPEN


@jit_making
def _with_slots(store, slots):
    """The store with another index."""
    return Store(
        store.words,
        store.parents,
        store.moves,
        store.queue,
        slots,
        store.buckets,
        store.control,
        store.new_words,
        store.new_moves,
        store.new_parents,
        store.looked,
        store.went,
    )


@entry
def begin(table, store, start):
    _begin(table, store, start)


@entry
def search(table, store, budget):
    return _search(table, store, budget)


@entry
def index(slots, words, count):
    _index(slots, words, count)


@entry
def steps_to(table, store, start, lies_on, base, goal, steps):
    return replay(table, start, lies_on, base, store.words, store.parents, store.moves, goal, steps)


def new_store(rows: int, slots: int) -> Store:
    return Store(
        words=np.zeros((rows, 4), np.uint64),
        parents=np.zeros(rows, np.int32),
        moves=np.zeros(rows, np.int32),
        queue=np.zeros(rows, np.int32),
        slots=np.zeros(slots, np.uint32),
        buckets=np.zeros(BUCKETS, np.int32),
        control=np.zeros(6, np.int64),
        new_words=np.zeros((ROOM, 3), np.uint64),
        new_moves=np.zeros(ROOM, np.int64),
        new_parents=np.zeros(ROOM, np.int64),
        looked=np.zeros(ROOM, np.uint64),
        went=np.zeros(1, np.int64),
    )


BYTES_PER_ROW = 32 + 3 * 4


EASIER_FROM = 200_000
"""Positions after which the easier games are tried; each may take as many again."""


class Search:
    """One search of one position, grown as it goes on."""

    def __init__(self, position: Position, rules: Rules, prune: int) -> None:
        self.base = position.base
        self.table, self.start, self.lies_on = start_of(position, rules, prune)
        self.store = new_store(2 * MAX_MOVES, 8 * MAX_MOVES)
        self.budget = 1000
        begin(self.table, self.store, self.start)

    def count(self, which: int) -> int:
        return int(self.store.control[which])

    @property
    def bytes(self) -> int:
        return BYTES_PER_ROW * len(self.store.words) + 4 * len(self.store.slots)

    def advance(self, room: int) -> int:
        """Go on for some milliseconds. Returns OPEN, DONE, or POOL_FULL where more than ``room`` bytes are needed."""
        status = search(self.table, self.store, self.budget)
        self.budget = 20_000
        if status in (OPEN, DONE):
            return status
        store = self.store
        rows, slots = len(store.words), len(store.slots)
        if status == POOL_FULL:
            rows *= 2
        else:
            slots *= 2
        if BYTES_PER_ROW * rows + 4 * slots > room or rows >= 1 << 31:
            return POOL_FULL
        self.store = None
        if status == POOL_FULL:
            columns = {name: grown(getattr(store, name), rows) for name in ("words", "parents", "moves", "queue")}
            self.store = store._replace(**columns)
        else:
            self.store = store._replace(slots=np.zeros(slots, np.uint32))
            index(self.store.slots, self.store.words, self.store.control[COUNT])
        return OPEN

    def steps(self) -> list[tuple[int, int]]:
        """The solution found."""
        room = np.zeros((4096, 2), np.int64)
        n = steps_to(self.table, self.store, self.start, self.lies_on, self.base, self.count(WON), room)
        return [(int(card), int(destination)) for card, destination in room[:n]]


def easier_games(rules: Rules) -> list[Rules]:
    """Rules that allow all that these do, the easiest first: what is lost by them is lost here, and no more cards can
    go home here. (Drawing one with no limit, every card of the stock can be reached at any time.)"""
    games = [
        rules.with_options(draw=1, passes=None, partial_runs=True, spaces="any"),
        rules.with_options(passes=None, partial_runs=True, spaces="any"),
        rules.with_options(partial_runs=True, spaces="any"),
    ]
    return [game for i, game in enumerate(games) if game != rules and game not in games[:i]]


def decide(position: Position, rules: Rules, limits: Limits, progress=None, prune: int = PRUNE_ALL) -> Outcome:
    """Find a solution or prove that there is none, and then the most cards that can reach the foundations.

    A long search is helped by searches of easier games, which may be exhausted sooner: then there is no solution, and
    the search ends when it has met a position with as many cards home as the easier game allows. Where a limit ends it
    before that, the deal is lost all the same, ``most_home`` is None and ``reason`` the limit.

    Args:
        position: a deal or any later position.
        rules: any rules of Canfield.
        limits: when to give up.
        progress: called now and then with ``expanded`` and ``stored``.
        prune: which pruning rules to use (``canfield_state.PRUNE_*``).

    Raises:
        ValueError: no game of Canfield leads to the position.
    """
    main = Search(position, rules, prune)
    easier: list[Search] = []
    most, reason, help_at = 52, None, EASIER_FROM
    closed = np.zeros(4, np.int64)
    peak = 0

    def total(which: int) -> int:
        return int(closed[which]) + sum(s.count(which) for s in (main, *easier))

    def advance(s: Search) -> int:
        nonlocal peak
        status = s.advance(limits.memory - sum(other.bytes for other in (main, *easier) if other is not s))
        peak = max(peak, main.bytes + sum(s.bytes for s in easier))
        if progress is not None:
            progress(expanded=total(EXPANDED), stored=total(COUNT))
        return status

    status = OPEN
    while status != DONE and main.count(MOST) < most and reason is None:
        status = advance(main)
        reason = MEMORY if status == POOL_FULL else limits.exceeded(total(COUNT))
        if status == DONE or reason is not None or main.count(COUNT) < help_at:
            continue
        if help_at == EASIER_FROM:
            easier = [Search(position, game, prune) for game in easier_games(rules)]
        help_at *= 3
        for s in list(easier):
            ended = OPEN
            while ended == OPEN and s.count(COUNT) < main.count(COUNT) and limits.exceeded(total(COUNT)) is None:
                ended = advance(s)
            if ended != OPEN:
                if ended == DONE:
                    most = min(most, s.count(MOST))
                for which in (COUNT, EXPANDED, GENERATED):
                    closed[which] += s.count(which)
                easier.remove(s)

    if main.count(WON) >= 0:
        verdict, reason, most_home = SOLVABLE, None, 52
    elif status == DONE:
        verdict, reason, most_home = UNSOLVABLE, None, main.count(MOST)
    elif most < 52:
        verdict = UNSOLVABLE
        most_home = most if main.count(MOST) == most else None
        reason = None if most_home is not None else reason
    else:
        verdict, most_home = UNDECIDED, None
    return Outcome(
        verdict,
        reason,
        main.steps() if verdict == SOLVABLE else None,
        expanded=total(EXPANDED),
        generated=total(GENERATED),
        most_home=most_home,
        stored=total(COUNT),
        bytes=peak,
    )


@jit
def _dealt(deck, turns, table, start, lies_on):
    """Set up a deal: fill the table's arrays, ``start`` and ``lies_on`` (modified in place). Returns the base rank.

    deck: uint8[52], base card, reserve from the bottom, columns, stock.
    """
    base = np.int64(deck[0]) >> 2
    for i in range(13):
        table.reserve[i] = (np.int64(deck[1 + i]) - 4 * base) % 52
    lies_on[:] = NOWHERE
    bases = U0
    for i in range(4):
        card = (np.int64(deck[14 + i]) - 4 * base) % 52
        lies_on[card] = BASE
        bases |= bit(card)
    for i in range(34):
        table.stock[i] = (np.int64(deck[18 + i]) - 4 * base) % 52
    build_table(table, 34, 13)
    heights = U1 << np.uint64(4 * (np.int64(deck[0]) & 3))
    start[0] = bases | (np.uint64(turns) << np.uint64(52))
    start[1] = STOCK_BITS | (heights << _U34) | (np.uint64(13) << _U56)
    start[2] = U0
    return base


@entry_making
def _decide_many(decks, turns, table, room, stop, verdicts, lengths, expanded, generated, most_home, steps):
    """See ``decide_many``. room: a store for the largest search; its index is used in part and holds zeros before and
    after."""
    start = np.empty(3, np.uint64)
    lies_on = np.empty(52, np.int64)
    for i in range(decks.shape[0]):
        verdicts[i] = 0
        if stop[0]:
            continue
        base = _dealt(decks[i], turns, table, start, lies_on)
        slots = room.slots[: min(8192, room.slots.size)]
        store = _with_slots(room, slots)
        _begin(table, store, start)
        status = OPEN
        while True:
            status = _search(table, store, 5000)
            if status == INDEX_FULL and 2 * slots.size <= room.slots.size:
                slots[:] = 0
                slots = room.slots[: 2 * slots.size]
                store = _with_slots(room, slots)
                _index(slots, room.words, room.control[COUNT])
            elif status != OPEN or stop[0]:
                break
        slots[:] = 0
        expanded[i] = room.control[EXPANDED]
        generated[i] = room.control[GENERATED]
        if status != DONE:
            continue
        won = room.control[WON]
        most_home[i] = room.control[MOST]
        verdicts[i] = 2
        if won >= 0:
            n = replay(table, start, lies_on, base, room.words, room.parents, room.moves, won, steps[i])
            lengths[i] = n
            verdicts[i] = 1 if n <= steps.shape[1] else 0


def decide_many(
    decks: np.ndarray,
    rules: Rules,
    max_states: int,
    stop: np.ndarray,
    out_verdict: np.ndarray,
    out_length: np.ndarray,
    out_expanded: np.ndarray,
    out_generated: np.ndarray,
    out_steps: np.ndarray | None = None,
    out_most_home: np.ndarray | None = None,
) -> None:
    """Decide many deals in one compiled call, as the ``decide_many`` of every game does.

    Args:
        decks: uint8[n, 52]: base card, reserve from the bottom, columns, stock (first drawn first).
        max_states: the most positions to store for a deal (rounded up to what one event can lead to).
        out_steps: uint8[n, m, 2]; a row ends at its length, what follows is left as it was. A deal whose solution has
            more than m steps counts as undecided.
        out_most_home: int8[n], set for each decided deal to the most cards that can reach the foundations, or None.
        The others: see ``freecell.decide_many``.
    """
    n = len(decks)
    if out_steps is None:
        out_steps = np.zeros((n, 1024, 2), np.uint8)
    if out_most_home is None:
        out_most_home = np.zeros(n, np.int8)
    rows = max_states + MAX_MOVES
    room = new_store(rows, 1 << int(2 * (rows + MAX_MOVES)).bit_length())
    turns = turnings(rules, 1, 34)
    _decide_many(
        decks,
        turns,
        empty_table(rules),
        room,
        stop,
        out_verdict,
        out_length,
        out_expanded,
        out_generated,
        out_most_home,
        out_steps,
    )
