"""Statistics of result files, against counts made plainly; pictures are drawn and hold what they should."""

import json
import random

import numpy as np
import pytest
from click.testing import CliRunner

from cardems_solver import stats
from cardems_solver.batch import header
from cardems_solver.chunks import Question
from cardems_solver.cli import main
from cardems_solver.deals import DealRange
from cardems_solver.results import ResultFile, ResultsError, Row
from cardems_solver.rules import preset
from cardems_solver.worklist import WorkList

EASY = Question(preset("klondike"))
HARD = Question(preset("klondike").with_options(draw=3))
CANFIELD = Question(preset("canfield"))


def a_row(number, rate, seed, scheme="solvitaire", undecided=0.05):
    luck, rng = random.Random(number).random(), random.Random((number, seed).__hash__())
    verdict = "solvable" if luck < rate else "unsolvable"
    if rng.random() < undecided:
        verdict = "undecided"
    return Row(
        f"{scheme}:{number}",
        verdict,
        "state-limit" if verdict == "undecided" else None,
        rng.randrange(80, 160) if verdict == "solvable" else None,
        expanded=int(10 ** (6 * rng.random())),
        generated=5,
        seconds=rng.random(),
    )


def make(path, question, rows, shuffle=True):
    numbers = [int(row.deal.partition(":")[2]) for row in rows]
    work = WorkList([DealRange(rows[0].deal.partition(":")[0], min(numbers), max(numbers))])
    out = ResultFile(path, header(question, work, None), work, False)
    rows = list(rows)
    if shuffle:
        random.Random(1).shuffle(rows)
    out.write(rows)
    out.close()
    return str(path)


@pytest.fixture
def easy(tmp_path):
    return make(tmp_path / "easy.jsonl", EASY, [a_row(n, 0.9, 1) for n in range(1, 801)])


@pytest.fixture
def hard(tmp_path):
    return make(tmp_path / "hard.csv", HARD, [a_row(n, 0.8, 2) for n in range(301, 1101)])


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["stats", *arguments])
    assert result.exit_code == code, result.output
    return result


def test_the_table_is_in_the_order_of_the_deals(easy):
    table = stats.load(easy)
    rows = [a_row(n, 0.9, 1) for n in range(1, 801)]
    assert table.deals(range(800)) == [row.deal for row in rows]
    assert table.expanded.tolist() == [row.expanded for row in rows]
    assert [stats.VERDICTS[v] for v in table.verdicts] == [row.verdict for row in rows]
    assert table.length.tolist() == [-1 if row.length is None else row.length for row in rows]


def test_numbers_of_52_factorial_schemes(tmp_path):
    rows = [a_row((1 << 200) + n, 0.5, 1, "exact") for n in range(20)]
    table = stats.load(make(tmp_path / "x.jsonl", EASY, rows))
    assert table.deals(range(20)) == [row.deal for row in rows]


def test_summary(easy):
    found = json.loads(run(easy, "--json", "--confidence", "0.9").stdout)
    rows = [a_row(n, 0.9, 1) for n in range(1, 801)]
    counts = [sum(row.verdict == v for row in rows) for v in ("solvable", "unsolvable", "undecided")]
    assert [found[v] for v in ("solvable", "unsolvable", "undecided")] == counts
    assert found["interval"] == list(stats.interval(*counts, 0.9)) and found["confidence"] == 0.9
    assert found["win_rate"] == counts[0] / (counts[0] + counts[1])
    assert found["mean_length"] == pytest.approx(np.mean([row.length for row in rows if row.length is not None]))
    assert found["expanded"]["max"] == max(row.expanded for row in rows)
    text = run(easy).stdout
    assert f"{100 * found['win_rate']:.3f} % (all cards known)" in text


def test_lists_are_names_that_other_commands_take(easy):
    rows = [a_row(n, 0.9, 1) for n in range(1, 801)]
    for verdict in ("solvable", "unsolvable", "undecided"):
        assert run(easy, "--list", verdict).stdout.split() == [row.deal for row in rows if row.verdict == verdict]
    hardest = sorted(rows, key=lambda row: -row.expanded)[:7]
    for words in (["--list", "hardest", "7", easy], [easy, "--list=hardest", "7"], [easy, "--list", "hardest 7"]):
        assert run(*words).stdout.split() == [row.deal for row in hardest]
    assert len(run(easy, "--list", "hardest").stdout.split()) == 10
    assert json.loads(run(easy, "--list", "hardest", "7", "--json").stdout) == [row.deal for row in hardest]
    assert "is not" in run(easy, "--list", "fast", code=2).stderr


