"""Result files: nothing finished is lost, nothing counts twice, nothing of another kind is mixed in."""

import json
import os
import random

import pytest

from cardems_solver import chunks
from cardems_solver.batch import Tally, header
from cardems_solver.deals import DealRange
from cardems_solver.results import ResultFile, ResultsError, Row, read_results
from cardems_solver.rules import preset
from cardems_solver.worklist import Feeder, WorkList

QUESTION = chunks.Question(preset("freecell"), max_states=1000)
CANFIELD = chunks.Question(preset("canfield"), notation="text")
SUFFIXES = [".jsonl", ".csv", ".parquet"]


@pytest.fixture(params=SUFFIXES)
def path(request, tmp_path):
    if request.param == ".parquet":
        pytest.importorskip("pyarrow")
    return tmp_path / f"results{request.param}"


def a_row(number: int, question=QUESTION) -> Row:
    """Some result for a deal, always the same."""
    rng = random.Random(number)
    verdict = rng.choice(("solvable", "solvable", "unsolvable", "undecided"))
    row = Row(
        f"{'ms' if question is QUESTION else 'solvitaire'}:{number}",
        verdict,
        "state-limit" if verdict == "undecided" else None,
        rng.randrange(70, 200) if verdict == "solvable" else None,
        False,
        None,
        rng.randrange(10**9),
        rng.randrange(10**12),
        round(rng.random() * 10, 6),
    )
    if question is CANFIELD:
        row = row._replace(
            most_home=rng.choice((None, 17)),
            moves=["reserve to column 1, 'quoted'", 'say "draw"', "x"] if verdict == "solvable" else None,
        )
    return row


def work_of(question, *bounds):
    scheme = "ms" if question is QUESTION else "solvitaire"
    return WorkList(DealRange(scheme, first, last) for first, last in bounds)


def open_(path, work, question=QUESTION, **options):
    return ResultFile(path, header(question, work, None), work, **({"resume": False} | options))


def rows_of(path):
    return [found for found in read_results(path) if isinstance(found, Row)]


@pytest.mark.parametrize("question", [QUESTION, CANFIELD], ids=["freecell", "canfield"])
def test_what_is_written_is_read(path, question):
    work = work_of(question, (1, 100))
    written = [a_row(n, question) for n in range(1, 101)]
    out = open_(path, work, question)
    out.write(written[:60])
    out.write(written[60:])
    out.close()
    first, *rows = read_results(path)
    assert first == header(question, work, None)
    assert rows == written
    assert not list(path.parent.glob("*.journal"))


def test_json_lines_are_json(tmp_path):
    out = open_(tmp_path / "x.jsonl", work_of(CANFIELD, (1, 50)), CANFIELD)
    out.write([a_row(n, CANFIELD) for n in range(1, 51)])
    out.close()
    first, *lines = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert set(first["header"]) >= {"game", "rules", "limits", "version"}
    for n, line in enumerate(lines, 1):
        assert Row(**line) == a_row(n, CANFIELD)


def test_other_programs_read_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    out = open_(tmp_path / "x.parquet", work_of(QUESTION, (1, 50)))
    out.write([a_row(n) for n in range(1, 51)])
    out.close()
    table = parquet.read_table(tmp_path / "x.parquet")
    assert table.column("deal").to_pylist() == [f"ms:{n}" for n in range(1, 51)]
    assert table.column("verdict").to_pylist() == [a_row(n).verdict for n in range(1, 51)]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_a_torn_last_line_is_dropped_wherever_it_tears(tmp_path, suffix):
    path = tmp_path / f"whole{suffix}"
    work = work_of(QUESTION, (1, 3))
    out = open_(path, work)
    out.write([a_row(n) for n in (1, 2, 3)])
    out.close()
    whole = path.read_bytes()
    ends = [i for i in range(len(whole)) if whole[i : i + 1] == b"\n"]
    for size in sorted({0, 1, *range(5, len(whole), 41), *ends, *(i + 1 for i in ends[:-1])}):
        torn = tmp_path / f"torn{suffix}"
        torn.write_bytes(whole[:size])
        out = open_(torn, work, resume=True)
        lines = whole[:size].count(b"\n") - (1 if suffix == ".jsonl" else 2)
        left = Feeder(work, None if out.known is None else out.known.done(False)).left
        assert left == 3 - max(lines, 0)
        out.write([a_row(n) for n in range(4 - left, 4)])
        out.close()
        assert torn.read_bytes() == whole, size


