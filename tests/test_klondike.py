"""Klondike's kernel against brute force on late positions under every kind of rules, and against published verdicts."""

import csv
import random
from pathlib import Path

import numpy as np
import pytest

from cardems_solver import deals, rules
from cardems_solver.expand import expand
from cardems_solver.kernels import dealing, klondike
from cardems_solver.kernels.klondike_chains import CUT, LOST, WON
from cardems_solver.kernels.klondike_state import PRUNE_ALL, PRUNE_CHAINS, PRUNE_SAFE, PRUNE_USEFUL, set_up
from cardems_solver.limits import STATES, Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE
from tests import klondike_plain, naive

DATA = Path(__file__).parent.parent / "data"
KLONDIKE = rules.preset("klondike")


def random_rules(rng):
    return KLONDIKE.with_options(
        draw=rng.choice((1, 1, 1, 2, 3, 3, 4, 7)),
        passes=rng.choice((None, None, 1, 2, 3, 5)),
        foundation_return=rng.random() < 0.5,
    )


def late_positions(seed, count, least, most, chosen=random_rules):
    """Random rules and late positions whose columns end in a card face up."""
    rng = random.Random(seed)
    while count:
        game = chosen(rng)
        position = naive.late_position(game, rng, rng.randint(least, most))
        if all(
            down < len(column) or not column for column, down in zip(position.columns, position.face_down, strict=True)
        ):
            count -= 1
            yield game, position


def check(position, game, expected, prune=PRUNE_ALL):
    """The kernel's verdict is the expected one, and its solution replays."""
    outcome = klondike.decide(position, game, Limits(), prune=prune)
    assert outcome.verdict == (SOLVABLE if expected else UNSOLVABLE), (position, game, prune)
    if expected:
        assert expand(position, game, outcome.steps)[1].won


def test_plain_search_against_the_reference():
    answers = []
    for game, position in late_positions(1, 250, 6, 14):
        try:
            expected = naive.solvable(position, game, most=3000)
        except naive.TooMany:
            continue
        answers.append(expected)
        assert klondike_plain.solvable(position, game) == expected, (position, game)
    assert min(answers.count(True), answers.count(False)) > 10


@pytest.mark.parametrize("seed", range(4))
def test_against_plain_search(seed):
    answers = []
    for game, position in late_positions(seed, 2000, 8, 22):
        expected = klondike_plain.solvable(position, game, most=50_000)
        if expected is not None:
            answers.append(expected)
            check(position, game, expected)
    assert min(answers.count(True), answers.count(False)) > 50


WITHOUT = {
    "safe cards": PRUNE_ALL ^ PRUNE_SAFE,
    "chains": PRUNE_ALL ^ PRUNE_CHAINS,
    "useful": PRUNE_ALL ^ PRUNE_USEFUL,
    "any": 0,
}


@pytest.mark.parametrize("prune", WITHOUT.values(), ids=WITHOUT)
def test_without_a_pruning_rule(prune):
    answers = []
    for game, position in late_positions(50, 500, 8, 18):
        expected = klondike_plain.solvable(position, game, most=20_000)
        if expected is not None:
            answers.append(expected)
            check(position, game, expected, prune)
    assert min(answers.count(True), answers.count(False)) > 20


@pytest.mark.slow
@pytest.mark.parametrize("prune", WITHOUT.values(), ids=WITHOUT)
def test_without_a_pruning_rule_at_length(prune):
    for game, position in late_positions(51, 4000, 8, 20):
        expected = klondike_plain.solvable(position, game, most=20_000)
        if expected is not None:
            check(position, game, expected, prune)


@pytest.mark.parametrize("width", [1, 3, 1000])
def test_a_beam_decides_only_what_it_has_seen(width):
    ends = []
    for game, position in late_positions(60, 150, 10, 20):
        expected = klondike_plain.solvable(position, game, most=50_000)
        beam = klondike.Search(set_up(position, game), width)
        beam.go(Limits(), None, (0, 0))
        ends.append(beam.status)
        if expected is None:
            continue
        if beam.status == WON:
            assert expected
            assert expand(position, game, beam.steps(position))[1].won
        else:
            assert beam.status == CUT or not expected
    assert ends.count(WON) > 30 and ends.count(LOST) > 10 and (ends.count(CUT) > 5) == (width < 1000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 104))
