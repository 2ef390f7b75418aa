"""Statistics of result files: win rates with intervals, two files compared on the same deals, tables, lists."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    low: float
    high: float


def interval(solvable: int, unsolvable: int, undecided: int, confidence: float) -> Interval | None:
    """A confidence interval for the win rate that holds whatever the undecided deals are: Wilson's lower end with all
    of them lost, and its upper end with all of them won. None without any deal."""
    from scipy.stats import binomtest

    deals = solvable + unsolvable + undecided
    if not deals:
        return None

    def wilson(won: int):
        return binomtest(won, deals).proportion_ci(confidence, "wilson")

    return Interval(float(wilson(solvable).low), float(wilson(solvable + undecided).high))
