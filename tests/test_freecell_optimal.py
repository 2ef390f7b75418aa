"""The fewest moves in FreeCell, by breadth-first search on random late positions and by published minima.

Breadth-first search over the reference is too slow for thousands of positions. The compiled one here uses
``freecell_state.list_moves``, which ``test_freecell_state`` holds against the reference, and nothing else of the
kernels that it judges: no bound, no safe moves, no other representation. Some are checked with the reference, too.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

import numpy as np
import pytest

from cardems_solver import deals, reference
from cardems_solver.expand import expand
from cardems_solver.kernels import freecell_optimal, freecell_store
from cardems_solver.kernels import freecell_state as state
from cardems_solver.kernels.bits import U0, mix3
from cardems_solver.kernels.freecell_astar import BEST, CROWDED, LAYER, PAUSED, TOO_LONG, _put_off
from cardems_solver.kernels.freecell_board import BOARD, FULL, home_count, spread
from cardems_solver.kernels.freecell_bounds import fewest_aside
from cardems_solver.kernels.freecell_clauses import CLAUSES, KEPT
from cardems_solver.kernels.freecell_hitting import runs_to_hit
from cardems_solver.kernels.freecell_relaxed import packing, send_home, set_aside, shortest_cycle
from cardems_solver.kernels.jit import jit, jit_making, record
from cardems_solver.kernels.table import find, insert
from cardems_solver.limits import MEMORY, STATES, Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE
from cardems_solver.position import EMPTY, Position
from cardems_solver.rules import preset
from tests import naive

DATA = Path(__file__).parent.parent / "data"
TOO_MANY, LOST = -2, -1


@jit_making
def _breadth_first(a, b, c, layout, cells, returns, runs, words, depths, slots):
    """The distance to the won position, LOST or TOO_MANY."""
    moves = np.zeros(state.MAX_MOVES, np.uint16)
    words[0, 0], words[0, 1], words[0, 2] = a, b, c
    depths[0] = 0
    slots[:] = 0
    slots[-1 - find(slots, words, a, b, c)] = 1
    stored = 1
    at = 0
    while at < stored:
        a, b, c = words[at, 0], words[at, 1], words[at, 2]
        if (a & c) == state.DECK and b == U0:
            return depths[at]
        if stored + state.MAX_MOVES > words.shape[0]:
            return TOO_MANY
        for i in range(state.list_moves(a, b, c, layout, cells, returns, runs, moves)):
            x, y, z = state.moved(a, b, c, np.int64(moves[i]) >> 3, np.int64(moves[i]) & 7)
            slot = find(slots, words, x, y, z)
            if slot < 0:
                words[stored, 0], words[stored, 1], words[stored, 2] = x, y, z
                depths[stored] = depths[at] + 1
                stored += 1
                slots[-1 - slot] = stored
        at += 1
    return LOST


def fewest(position, rules, metric, most=15_000):
    layout, words = state.start(position)
    room = np.zeros((most, 3), np.uint64), np.zeros(most, np.int64), np.zeros(1 << (2 * most).bit_length(), np.uint32)
    return _breadth_first(*words, layout, rules.cells, int(rules.foundation_return), int(metric == "moves"), *room)


def random_case(rng: random.Random, returns: bool, left: int = 22):
    rules = preset("freecell").with_options(cells=rng.choice([0, 0, 0, 0, 1, 1, 2, 3, 4]), foundation_return=returns)
    return naive.late_position(rules, rng, rng.randint(6, left + 10 * (rules.cells == 0))), rules


def check_minimum(position, rules, metric, least, **options):
    """The kernel's answer is ``least``, and its solution one that the reference accepts."""
    outcome = freecell_optimal.minimum(position, rules, metric, Limits(), **options)
    if least == LOST:
        assert (outcome.verdict, outcome.steps) == (UNSOLVABLE, None), position
        return
    assert (outcome.verdict, outcome.optimal, outcome.lower_bound) == (SOLVABLE, True, least), position
    moves, final = expand(position, rules, outcome.steps)
    assert final.won
    assert reference.length(position, rules, moves, metric) == least


