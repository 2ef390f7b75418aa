"""The engine of a batch and its loop, with stand-ins for the searches whose answers are known beforehand."""

import threading
import time

import numpy as np
import pytest

from cardems_solver import batch, chunks
from cardems_solver.batch import LocalEngine, Tally, run
from cardems_solver.chunks import Question
from cardems_solver.deals import DealRange
from cardems_solver.results import ResultFile, Row, read_results
from cardems_solver.rules import preset
from cardems_solver.stats import interval
from cardems_solver.worklist import Feeder, WorkList

QUESTION = Question(preset("freecell"))


def verdict(number: int) -> str:
    return "unsolvable" if number % 5 == 0 else "solvable"


def is_hard(number: int) -> bool:
    return number % 10 == 3


def answer(number: int) -> Row:
    length = number % 97 if verdict(number) == "solvable" else None
    return Row(f"ms:{number}", verdict(number), None, length, False, None, number, 2 * number, 0.0)


class Searches:
    """Stand-ins for ``chunks.first_pass`` and ``chunks.search``; ``hold`` keeps full searches from ending."""

    def __init__(self, monkeypatch, hold=False, hard=is_hard, seconds=0.0):
        self.seconds = seconds
        self.hold = threading.Event()
        if not hold:
            self.hold.set()
        self.hard = hard
        self.searched = []
        self.memory = None
        self.chunk_sizes = []
        monkeypatch.setattr(chunks, "first_pass", self.first_pass)
        monkeypatch.setattr(chunks, "search", self.search)

    def first_pass(self, question, scheme, numbers, stop):
        numbers = [int(n) for n in numbers]
        self.chunk_sizes.append(len(numbers))
        time.sleep(0.0005)
        if stop[0]:
            return [], []
        return [answer(n) for n in numbers if not self.hard(n)], [(n, 0.0) for n in numbers if self.hard(n)]

    def search(self, question, scheme, number, memory, stop, spent=0.0, progress=None):
        self.memory = memory
        self.searched.append(number)
        progress(expanded=number)
        time.sleep(self.seconds)
        while not self.hold.wait(0.002):
            if stop[0]:
                return Row(f"{scheme}:{number}", "undecided", "interrupted")
        return answer(number)


def engine_for(count, jobs=2, done=None, waiting=batch.WAITING):
    return LocalEngine(QUESTION, Feeder(WorkList([DealRange("ms", 1, count)]), done), jobs, 1 << 30, waiting)


def out_for(path, count, **options):
    work = WorkList([DealRange("ms", 1, count)])
    return ResultFile(path, batch.header(QUESTION, work, None), work, **options)


def rows_of(path):
    return [found for found in read_results(path) if isinstance(found, Row)]


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_every_deal_is_done_once(monkeypatch, tmp_path, jobs):
    searches = Searches(monkeypatch)
    out = out_for(tmp_path / "x.jsonl", 3000, resume=False)
    summary = run(QUESTION, engine_for(3000, jobs), Tally(), out=out)
    out.close()
    rows = rows_of(tmp_path / "x.jsonl")
    assert sorted(rows, key=lambda row: row.expanded) == [answer(n) for n in range(1, 3001)]
    assert sorted(searches.searched) == [n for n in range(1, 3001) if is_hard(n)]
    assert searches.memory == (1 << 30) // jobs
    found = summary.as_json()
    assert (found["deals"], found["solvable"], found["unsolvable"], found["undecided"]) == (3000, 2400, 600, 0)
    assert found["win_rate"] == 0.8
    assert found["interval"] == list(interval(2400, 600, 0, 0.95))
    lengths = [n % 97 for n in range(1, 3001) if verdict(n) == "solvable"]
    assert found["mean_length"] == pytest.approx(np.mean(lengths))
    assert found["jobs"] == jobs


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_hard_deals_hold_nothing_up(monkeypatch, jobs):
    """All easy deals are through while not one of the hard ones has ended."""
    searches = Searches(monkeypatch, hold=True)
    engine = engine_for(2000, jobs)
    easy = 0
    seen_running = False
    for rows in engine.blocks():
        easy += sum(not is_hard(row.expanded) for row in rows)
        if easy == 1800 and not searches.hold.is_set():
            assert engine.waiting == 200
            seen_running = seen_running or bool(engine.running())
            if seen_running:
                first = engine.running()[0]
                assert is_hard(first.expanded) and first.deal == f"ms:{first.expanded}" and first.seconds >= 0
                searches.hold.set()
    assert easy == 1800 and seen_running


def test_no_more_than_the_bound_wait(monkeypatch):
    Searches(monkeypatch, hard=lambda n: True, seconds=0.001)
    monkeypatch.setattr(batch, "LARGEST_CHUNK", 16)
    engine = engine_for(1000, 2, waiting=20)
    most = 0
    for _ in engine.blocks():
        most = max(most, engine.waiting)
    # Each worker may bring the chunk that it has in hand when the bound is reached.
    assert 20 <= most <= 20 + 2 * 16 + 2


