"""Fewest moves in Klondike against brute force on late positions, and against published minima."""

import csv
import heapq
import random
from dataclasses import replace
from pathlib import Path

import pytest

from cardems_solver import deals, formats, reference, rules
from cardems_solver.expand import expand
from cardems_solver.kernels import klondike_astar, klondike_optimal
from cardems_solver.kernels.klondike_moves import ALL_PRUNING, FETCH, PASSING, SAFE, SPACE, STOCK, TWIN
from cardems_solver.kernels.klondike_pack import pack
from cardems_solver.limits import MEMORY, STATES, Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE
from tests import naive

DATA = Path(__file__).parent.parent / "data"
KLONDIKE = rules.preset("klondike")
INFINITY = float("inf")


def random_rules(rng):
    return KLONDIKE.with_options(
        draw=rng.choice((1, 1, 2, 3, 3, 4, 5)),
        passes=rng.choice((None, None, 1, 2, 3, 4, 5)),
        foundation_return=rng.random() < 0.6,
    )


def distances(start, game, metric, most):
    """Every position that can be reached and how far from a win it is (infinity where there is none).

    Raises:
        naive.TooMany: there are more than ``most``.
    """
    known = {start.canonical(): start}
    before = {}
    todo = [start]
    for position in todo:
        for move in reference.legal_moves(position, game):
            after, events = reference.play(position, game, move)
            if game.passes is None:
                after = replace(after, passes=1)
            key = after.canonical()
            cost = 1 + (metric == "taps" and events.turned_over)
            before.setdefault(key, []).append((position.canonical(), cost))
            if key not in known:
                known[key] = after
                todo.append(after)
                if len(known) > most:
                    raise naive.TooMany
    far = dict.fromkeys(known, INFINITY)
    heap = [(0, key) for key, position in known.items() if position.won]
    while heap:
        distance, key = heapq.heappop(heap)
        if distance < far[key]:
            far[key] = distance
            for other, cost in before.get(key, ()):
                heapq.heappush(heap, (distance + cost, other))
    return {key: (known[key], far[key]) for key in known}


def late_positions(seed, count, left, most):
    """Rules, metric, a late position, and the distances of all positions that can be reached from it."""
    rng = random.Random(seed)
    while count:
        game = random_rules(rng)
        position = naive.late_position(game, rng, rng.randint(*left))
        if any(down and down == len(c) for c, down in zip(position.columns, position.face_down, strict=True)):
            continue
        metric = rng.choice(("moves", "taps"))
        try:
            yield rng, game, metric, position, distances(position, game, metric, most)
        except naive.TooMany:
            continue
        count -= 1


def check(position, game, metric, true, **options):
    """The minimum is the true one, and its solution replays to a win of that length."""
    outcome = klondike_optimal.minimum(position, game, metric, Limits(memory=1 << 30), **options)
    case = (position, game, metric, options)
    if true == INFINITY:
        assert outcome.verdict == UNSOLVABLE, case
    else:
        assert (outcome.verdict, outcome.optimal, outcome.lower_bound) == (SOLVABLE, True, true), case
        moves, end = expand(position, game, outcome.steps)
        assert end.won and reference.length(position, game, moves, metric) == true, case
    return outcome


def compare(seed, count, left, most):
    answers = []
    for rng, game, metric, position, far in late_positions(seed, count, left, most):
        true = far[position.canonical()][1]
        answers.append(true)
        check(position, game, metric, true)
        check(position, game, metric, true, quick=())
        check(position, game, metric, true, quick=((24, 1), (-2, 100), (2, 1)))
        for prune in (0, rng.randrange(ALL_PRUNING), rng.choice((TWIN, SPACE, FETCH, SAFE, PASSING, STOCK))):
            check(position, game, metric, true, prune=prune, quick=())
        for other, distance in rng.sample(list(far.values()), min(100, len(far))):
            table, words = pack(other, game, metric, ALL_PRUNING)
            assert klondike_astar.lower_bound(words, table) <= distance, (other, game, metric)
    return answers