def check_late_positions(metric: str, returns: bool, number: int, left: int, seed: int) -> int:
    """Check as many positions that can be won, and some that cannot; returns how many of those."""
    rng = random.Random(f"{seed} {metric} {returns}")
    won = lost = 0
    while won < number:
        position, rules = random_case(rng, returns, left)
        least = fewest(position, rules, metric)
        if least == TOO_MANY or (least == LOST and lost > won // 4):
            continue
        check_minimum(position, rules, metric, least, safe=rng.random() < 0.7, blocks=rng.random() < 0.8)
        won += least != LOST
        lost += least == LOST
    return lost


RETURNS = pytest.mark.parametrize("returns", [False, True])
METRICS = pytest.mark.parametrize("metric", ["moves", "cards"])


@RETURNS
@METRICS
def test_late_positions_by_breadth_first_search(metric, returns):
    check_late_positions(metric, returns, 25, left=16, seed=1)


@pytest.mark.slow
@RETURNS
@METRICS
def test_thousands_of_late_positions_by_breadth_first_search(metric, returns):
    assert check_late_positions(metric, returns, 2000, left=26, seed=2) > 40


@METRICS
def test_small_positions_by_the_reference(metric):
    rng = random.Random(4)
    checked = 0
    for _ in range(20):
        position, rules = random_case(rng, returns=False, left=6)
        try:
            least = naive.fewest(position, rules, metric, most=400)
        except naive.TooMany:
            continue
        check_minimum(position, rules, metric, LOST if least is None else least)
        checked += 1
    assert checked


@pytest.mark.parametrize(("metric", "deal", "least"), [("moves", 3, 70), ("moves", 2, 73), ("cards", 2, 75)])
def test_published_minima(metric, deal, least):
    rules = preset("freecell").with_options(foundation_return=False)
    check_minimum(deals.deal(deal, rules), rules, metric, least)


def read(name: str) -> dict[str, dict[str, str]]:
    with open(DATA / name, newline="") as file:
        return {row["ms_deal"]: row for row in csv.DictReader(file)}


def test_our_minima_agree_with_what_is_published():
    ours = read("freecell_minimum.csv")
    for deal, row in read("freecell_moves.csv").items():
        if deal in ours:
            assert int(ours[deal]["moves"]) <= int(row["upper_bound_moves"])
            assert row["proved_minimum"] in ("", ours[deal]["moves"])
    for deal, row in read("freecell_cards_minimum.csv").items():
        if deal in ours:
            assert row["minimum_cards"] == ours[deal]["cards"]
    for row in ours.values():
        assert not row["moves_with_return"] or int(row["moves_with_return"]) <= int(row["moves"])
        assert not row["cards"] or int(row["moves"]) <= int(row["cards"])


def check_our_minima(most: int) -> int:
    """Prove again those that take at most so many states; returns how many."""
    checked = 0
    for deal, row in read("freecell_minimum.csv").items():
        for column, states, metric, returns in (
            ("moves", "states", "moves", False),
            ("moves_with_return", "states_with_return", "moves", True),
            ("cards", "states_cards", "cards", False),
        ):
            if row[column] and int(row[states]) <= most:
                rules = preset("freecell").with_options(foundation_return=returns)
                check_minimum(deals.deal(f"ms:{deal}", rules), rules, metric, int(row[column]))
                checked += 1
    return checked


def test_our_minima():
    assert check_our_minima(2000) > 10


@pytest.mark.slow
def test_more_of_our_minima():
    assert check_our_minima(500_000) > 300


def test_running_out_of_lengths_is_no_proof():
    search = freecell_optimal.Search(deals.deal(1, preset("freecell")), preset("freecell"), "moves", Limits())
    counts = search.counts
    for layer, best, status, waits in ((253, 255, PAUSED, 254), (254, 255, TOO_LONG, 0), (99, 100, PAUSED, 0)):
        counts[LAYER], counts[BEST], search.pool.waiting[0] = layer, best, 0
        assert _put_off(0, search.pool, counts) == status
        assert search.pool.waiting[0] == waits


def test_limits_leave_bounds():
    rules = preset("freecell").with_options(foundation_return=False)
    position = deals.deal(1, rules)
    for limits, reason in ((Limits(states=20_000), STATES), (Limits(memory=1_000_000), MEMORY)):
        outcome = freecell_optimal.minimum(position, rules, "moves", limits)
        assert outcome.reason == reason
        assert not outcome.optimal
        assert 73 <= outcome.lower_bound <= 81
        if outcome.verdict == SOLVABLE:
            assert len(outcome.steps) >= 81
        else:
            assert outcome.verdict == UNDECIDED
        assert outcome.bytes <= limits.memory


def test_won_position():
    won = Position(((),) * 8, (0,) * 8, (EMPTY,) * 4, (13, 13, 13, 13))
    outcome = freecell_optimal.minimum(won, preset("freecell"), "moves", Limits())
    assert (outcome.steps, outcome.lower_bound, outcome.optimal) == ([], 0, True)


@jit_making
def _bounds_along(a, b, c, layout, under, cells, returns, runs, choices, board, room):
    """Is, along a walk and for every successor, the bound at most one more or less, and the quick bound no higher?"""
    moves = np.zeros(state.MAX_MOVES, np.uint16)
    for i in range(choices.size):
        heights, nexts = spread(board, a, b, c, under, runs)
        here = 52 - home_count(nexts) + fewest_aside(board, heights, nexts, room)
        if packing(board, heights, nexts, 99) > here - 52 + home_count(nexts):
            return False
        n = state.list_moves(a, b, c, layout, cells, returns, runs, moves)
        if n == 0:
            break
        for j in range(n):
            x, y, z = state.moved(a, b, c, np.int64(moves[j]) >> 3, np.int64(moves[j]) & 7)
            heights, nexts = spread(board, x, y, z, under, runs)
            there = 52 - home_count(nexts) + fewest_aside(board, heights, nexts, room)
            if there < here - 1 or there > here + 1:
                return False
        move = np.int64(moves[choices[i] % n])
        a, b, c = state.moved(a, b, c, move >> 3, move & 7)
    return True


@RETURNS
@METRICS
def test_the_bound_falls_by_one_a_move_at_most(metric, returns):
    rng = np.random.default_rng(8)
    rules = preset("freecell").with_options(foundation_return=returns)
    board, runs = record(BOARD), int(metric == "moves")
    for deal in range(1, 11):
        position, room = deals.deal(deal, rules), record(CLAUSES)
        layout, words = state.start(position)
        under, choices = freecell_optimal.below(position), rng.integers(0, 1 << 30, 60)
        assert _bounds_along(*words, layout, under, rules.cells, int(returns), runs, choices, board, room)


@jit
def _tried_out(board, heights, nexts, most):
    """``freecell_bounds.within`` by trying every top of a cycle, without clauses."""
    heights, nexts, _ = send_home(board, heights, nexts, U0)
    if nexts == FULL:
        return True
    if most == 0:
        return False
    cycle = shortest_cycle(board, heights, nexts)
    while cycle:
        after, _ = set_aside(board, heights, nexts, U0, (cycle & 7) - 1)
        if _tried_out(board, after, nexts, most - 1):
            return True
        cycle >>= 3
    return False


@jit
def _spread(board, words, under, runs):
    return spread(board, words[0], words[1], words[2], under, runs)


@jit
def _fewest_aside(board, heights, nexts, room):
    return fewest_aside(board, heights, nexts, room)


@METRICS
def test_the_relaxed_game_by_trying_everything(metric):
    rng = random.Random(9)
    board, runs = record(BOARD), int(metric == "moves")
    for _ in range(300):
        position, room = naive.late_position(preset("freecell"), rng, rng.randint(12, 36)), record(CLAUSES)
        _, words = state.start(position)
        heights, nexts = _spread(board, words, freecell_optimal.below(position), runs)
        aside = _fewest_aside(board, heights, nexts, room)
        assert _tried_out(board, heights, nexts, aside)
        assert aside == 0 or not _tried_out(board, heights, nexts, aside - 1)


@jit
def _hits(clauses, low, high, most, guess):
    return runs_to_hit(clauses, low, high, most, guess)


def _fewest(masks: list[int], most: int) -> int | None:
    """The size of a smallest set of bits that hits all masks, None if above ``most``."""
    if not masks:
        return 0
    if most <= 0:
        return None
    best = None
    for i in range(52):
        if masks[0] >> i & 1:
            rest = _fewest([mask for mask in masks if not mask >> i & 1], most - 1)
            if rest is not None:
                best, most = rest + 1, rest
    return best


def test_sets_of_runs_that_hit_clauses():
    rng = random.Random(5)
    search = freecell_optimal.Search(deals.deal(4, preset("freecell")), preset("freecell"), "moves", Limits())
    while not search.clauses["runs"].all():  # all places in use, most of them more than once
        if search.advance(1000) == CROWDED:
            search.grow()
    runs = [int(mask) for mask in search.clauses["runs"]]
    for i in range(KEPT):
        near = int(search.clauses["near"][i, 0]) | int(search.clauses["near"][i, 1]) << 64
        assert near == sum(1 << j for j in range(KEPT) if runs[i] & runs[j])
    for _ in range(200):
        chosen = rng.sample(range(KEPT), rng.randint(1, 14))
        low, high = (np.uint64(sum(1 << i % 64 for i in chosen if i // 64 == word)) for word in range(2))
        fewest = _fewest([runs[i] for i in chosen], 20)
        for most in rng.sample((fewest - 1, fewest, fewest, fewest + 1), 4):
            guess = np.uint64(sum({runs[i] & -runs[i] for i in chosen}) if rng.random() < 0.5 else 0)
            hit, found = _hits(search.clauses, low, high, most, guess)
            assert hit == (most >= fewest)
            assert not hit or (int(found).bit_count() <= most and all(runs[i] & int(found) for i in chosen))


@jit
def _store(slots, words, n, a, b, c):
    slot = freecell_store.find(slots, words, a, b, c)
    if slot < 0:
        freecell_store.put(words, n, a, b, c, n // 2)
        insert(slots, mix3(a, b, c), n)
    return slot


def test_stored_positions_are_found_again():
    rng = np.random.default_rng(6)
    # few different words, so that there are many positions with two in common
    choice = rng.integers(0, 1 << 52, 20, np.uint64)
    positions = np.unique(choice[rng.integers(0, 20, (3000, 3))], axis=0)
    words, slots = np.zeros((3000, 3), np.uint64), np.zeros(4096, np.uint32)
    for n, position in enumerate(positions):
        assert _store(slots, words, n, *position) < 0
    longer = np.zeros(8192, np.uint32)
    freecell_store.rehash(longer, words, len(positions))
    for n, position in enumerate(positions):
        assert _store(slots, words, 0, *position) == n
        assert _store(longer, words, 0, *position) == n
    assert freecell_store.path(words, 1000) == [0, 1, 3, 7, 15, 31, 62, 125, 250, 500, 1000]


@pytest.mark.parametrize("returns", [False, True])
def test_a_minimum_that_a_rule_on_full_cells_missed(returns):
    rules = preset("freecell").with_options(foundation_return=returns)
    assert len(freecell_optimal.minimum(deals.deal("ms:47", rules), rules, "moves", Limits()).steps) == 74