def test_a_kill_before_the_end_of_a_parquet_batch(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    work = work_of(QUESTION, (1, 9))
    out = open_(path, work)
    out.write([a_row(1), a_row(2)])
    out._file.close()  # as a kill does: no end is made
    assert rows_of(path) == [a_row(1), a_row(2)]
    with pytest.raises(ResultsError, match="--resume"):
        open_(path, work)
    out = open_(path, work, resume=True)
    out.write([a_row(n) for n in range(3, 8)])
    out.close()
    out = open_(path, work, resume=True)
    assert Feeder(work, out.known.done(False)).left == 2
    out.write([a_row(8), a_row(9)])
    out.close()
    assert rows_of(path) == [a_row(n) for n in range(1, 10)]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.parquet"]


@pytest.mark.parametrize(
    "other, said",
    [
        (chunks.Question(preset("klondike"), max_states=1000), "the game is freecell, not klondike"),
        (chunks.Question(preset("freecell").with_options(cells=3), max_states=1000), "cells is 4, not 3"),
        (chunks.Question(preset("freecell"), max_states=2000), "max_states is 1000, not 2000"),
        (chunks.Question(preset("freecell"), max_states=1000, time_limit=1.5), "time_limit is not set, not 1.5"),
        (chunks.Question(preset("freecell"), max_states=1000, optimal=True), "optimal is off, not on"),
        (chunks.Question(preset("freecell"), max_states=1000, metric="cards"), "metric is moves, not cards"),
        (chunks.Question(preset("freecell"), max_states=1000, notation="text"), "moves is not set, not text"),
    ],
)
def test_a_file_of_another_kind_is_refused_and_left_alone(path, other, said):
    work = work_of(QUESTION, (1, 3))
    out = open_(path, work)
    out.write([a_row(1)])
    out.close()
    with pytest.raises(ResultsError, match=said):
        open_(path, work, other, resume=True)
    assert rows_of(path) == [a_row(1)]
    with pytest.raises(ResultsError, match="has results already"):
        open_(path, work)
    out = open_(path, work, resume=True)
    assert out.known.states.tolist().count(0) == 2
    out.close()


def test_a_file_that_is_no_result_file_is_left_alone(tmp_path):
    path = tmp_path / "letters.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ResultsError, match="letters"):
        open_(path, work_of(QUESTION, (1, 3)), resume=True)
    assert path.read_text() == "a,b\n1,2\n"
    path = tmp_path / "broken.jsonl"
    out = open_(path, work_of(QUESTION, (1, 3)))
    out.close()
    with open(path, "a") as file:
        file.write('{"deal": "ms:1", "verd\n{"deal": "ms:2"}\n')
    with pytest.raises(ResultsError, match=r"broken\.jsonl:2: not a line of results"):
        open_(path, work_of(QUESTION, (1, 3)), resume=True)
    with pytest.raises(ResultsError, match=r"must end in \.jsonl, \.csv, \.parquet"):
        open_(tmp_path / "x.txt", work_of(QUESTION, (1, 3)))


def test_two_batches_cannot_write_one_file(path):
    pytest.importorskip("fcntl")
    work = work_of(QUESTION, (1, 3))
    out = open_(path, work)
    with pytest.raises(ResultsError, match="another batch"):
        open_(path, work, resume=True)
    out.close()


def retried(number: int) -> Row:
    return Row(f"ms:{number}", "solvable", None, 99, False, None, 5, 6, 7.0)


def test_undecided_deals_are_retried_and_each_deal_is_left_once(path):
    work = work_of(QUESTION, (1, 60))
    out = open_(path, work)
    out.write([a_row(n) for n in range(1, 61)])
    out.close()
    open_numbers = [n for n in range(1, 61) if a_row(n).verdict == "undecided"]
    assert len(open_numbers) > 5

    larger = chunks.Question(preset("freecell"), max_states=5000)
    out = open_(path, work, larger, resume=True, retry=True)
    tally = Tally.of(out.known)
    assert tally.counts["undecided"] == len(open_numbers)
    feeder = Feeder(work, out.known.done(True, out.fresh))
    assert feeder.left == len(open_numbers)
    row = retried(open_numbers[0])
    (before,) = out.write([row])
    tally.add(row)
    tally.remove(*before)
    assert (tally.deals, tally.counts["undecided"]) == (60, len(open_numbers) - 1)
    # One that the larger limits do not decide either.
    out.write([a_row(open_numbers[1])])
    out._file.close()  # a kill in the middle: the last line of a deal counts
    assert rows_of(path)[-2:] == [row, a_row(open_numbers[1])]

    out = open_(path, work, larger, resume=True, retry=True)
    assert Feeder(work, out.known.done(True, out.fresh)).left == len(open_numbers) - 2
    out.write([retried(n) for n in open_numbers[2:]])
    out.close()
    first, *rows = read_results(path)
    assert first["limits"]["max_states"] == 5000
    found = {row.deal: row for row in rows}
    assert len(rows) == len(found) == 60
    for n in range(1, 61):
        changed = n in open_numbers and n != open_numbers[1]
        assert found[f"ms:{n}"] == (retried(n) if changed else a_row(n))


def test_deals_of_other_ranges_stay_in_the_file(path):
    out = open_(path, work_of(QUESTION, (1, 30)))
    out.write([a_row(n) for n in range(1, 31)])
    out.close()
    work = work_of(QUESTION, (25, 40))
    out = open_(path, work, resume=True)
    assert Tally.of(out.known).deals == 6
    assert Feeder(work, out.known.done(False)).left == 10
    out.write([a_row(n) for n in range(31, 41)])
    out.close()
    assert sorted(rows_of(path)) == sorted(a_row(n) for n in range(1, 41))


def test_a_full_disk_leaves_whole_lines(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "x.jsonl"
    work = work_of(QUESTION, (1, 1000))
    out = open_(path, work)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(ResultsError, match="--resume goes on"):
            for n in range(1, 1001):
                out.write([a_row(n)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.path.getsize(path) <= 10_000
    assert path.read_bytes().endswith(b"\n")
    done = len(rows_of(path))
    out._file.close()
    out = open_(path, work, resume=True)
    out.write([a_row(n) for n in range(done + 1, 1001)])
    out.close()
    assert rows_of(path) == [a_row(n) for n in range(1, 1001)]
