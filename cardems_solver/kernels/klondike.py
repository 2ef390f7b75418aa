"""Klondike, solvable or not, all cards known: any draw, any number of passes, foundation return or none."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np

from cardems_solver.kernels import klondike_search as search
from cardems_solver.kernels.klondike_state import Setup, is_free, set_up
from cardems_solver.kernels.klondike_steps import Table
from cardems_solver.limits import MEMORY, Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE, Outcome
from cardems_solver.position import Position
from cardems_solver.rules import Rules

BUDGET = 20_000
FIRST_SLOTS = 1 << 13
FIRST_STACK = 1 << 12

compiled = cache(search.make)


class Search:
    """One complete search and its arrays."""

    def __init__(self, setup: Setup, ordered: bool, returns: bool):
        self.run, self.actions = compiled(ordered, returns)
        self.setup = setup
        self.slots = np.zeros(FIRST_SLOTS, np.uint64)
        self.stack = np.zeros((FIRST_STACK, search.NODE_SIZE), np.uint64)
        self.counts = np.zeros(4, np.int64)
        self.frames = np.zeros((search.DEEPEST, search.FRAME_SIZE), np.uint64)
        self.accessible = np.zeros((52, 2), np.int64)
        self.record = np.zeros(1024, np.int64)
        self.seen = np.zeros((search.SEEN_SIZE + 1, 3), np.uint64)
        self.ordered, self.returns = ordered, returns
        self.start = self._begin()

    def _begin(self) -> list[int]:
        s = self.setup
        state = [*s.state]
        *state, n = search.settle(*state, s.table, s.suits, self.returns, self.ordered, self.record, 0)
        where = np.uint64(0)
        if self.ordered:
            where, part = search.position_code(state[3], int(s.place[0]), int(s.place[1]), s.order, s.header)
            state[4] += part
        self.won = not int(state[1]) & ~int(s.foot) and not (self.ordered and state[3])
        self.stack[0, :5] = state
        self.stack[0, search.WHERE] = where
        self.counts[search.HEIGHT] = self.counts[search.STORED] = 1
        search.insert(self.slots, state[4])
        return [int(a) for a in self.record[:n]]

    @property
    def bytes(self) -> int:
        return self.slots.nbytes + self.stack.nbytes

    def arrays(self):
        s = self.setup
        return (
            self.stack,
            self.slots,
            self.counts,
            self.frames,
            s.table,
            s.suits,
            s.foot,
            s.order,
            s.header,
            self.accessible,
            self.record,
            self.seen,
        )

    def go(self, limits: Limits, progress=None) -> str | bool:
        """True for a win, False for none, or the limit that ended it."""
        if self.won:
            return True
        while True:
            status = self.run(*self.arrays(), BUDGET)
            if status == search.WON:
                return True
            if status == search.LOST:
                return False
            if status == search.GROW_TABLE:
                if not limits.allows(self.bytes + 2 * self.slots.nbytes):
                    return MEMORY
                larger = np.zeros(2 * self.slots.size, np.uint64)
                search.refill(self.slots, larger)
                self.slots = larger
            elif status == search.GROW_STACK:
                self.stack = np.concatenate([self.stack, np.zeros_like(self.stack)])
            elif status == search.TOO_DEEP:
                raise RuntimeError("a chain is longer than its frames")
            if reason := limits.exceeded(int(self.counts[search.STORED])):
                return reason
            if progress:
                progress(expanded=int(self.counts[search.NODES]), stored=int(self.counts[search.STORED]))

    def path(self) -> list[int]:
        """The actions of the win that was found."""
        result = list(self.start)
        if self.won:
            return result
        nodes = [n for n in range(self.counts[search.HEIGHT]) if self.stack[n, search.EXPANDED]]
        nodes.append(int(self.counts[search.HEIGHT]) - 1)
        for here, after in pairwise(nodes):
            n = self.actions(*self.arrays(), here, self.stack[after, search.CODE])
            result += [int(a) for a in self.record[:n]]
        return result


def decide(position: Position, rules: Rules, limits: Limits, progress=None) -> Outcome:
    """Find a solution or prove that there is none; see ``outcome.Outcome``.

    Raises:
        ValueError: the position cannot be searched: a column's top card is face down.
    """
    setup = set_up(position, rules)
    work = Search(setup, not is_free(position, rules), rules.foundation_return)
    answer = work.go(limits, progress)
    numbers = {
        "expanded": int(work.counts[search.NODES]),
        "generated": int(work.counts[search.LINKS]),
        "stored": int(work.counts[search.STORED]),
        "bytes": work.bytes,
    }
    if answer is False:
        return Outcome(UNSOLVABLE, **numbers)
    if answer is not True:
        return Outcome(UNDECIDED, reason=answer, **numbers)
    table = Table(position)
    for action in work.path():
        table.play(action)
    table.finish()
    return Outcome(SOLVABLE, steps=table.steps, **numbers)