def test_against_plain_search_at_length(seed):
    for game, position in late_positions(seed, 10_000, 8, 24):
        expected = klondike_plain.solvable(position, game, most=50_000)
        if expected is not None:
            check(position, game, expected)


@pytest.mark.slow
@pytest.mark.parametrize("returns", [False, True])
def test_draw_one_against_plain_search(returns):
    game = KLONDIKE.with_options(foundation_return=returns)
    answers = []
    for _, position in late_positions(99, 20_000, 14, 26, lambda rng: game):
        expected = klondike_plain.solvable(position, game, most=100_000)
        if expected is not None:
            answers.append(expected)
            check(position, game, expected)
    assert min(answers.count(True), answers.count(False)) > 1000


def test_incomplete_searches_fail_here():
    # Wins that need a card bared by laying its twin (201, 219), or foundation cards taken back to carry another.
    for number in (201, 219, 3555, 4047, 4249):
        check(deals.deal(f"solvitaire:{number}", KLONDIKE), KLONDIKE, True)


def published():
    with open(DATA / "klondike_verdicts.csv") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            options = {"draw": int(row["draw"]), "foundation_return": row["foundation_return"] == "yes"}
            options["passes"] = None if row["passes"] == "unlimited" else int(row["passes"])
            yield row["deal"], KLONDIKE.with_options(**options), row["verdict"], int(row["peer_states"] or 0)


def test_published_verdicts_that_are_quick():
    quick = [row for row in published() if row[3] < 3000]
    assert len(quick) > 200
    for name, game, verdict, _ in quick[::3]:
        outcome = klondike.decide(deals.deal(name, game), game, Limits(seconds=60))
        assert outcome.verdict == verdict, name


@pytest.mark.parametrize("options", [{}, {"draw": 3}, {"passes": 1, "foundation_return": False}])
def test_many_deals_at_once(options):
    game = KLONDIKE.with_options(**options)
    n = 60
    decks = dealing.deal_many("solvitaire", "klondike", np.arange(1, n + 1, dtype=np.uint64))
    verdicts, lengths = np.zeros(n, np.int8), np.zeros(n, np.int32)
    expanded, generated = np.zeros(n, np.int64), np.zeros(n, np.int64)
    steps = np.zeros((n, 512, 2), np.uint8)
    klondike.decide_many(decks, game, 3000, np.zeros(1, np.uint8), verdicts, lengths, expanded, generated, steps)
    assert np.count_nonzero(verdicts) > 5
    for i in range(n):
        position = deals.deal(f"solvitaire:{i + 1}", game)
        if verdicts[i] == 1:
            listed = [(int(card), int(destination)) for card, destination in steps[i, : lengths[i]]]
            assert expand(position, game, listed)[1].won
        elif verdicts[i] == 2:
            assert klondike.decide(position, game, Limits()).verdict == UNSOLVABLE
        assert expanded[i] > 0


@pytest.mark.slow
def test_published_verdicts():
    for name, game, verdict, _ in published():
        assert klondike.decide(deals.deal(name, game), game, Limits(seconds=120)).verdict == verdict, (name, game)


def test_many_deals_at_once_stop():
    decks = dealing.deal_many("solvitaire", "klondike", np.arange(3, dtype=np.uint64))
    verdicts, numbers = np.ones(3, np.int8), np.zeros(3, np.int64)
    klondike.decide_many(
        decks, KLONDIKE, 3000, np.ones(1, np.uint8), verdicts, np.zeros(3, np.int32), numbers, numbers.copy()
    )
    assert not verdicts.any()


def test_stops_at_its_limits():
    outcome = klondike.decide(deals.deal("solvitaire:719", KLONDIKE), KLONDIKE, Limits(states=1000))
    assert (outcome.verdict, outcome.reason) == (UNDECIDED, STATES)