def test_chunks_grow_and_shrink_again(monkeypatch):
    searches = Searches(monkeypatch, hard=lambda n: False)
    run(QUESTION, engine_for(20_000, 1), Tally())
    assert searches.chunk_sizes[0] == batch.FIRST_CHUNK
    assert max(searches.chunk_sizes) > 10 * batch.FIRST_CHUNK
    assert searches.chunk_sizes[-1] < 10


def test_what_is_interrupted_goes_on(monkeypatch, tmp_path):
    searches = Searches(monkeypatch, hold=True)
    stop = np.zeros(1, np.uint8)
    out = out_for(tmp_path / "x.jsonl", 1000, resume=False)

    def report(told):
        if told.tally.deals > 400:
            stop[0] = 1

    summary = run(QUESTION, engine_for(1000), Tally(), out=out, stop=stop, report=report)
    out.close()
    first = rows_of(tmp_path / "x.jsonl")
    assert summary.interrupted and summary.waiting > 0 and 400 < len(first) <= 900
    assert summary.interval.low < interval(summary.tally.counts["solvable"], len(first) // 5, 0, 0.95).low

    searches.hold.set()
    out = out_for(tmp_path / "x.jsonl", 1000, resume=True)
    tally = Tally.of(out.known)
    assert tally.deals == len(first)
    summary = run(QUESTION, engine_for(1000, done=out.known.done(False)), tally, out=out)
    out.close()
    rows = rows_of(tmp_path / "x.jsonl")
    assert rows[: len(first)] == first
    assert sorted(rows, key=lambda row: row.expanded) == [answer(n) for n in range(1, 1001)]
    assert summary.as_json()["deals"] == 1000 and not summary.interrupted


def test_a_batch_ends_at_the_width_asked_for(monkeypatch, tmp_path):
    searches = Searches(monkeypatch, hold=True, hard=lambda n: n == 3)
    out = out_for(tmp_path / "x.jsonl", 10_000_000, resume=False)
    summary = run(
        QUESTION, engine_for(10_000_000, waiting=32), Tally(), out=out, until_width=0.02, stop=np.zeros(1, np.uint8)
    )
    out.close()
    low, high = summary.interval
    assert high - low <= 0.02
    assert not summary.interrupted
    # The deal still being searched was not left out, but written down as undecided.
    assert searches.searched == [3] and summary.tally.counts["undecided"] == 1
    rows = rows_of(tmp_path / "x.jsonl")
    assert Row("ms:3", "undecided", "interrupted") in rows
    assert len(rows) == summary.tally.deals < 10_000_000

    # Going on, that deal is done after all, and there is one line for it.
    searches.hold.set()
    out = out_for(tmp_path / "x.jsonl", len(rows), resume=True)
    tally = Tally.of(out.known)
    done = out.known.done(False)
    summary = run(QUESTION, engine_for(len(rows), done=done), tally, out=out)
    out.close()
    assert summary.tally.counts["undecided"] == 0
    rows = rows_of(tmp_path / "x.jsonl")
    assert len({row.deal for row in rows}) == len(rows) == summary.tally.deals
    assert answer(3) in rows


def test_a_false_solution_ends_the_batch_but_loses_no_result(monkeypatch, tmp_path):
    searches = Searches(monkeypatch)
    good = searches.first_pass

    def bad(question, scheme, numbers, stop):
        if 777 in list(numbers):
            raise chunks.FalseSolution("freecell ms:777: wrong")
        return good(question, scheme, numbers, stop)

    monkeypatch.setattr(chunks, "first_pass", bad)
    out = out_for(tmp_path / "x.jsonl", 2000, resume=False)
    with pytest.raises(chunks.FalseSolution, match="ms:777"):
        run(QUESTION, engine_for(2000), Tally(), out=out)
    rows = rows_of(tmp_path / "x.jsonl")
    assert rows and all(row == answer(row.expanded) for row in rows)


def test_the_interval_holds_whatever_the_undecided_deals_are():
    for solvable, unsolvable, undecided in [(80, 20, 0), (80, 20, 7), (0, 0, 5), (3, 0, 2), (0, 4, 1)]:
        low, high = interval(solvable, unsolvable, undecided, 0.95)
        for won in range(undecided + 1):
            one = interval(solvable + won, unsolvable + undecided - won, 0, 0.95)
            assert low <= one.low and one.high <= high
    assert interval(0, 0, 0, 0.95) is None
    # Wilson's interval for 819 of 1000, from its formula.
    n, p, z = 1000, 0.819, 1.959963984540054
    centre, half = p + z * z / 2 / n, z * np.sqrt(p * (1 - p) / n + z * z / 4 / n / n)
    assert interval(819, 181, 0, 0.95) == pytest.approx(
        ((centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n))
    )
