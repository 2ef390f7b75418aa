"""Fewest moves in Klondike: solutions soon, better ones after them, a proved minimum in the end, bounds all the time.

First come a few quick searches that trust the bound more than they should, each looking only for something better than
the last. Where the first of them finds nothing, the search that asks for any solution (``klondike``) finds one, or that
there is none; its solutions are twice as long as need be and are shortened from their ends. Then A*.

A limit on the passes makes the passes part of a position. Where it allows a few, the deal is solved without it first:
what is fewest there is no more than the fewest within the limit, and if that solution keeps to the limit it is the
answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cardems_solver import reference
from cardems_solver.expand import expand
from cardems_solver.kernels import klondike
from cardems_solver.kernels.klondike_astar import (
    BEST,
    DONE,
    ENDED,
    EXPANDED,
    GENERATED,
    LEAST,
    NARROW,
    NONE,
    NOW,
    STORED,
    WINDOW,
    Search,
)
from cardems_solver.kernels.klondike_moves import ALL_PRUNING
from cardems_solver.limits import INTERRUPTED, TIME, Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE, Outcome, Step
from cardems_solver.position import Position
from cardems_solver.rules import Rules

BUDGET = 2048
"""Positions expanded between two looks at the limits, at most."""
QUICK = ((24, 4_000), (-50, 20_000), (2, 20_000))
"""Weights of the quick searches (in eighths above 1; below 0: the width of a beam), and how many positions each may
expand. On forty greenfelt deals weights 8, 4 and 2 without a beam end 0.7 moves higher at the same cost, and where the
deal is hard 10 moves higher.
"""
TAILS = ((8, 2_000), (2, 2_000))
"""The same for the searches that shorten a solution."""
STRIDE = 4
"""Steps between the places where they begin."""
DECIDE_STATES = 500_000
"""Positions that the search for any solution may store."""
PASSES_ENOUGH = 3
"""If so many passes may still be begun, the deal is solved without the limit first."""


class _Run:
    """One question on its way to an answer: the best solution, the bound, and what it took so far.

    ``least`` is the proved bound, NONE once it is proved that there is no solution.
    """

    def __init__(
        self,
        position: Position,
        rules: Rules,
        metric: str,
        limits: Limits,
        progress: Callable[..., None] | None,
        prune: int,
    ):
        self.position, self.rules, self.metric, self.limits, self.progress = position, rules, metric, limits, progress
        self.prune = prune
        self.best, self.steps = NONE, None
        self.least = 0
        self.expanded = self.generated = self.stored = self.all_stored = self.bytes = 0
        self.reason: str | None = None

    def solve(self, quick: tuple[tuple[int, int], ...]) -> Outcome:
        """All searches in turn, until the answer or a limit is reached."""
        for weight, allowed in (*quick, (0, None)):
            self._search(weight, allowed)
            if weight and not self._ended() and self.steps is None:
                self._decide()
            if self._ended():
                break
        return self.outcome()

    def _ended(self) -> bool:
        return self.least == self.best or self.reason in (TIME, INTERRUPTED)

    def _search(self, weight: int, allowed: int | None) -> None:
        """One search, up to so many positions expanded."""
        search = Search(self.position, self.rules, self.metric, self.prune, self.limits, weight, self.best)
        count = search.count
        better = False
        while True:
            budget = min(BUDGET, allowed or BUDGET)
            if self.limits.states is not None:
                budget = max(1, min(budget, (self.limits.states - int(count[STORED])) // 16))
            if search.bytes > self.limits.memory // 2:
                count[WINDOW] = NARROW
            status, self.reason = search.expand(budget)
            self.stored = int(count[STORED])
            proved = max(count[LEAST], 0 if weight else count[NOW])
            self.least = max(self.least, int(min(proved, count[BEST])))
            news = {}
            if count[BEST] < self.best:
                better = True
                self.best, self.steps = int(count[BEST]), search.steps()
                news = {"steps": self.steps}
            self._tell(self.expanded + int(count[EXPANDED]), self.stored, **news)
            self.reason = self.reason or self.limits.exceeded(self.stored)
            if status in (DONE, ENDED) or self.reason or (allowed and count[EXPANDED] >= allowed):
                break
        self._add(count[EXPANDED], count[GENERATED], count[STORED], search.bytes)
        if status == DONE and not (weight and better) and self.least < self.best:
            self.least = self.best
            if self.steps is not None:
                self._tell(self.expanded, self.stored)

    def _decide(self) -> None:
        """A solution by the search that asks for no more, shortened, or the proof that there is none."""
        states = DECIDE_STATES if self.limits.states is None else min(DECIDE_STATES, self.limits.states)
        limits = replace(self.limits, states=states)
        before = self.expanded
        outcome = klondike.decide(
            self.position, self.rules, limits, lambda expanded, stored: self._tell(before + expanded, stored)
        )
        self._add(outcome.expanded, outcome.generated, outcome.stored, outcome.bytes)
        self.reason = outcome.reason
        if outcome.verdict == UNSOLVABLE:
            self.stored = outcome.stored
            self.least = NONE
        elif outcome.steps is not None:
            self._take(outcome.steps)
            for weight, allowed in TAILS:
                self._shorten(weight, allowed)

    def _shorten(self, weight: int, allowed: int) -> None:
        """Replace the end of the solution again and again, from ever earlier on, where a small search can."""
        steps = self.steps
        costs, positions = _costs(self.position, self.rules, self.metric, steps)
        to_go = 0
        for i in range(len(costs) - 1, -1, -1):
            to_go += costs[i]
            if (len(costs) - i) % STRIDE and i:
                continue
            tail = Search(positions[i], self.rules, self.metric, self.prune, self.limits, weight, to_go)
            tail.expand(allowed)
            count = tail.count
            self._add(count[EXPANDED], count[GENERATED], count[STORED], tail.bytes)
            if count[BEST] < to_go:
                to_go = int(count[BEST])
                steps = steps[:i] + tail.steps()
            self.reason = self.limits.exceeded()
            if self.reason:
                break
        self._take(steps)

    def _take(self, steps: list[Step]) -> None:
        """Keep a solution if it is better than what there is."""
        length = sum(_costs(self.position, self.rules, self.metric, steps)[0])
        if length < self.best:
            self.best, self.steps = length, steps
            self._tell(self.expanded, self.stored, steps=steps)

    def take_over(self, easier: _Run) -> None:
        """Make use of what is known about the same position under easier rules."""
        self.least = easier.least
        self.reason = easier.reason
        self.stored = easier.stored
        self._add(easier.expanded, easier.generated, easier.all_stored, easier.bytes)

    def follow(self, *, expanded: int, stored: int, lower_bound: int, length: int | None, steps=None) -> None:
        """The progress of a search under easier rules: its bound holds, and its solution if it keeps to the rules."""
        self.least = max(self.least, lower_bound)
        news = {}
        if steps is not None and _keeps_to(self.position, self.rules, steps):
            self.best, self.steps = length, steps
            news = {"steps": steps}
        self._tell(expanded, stored, **news)

    def _add(self, expanded: int, generated: int, stored: int, size: int) -> None:
        self.expanded += int(expanded)
        self.generated += int(generated)
        self.all_stored += int(stored)
        self.bytes = max(self.bytes, size)

    def _tell(self, expanded: int, stored: int, **news) -> None:
        if self.progress:
            length = None if self.best == NONE else self.best
            self.progress(expanded=expanded, stored=stored, length=length, lower_bound=self.least, **news)

    def outcome(self) -> Outcome:
        numbers = {
            "expanded": self.expanded,
            "generated": self.generated,
            "stored": self.stored,
            "all_stored": self.all_stored,
            "bytes": self.bytes,
        }
        if self.least == NONE:
            return Outcome(UNSOLVABLE, **numbers)
        if self.steps is None:
            return Outcome(UNDECIDED, self.reason, lower_bound=self.least, **numbers)
        proved = self.best == self.least
        reason = None if proved else self.reason
        return Outcome(SOLVABLE, reason, self.steps, lower_bound=self.least, optimal=proved, **numbers)


def _costs(position: Position, rules: Rules, metric: str, steps: list[Step]) -> tuple[list[int], list[Position]]:
    """What each step costs, draws included, and the position before it."""
    costs, positions = [], []
    for step in steps:
        moves, after = expand(position, rules, [step])
        costs.append(reference.length(position, rules, moves, metric))
        positions.append(position)
        position = after
    return costs, positions


def _keeps_to(position: Position, rules: Rules, steps: list[Step]) -> bool:
    """Do the steps, found under easier rules, obey these?"""
    try:
        expand(position, rules, steps)
    except reference.IllegalMove:
        return False
    return True


def minimum(
    position: Position,
    rules: Rules,
    metric: str,
    limits: Limits,
    progress: Callable[..., None] | None = None,
    prune: int = ALL_PRUNING,
    quick: tuple[tuple[int, int], ...] = QUICK,
) -> Outcome:
    """The fewest moves to a win, proved, or the best solution and the proved bound that a limit leaves.

    Args:
        metric: ``moves`` or ``taps``.
        progress: called with ``expanded``, ``stored``, ``length`` (None without a solution), ``lower_bound`` and, when
            a better solution is found, its ``steps``.
        prune: flags of ``klondike_moves``, for tests.
        quick: the weights and budgets of the quick searches; without any there is nothing but A*, under the very rules.
    """
    run = _Run(position, rules, metric, limits, progress, prune)
    if quick and rules.passes is not None and rules.passes - position.passes >= PASSES_ENOUGH:
        free = _Run(position, rules.with_options(passes=None), metric, limits, run.follow, prune)
        outcome = free.solve(quick)
        run.take_over(free)
        if run.least == run.best or not outcome.optimal:
            return run.outcome()
    return run.solve(quick)
