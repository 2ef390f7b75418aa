"""What a worker of a batch does: a first quick pass over a chunk of deals, and a full search of one deal.

The first pass deals, solves and checks a whole chunk inside compiled code, with a small budget of states for each deal;
what it cannot decide is left to a search with the limits that were asked for. Budget and limits are the same wherever
and whenever a deal is done, so that under a limit of states a deal's verdict does not depend on what else was done.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cardems_solver import deals
from cardems_solver.expand import expand, single_cards
from cardems_solver.limits import INTERRUPTED, STATES, Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE, Step
from cardems_solver.results import Row
from cardems_solver.rules import Rules

BUDGET = {"freecell": 20_000, "klondike": 10_000, "canfield": 10_000}
"""States that the first pass spends on a deal: some milliseconds. Part of the result under a limit of states."""

MAX_STEPS = 512
"""Room for a solution's steps in the first pass; a longer one is left to the full search."""

_VERDICTS = (UNDECIDED, SOLVABLE, UNSOLVABLE)


class FalseSolution(RuntimeError):
    """A search claimed a solution that does not replay: a defect of the program, never an answer."""


@dataclass(frozen=True)
class Question:
    """What a batch asks of each deal.

    Attributes:
        rules: the rules to play by.
        optimal: the fewest moves, proved, or any solution?
        metric: what a length counts.
        time_limit, max_states: for one deal, or None.
        notation: how moves are written, or None to leave them out.
    """

    rules: Rules
    optimal: bool = False
    metric: str = "moves"
    time_limit: float | None = None
    max_states: int | None = None
    notation: str | None = None

    @property
    def budget(self) -> int:
        budget = BUDGET[self.rules.game]
        return budget if self.max_states is None else min(budget, self.max_states)


def _deal(question: Question, scheme: str, numbers: Sequence[int]) -> np.ndarray:
    """The canonical decks of some deals, uint8[n, 52]."""
    from cardems_solver.kernels import dealing

    game = question.rules.game
    if scheme in dealing.CODES:
        return dealing.deal_many(scheme, game, np.asarray(numbers, np.uint64))
    return np.array([deals.deal_deck(scheme, int(number), game) for number in numbers], np.uint8).reshape(-1, 52)


def _check(
    question: Question, decks: np.ndarray, verdicts: np.ndarray, steps: np.ndarray, name: Callable[[int], str]
) -> np.ndarray:
    """The lengths of the solutions, int32[n], each replayed.

    Raises:
        FalseSolution: one does not replay; the message names the deal.
    """
    from cardems_solver.kernels import checker

    lengths = np.empty(len(decks), np.int32)
    table, row, single = checker.new_table(), checker.rules_row(question.rules), checker.single_moves()
    metric = checker.METRICS[question.metric]
    bad = checker.check_many(table, row, single, metric, decks, verdicts, steps, lengths)
    if bad >= 0:
        rules = question.rules
        try:
            position = deals.lay_out(decks[bad].tolist(), rules)
            _, final = expand(position, rules, _as_list(steps[bad]))
            why = f"{sum(final.foundations)} of 52 cards are home at the end"
        except ValueError as error:
            why = str(error)
        raise FalseSolution(f"{rules.preset} {name(bad)}: the search found a solution that does not replay: {why}")
    return lengths


def _as_list(steps: np.ndarray) -> list[Step]:
    end = np.flatnonzero(steps[:, 0] >= 52)
    return [(int(card), int(destination)) for card, destination in steps[: end[0] if len(end) else None]]


def _written(question: Question, deck: np.ndarray, steps: np.ndarray) -> list[str]:
    """A solution in the notation asked for."""
    from cardems_solver import notation

    rules = question.rules
    position = deals.lay_out(deck.tolist(), rules)
    moves, _ = expand(position, rules, _as_list(steps))
    if question.metric == "cards":
        moves = single_cards(position, rules, moves)
    return notation.format_moves(position, rules, moves, question.notation)


