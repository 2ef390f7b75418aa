"""Klondike, solvable or not, all cards known: any draw, any number of passes, foundation return or none.

The stock that can be played from at any time (one card drawn at a time, passes without limit) makes by far the smallest
search, and what is lost with it is lost with any stock. So where the order of the stock matters, a short search for a
win is followed by an attempt to refute the position with a free stock, and only then come longer searches: first beams,
which look for a win, each wider than the one before, then the one that ends when all is searched.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cardems_solver.kernels.jit import entry, entry_making
from cardems_solver.kernels.klondike_beam import new_beam, search_beam, start_beam
from cardems_solver.kernels.klondike_chains import (
    BUDGET,
    CHAIN_FULL,
    CUT,
    LINKS,
    LOST,
    NODES,
    STACK_FULL,
    STORED,
    TABLE_FULL,
    WON,
    copy_codes,
    new_work,
)
from cardems_solver.kernels.klondike_many import QUICK_NODES, _decide_many
from cardems_solver.kernels.klondike_search import begin, path, search
from cardems_solver.kernels.klondike_state import LAYER, ORDERED, PRUNE_ALL, is_free, set_up
from cardems_solver.kernels.klondike_steps import lay_out, write_steps
from cardems_solver.limits import MEMORY, Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE, Outcome
from cardems_solver.position import Position
from cardems_solver.rules import Rules

NODES_A_CALL = 20_000
MOST_STEPS = 4096
WIDTHS = (100, 1000, 10_000)
"""Nodes of a layer that each beam expands."""

_begin = entry(begin.py_func)
_search = entry(search.py_func)
_start_beam = entry(start_beam.py_func)
_search_beam = entry(search_beam.py_func)
_copy_codes = entry(copy_codes.py_func)


@entry_making
def _steps(deal, work, columns, heights, home, steps):
    return write_steps(columns, heights, home, work.record, path(deal, work), steps)


class Search:
    """One search and its arrays: a beam of some width, or the complete search (width 0)."""

    def __init__(self, deal: np.void, width: int = 0):
        self.deal, self.width = deal, width
        self.work = new_work(columns=1 + int(deal["numbers"][ORDERED]))
        self.status = _begin(deal, self.work)
        self.beam = new_beam(len(self.work.stack)) if width else None
        if width:
            _start_beam(self.beam, self.work)
        self.peak = self.bytes

    @property
    def counts(self) -> np.ndarray:
        return self.work.counts

    @property
    def bytes(self) -> int:
        return self.work.slots.nbytes + self.work.stack.nbytes + (self.beam.after.nbytes if self.beam else 0)

    def _grow(self, limits: Limits) -> bool:
        """Make the array larger that was full; False when there is no memory for it."""
        work = self.work
        if self.status == TABLE_FULL:
            self.peak = max(self.peak, self.bytes + 2 * work.slots.nbytes)
            if not limits.allows(self.peak):
                return False
            larger = np.zeros((2 * len(work.slots), work.slots.shape[1]), np.uint64)
            _copy_codes(work.slots, larger)
            self.work = work._replace(slots=larger)
        elif self.status == STACK_FULL:
            self.peak = max(self.peak, self.bytes + 2 * work.stack.nbytes)
            if not limits.allows(self.peak):
                return False
            self.work = work._replace(stack=np.concatenate([work.stack, np.zeros_like(work.stack)]))
            if self.beam:
                self.beam = self.beam._replace(after=np.resize(self.beam.after, len(self.work.stack)))
        elif self.status == CHAIN_FULL:
            longer = new_work(1, 1, 4 * len(work.frames))
            self.work = work._replace(frames=longer.frames, met=longer.met)
        return True

    def _search(self, budget: int) -> int:
        if self.beam:
            return _search_beam(self.deal, self.work, self.beam, self.width, budget)
        return _search(self.deal, self.work, budget)

    def go(self, limits: Limits, nodes: int | None, before: tuple[int, int], progress=None) -> str | None:
        """Search, for at most so many nodes; returns the limit that ended it, None when none did.

        before: nodes expanded and stored by searches before this one.
        """
        end = nodes or 1 << 62
        while self.status not in (WON, LOST, CUT):
            budget = min(NODES_A_CALL, end - int(self.counts[NODES]))
            if budget <= 0:
                return None
            if self.status != BUDGET and not self._grow(limits):
                return MEMORY
            self.status = self._search(budget)
            if self.status in (WON, LOST, CUT):
                break
            stored = before[1] + int(self.counts[STORED])
            if reason := limits.exceeded(stored):
                return reason
            if progress:
                progress(expanded=before[0] + int(self.counts[NODES]), stored=stored)
        return None

    def steps(self, position: Position) -> list[tuple[int, int]]:
        """The solution, after a win."""
        steps = np.zeros((MOST_STEPS, 2), np.uint8)
        n = _steps(self.deal, self.work, *lay_out(position), steps)
        return [(int(card), int(destination)) for card, destination in steps[:n]]


def easier(position: Position, rules: Rules) -> Rules | None:
    """Rules under which the stock is free and cards may return: a position lost under them is lost under ``rules``.
    None when they are no easier."""
    if is_free(position, rules) and rules.foundation_return:
        return None
    return rules.with_options(draw=1, passes=None, foundation_return=True)


def _searches(position: Position, rules: Rules, prune: int) -> Iterator[tuple[Search, int | None, bool]]:
    """The searches to make until one decides: (search, nodes it may expand or None, does a win count?)."""
    deal = set_up(position, rules, prune)
    if (free := easier(position, rules)) is None:
        yield Search(deal), None, True
        return
    yield Search(deal), QUICK_NODES, True
    yield Search(set_up(position, free, prune)), None, False
    for width in WIDTHS:
        yield Search(deal, width), None, True
    yield Search(deal), None, True


def decide(position: Position, rules: Rules, limits: Limits, progress=None, prune: int = PRUNE_ALL) -> Outcome:
    """Find a solution or prove that there is none; see ``outcome.Outcome``.

    Args:
        position: a deal or any later position.
        rules: any rules of Klondike.
        limits: when to give up.
        progress: called now and then with ``expanded`` and ``stored``.
        prune: which pruning rules to use (``klondike_state.PRUNE_*``).

    Raises:
        ValueError: the position cannot be searched: a column's top card is face down.
    """
    expanded = generated = stored = most_bytes = 0
    for attempt, nodes, counts in _searches(position, rules, prune):
        reason = attempt.go(limits, nodes, (expanded, stored), progress)
        expanded += int(attempt.counts[NODES])
        generated += int(attempt.counts[LINKS])
        stored += int(attempt.counts[STORED])
        most_bytes = max(most_bytes, attempt.peak)
        numbers = {"expanded": expanded, "generated": generated, "stored": stored, "bytes": most_bytes}
        if reason:
            return Outcome(UNDECIDED, reason=reason, **numbers)
        if attempt.status == LOST:
            return Outcome(UNSOLVABLE, **numbers)
        if attempt.status == WON and counts:
            return Outcome(SOLVABLE, steps=attempt.steps(position), **numbers)
    raise AssertionError("the last search has no end but its own")


_PLAIN = tuple(tuple(i * (i + 1) // 2 + j for j in range(i + 1)) for i in range(7))


def _template(rules: Rules) -> tuple[np.void, np.ndarray]:
    """A deal's arrays under the rules, to be filled, and what a layer of each column adds to the code (uint64[7])."""
    deal = set_up(Position(_PLAIN, tuple(range(7)), stock=tuple(range(28, 52))), rules)
    return deal, deal["table"][[column[0] for column in _PLAIN], LAYER]


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
) -> None:
    """Decide many deals in one compiled call, as the ``decide_many`` of every game does.

    Args:
        decks: uint8[n, 52]: columns 1 to 7, each deepest first, then the stock, first drawn first.
        max_states: about as many positions are stored for a deal, in each search that is made for it.
        out_steps: uint8[n, m, 2]; a row ends at its length, what follows is left as it was. A deal whose solution has
            more than m steps counts as undecided.
        The others: see ``freecell.decide_many``.
    """
    if out_steps is None:
        out_steps = np.zeros((len(decks), 1024, 2), np.uint8)
    deal, weights = _template(rules)
    free = rules.with_options(draw=1, passes=None, foundation_return=True)
    refuter = _template(free)[0]
    if free == rules:
        refuter["numbers"] = 0
    size = max(4096, 1 << int(2 * max_states).bit_length())
    work, other = new_work(slots=1, stack=max_states + 8192), new_work(slots=1)
    tables = np.zeros((2, size, 1 + int(deal["numbers"][ORDERED])), np.uint64)
    other_tables = np.zeros((2, size if free != rules else 1, 1), np.uint64)
    _decide_many(
        decks,
        deal,
        refuter,
        weights,
        work,
        new_beam(len(work.stack)),
        tables,
        other,
        other_tables,
        max_states,
        stop,
        out_verdict,
        out_length,
        out_expanded,
        out_generated,
        out_steps,
    )
