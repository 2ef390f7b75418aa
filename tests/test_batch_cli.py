"""``cardems batch`` as a process: killed, interrupted, resumed, and what it writes where."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from cardems_solver import chunks
from cardems_solver.cli import main
from cardems_solver.results import Row, read_results

# Some of these deals are won at once, some are lost, some pass the budget of the first pass, some are given up.
DEALS = ["canfield", "1..150", "--max-states", str(2 * chunks.BUDGET["canfield"])]


def cardems(*arguments):
    return [sys.executable, "-m", "cardems_solver.cli", *map(str, arguments)]


def start(*arguments):
    return subprocess.Popen(cardems(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def lines_of(path):
    try:
        return path.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def wait_for_lines(path, process, number):
    deadline = time.monotonic() + 300
    while lines_of(path) < number and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def results(path):
    rows = [found for found in read_results(path) if isinstance(found, Row)]
    return {row.deal: row._replace(seconds=0) for row in rows}, len(rows)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """An undisturbed run: its rows and its summary."""
    path = tmp_path_factory.mktemp("undisturbed") / "x.jsonl"
    done = subprocess.run(cardems("batch", *DEALS, "--out", path, "--json"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows, lines = results(path)
    assert lines == len(rows) == 150
    verdicts = [row.verdict for row in rows.values()]
    assert min(verdicts.count(v) for v in ("solvable", "unsolvable", "undecided")) >= 1, (
        "deals of every kind are wanted"
    )
    assert any(row.expanded > chunks.BUDGET["canfield"] and row.verdict != "undecided" for row in rows.values())
    return rows, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_killed_ten_times_and_resumed(tmp_path, undisturbed, suffix):
    """The same verdicts for the same deals, each once."""
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"x{suffix}"
    growing = path if suffix != ".parquet" else tmp_path / "x.parquet.journal"
    kills = 10 if suffix == ".jsonl" else 2
    rng = random.Random(suffix)
    for kill in range(kills):
        batch = start("batch", *DEALS, "--out", path, "--resume", "--quiet")
        wait_for_lines(growing, batch, rng.randint(1 + 135 * kill // kills, 1 + 135 * (kill + 1) // kills))
        time.sleep(rng.random() * 0.05)
        batch.kill()
        batch.communicate()
    done = subprocess.run(
        cardems("batch", *DEALS, "--out", path, "--resume", "--json"), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    rows, lines = results(path)
    assert lines == 150
    assert rows == undisturbed[0]
    summary, expected = json.loads(done.stdout.splitlines()[-1]), undisturbed[1]
    for name in ("deals", "solvable", "unsolvable", "undecided", "win_rate", "interval", "mean_length"):
        assert summary[name] == expected[name], name


def test_interrupted_and_resumed(tmp_path, undisturbed):
    path = tmp_path / "x.jsonl"
    batch = start("batch", *DEALS, "--out", path, "--json")
    wait_for_lines(path, batch, 50)
    batch.send_signal(signal.SIGINT)
    out, errors = batch.communicate(timeout=60)
    assert batch.returncode == 130
    assert "--resume" in errors and "Traceback" not in errors
    rows, lines = results(path)
    assert json.loads(out.splitlines()[-1])["deals"] == lines == len(rows) < 150
    done = subprocess.run(cardems("batch", *DEALS, "--out", path, "--resume"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert results(path) == (undisturbed[0], 150)


def test_the_number_of_workers_changes_nothing_but_the_time(tmp_path, undisturbed):
    path = tmp_path / "x.csv"
    done = subprocess.run(cardems("batch", *DEALS, "--out", path, "--jobs", 1), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert results(path) == (undisturbed[0], 150)


def test_retrying_undecided_deals(tmp_path, undisturbed):
    rows, _ = undisturbed
    path = tmp_path / "x.jsonl"
    limit = DEALS.index("--max-states") + 1
    small = [*DEALS[:limit], "500", *DEALS[limit + 1 :]]
    subprocess.run(cardems("batch", *small, "--out", path), check=True, capture_output=True)
    assert sum(row.verdict == "undecided" for row in results(path)[0].values()) > 10
    refused = subprocess.run(cardems("batch", *DEALS, "--out", path, "--resume"), capture_output=True, text=True)
    assert refused.returncode == 2 and "max_states is 500" in refused.stderr
    subprocess.run(cardems("batch", *DEALS, "--out", path, "--retry-undecided"), check=True, capture_output=True)
    found, lines = results(path)
    assert lines == 150
    assert {deal: row.verdict for deal, row in found.items()} == {deal: row.verdict for deal, row in rows.items()}


# --- What goes where ------------------------------------------------------------------------------------------------


def test_without_a_file_the_deals_go_to_standard_output():
    done = subprocess.run(cardems("batch", "canfield", "2", "5..6", "--json"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *deals, summary = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(deal["deal"] for deal in deals) == ["solvitaire:2", "solvitaire:5", "solvitaire:6"]
    assert set(deals[0]) >= {"deal", "verdict", "reason", "length", "optimal", "lower_bound", "expanded", "generated"}
    assert set(summary) >= {
        *("game", "rules", "deals", "solvable", "unsolvable", "undecided", "win_rate", "interval", "confidence"),
        *("mean_length", "seconds", "deals_per_second", "jobs"),
    }
    assert summary["deals"] == 3 and summary["solvable"] == [deal["verdict"] for deal in deals].count("solvable")
    assert not [line for line in done.stderr.splitlines() if "compiling" not in line]
    text = subprocess.run(cardems("batch", "canfield", "2", "5..6", "--quiet"), capture_output=True, text=True)
    assert (
        "solvitaire:2  solvable, " in text.stdout and "win rate" in text.stdout and "(all cards known)" in text.stdout
    )
    assert text.stderr == ""


def test_the_moves_replay(tmp_path):
    path = tmp_path / "x.jsonl"
    subprocess.run(
        cardems("batch", "canfield", "1..20", "--max-states", 5000, "--moves", "--out", path),
        check=True,
        capture_output=True,
    )
    rows, _ = results(path)
    won = [deal for deal, row in rows.items() if row.verdict == "solvable"]
    assert len(won) > 5
    for deal in won[:5]:
        replayed = CliRunner().invoke(main, ["verify", "canfield", deal], input="\n".join(rows[deal].moves))
        assert replayed.exit_code == 0, replayed.output
        assert f"wins in {rows[deal].length} moves" in replayed.output


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo terminals here")
def test_the_progress_bar_shows_on_a_terminal_only(tmp_path):
    import fcntl
    import struct
    import termios

    main_end, other_end = os.openpty()
    fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
    command = cardems("batch", *DEALS, "--out", tmp_path / "x.jsonl")
    batch = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=other_end)
    os.close(other_end)
    shown = b""
    while True:
        try:
            data = os.read(main_end, 65536)
        except OSError:  # Linux's way to say that the other end is closed
            break
        if not data:
            break
        shown += data
    assert batch.wait() == 0
    text = shown.decode()
    assert "150/150" in text and "win rate" in text and "deals/s" in text
    assert b"win rate" in batch.stdout.read()
    quiet = subprocess.run(cardems("batch", *DEALS, "--out", tmp_path / "y.jsonl"), capture_output=True, text=True)
    assert not [line for line in quiet.stderr.splitlines() if "compiling" not in line]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["freecell", "5..1"], "is empty"),
        (["freecell", "x"], "neither a deal number"),
        (["freecell", "0"], "out of range"),
        (["freecell", "greenfelt:1..5"], "does not number deals of freecell"),
        (["klondike", "1..5", "--cells", "3"], "no rule 'cells'"),
        (["freecell", "1..5", "--metric", "taps"], "no metric 'taps'"),
        (["freecell", "1..5", "--resume"], "need --out"),
        (["freecell", "1..5", "--out", "x.txt"], "must end in"),
        (["freecell", "1..5", "--out", "/no/such/place/x.csv"], "No such file"),
        (["freecell", "1..5", "--engine", "dask"], "go together"),
        (["freecell", "1..5", "--notation", "text"], "needs --moves"),
    ],
)
def test_bad_usage(arguments, said):
    result = CliRunner().invoke(main, ["batch", *arguments])
    assert result.exit_code == 2 and said in result.stderr


def test_fewest_moves_deal_by_deal(tmp_path):
    path = tmp_path / "x.jsonl"
    command = cardems("batch", "klondike", "greenfelt:1..2", "--optimal", "--max-states", 200_000, "--out", path)
    done = subprocess.run([*command, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows, lines = results(path)
    assert lines == 2
    proved = [row for row in rows.values() if row.optimal]
    assert rows["greenfelt:1"].length == rows["greenfelt:1"].lower_bound == 98
    assert json.loads(done.stdout.splitlines()[-1])["optimal"] == len(proved)
    for row in rows.values():
        assert row.optimal == (row.reason is None and row.verdict == "solvable")
        assert row.lower_bound is None or row.length is None or row.lower_bound <= row.length
    again = subprocess.run([*command, "--resume", "--json"], capture_output=True, text=True)
    assert json.loads(again.stdout.splitlines()[-1])["optimal"] == len(proved)
    assert results(path) == (rows, 2)


MILLION = """
import resource, sys
import numpy as np
from cardems_solver import batch, chunks
from cardems_solver.results import ResultFile, Row
from cardems_solver.deals import DealRange
from cardems_solver.rules import preset
from cardems_solver.worklist import Feeder, WorkList

