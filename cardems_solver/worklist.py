"""The deals of a batch: ranges, never lists, so that a hundred million of them cost nothing until they are dealt.

Each deal has an index, its place in the ranges as they were given; one byte a deal, made only when a batch is resumed,
says what is known of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import numpy as np

from cardems_solver.deals import SCHEMES, DealRange

_WORD = 1 << 63
_WINDOW = 1 << 16
"""Bytes of the done-array looked at in one go."""


class WorkList:
    """Disjoint ranges of deals in the order given; what an earlier range has is cut out of the later ones.

    Attributes:
        ranges: the ranges.
        count: number of deals, of any size (``exact`` numbers all 52! of them).
    """

    def __init__(self, ranges: Iterable[DealRange]) -> None:
        self.ranges: list[DealRange] = []
        taken: dict[str, list[tuple[int, int]]] = {}
        for wanted in ranges:
            known = taken.setdefault(wanted.scheme, [])
            for first, last in _without(wanted.first, wanted.last, known):
                before = self.ranges[-1] if self.ranges else None
                if before and before.scheme == wanted.scheme and before.last + 1 == first:
                    self.ranges[-1] = DealRange(before.scheme, before.first, last)
                else:
                    self.ranges.append(DealRange(wanted.scheme, first, last))
            _insert(known, wanted.first, wanted.last)
        self.starts = [0]
        for item in self.ranges:
            self.starts.append(self.starts[-1] + item.count)
        self.count = self.starts[-1]
        self._sorted: dict[str, list[tuple[int, int, int]]] = {}
        for item, start in zip(self.ranges, self.starts, strict=False):
            self._sorted.setdefault(item.scheme, []).append((item.first, item.last, start))
        for entries in self._sorted.values():
            entries.sort()

    def index(self, scheme: str, number: int) -> int | None:
        """The index of a deal, or None when it is not one of these."""
        entries = self._sorted.get(scheme, ())
        i = bisect_right(entries, number, key=lambda item: item[0]) - 1
        if i < 0 or number > entries[i][1]:
            return None
        first, _, start = entries[i]
        return start + number - first

    def describe(self) -> list[str]:
        """The ranges as the command line takes them, many small ones cut short."""
        texts = [f"{r.scheme}:{r.first}..{r.last}" if r.count > 1 else f"{r.scheme}:{r.first}" for r in self.ranges]
        return texts if len(texts) <= 100 else [*texts[:100], f"and {len(texts) - 100} more"]


def _insert(known: list[tuple[int, int]], first: int, last: int) -> None:
    """Add an interval to a sorted list of disjoint ones (modified in place), joined with what it touches."""
    low = bisect_right(known, first, key=lambda item: item[0])
    if low and known[low - 1][1] + 1 >= first:
        low -= 1
    high = low
    while high < len(known) and known[high][0] <= last + 1:
        first, last = min(first, known[high][0]), max(last, known[high][1])
        high += 1
    known[low:high] = [(first, last)]


def _without(first: int, last: int, known: Sequence[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """The parts of first..last that lie in none of the sorted, disjoint intervals."""
    i = max(0, bisect_right(known, first, key=lambda item: item[0]) - 1)
    while first <= last and i < len(known) and known[i][0] <= last:
        low, high = known[i]
        if high >= first:
            if low > first:
                yield first, low - 1
            first = high + 1
        i += 1
    if first <= last:
        yield first, last


class Feeder:
    """Hands out the deals that are still to do, in order, as many at a time as asked for. Not thread-safe by itself.

    done: uint8 for each deal by its index, not 0 where there is nothing to do; or None to do all.
    """

    def __init__(self, work: WorkList, done: np.ndarray | None = None) -> None:
        self._work = work
        self._done = done
        self._range = 0
        self._place = 0
        self.left = work.count if done is None else work.count - int(np.count_nonzero(done))

    def take(self, most: int) -> tuple[str, Sequence[int]] | None:
        """Up to ``most`` deals of one scheme: its name and their numbers (uint64, or a list where they are larger)."""
        while self._range < len(self._work.ranges):
            current = self._work.ranges[self._range]
            scheme, first, size = current.scheme, current.first, current.count
            if self._place >= size:
                self._range += 1
                self._place = 0
                continue
            if self._done is None:
                offsets = range(self._place, min(self._place + most, size))
                self._place = offsets.stop
            else:
                start = self._work.starts[self._range]
                window = self._done[start + self._place : start + min(self._place + _WINDOW, size)]
                offsets = np.flatnonzero(window == 0)[:most] + self._place
                if not len(offsets):
                    self._place += len(window)
                    continue
                self._place = int(offsets[-1]) + 1
            self.left -= len(offsets)
            if SCHEMES[scheme].high < _WORD:
                return scheme, np.uint64(first) + np.asarray(offsets, np.uint64)
            return scheme, [first + int(i) for i in offsets]
        return None