def test_minimum_and_bound_on_late_positions():
    answers = compare(1, 70, (4, 10), 200)
    lost = answers.count(INFINITY)
    assert lost > 8 and len(answers) - lost > 30


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 108))
def test_minimum_and_bound_on_many_late_positions(seed):
    compare(seed, 400, (6, 15), 1500)


def published():
    with open(DATA / "klondike_minimum.csv", newline="") as file:
        for row in csv.DictReader(file):
            game = KLONDIKE.with_options(
                draw=int(row["draw"]),
                passes=int(row["max_passes"]),
                foundation_return=row["foundation_return"] == "yes",
            )
            minimum = int(row["minimum_moves"]) if row["verdict"] == SOLVABLE else INFINITY
            yield pytest.param(row["cards"], game, minimum, id=f"{row['deal']}-{game.draw}-{game.passes}")


PUBLISHED = list(published())
THREE_PASSES = pytest.param(
    PUBLISHED[0].values[0],
    KLONDIKE.with_options(draw=3, passes=3, foundation_return=False),
    INFINITY,
    id="a win in three passes, claimed by a user of MinimalKlondike, is not possible",
)
QUICK_ONES = {"greenfelt:94-3-15", "greenfelt:255-3-15", "greenfelt:255-3-3", "greenfelt:94-3-4", "greenfelt:289-1-1"}


@pytest.mark.parametrize(
    ("deck", "game", "minimum"), [case for case in PUBLISHED if case.id in QUICK_ONES] + [THREE_PASSES]
)
def test_published_minima(deck, game, minimum):
    check(formats.read_position(deck, game), game, "moves", minimum)


@pytest.mark.slow
@pytest.mark.parametrize(("deck", "game", "minimum"), [case for case in PUBLISHED if case.id not in QUICK_ONES])
def test_more_published_minima(deck, game, minimum):
    check(formats.read_position(deck, game), game, "moves", minimum)


@pytest.mark.parametrize(
    ("number", "draw", "minimum", "options"),
    [(5, 1, 118, {}), (5, 1, 118, {"quick": ()}), (15, 3, INFINITY, {"quick": ()})],
)
def test_limits_leave_proved_bounds(number, draw, minimum, options):
    game = KLONDIKE.with_options(draw=draw)
    position = deals.deal(f"greenfelt:{number}", game)
    bounds = []
    for limits in (Limits(states=1000), Limits(states=30_000), Limits(memory=3 << 20)):
        outcome = klondike_optimal.minimum(position, game, "moves", limits, **options)
        assert not outcome.optimal and outcome.reason == (STATES if limits.states else MEMORY)
        assert outcome.verdict == (UNDECIDED if options else SOLVABLE)
        assert outcome.lower_bound <= minimum
        bounds.append(outcome.lower_bound)
        if limits.states:
            assert limits.states <= outcome.stored < limits.states + 500
        else:
            assert outcome.bytes <= limits.memory
        if outcome.steps:
            moves, end = expand(position, game, outcome.steps)
            assert end.won and reference.length(position, game, moves) >= minimum
    assert bounds[0] < bounds[1]


def test_a_lost_deal_is_refuted_at_once():
    game = KLONDIKE.with_options(draw=3)
    outcome = check(deals.deal("greenfelt:15", game), game, "moves", INFINITY)
    assert outcome.expanded < 300_000


def test_progress_tells_of_better_solutions_and_bounds():
    position = deals.deal("greenfelt:1", KLONDIKE)
    lengths, bounds = [], []

    def progress(*, expanded, stored, length, lower_bound, steps=None):
        bounds.append(lower_bound)
        if steps is not None:
            moves, end = expand(position, KLONDIKE, steps)
            assert end.won and reference.length(position, KLONDIKE, moves) == length
            lengths.append(length)

    klondike_optimal.minimum(position, KLONDIKE, "moves", Limits(), progress)
    assert len(lengths) > 1 and lengths == sorted(lengths, reverse=True) and lengths[-1] == 98
    assert bounds == sorted(bounds) and bounds[-1] == 98 and bounds[0] < 90
