"""Statistics of result files: win rates with intervals, two files compared on the same deals, lists of deals.

A file is read into flat columns, some forty bytes a deal, in the order of the deal numbers and not in that of their
completion: hard deals end late, so the first thousand lines of a file are easier than its first thousand deals.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE
from cardems_solver.results import Header, ResultsError, Row, read_results, split_deal

VERDICTS = (UNDECIDED, SOLVABLE, UNSOLVABLE)
"""A verdict's number in ``Table.verdicts`` is its place here."""

LEAST_PAY, MOST_LOST, WON_PAY = 5, 5 * 51, 500
"""What a Canfield deal pays for a stake of 50: at least the base card, at most 51 cards without a win, or a win."""


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

    def wilson(won: int) -> Any:
        return binomtest(won, deals).proportion_ci(confidence, "wilson")

    return Interval(float(wilson(solvable).low), float(wilson(solvable + undecided).high))


# --- Columns of results ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """The results of a file, or of several together, sorted by scheme and number, each deal once.

    Attributes:
        name: what to call it.
        header: the newest header.
        schemes: names of the schemes.
        scheme: for each deal, its place in ``schemes``, uint8[n].
        number: uint64[n], or objects where numbers are larger.
        verdicts: int8[n], see ``VERDICTS``.
        length: int32[n], -1 for none.
        optimal: bool[n].
        expanded, generated: int64[n].
        seconds: float64[n].
        most_home: int8[n], -1 where it is not known.
    """

    name: str
    header: Header
    schemes: list[str]
    scheme: np.ndarray
    number: np.ndarray
    verdicts: np.ndarray
    length: np.ndarray
    optimal: np.ndarray
    expanded: np.ndarray
    generated: np.ndarray
    seconds: np.ndarray
    most_home: np.ndarray

    def __len__(self) -> int:
        return len(self.verdicts)

    def deal(self, i: int) -> str:
        return f"{self.schemes[self.scheme[i]]}:{self.number[i]}"

    def deals(self, places: Iterable[int]) -> list[str]:
        return [self.deal(int(i)) for i in places]

    def count(self, verdict: str) -> int:
        return int(np.count_nonzero(self.verdicts == VERDICTS.index(verdict)))


_COLUMNS = ("scheme", "number", "verdicts", "length", "optimal", "expanded", "generated", "seconds", "most_home")


def load(path: str | Path) -> Table:
    """
    Raises:
        ResultsError: the file cannot be read.
    """
    header: Header = {}
    schemes: list[str] = []
    number: Any = array("Q")
    columns = {
        name: array(kind)
        for name, kind in zip(_COLUMNS, ("B", "Q", "b", "i", "b", "q", "q", "d", "b"), strict=True)
        if name != "number"
    }
    for found in read_results(path):
        if not isinstance(found, Row):
            header = found
            continue
        scheme, n = split_deal(found.deal)
        if scheme not in schemes:
            schemes.append(scheme)
        if n >> 64 and isinstance(number, array):
            number = list(number)
        number.append(n)
        columns["scheme"].append(schemes.index(scheme))
        columns["verdicts"].append(VERDICTS.index(found.verdict))
        columns["length"].append(-1 if found.length is None else found.length)
        columns["optimal"].append(found.optimal)
        columns["expanded"].append(found.expanded)
        columns["generated"].append(found.generated)
        columns["seconds"].append(found.seconds)
        columns["most_home"].append(-1 if found.most_home is None else found.most_home)
    arrays = {name: np.array(values) for name, values in columns.items()}
    arrays["number"] = np.array(number, np.uint64 if isinstance(number, array) else object)
    return _in_order(str(path), header, schemes, arrays)


def together(tables: list[Table]) -> Table:
    """Several files as one; of a deal in more than one of them the last decided result counts.

    Raises:
        ResultsError: they were not made under the same rules, or contradict each other.
    """
    first = tables[0]
    for other in tables[1:]:
        for part in ("game", "rules", "metric"):
            if other.header[part] != first.header[part]:
                raise ResultsError(f"{first.name} and {other.name} are of different kinds: the {part} differs")
        contradicting = _contradictions(first, other)
        if contradicting:
            raise ResultsError(f"{first.name} and {other.name} contradict each other: {', '.join(contradicting[:10])}")
    schemes = sorted({scheme for table in tables for scheme in table.schemes})
    arrays = {}
    for name in _COLUMNS:
        parts = [getattr(table, name) for table in tables]
        if name == "scheme":
            places = [np.array([schemes.index(s) for s in table.schemes], np.uint8) for table in tables]
            parts = [place[part] if len(part) else part for place, part in zip(places, parts, strict=True)]
        arrays[name] = np.concatenate(parts)
    decided_last = np.argsort(arrays["verdicts"] != 0, kind="stable")
    return _in_order("together", first.header, schemes, {name: a[decided_last] for name, a in arrays.items()})


def _in_order(name: str, header: Header, schemes: list[str], arrays: dict[str, np.ndarray]) -> Table:
    """Sorted by scheme and number; of several results of a deal the last one."""
    order = np.argsort(arrays["number"], kind="stable")
    order = order[np.argsort(arrays["scheme"][order], kind="stable")]
    scheme, number = arrays["scheme"][order], arrays["number"][order]
    last = np.ones(len(order), bool)
    last[:-1] = (scheme[1:] != scheme[:-1]) | (number[1:] != number[:-1])
    return Table(name, header, schemes, **{key: a[order[last]] for key, a in arrays.items()})


def _matched(a: Table, b: Table) -> tuple[np.ndarray, np.ndarray]:
    """The places in both of the deals that both have."""
    places_a, places_b = [], []
    for code, scheme in enumerate(a.schemes):
        if scheme not in b.schemes:
            continue
        in_a = np.flatnonzero(a.scheme == code)
        in_b = np.flatnonzero(b.scheme == b.schemes.index(scheme))
        _, i, j = np.intersect1d(a.number[in_a], b.number[in_b], assume_unique=True, return_indices=True)
        places_a.append(in_a[i])
        places_b.append(in_b[j])
    if not places_a:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return np.concatenate(places_a), np.concatenate(places_b)


def _contradictions(a: Table, b: Table) -> list[str]:
    i, j = _matched(a, b)
    differ = (a.verdicts[i] != b.verdicts[j]) & (a.verdicts[i] != 0) & (b.verdicts[j] != 0)
    return a.deals(i[differ])


# --- Numbers --------------------------------------------------------------------------------------------------------


def _spread(values: np.ndarray) -> dict[str, float] | None:
    if not len(values):
        return None
    median, p90, p99 = np.quantile(values, (0.5, 0.9, 0.99))
    return {
        "mean": float(values.mean()),
        "median": float(median),
        "p90": float(p90),
        "p99": float(p99),
        "max": float(values.max()),
    }


def mean_pay(table: Table, confidence: float) -> dict[str, Any] | None:
    """Canfield's mean pay for a stake of 50, with an interval (Student's t) that holds whatever is not known; None for
    other games and where nothing was proved about the cards that can be brought home."""
    from scipy.stats import t

    proved = (table.verdicts == 1) | ((table.verdicts == 2) & (table.most_home >= 0))
    if table.header["game"] != "canfield" or len(table) < 2 or not (table.most_home >= 0).any():
        return None
    known = np.where(table.verdicts == 1, WON_PAY, 5.0 * table.most_home)
    low = np.where(proved, known, LEAST_PAY)
    high = np.where(proved, known, np.where(table.verdicts == 2, MOST_LOST, WON_PAY))

    def ends(pay: np.ndarray) -> tuple[float, float]:
        error = pay.std(ddof=1) / np.sqrt(len(pay))
        return t.interval(confidence, len(pay) - 1, loc=pay.mean(), scale=error) if error else (pay.mean(),) * 2

    return {
        "mean": float(known.mean()) if proved.all() else None,
        "interval": [float(ends(low)[0]), float(ends(high)[1])],
        "not_known": int(np.count_nonzero(~proved)),
    }


def summary(table: Table, confidence: float) -> dict[str, Any]:
    """The numbers of a file; the first ones are those of a batch's summary."""
    solvable, unsolvable, undecided = (table.count(v) for v in (SOLVABLE, UNSOLVABLE, UNDECIDED))
    decided = solvable + unsolvable
    bounds = interval(solvable, unsolvable, undecided, confidence)
    lengths = table.length[table.length >= 0]
    return {
        "game": table.header["game"],
        "rules": table.header["rules"],
        "deals": len(table),
        "solvable": solvable,
        "unsolvable": unsolvable,
        "undecided": undecided,
        "win_rate": solvable / decided if decided else None,
        "interval": list(bounds) if bounds else None,
        "confidence": confidence,
        "metric": table.header["metric"],
        "mean_length": float(lengths.mean()) if len(lengths) else None,
        "length": _spread(lengths),
        "optimal": int(np.count_nonzero(table.optimal)),
        "expanded": _spread(table.expanded),
        "seconds_a_deal": _spread(table.seconds),
        "seconds": float(table.seconds.sum()),
        "pay": mean_pay(table, confidence),
    }


