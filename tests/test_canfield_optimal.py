"""Canfield's fewest moves: against Dijkstra over the reference on late positions, and as an anytime search."""

import random

import pytest

from cardems_solver import deals, reference
from cardems_solver.expand import expand
from cardems_solver.kernels import canfield_optimal
from cardems_solver.kernels.canfield_state import PRUNE_SAFE
from cardems_solver.limits import STATES, Limits
from cardems_solver.outcome import SOLVABLE, UNSOLVABLE
from cardems_solver.rules import Rules
from tests import naive
from tests.test_canfield import VARIANTS, WHOLE, late_position


def check_late_positions(rules: Rules, metric: str, seed: int, number: int, most: int) -> None:
    rng = random.Random(seed)
    while number:
        position = late_position(rules, rng)
        try:
            fewest = naive.fewest(position, rules, metric, most)
        except naive.TooMany:
            continue
        number -= 1
        for prune in (0, PRUNE_SAFE):
            outcome = canfield_optimal.minimum(position, rules, metric, Limits(), prune=prune)
            if fewest is None:
                assert outcome.verdict == UNSOLVABLE and outcome.steps is None, position
                continue
            moves, final = expand(position, rules, outcome.steps)
            assert final.won
            assert reference.length(position, rules, moves, metric) == fewest, (prune, position)
            assert outcome.optimal and outcome.lower_bound == fewest


@pytest.mark.parametrize("metric", ["moves", "taps"])
@pytest.mark.parametrize("rules", VARIANTS.values(), ids=VARIANTS.keys())
def test_late_positions(rules, metric):
    check_late_positions(rules, metric, 3, 8, 400)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["moves", "taps"])
@pytest.mark.parametrize("rules", VARIANTS.values(), ids=VARIANTS.keys())
def test_many_late_positions(rules, metric):
    check_late_positions(rules, metric, 4, 60, 4000)


def test_a_deal():
    position = deals.deal("solvitaire:9", WHOLE)
    told = []
    outcome = canfield_optimal.minimum(position, WHOLE, "moves", Limits(), progress=lambda **known: told.append(known))
    moves, _ = expand(position, WHOLE, outcome.steps)
    assert reference.length(position, WHOLE, moves) == outcome.lower_bound == 108
    lengths = [known["length"] for known in told]
    assert lengths == sorted(lengths, reverse=True) and lengths[-1] == 108
    bounds = [known["lower_bound"] for known in told if "lower_bound" in known]
    assert bounds == sorted(bounds)


def test_limits_leave_the_best_solution_and_a_bound():
    position = deals.deal("solvitaire:2", WHOLE)
    outcome = canfield_optimal.minimum(position, WHOLE, "moves", Limits(states=20_000))
    assert (outcome.verdict, outcome.reason, outcome.optimal) == (SOLVABLE, STATES, False)
    moves, final = expand(position, WHOLE, outcome.steps)
    assert final.won
    assert 60 < outcome.lower_bound < reference.length(position, WHOLE, moves)
