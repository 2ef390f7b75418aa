"""What a worker of a batch does, with the real searches: held against the solver, which the reference judges."""

import importlib

import numpy as np
import pytest

from cardems_solver import chunks, deals, solver
from cardems_solver.notation import parse_moves
from cardems_solver.reference import length
from cardems_solver.rules import preset

GAMES = {
    "freecell": (preset("freecell"), "ms", range(1, 13)),
    "freecell, 2 cells": (preset("freecell").with_options(cells=2, foundation_return=False), "ms", range(1, 9)),
    "klondike": (preset("klondike"), "solvitaire", range(1, 13)),
    "klondike, draw 3": (preset("klondike").with_options(draw=3), "solvitaire", range(2, 9)),
    "klondike-one-pass": (preset("klondike-one-pass"), "solvitaire", range(1, 7)),
    "canfield": (preset("canfield"), "solvitaire", range(1, 13)),
}


@pytest.mark.parametrize("name", GAMES)
def test_the_first_pass_finds_what_the_solver_finds(name):
    rules, scheme, numbers = GAMES[name]
    metric = "moves" if rules.game == "freecell" else "taps"
    question = chunks.Question(rules, metric=metric, notation="text")
    rows, left = chunks.first_pass(question, scheme, np.array(numbers, np.uint64), np.zeros(1, np.uint8))
    assert rows, "a first pass that decides nothing is not worth having"
    assert {row.deal for row in rows} | {f"{scheme}:{n}" for n, _ in left} == {f"{scheme}:{n}" for n in numbers}
    for row in rows:
        position = deals.deal(row.deal, rules)
        assert row.verdict == solver.solve(position, rules, max_states=10**6).verdict
        if row.verdict == "solvable":
            moves = parse_moves("\n".join(row.moves), position, rules)
            assert row.length == length(position, rules, moves, metric)
        else:
            assert row.length is None and row.moves is None
        assert (row.most_home is not None) == (rules.game == "canfield")


@pytest.mark.parametrize("name", GAMES)
def test_a_search_gives_the_solvers_answer(name):
    rules, scheme, numbers = GAMES[name]
    metric = "cards" if rules.game == "freecell" else "taps"
    question = chunks.Question(rules, metric=metric, max_states=20_000)
    for number in numbers[:3]:
        row = chunks.search(question, scheme, number, 1 << 30, np.zeros(1, np.uint8))
        position = deals.deal(f"{scheme}:{number}", rules)
        result = solver.solve(position, rules, metric=metric, max_states=20_000)
        assert row[1:8] == (
            result.verdict,
            result.reason,
            result.length,
            result.optimal,
            result.lower_bound,
            result.expanded,
            result.generated,
        )


def test_a_false_solution_is_never_an_answer(monkeypatch):
    rules, scheme, numbers = GAMES["canfield"]
    kernel = importlib.import_module("cardems_solver.kernels.canfield")
    honest = kernel.decide_many
    spoilt = []

    def lying(*arguments, **more):
        honest(*arguments, **more)
        verdicts, steps = arguments[4], arguments[8]
        i = np.flatnonzero(verdicts == 1)[-1]
        spoilt.append(numbers[i])
        steps[i, :-5] = steps[i, 5:].copy()

    monkeypatch.setattr(kernel, "decide_many", lying)
    with pytest.raises(chunks.FalseSolution) as caught:
        chunks.first_pass(chunks.Question(rules), scheme, np.array(numbers, np.uint64), np.zeros(1, np.uint8))
    assert f"canfield {scheme}:{spoilt[0]}: " in str(caught.value)


def test_what_is_stopped_is_not_called_undecided():
    rules, scheme, numbers = GAMES["canfield"]
    stop = np.ones(1, np.uint8)
    rows, left = chunks.first_pass(chunks.Question(rules), scheme, np.array(numbers, np.uint64), stop)
    assert not left and all(row.verdict != "undecided" for row in rows)
    assert chunks.cut_short(chunks.search(chunks.Question(rules), scheme, 1, 1 << 30, stop))


def test_numbers_that_compiled_code_cannot_deal():
    rules = preset("klondike")
    number = 10**60
    question = chunks.Question(rules, max_states=500)
    rows, left = chunks.first_pass(question, "exact", [number, number + 1], np.zeros(1, np.uint8))
    assert not left and [row.deal for row in rows] == [f"exact:{number}", f"exact:{number + 1}"]
    assert not {row.verdict for row in rows} - {"solvable", "unsolvable", "undecided"}