def compare(a: Table, b: Table) -> dict[str, Any]:
    """Two files on the deals that both have. ``p_value`` is McNemar's exact test: would as many deals differ so
    one-sidedly if both were equally winnable? ``contradictions``: deals on which files of the same rules disagree."""
    from scipy.stats import binomtest

    i, j = _matched(a, b)
    left, right = a.verdicts[i], b.verdicts[j]
    decided = (left != 0) & (right != 0)
    only_a, only_b = decided & (left == 1) & (right == 2), decided & (left == 2) & (right == 1)
    differing = only_a | only_b
    discordant = int(np.count_nonzero(differing))
    both = (a.length[i] >= 0) & (b.length[j] >= 0)
    return {
        "files": [a.name, b.name],
        "common": len(i),
        "both_solvable": int(np.count_nonzero((left == 1) & (right == 1))),
        "only_first": int(np.count_nonzero(only_a)),
        "only_second": int(np.count_nonzero(only_b)),
        "neither": int(np.count_nonzero((left == 2) & (right == 2))),
        "undecided": int(np.count_nonzero(~decided)),
        "p_value": float(binomtest(int(np.count_nonzero(only_a)), discordant).pvalue) if discordant else None,
        "mean_lengths": [float(a.length[i][both].mean()), float(b.length[j][both].mean())] if both.any() else None,
        "differ": [
            {"deal": a.deal(m), "verdicts": [VERDICTS[a.verdicts[m]], VERDICTS[b.verdicts[n]]]}
            for m, n in zip(i[differing], j[differing], strict=True)
        ],
        "same_rules": all(a.header[part] == b.header[part] for part in ("game", "rules")),
    }


def select(table: Table, what: str, most: int) -> list[str]:
    """Names of deals: those with a verdict, or for ``hardest`` the ``most`` with the most positions expanded."""
    if what == "hardest":
        return table.deals(np.argsort(-table.expanded, kind="stable")[:most])
    return table.deals(np.flatnonzero(table.verdicts == VERDICTS.index(what)))


def running_rate(table: Table, confidence: float, points: int = 200) -> dict[str, np.ndarray]:
    """The win rate and its interval over the first n deals in the order of their numbers, for growing n."""
    n = len(table)
    at = np.unique(np.geomspace(1, max(n, 1), points).round().astype(np.int64))
    at = np.unique(np.concatenate([at, np.linspace(1, n, points).round().astype(np.int64)])) if n else at[:0]
    counts = [np.cumsum(table.verdicts == code)[at - 1] if n else at for code in (1, 2, 0)]
    bounds = [interval(*(int(c[k]) for c in counts), confidence) for k in range(len(at))]
    decided = counts[0] + counts[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.where(decided > 0, counts[0] / decided, np.nan)
    return {
        "deals": at,
        "rate": rate,
        "low": np.array([b.low for b in bounds]),
        "high": np.array([b.high for b in bounds]),
    }
