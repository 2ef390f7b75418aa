"""One position, one question, one answer: finds the kernel for the game, and lets the reference judge what it says."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cardems_solver import reference
from cardems_solver.expand import expand, single_cards
from cardems_solver.limits import Limits
from cardems_solver.outcome import SOLVABLE, Outcome
from cardems_solver.position import EMPTY, Move, Position
from cardems_solver.rules import Rules

Progress = Callable[..., None]


@dataclass(frozen=True)
class SolveResult:
    """The answer to one question about one position.

    Attributes:
        position: the position asked about.
        rules: the rules it was asked under.
        verdict: ``solvable``, ``unsolvable`` (proved) or ``undecided``.
        reason: the limit that ended the search before its end, or None.
        metric: what ``length`` and ``lower_bound`` count.
        length: of the solution in ``moves``, or None without one.
        optimal: is the length the proved minimum?
        lower_bound: proved lower bound on the length, None when nothing is.
        moves: the solution, replayed by the reference, or None.
        score: its Cardems score; None without moves or where the rules have none.
        most_home: Canfield: the most cards that can reach the foundations, None while not proved.
        expanded: positions expanded.
        generated: positions generated.
        seconds: wall-clock time of the search.
        memory: bytes that the search's arrays took at most.
    """

    position: Position
    rules: Rules
    verdict: str
    reason: str | None
    metric: str
    length: int | None
    optimal: bool
    lower_bound: int | None
    moves: tuple[Move, ...] | None
    score: int | None
    most_home: int | None
    expanded: int
    generated: int
    seconds: float
    memory: int


def _kernel(rules: Rules, optimal: bool) -> Callable[..., Outcome]:
    name = f"cardems_solver.kernels.{rules.game}"
    if optimal:
        return importlib.import_module(f"{name}_optimal").minimum
    return importlib.import_module(name).decide


@functools.cache
def _warmed(rules: Rules, metric: str | None) -> Callable[..., Outcome]:
    """The kernel for a question (``metric`` None: any solution), with its compiled code loaded: it has solved a
    position in which four kings are left, so that neither the time limit nor the time reported has to pay for that."""
    kernel = _kernel(rules, metric is not None)
    kings = Position(
        columns=tuple((card,) if (card := 48 + i) < 52 else () for i in range(rules.columns)),
        face_down=(0,) * rules.columns,
        cells=(EMPTY,) * rules.cells,
        foundations=(12, 12, 12, 12),
    )
    kernel(kings, rules, *([metric] if metric else []), Limits())
    return kernel


def _replayed(
    position: Position, rules: Rules, outcome: Outcome, metric: str
) -> tuple[tuple[Move, ...], int, int | None]:
    """The solution as real moves, its length and its score.

    Raises:
        RuntimeError: the reference does not accept it: a defect in the kernel, never an answer.
    """
    try:
        moves, final = expand(position, rules, outcome.steps)
        if metric == "cards":
            moves = single_cards(position, rules, moves)
        length = reference.length(position, rules, moves, metric)
        score = reference.score(position, rules, moves)
    except reference.IllegalMove as error:
        raise RuntimeError(f"the search found a solution that does not replay: {error}") from error
    if not final.won:
        raise RuntimeError("the search found a solution that does not win")
    if outcome.optimal and length != outcome.lower_bound:
        raise RuntimeError(f"the search proved {outcome.lower_bound} {metric}, but its solution has {length}")
    return tuple(moves), length, score


def solve(
    position: Position,
    rules: Rules,
    *,
    optimal: bool = False,
    metric: str = "moves",
    time_limit: float | None = None,
    max_states: int | None = None,
    memory: int | None = None,
    stop: np.ndarray | None = None,
    progress: Progress | None = None,
) -> SolveResult:
    """Can the position be won, and how? All cards are known to the player, face-down ones too.

    Args:
        position: a deal or any later position.
        rules: the rules to play by.
        optimal: ask for the fewest moves, proved, instead of any solution.
        metric: ``moves``, ``cards`` (FreeCell) or ``taps`` (Klondike, Canfield).
        time_limit: seconds of wall-clock time.
        max_states: positions stored.
        memory: bytes for the search; default three quarters of the machine's.
        stop: a uint8 array of length 1; the search ends soon after anyone (another thread, a signal handler) sets it.
        progress: called now and then with what is known so far: ``expanded``, ``stored``, ``length``, ``lower_bound``.

    Raises:
        ValueError: the position cannot be one of this game, or the game has no such metric.
    """
    position.check(rules)
    if metric not in reference.METRICS[rules.game]:
        raise ValueError(f"{rules.preset} has no metric {metric!r} (it has {', '.join(reference.METRICS[rules.game])})")
    kernel = _warmed(rules, metric if optimal else None)
    limits = Limits(time_limit, max_states, memory)
    if stop is not None:
        limits.stop = stop
    arguments = (metric, limits) if optimal else (limits,)
    outcome = kernel(position, rules, *arguments, progress=progress)
    seconds = limits.elapsed()
    moves = length = score = None
    if outcome.verdict == SOLVABLE:
        moves, length, score = _replayed(position, rules, outcome, metric)
    return SolveResult(
        position=position,
        rules=rules,
        verdict=outcome.verdict,
        reason=outcome.reason,
        metric=metric,
        length=length,
        optimal=outcome.optimal,
        lower_bound=outcome.lower_bound,
        moves=moves,
        score=score,
        most_home=outcome.most_home,
        expanded=outcome.expanded,
        generated=outcome.generated,
        seconds=seconds,
        memory=outcome.bytes,
    )