def first_pass(
    question: Question, scheme: str, numbers: Sequence[int], stop: np.ndarray
) -> tuple[list[Row], list[tuple[int, float]]]:
    """Decide what can be decided quickly.

    Args:
        question: what is asked.
        scheme, numbers: the deals.
        stop: uint8[1]; once it is set, the deals not decided by then appear in neither result.

    Returns:
        the rows of the deals that are finished, and those to be searched: number and seconds spent on it so far.

    Raises:
        FalseSolution: see ``_check``.
    """
    if question.optimal:
        return [], [(int(number), 0.0) for number in numbers]
    from cardems_solver.kernels.checker import NO_STEP

    kernel = importlib.import_module(f"cardems_solver.kernels.{question.rules.game}")
    started = time.perf_counter()
    n = len(numbers)
    decks = _deal(question, scheme, numbers)
    verdicts, lengths = np.zeros(n, np.int8), np.zeros(n, np.int32)
    expanded, generated = np.zeros(n, np.int64), np.zeros(n, np.int64)
    steps = np.full((n, MAX_STEPS, 2), NO_STEP, np.uint8)
    most_home = np.full(n, -1, np.int8)
    more = {"out_most_home": most_home} if question.rules.game == "canfield" else {}
    found = (verdicts, lengths, expanded, generated, steps)
    kernel.decide_many(decks, question.rules, question.budget, stop, *found, **more)
    stopped = bool(stop[0])
    lengths = _check(question, decks, verdicts, steps, lambda i: f"{scheme}:{numbers[i]}")

    # The clock is read once a chunk; each deal's share is that of the positions it generated.
    seconds = (time.perf_counter() - started) * (generated + 1) / (generated.sum() + n)
    final = question.max_states is not None and question.max_states <= question.budget
    rows, left = [], []
    columns = (np.asarray(numbers), verdicts, lengths, expanded, generated, seconds, most_home)
    for i, (number, verdict, length, opened, made, spent, home) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        deal = f"{scheme}:{number}"
        if verdict:
            moves = _written(question, decks[i], steps[i]) if question.notation and verdict == 1 else None
            length = length if verdict == 1 else None
            home = home if home >= 0 else None
            rows.append(Row(deal, _VERDICTS[verdict], None, length, False, None, opened, made, spent, home, moves))
        elif stopped:
            continue
        elif final:
            rows.append(Row(deal, UNDECIDED, STATES, None, False, None, opened, made, spent))
        else:
            left.append((number, spent))
    return rows, left


def search(
    question: Question,
    scheme: str,
    number: int,
    memory: int | None,
    stop: np.ndarray,
    spent: float = 0.0,
    progress: Callable[..., None] | None = None,
) -> Row:
    """Search one deal within the limits that were asked for.

    Args:
        question: what is asked.
        scheme, number: the deal.
        memory: bytes for the search; None for three quarters of the machine's.
        stop: uint8[1]; the search ends soon after it is set, and the row's reason is then ``interrupted``.
        spent: seconds that the first pass took.
        progress: called now and then by the search.

    Raises:
        FalseSolution: see ``_check``.
    """
    rules = question.rules
    name = f"cardems_solver.kernels.{rules.game}"
    decks = _deal(question, scheme, [number])
    position = deals.lay_out(decks[0].tolist(), rules)
    if question.optimal:
        kernel, arguments = importlib.import_module(f"{name}_optimal").minimum, (question.metric,)
    else:
        kernel, arguments = importlib.import_module(name).decide, ()
    limits = Limits(question.time_limit, question.max_states, memory, stop)
    outcome = kernel(position, rules, *arguments, limits, progress=progress)
    seconds = limits.elapsed() + spent
    deal = f"{scheme}:{number}"
    length = moves = None
    if outcome.verdict == SOLVABLE:
        steps = np.array(outcome.steps, np.uint8).reshape(1, -1, 2)
        length = int(_check(question, decks, np.ones(1, np.int8), steps, lambda _: deal)[0])
        if outcome.optimal and length != outcome.lower_bound:
            raise FalseSolution(
                f"{rules.preset} {deal}: {outcome.lower_bound} {question.metric} proved, but the solution has {length}"
            )
        if question.notation:
            moves = _written(question, decks[0], steps[0])
    return Row(
        deal,
        outcome.verdict,
        outcome.reason,
        length,
        outcome.optimal,
        outcome.lower_bound,
        outcome.expanded,
        outcome.generated,
        seconds,
        outcome.most_home,
        moves,
    )


def cut_short(row: Row) -> bool:
    """Was the search of this deal ended from outside, so that its row says nothing that lasts?"""
    return row.reason == INTERRUPTED
