"""The command line's contract: what goes where, exit statuses, JSON fields, errors that name the place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cardems_solver.cli import main
from cardems_solver.rules import PRESETS

FIELDS = {
    *("game", "rules", "deal", "cards", "verdict", "reason", "metric", "length", "optimal", "lower_bound"),
    *("moves", "score", "expanded", "generated", "seconds"),
}


def run(*arguments: str, text: str | bytes | None = None):
    return CliRunner().invoke(main, [str(a) for a in arguments], input=text)


@pytest.mark.parametrize("arguments", [["--help"], ["rules"], ["show", "freecell", "1"], ["solve", "--help"]])
def test_no_numba_where_nothing_is_searched(arguments):
    code = (
        "import sys\n"
        "from cardems_solver.cli import main\n"
        f"main({arguments!r}, standalone_mode=False)\n"
        "assert not {'numba', 'scipy', 'matplotlib', 'distributed'} & set(sys.modules), sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("game", PRESETS)
def test_rules_say_every_option(game):
    done = run("rules", game)
    assert done.exit_code == 0
    assert PRESETS[game].source in done.stdout
    found = json.loads(run("rules", game, "--json").stdout)
    assert found["rules"] == PRESETS[game].options()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve", "freecell", "1", "--draw", "3"], "draw"),
        (["solve", "klondike", "1", "--cells", "3"], "cells"),
        (["solve", "freecell", "1", "--cells", "9"], "0 to 8"),
        (["solve", "klondike", "1", "--passes", "0"], "passes"),
        (["solve", "klondike", "1", "--draw", "25"], "1 to 24"),
        (["solve", "freecell", "1", "--metric", "taps"], "taps"),
        (["solve", "klondike", "1", "--metric", "cards"], "cards"),
        (["solve", "klondike", "1", "--notation", "standard"], "standard"),
        (["solve", "freecell", "1", "--memory", "lots"], "size"),
        (["solve", "freecell", "1", "--time-limit", "0"], "0"),
        (["solve", "patience", "1"], "patience"),
        (["solve", "freecell", "0"], "1"),
        (["solve", "freecell", "8589934592"], "8589934591"),
        (["solve", "freecell", "1e6"], "1e6"),
        (["solve", "freecell", "nowhere:1"], "nowhere"),
        (["solve", "freecell", "no-such-file.txt"], "no-such-file.txt"),
        (["show", "freecell", "1", "--format", "runes"], "runes"),
        (["show", "freecell", "1", "--after", "3"], "--moves"),
    ],
)
def test_bad_usage_is_named_and_exits_with_2(arguments, message):
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not done.stdout
    assert "Traceback" not in done.stderr


def test_solve_json_has_every_promised_field():
    done = run("solve", "freecell", "1", "--json", "--quiet")
    assert done.exit_code == 0
    assert not done.stderr
    found = json.loads(done.stdout)
    assert set(found) >= FIELDS
    assert (found["game"], found["deal"], found["verdict"], found["metric"]) == (
        "freecell",
        "ms:1",
        "solvable",
        "moves",
    )
    assert found["length"] == len(found["moves"])
    again = run("verify", "freecell", found["cards"], text=" ".join(found["moves"]))
    assert again.exit_code == 0, again.stdout


@pytest.mark.parametrize(
    ("game", "deal", "notation"),
    [
        ("freecell", "1", "text"),
        ("freecell", "617", "standard"),
        ("klondike", "solvitaire:3", "text"),
        ("klondike", "solvitaire:5", "minimal-klondike"),
        ("klondike-one-pass", "solvitaire:2", "minimal-klondike"),
        ("canfield", "solvitaire:3", "text"),
    ],
)
def test_what_solve_prints_verify_accepts(game, deal, notation):
    solved = run("solve", game, deal, "--notation", notation)
    assert solved.exit_code == 0, solved.stderr
    verified = run("verify", game, deal, text=solved.stdout)
    assert verified.exit_code == 0, verified.stdout
    spoiled = "\n".join(solved.stdout.splitlines()[:-1])
    assert run("verify", game, deal, text=spoiled).exit_code == 1


def test_unsolvable_exits_with_10():
    done = run("solve", "freecell", "11982", "--json")
    assert done.exit_code == 10
    found = json.loads(done.stdout)
    assert (found["verdict"], found["moves"], found["length"]) == ("unsolvable", None, None)


def test_a_limit_leaves_it_undecided_and_says_which():
    done = run("solve", "freecell", "11982", "--max-states", "500", "--json")
    assert done.exit_code == 11
    assert json.loads(done.stdout)["reason"] == "state-limit"


def test_verify_names_the_first_bad_move():
    done = run("verify", "freecell", "1", text="3a 3b 11")
    assert done.exit_code == 1
    assert "move 3" in done.stdout


def test_verify_json():
    found = json.loads(run("verify", "freecell", "1", "--json", text="3a").stdout)
    assert found["legal"] and not found["won"]


def test_show_a_position_on_the_way(tmp_path: Path):
    moves = tmp_path / "moves.txt"
    moves.write_text("3a 3b")
    done = run("show", "freecell", "1", "--moves", moves, "--after", "1", "--format", "fc-solve")
    assert done.exit_code == 0
    assert "Freecells:" in done.stdout
    assert run("show", "freecell", "1", "--moves", moves, "--after", "3").exit_code == 2


def test_any_solution_in_single_cards():
    found = json.loads(run("solve", "freecell", "1", "--metric", "cards", "--json").stdout)
    assert found["metric"] == "cards" and found["length"] == len(found["moves"])
    verified = json.loads(
        run("verify", "freecell", "1", "--metric", "cards", "--json", text=" ".join(found["moves"])).stdout
    )
    assert verified["won"] and verified["length"] == found["length"]