def first_pass(question, scheme, numbers, stop):
    rows = [Row(f"ms:{n}", "solvable", None, 90, False, None, 5, 6, 0.1) for n in numbers.tolist() if n % 50]
    return rows, [(n, 0.0) for n in numbers.tolist() if not n % 50]

chunks.first_pass = first_pass
chunks.search = lambda question, scheme, n, *_: Row(f"ms:{n}", "unsolvable", None, None, False, None, 5, 6, 0.1)

def run(count, path, resume):
    work = WorkList([DealRange("ms", 1, count)])
    question = chunks.Question(preset("freecell"))
    out = ResultFile(path, batch.header(question, work, None), work, resume)
    tally = batch.Tally.of(out.known) if out.known else batch.Tally()
    done = out.known.done(False) if out.known else None
    summary = batch.run(question, batch.LocalEngine(question, Feeder(work, done), 2, 1 << 30), tally, out=out)
    out.close()
    assert summary.as_json()["deals"] == count, summary

run(20_000, sys.argv[1] + "/small.jsonl", False)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
run(1_000_000, sys.argv[1] + "/large.jsonl", False)
with open(sys.argv[1] + "/large.jsonl", "r+b") as file:
    file.truncate(100_000_000)
run(1_000_000, sys.argv[1] + "/large.jsonl", True)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.slow
def test_a_million_deals_take_no_memory_of_their_own(tmp_path):
    done = subprocess.run([sys.executable, "-c", MILLION, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 100, "MB more than for twenty thousand deals"
