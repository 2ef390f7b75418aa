"""Many deals at once: threads that search, one loop that writes what they find and keeps count.

Easy deals go in chunks through compiled code that holds no lock, so threads keep all cores busy in one process with one
compile. The deals that a chunk leaves over wait in a queue of their own; all workers but one take from it first, the
last one goes on with the easy ones as long as there are any, and the queue never grows beyond a bound. An engine has
``blocks()``, ``close_early()``, ``unfinished``, ``running()`` and ``jobs``; the loop does not care which one it is.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import cardems_solver
from cardems_solver import chunks
from cardems_solver.chunks import Question
from cardems_solver.limits import INTERRUPTED
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE
from cardems_solver.results import (
    CUT_SHORT,
    MISSING,
    OPEN,
    PAY_OPEN,
    PROVED_UNSOLVABLE,
    SOLVED,
    UNPROVED,
    Header,
    Known,
    ResultFile,
    Row,
)
from cardems_solver.stats import Interval, interval
from cardems_solver.worklist import Feeder, WorkList

CHUNK_SECONDS = 0.25
"""How long a chunk should take."""
LARGEST_CHUNK = 4096
FIRST_CHUNK = 8
WAITING = 10_000
"""Deals that may wait for a full search before all workers turn to them."""
WAITING_FOR_WIDTH = 32
"""The same when the batch ends at a width: deals that wait count as undecided and widen the interval."""
TICK = 0.2
"""Seconds after which the loop looks up even if nothing was found."""


def header(question: Question, work: WorkList, memory: int | None) -> Header:
    """What a result file begins with. memory: as it was asked for, None for the default."""
    return {
        "game": question.rules.preset,
        "rules": question.rules.options(),
        "limits": {"time_limit": question.time_limit, "max_states": question.max_states, "memory": memory},
        "optimal": question.optimal,
        "metric": question.metric,
        "moves": question.notation,
        "version": cardems_solver.__version__,
        "deals": work.describe(),
        "asked": work.count,
    }


class Running(NamedTuple):
    """A full search under way."""

    deal: str
    seconds: float
    expanded: int


# --- Counting -------------------------------------------------------------------------------------------------------


_VERDICTS = {SOLVED: SOLVABLE, UNPROVED: SOLVABLE, PROVED_UNSOLVABLE: UNSOLVABLE, PAY_OPEN: UNSOLVABLE}


@dataclass
class Tally:
    """The results so far, of this run and of those that it goes on with."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((SOLVABLE, UNSOLVABLE, UNDECIDED), 0))
    lengths: int = 0
    total_length: int = 0
    optimal: int = 0
    done_now: int = 0

    @classmethod
    def of(cls, known: Known) -> Tally:
        tally = cls()
        numbers = np.bincount(known.states, minlength=7)
        tally.counts[SOLVABLE] = int(numbers[SOLVED] + numbers[UNPROVED])
        tally.counts[UNSOLVABLE] = int(numbers[PROVED_UNSOLVABLE] + numbers[PAY_OPEN])
        tally.counts[UNDECIDED] = int(numbers[OPEN] + numbers[CUT_SHORT])
        lengths = known.lengths[known.lengths >= 0]
        tally.lengths, tally.total_length = len(lengths), int(lengths.sum())
        tally.optimal = int(numbers[SOLVED]) if known.optimal else 0
        return tally

    @property
    def deals(self) -> int:
        return sum(self.counts.values())

    def add(self, row: Row) -> None:
        self.counts[row.verdict] += 1
        self.optimal += row.optimal
        if row.length is not None:
            self.lengths += 1
            self.total_length += row.length

    def remove(self, state: int, length: int) -> None:
        """Take out a result that another one replaces (never one that is proved)."""
        if state != MISSING:
            self.counts[_VERDICTS.get(state, UNDECIDED)] -= 1
        if length >= 0:
            self.lengths -= 1
            self.total_length -= length

    def interval(self, confidence: float, waiting: int = 0) -> Interval | None:
        """waiting: deals begun and not finished; they count as undecided."""
        solvable, unsolvable, undecided = (self.counts[v] for v in (SOLVABLE, UNSOLVABLE, UNDECIDED))
        return interval(solvable, unsolvable, undecided + waiting, confidence)


# --- The engine for one machine --------------------------------------------------------------------------------------