def test_comparison(easy, hard):
    found = json.loads(run(easy, hard, "--compare", "--json").stdout)
    left = {n: a_row(n, 0.9, 1).verdict for n in range(1, 801)}
    right = {n: a_row(n, 0.8, 2).verdict for n in range(301, 1101)}
    common = range(301, 801)
    differ = [n for n in common if {left[n], right[n]} == {"solvable", "unsolvable"}]
    assert found["common"] == 500
    assert [item["deal"] for item in found["differ"]] == [f"solvitaire:{n}" for n in differ]
    assert found["only_first"] == sum(left[n] == "solvable" for n in differ) == len(differ) > 30
    assert found["only_second"] == 0
    # All of them on one side: a fair coin does that once in 2 ** n, either way.
    assert found["p_value"] == pytest.approx(2 * 0.5 ** len(differ))
    assert found["both_solvable"] + found["neither"] + found["undecided"] + len(differ) == 500
    text = run(easy, hard, "--compare").stdout
    assert f"solvitaire:{differ[0]}  solvable  unsolvable" in text and "McNemar" in text
    run(easy, "--compare", code=2)


def test_files_of_one_kind_are_counted_together(tmp_path, easy, hard):
    more = make(tmp_path / "more.jsonl", EASY, [a_row(n, 0.9, 1, undecided=0) for n in range(601, 1001)])
    both = stats.together([stats.load(easy), stats.load(more)])
    verdicts = [a_row(n, 0.9, 1, undecided=0.05 if n <= 600 else 0).verdict for n in range(1, 1001)]
    assert [stats.VERDICTS[v] for v in both.verdicts] == verdicts
    again = stats.together([stats.load(more), stats.load(easy)])
    assert (again.verdicts == both.verdicts).all()
    assert "together" in run(easy, more).stdout
    with pytest.raises(ResultsError, match="rules differs"):
        stats.together([stats.load(easy), stats.load(hard)])
    assert "not counted together" in run(easy, hard).stderr
    wrong = make(tmp_path / "wrong.jsonl", EASY, [a_row(n, 0.5, 1) for n in range(1, 101)])
    with pytest.raises(ResultsError, match="contradict"):
        stats.together([stats.load(easy), stats.load(wrong)])
    assert "contradict" in run(easy, wrong, "--compare").stderr


def test_an_incomplete_file_says_so(tmp_path):
    path = make(tmp_path / "x.jsonl", EASY, [a_row(n, 0.9, 1) for n in (1, 2, 900)])
    assert "3 of 900 deals" in run(path).stderr
    other = tmp_path / "other.jsonl"
    other.write_text('{"a": 1}\n')
    assert f"{other}:1: not a line of results" in run(str(other), code=2).stderr


def test_canfield_pay_holds_whatever_is_not_known(tmp_path):
    rng = random.Random(3)
    rows, low, high = [], [], []
    for n in range(400):
        verdict = rng.choice(("solvable", "solvable", "unsolvable", "undecided"))
        home = rng.randrange(1, 52) if verdict == "unsolvable" and rng.random() < 0.7 else None
        rows.append(Row(f"solvitaire:{n}", verdict, most_home=52 if verdict == "solvable" else home))
        low.append(500 if verdict == "solvable" else 5 * (home or 1))
        high.append(500 if verdict != "unsolvable" else 5 * (home or 51))
    pay = stats.mean_pay(stats.load(make(tmp_path / "x.jsonl", CANFIELD, rows)), 0.95)
    assert pay["mean"] is None
    half = 1.96 * np.std(low) / 20
    assert pay["interval"][0] == pytest.approx(np.mean(low) - half, rel=0.01)
    half = 1.96 * np.std(high) / 20
    assert pay["interval"][1] == pytest.approx(np.mean(high) + half, rel=0.01)


def test_the_running_rate_ends_at_the_whole(easy):
    table = stats.load(easy)
    run_ = stats.running_rate(table, 0.95)
    whole = stats.summary(table, 0.95)
    assert run_["deals"][0] == 1 and run_["deals"][-1] == 800 and (np.diff(run_["deals"]) > 0).all()
    assert run_["rate"][-1] == whole["win_rate"]
    assert [run_["low"][-1], run_["high"][-1]] == whole["interval"]
    first = [row for row in (a_row(n, 0.9, 1) for n in range(1, 801))][: run_["deals"][50]]
    decided = [row.verdict == "solvable" for row in first if row.verdict != "undecided"]
    assert run_["rate"][50] == pytest.approx(np.mean(decided))


def test_plots(tmp_path, easy, hard):
    pytest.importorskip("matplotlib")
    run(easy, "--plot", str(tmp_path / "one.png"))
    image = (tmp_path / "one.png").read_bytes()
    assert image.startswith(b"\x89PNG") and len(image) > 20_000
    run(easy, hard, "--plot", str(tmp_path / "two.svg"))
    drawing = (tmp_path / "two.svg").read_text()
    for text in ("win rate, %", "positions expanded for a deal", "length, moves", "easy", "hard"):
        assert text in drawing
    without = make(tmp_path / "lost.jsonl", EASY, [a_row(n, 0.0, 1) for n in range(1, 30)])
    run(without, "--plot", str(tmp_path / "lost.svg"))
    assert "length" not in (tmp_path / "lost.svg").read_text()
    run(easy, "--plot", str(tmp_path / "x.pdf"), code=2)
