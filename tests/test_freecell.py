"""FreeCell decided: by brute force on random late positions, by published verdicts on deals."""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from cardems_solver import cards, deals
from cardems_solver.expand import expand
from cardems_solver.kernels import freecell, freecell_guide
from cardems_solver.kernels import freecell_search as search
from cardems_solver.limits import STATES, Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE
from cardems_solver.position import EMPTY, Position
from cardems_solver.rules import preset
from tests import naive

DATA = Path(__file__).parent.parent / "data"


def patient(position, rules, limits):
    return freecell.decide_patiently(position, rules, limits)


def check(position, rules, verdict, decide=freecell.decide):
    """The kernel gives the verdict, with a solution that the reference accepts."""
    outcome = decide(position, rules, Limits())
    assert outcome.verdict == verdict, position
    if verdict == SOLVABLE:
        _, final = expand(position, rules, outcome.steps)
        assert final.won


def late_positions(returns: bool, number: int, seed: int = 5):
    """Random late positions that brute force decides, with their rules and verdicts."""
    rng = random.Random(seed + returns)
    while number:
        cells = rng.choice([0, 0, 0, 0, 0, 1, 2, 4])
        rules = preset("freecell").with_options(cells=cells, foundation_return=returns)
        position = naive.late_position(rules, rng, rng.randint(12, 44 if cells == 0 else 20))
        try:
            yield position, rules, SOLVABLE if naive.solvable(position, rules, 700) else UNSOLVABLE
            number -= 1
        except naive.TooMany:
            continue


def check_late_positions(returns: bool, number: int, seed: int = 5):
    counts = Counter()
    for position, rules, verdict in late_positions(returns, number, seed):
        check(position, rules, verdict)
        check(position, rules, verdict, patient)
        unpruned = freecell.decide_patiently(position, rules, Limits(states=20_000), prune=False)
        assert unpruned.verdict in (verdict, UNDECIDED)
        counts["unpruned too"] += unpruned.verdict == verdict
        counts[verdict] += 1
    assert min(counts[SOLVABLE], counts[UNSOLVABLE]) > number // 20
    assert counts["unpruned too"] > number * 9 // 10


@pytest.mark.parametrize("returns", [False, True])
def test_late_positions_by_brute_force(returns):
    check_late_positions(returns, 300)


@pytest.mark.slow
@pytest.mark.parametrize("returns", [False, True])
def test_thousands_of_late_positions_by_brute_force(returns):
    check_late_positions(returns, 3000, seed=1000)


def published() -> list[tuple[int, int, bool, str]]:
    """Deal, cells, foundation return and verdict for each deal that the public sources decide and that takes no
    hours. Without return as published; with it too where the deal is below 2^20."""
    rows = []
    with open(DATA / "freecell_verdicts.csv") as file:
        for row in csv.DictReader(file):
            deal, cells = int(row["ms_deal"]), int(row["cells"])
            if "intractable" in row["source"]:
                continue
            rows.append((deal, cells, False, row["verdict"]))
            if deal < 1 << 20:
                rows.append((deal, cells, True, row["verdict"]))
    return rows


@pytest.mark.parametrize(("deal", "cells", "returns", "verdict"), published())
def test_published_verdicts(deal, cells, returns, verdict):
    rules = preset("freecell").with_options(cells=cells, foundation_return=returns)
    check(deals.deal(f"ms:{deal}", rules), rules, verdict)


def test_limits_end_a_search():
    rules = preset("freecell").with_options(foundation_return=False)
    outcome = freecell.decide(deals.deal(11982, rules), rules, Limits(states=1000))
    assert (outcome.verdict, outcome.reason) == (UNDECIDED, STATES)
    outcome = freecell.decide(deals.deal(11982, rules), rules, Limits(memory=1_000_000))
    assert (outcome.verdict, outcome.reason) == (UNDECIDED, "memory-limit")
    assert outcome.bytes <= 1_000_000


def test_won_and_nearly_won_positions():
    rules = preset("freecell")
    won = Position(((),) * 8, (0,) * 8, (EMPTY,) * 4, (13, 13, 13, 13))
    assert freecell.decide(won, rules, Limits()).steps == []
    king = cards.parse("KS")
    nearly = Position(((king,), *((),) * 7), (0,) * 8, (EMPTY,) * 4, (13, 13, 13, 12))
    assert freecell.decide(nearly, rules, Limits()).steps == [(king, 54)]


@pytest.mark.parametrize("returns", [False, True])
def test_many_at_once(returns):
    """Many deals in one call: the same verdicts as one by one, with solutions that replay, and undecided where the
    states do not suffice."""
    rng = random.Random(11)
    for cells in (0, 1, 2, 4):
        rules = preset("freecell").with_options(cells=cells, foundation_return=returns)
        decks = np.array([rng.sample(range(52), 52) for _ in range(30)], np.uint8)
        n = len(decks)
        verdicts, lengths = np.full(n, 9, np.int8), np.zeros(n, np.int32)
        expanded, generated = np.zeros(n, np.int64), np.zeros(n, np.int64)
        steps = np.full((n, 512, 2), 255, np.uint8)
        stop = np.zeros(1, np.uint8)
        freecell.decide_many(decks, rules, 50_000, stop, verdicts, lengths, expanded, generated, steps)
        for i in range(n):
            position = deals.lay_out(decks[i].tolist(), rules)
            if verdicts[i] == 0:
                assert expanded[i] >= 50_000
                continue
            outcome = freecell.decide(position, rules, Limits(states=50_000))
            assert outcome.verdict == (UNDECIDED, SOLVABLE, UNSOLVABLE)[verdicts[i]]
            if verdicts[i] == 1:
                _, final = expand(position, rules, steps[i, : lengths[i]].tolist())
                assert final.won
        freecell.decide_many(decks, rules, 10, stop, verdicts, lengths, expanded, generated)
        assert (expanded <= 10).all()
        assert (verdicts[expanded == 10] == 0).all()


def test_kernels_return_no_floats():
    freecell.decide_patiently(deals.deal(2, preset("freecell")), preset("freecell"), Limits())
    g = freecell_guide.guidance()
    assert isinstance(freecell_guide.score(*np.zeros(3, np.uint64), g.weights, *g[2:]), int)
    for kernel in (search.advance, search.trace):
        assert kernel.overloads
        for overload in kernel.overloads.values():
            assert "float" not in str(overload.signature.return_type)