class LocalEngine:
    """Worker threads on this machine.

    Attributes:
        jobs: how many.
        unfinished: after the end, deals that were begun and not finished.
    """

    def __init__(self, question: Question, feeder: Feeder, jobs: int, memory: int, waiting: int = WAITING) -> None:
        """memory: bytes for all searches together."""
        self.jobs = jobs
        self.unfinished: list[str] = []
        self._question = question
        self._feeder = feeder
        self._memory = memory // jobs
        self._bound = waiting
        self._stop_all = np.zeros(1, np.uint8)
        self._stop_searches = np.zeros(1, np.uint8)
        self._change = threading.Condition()
        self._hard: deque[tuple[str, int, float]] = deque()
        self._chunks_out = 0
        self._searches_out: dict[int, Running | None] = {}
        self._size = FIRST_CHUNK
        self._found: queue.Queue[list[Row] | BaseException | None] = queue.Queue(maxsize=256)

    @property
    def waiting(self) -> int:
        """Deals begun and not finished."""
        return len(self._hard) + len(self._searches_out)

    def running(self) -> list[Running]:
        """The full searches under way, the longest first."""
        with self._change:
            now = time.perf_counter()
            searches = [r._replace(seconds=now - r.seconds) for r in self._searches_out.values()]
        return sorted(searches, key=lambda r: -r.seconds)

    def stop(self) -> None:
        """End everything as soon as may be; what is in flight is lost."""
        self._stop_all[0] = self._stop_searches[0] = 1
        with self._change:
            self._change.notify_all()

    def close_early(self) -> None:
        """Begin nothing more and cut the searches short; chunks under way are finished."""
        self._stop_searches[0] = 1
        with self._change:
            self._change.notify_all()

    def blocks(self) -> Iterator[list[Row]]:
        """The results as they come; an empty list when there was nothing for a while.

        Raises:
            Exception: what went wrong in a worker, once all results are out.
        """
        threads = [threading.Thread(target=self._work, args=(slot,), daemon=True) for slot in range(self.jobs)]
        for thread in threads:
            thread.start()
        at_work = len(threads)
        error = None
        while at_work:
            try:
                found = self._found.get(timeout=TICK)
            except queue.Empty:
                yield []
                continue
            if found is None:
                at_work -= 1
            elif isinstance(found, BaseException):
                error = error or found
                self.stop()
            else:
                yield found
        for thread in threads:
            thread.join()
        self.unfinished += [f"{scheme}:{number}" for scheme, number, _ in self._hard]
        if error is not None:
            raise error

    def _work(self, slot: int) -> None:
        try:
            while (task := self._next(slot)) is not None:
                task()
        except BaseException as error:
            self._found.put(error)
        finally:
            self._found.put(None)

    def _next(self, slot: int) -> Callable[[], None] | None:
        """What this worker does next; None when nothing is left."""
        with self._change:
            while not self._stop_all[0]:
                closing = self._stop_searches[0]
                easy = self._feeder.left > 0 and not closing
                spare = len(self._searches_out) < self.jobs - 1
                if self._hard and not closing and (spare or not easy or len(self._hard) >= self._bound):
                    scheme, number, spent = self._hard.popleft()
                    deal = f"{scheme}:{number}"
                    self._searches_out[slot] = Running(deal, time.perf_counter(), 0)
                    return lambda: self._search(slot, scheme, number, spent)
                if easy and (taken := self._feeder.take(self._chunk_size())):
                    self._chunks_out += 1
                    return lambda: self._chunk(*taken)
                if closing or not self._chunks_out:
                    return None
                self._change.wait(TICK)
        return None

    def _chunk_size(self) -> int:
        """Towards the end chunks get smaller, so that all workers end together."""
        return max(1, min(self._size, self._feeder.left // (2 * self.jobs)))

    def _chunk(self, scheme: str, numbers: Any) -> None:
        started = time.perf_counter()
        try:
            rows, left = chunks.first_pass(self._question, scheme, numbers, self._stop_all)
        finally:
            elapsed = time.perf_counter() - started
            with self._change:
                self._chunks_out -= 1
                self._change.notify_all()
        with self._change:
            target = int(len(numbers) / elapsed * CHUNK_SECONDS)
            self._size = max(1, min(target, 4 * self._size, LARGEST_CHUNK))
            self._hard.extend((scheme, number, spent) for number, spent in left)
            self._change.notify_all()
        if rows:
            self._found.put(rows)

    def _search(self, slot: int, scheme: str, number: int, spent: float) -> None:
        def progress(**known: Any) -> None:
            running = self._searches_out[slot]
            self._searches_out[slot] = running._replace(expanded=known.get("expanded", 0) or running.expanded)

        row = None
        try:
            row = chunks.search(self._question, scheme, number, self._memory, self._stop_searches, spent, progress)
        finally:
            with self._change:
                del self._searches_out[slot]
                if row is None or chunks.cut_short(row):
                    self.unfinished.append(f"{scheme}:{number}")
                self._change.notify_all()
        if not chunks.cut_short(row):
            self._found.put([row])


# --- The loop --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Summary:
    """What a batch found. ``interrupted``: it was ended before its end, and ``waiting`` deals that it had begun and not
    finished are lost; the interval counts them as undecided."""

    question: Question
    tally: Tally
    confidence: float
    seconds: float
    jobs: int
    interrupted: bool = False
    waiting: int = 0

    @property
    def interval(self) -> Interval | None:
        return self.tally.interval(self.confidence, self.waiting)

    def as_json(self) -> dict[str, Any]:
        counts = self.tally.counts
        decided = counts[SOLVABLE] + counts[UNSOLVABLE]
        bounds = self.interval
        return {
            "game": self.question.rules.preset,
            "rules": self.question.rules.options(),
            "deals": self.tally.deals,
            **counts,
            "win_rate": counts[SOLVABLE] / decided if decided else None,
            "interval": list(bounds) if bounds else None,
            "confidence": self.confidence,
            "metric": self.question.metric,
            "mean_length": self.tally.total_length / self.tally.lengths if self.tally.lengths else None,
            "optimal": self.tally.optimal,
            "seconds": round(self.seconds, 3),
            "deals_per_second": round(self.tally.done_now / self.seconds, 3) if self.seconds else None,
            "jobs": self.jobs,
        }


class Report(NamedTuple):
    """What the loop tells about itself, after every block of results and every tick."""

    tally: Tally
    rows: list[Row]
    seconds: float
    engine: Any


def run(
    question: Question,
    engine: Any,
    tally: Tally,
    *,
    out: ResultFile | None = None,
    confidence: float = 0.95,
    until_width: float | None = None,
    stop: np.ndarray | None = None,
    report: Callable[[Report], None] | None = None,
) -> Summary:
    """Run an engine to its end, write and count what it finds.

    Args:
        question: what is asked of each deal.
        engine: does the work.
        tally: what is known already; modified in place.
        out: where rows go, or None.
        confidence: of the interval.
        until_width: end when the interval is as narrow as this. Deals begun and not finished are then recorded as
            undecided: to leave them out would favour easy ones.
        stop: uint8[1] that anyone may set to end the batch.
        report: called with each block of rows and every tick.

    Raises:
        ResultsError: a result cannot be written.
        FalseSolution: a search is wrong.
    """
    started = time.perf_counter()
    closing = False
    next_look = 0.0

    def record(rows: list[Row]) -> None:
        before = out.write(rows) if out is not None else None
        for row in rows:
            tally.add(row)
        for state, length in before or ():
            tally.remove(state, length)
        tally.done_now += len(rows)

    try:
        for rows in engine.blocks():
            if rows:
                record(rows)
            now = time.perf_counter()
            if stop is not None and stop[0]:
                engine.stop()
            elif until_width is not None and not closing and now >= next_look:
                next_look = now + TICK
                bounds = tally.interval(confidence, engine.waiting)
                if bounds is not None and bounds.high - bounds.low <= until_width:
                    closing = True
                    engine.close_early()
            if report is not None:
                report(Report(tally, rows, now - started, engine))
    except BaseException:
        engine.stop()
        raise
    interrupted = stop is not None and bool(stop[0])
    if closing and not interrupted:
        rows = [Row(deal, UNDECIDED, INTERRUPTED) for deal in engine.unfinished]
        record(rows)
        if report is not None:
            report(Report(tally, rows, time.perf_counter() - started, engine))
    return Summary(
        question,
        tally,
        confidence,
        time.perf_counter() - started,
        engine.jobs,
        interrupted,
        len(engine.unfinished) if interrupted else 0,
    )
