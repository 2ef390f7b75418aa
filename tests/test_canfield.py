"""Canfield's kernels held against the reference: positions, verdicts, solutions, the most cards that can go home."""

import csv
import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cardems_solver import cards, deals, reference
from cardems_solver.cli import main
from cardems_solver.expand import expand
from cardems_solver.kernels import canfield, canfield_moves, canfield_state, checker, dealing
from cardems_solver.kernels.canfield_state import PRUNE_ALL
from cardems_solver.kernels.jit import entry
from cardems_solver.limits import STATES, Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE
from cardems_solver.position import DRAW, WASTE, Position
from cardems_solver.results import Row, read_results
from cardems_solver.rules import PRESETS, Rules
from tests import naive

WHOLE = PRESETS["canfield"]
PARTIAL = WHOLE.with_options(partial_runs=True)
ANY = PARTIAL.with_options(spaces="any")
DATA = Path(__file__).parent.parent / "data"
VARIANTS = {
    "canfield": WHOLE,
    "partial": PARTIAL,
    "any": ANY,
    "draw-one": WHOLE.with_options(draw=1),
    "draw-two-any": ANY.with_options(draw=2),
    "one-pass": WHOLE.with_options(passes=1),
    "two-passes": PARTIAL.with_options(passes=2),
    "draw-one-two-passes": ANY.with_options(draw=1, passes=2),
}


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def rules(request) -> Rules:
    return request.param


def late_position(rules: Rules, rng: random.Random) -> Position:
    """A random late position, two times in three one that is likely lost: little in the stock, and a reserve with the
    cards that are needed first deep down."""
    if rng.random() < 0.3:
        return naive.late_position(rules, rng, rng.randint(4, 11))
    position = naive.late_position(rules, rng, rng.randint(8, 19))
    held = [*sum(position.columns, ()), *position.reserve, *position.stock, *position.waste]
    rng.shuffle(held)
    columns = tuple((held.pop(),) for _ in range(4))
    in_stock = max(rng.randint(0, 4), len(held) - 13)
    stock, reserve = held[:in_stock], held[in_stock:]
    reserve.sort(key=lambda c: (cards.rank(c) - position.base) % 13 + rng.uniform(0, 6))
    drawn = rng.randint(0, len(stock))
    return replace(
        position, columns=columns, reserve=tuple(reserve), stock=tuple(stock[drawn:]), waste=tuple(stock[:drawn])
    )


@entry
def _successors(table, words, new_words, moves, went):
    return canfield_moves.successors(table, words[0], words[1], words[2], ~np.uint64(0), new_words, moves, went)


@entry
def _settled(table, words, went):
    bases, turns, left, heights, drawn, reserve = canfield_state.unpacked(words[0], words[1])
    bases, second, left, heights, drawn, reserve = canfield_moves.settled(
        table, bases, words[2], left, heights, drawn, turns, reserve, went
    )
    words[0], words[1] = canfield_state.packed(table, bases, turns, left, heights, drawn, reserve)
    words[2] = second


def levels(position: Position, rules: Rules, prune: int, depth: int) -> list[set[tuple[int, ...]]]:
    """The words of the positions first met after 0, 1, ... events, up to ``depth``."""
    table, words, _ = canfield_state.start_of(position, rules, prune)
    new_words = np.zeros((canfield_state.MAX_MOVES, 3), np.uint64)
    moves, went = np.zeros(canfield_state.MAX_MOVES, np.int64), np.zeros(53, np.int64)
    _settled(table, words, went)
    found = [{tuple(words.tolist())}]
    seen = set(found[0])
    while len(found) <= depth and found[-1]:
        found.append(set())
        for key in found[-2]:
            n = _successors(table, np.array(key, np.uint64), new_words, moves, went)
            found[-1].update(key for key in map(tuple, new_words[:n].tolist()) if key not in seen)
        seen |= found[-1]
    return found


def words_of(position: Position, origin: Position, rules: Rules) -> tuple[int, ...]:
    """A position's words in a search from ``origin``, by another way than the kernel's."""
    _, words, _ = canfield_state.start_of(position, rules)
    a, b, c = map(int, words)
    places = {card: i for i, card in enumerate(origin.waste + origin.stock)}
    left = position.waste + position.stock
    turns = rules.passes - position.passes if rules.passes else None
    drawn = len(position.waste)
    if turns is None or turns >= len(places):
        turns = canfield_state.UNLIMITED
        if drawn % rules.draw == 0 or not position.stock:
            drawn = 0
    if rules.partial_runs and rules.spaces == "any" and not position.reserve:
        a = 0
    a = a % 2**52 | turns << 52
    b = b >> 34 << 34 | sum(1 << places[card] for card in left)
    return a, b & ~(63 << 50) | drawn << 50, c


def without_draws(words: tuple[int, ...]) -> tuple[int, ...]:
    """What the words say of everything but cards drawn and turnings left."""
    a, b, c = words
    return a % 2**52, b & ~(63 << 50), c


def test_positions_are_those_of_the_reference(rules):
    rng = random.Random(1)
    compared = 0
    while compared < 6:
        position = late_position(rules, rng)
        try:
            expected = naive.reachable(position, rules, 200)
        except naive.TooMany:
            continue
        compared += 1
        met = set().union(*levels(position, rules, 0, 1000))
        expected = {words_of(p, position, rules) for p in expected.values()}
        assert met <= expected
        assert {without_draws(w) for w in met} == {without_draws(w) for w in expected}


COUNTED = {"canfield": WHOLE, "draw-one": WHOLE.with_options(draw=1), "two-passes": WHOLE.with_options(passes=2)}


def counted() -> list[tuple[str, Rules, int, int]]:
    """Deal, rules, events, number of positions first met after so many events."""
    with open(DATA / "canfield_counts.csv") as file:
        return [
            (row["deal"], COUNTED[row["rules"]], int(row["events"]), int(row["positions"]))
            for row in csv.DictReader(file)
        ]


def test_position_counts():
    for name in sorted({deal for deal, *_ in counted()}):
        for rules in COUNTED.values():
            expected = [n for deal, r, _, n in counted() if (deal, r) == (name, rules)]
            found = levels(deals.deal(name, rules), rules, 0, len(expected) - 1)
            assert [len(level) for level in found] == expected, (name, rules)


def events(position: Position, rules: Rules) -> list[Position]:
    """The positions after one move, or the draws that first bring a card to the waste's top and its play, by the
    reference."""
    found, tops = [after for move, after in naive.successors(position, rules) if move != DRAW], set()
    for _ in range(2 * (len(position.stock) + len(position.waste)) + 2):
        if position.waste[-1:] not in tops:
            tops.add(position.waste[-1:])
            found += [after for move, after in naive.successors(position, rules) if move.source.kind == WASTE]
        if not reference.can_draw(position, rules):
            break
        position = reference.apply(position, rules, DRAW)
    return found


@pytest.mark.slow
def test_position_counts_are_those_of_the_reference():
    for name, rules, depth, _ in counted():
        if depth:
            continue
        origin = deals.deal(name, rules)
        level, seen = {words_of(origin, origin, rules): origin}, set()
        for expected in (n for deal, r, _, n in counted() if (deal, r) == (name, rules)):
            assert len(level) == expected, (name, rules)
            seen |= set(level)
            after = {words_of(p, origin, rules): p for here in level.values() for p in events(here, rules)}
            level = {key: p for key, p in after.items() if key not in seen}


def check_late_positions(rules: Rules, seed: int, number: int, most: int) -> None:
    """Verdict, solution and most cards home of random late positions, by every choice of pruning."""
    rng = random.Random(seed)
    won = []
    while len(won) < number:
        position = late_position(rules, rng)
        try:
            expected = naive.most_home(position, rules, most)
        except naive.TooMany:
            continue
        won.append(expected == 52)
        for prune in range(PRUNE_ALL + 1):
            outcome = canfield.decide(position, rules, Limits(), prune=prune)
            assert outcome.verdict == (SOLVABLE if won[-1] else UNSOLVABLE), (prune, position)
            assert outcome.most_home == expected, (prune, position)
            if won[-1]:
                assert expand(position, rules, outcome.steps)[1].won
            else:
                assert outcome.steps is None
    assert 1 <= sum(won) < number


def test_late_positions(rules):
    check_late_positions(rules, 1, 15, 200)


@pytest.mark.slow
def test_many_late_positions(rules):
    check_late_positions(rules, 2, 60, 2500)


def published(variant: str) -> list[tuple[str, str]]:
    with open(DATA / "canfield_verdicts.csv") as file:
        rows = list(csv.DictReader(file))
    strict = {"canfield": True, "any": False}[variant]
    return [(row["deal"], row["verdict"]) for row in rows if ("strict" in row["solvitaire_type"]) == strict]


@pytest.mark.parametrize("variant", ["canfield", "any"])
def test_published_verdicts(variant):
    rules = VARIANTS[variant]
    rows = published(variant)
    assert len(rows) == {"canfield": 30, "any": 142}[variant]
    for name, verdict in rows:
        position = deals.deal(name, rules)
        outcome = canfield.decide(position, rules, Limits())
        assert outcome.verdict == verdict, name
        if verdict == SOLVABLE:
            assert expand(position, rules, outcome.steps)[1].won, name


def test_many_deals_at_once(rules):
    numbers = np.arange(500, 560, dtype=np.uint64)
    decks = dealing.deal_many("solvitaire", "canfield", numbers)
    n = len(decks)
    verdicts, lengths, most_home = np.zeros(n, np.int8), np.zeros(n, np.int32), np.zeros(n, np.int8)
    expanded, generated = np.zeros(n, np.int64), np.zeros(n, np.int64)
    steps = np.full((n, 512, 2), checker.NO_STEP, np.uint8)
    stop = np.zeros(1, np.uint8)
    canfield.decide_many(decks, rules, 3000, stop, verdicts, lengths, expanded, generated, steps, most_home)
    found = np.zeros(n, np.int32)
    rows = checker.rules_row(rules)
    table, single = checker.new_table(), checker.single_moves()
    assert checker.check_many(table, rows, single, 0, decks, verdicts, steps, found) == -1
    assert np.array_equal(lengths[verdicts == 1], (steps[verdicts == 1, :, 0] < 52).sum(axis=1))
    for i in np.flatnonzero(verdicts)[::6]:
        outcome = canfield.decide(deals.deal(f"solvitaire:{numbers[i]}", rules), rules, Limits())
        assert outcome.verdict == (None, SOLVABLE, UNSOLVABLE)[verdicts[i]]
        assert (outcome.most_home, outcome.expanded) == (most_home[i], expanded[i])
    assert len(set(verdicts)) > 1 or rules.passes

    stop[0] = 1
    canfield.decide_many(decks, rules, 3000, stop, verdicts, lengths, expanded, generated, steps, most_home)
    assert not verdicts.any()


def test_positions_on_the_way_to_a_win_can_be_won(rules):
    for name in ("solvitaire:2", "solvitaire:3", "solvitaire:17"):
        position = deals.deal(name, rules)
        outcome = canfield.decide(position, rules, Limits(states=200_000))
        if outcome.verdict != SOLVABLE:
            continue
        moves, _ = expand(position, rules, outcome.steps)
        for i, move in enumerate(moves):
            if i % 12 == 5:
                after = canfield.decide(position, rules, Limits())
                assert after.verdict == SOLVABLE
                assert expand(position, rules, after.steps)[1].won
            position = reference.apply(position, rules, move)


def test_easier_games_end_long_searches_sooner(monkeypatch):
    """Verdict and most cards home are the same with and without them."""
    for name, rules in (
        ("solvitaire:4", ANY),
        ("solvitaire:11", WHOLE),
        ("solvitaire:220", ANY),
        ("solvitaire:26", WHOLE),
    ):
        position = deals.deal(name, rules)
        monkeypatch.setattr(canfield, "EASIER_FROM", 1 << 60)
        alone = canfield.decide(position, rules, Limits())
        monkeypatch.setattr(canfield, "EASIER_FROM", 1000)
        helped = canfield.decide(position, rules, Limits())
        assert (helped.verdict, helped.most_home) == (alone.verdict, alone.most_home)
        if helped.verdict == SOLVABLE:
            assert expand(position, rules, helped.steps)[1].won


def test_a_verdict_may_be_known_before_the_most_cards_home(monkeypatch, tmp_path):
    """A lost deal whose pay a limit leaves open: ``solve`` says so, ``batch`` counts it as lost and can retry it, and
    ``stats`` bounds the pay."""
    monkeypatch.setattr(canfield, "EASIER_FROM", 1000)
    position = deals.deal("solvitaire:284", ANY)
    outcome = canfield.decide(position, ANY, Limits(states=20_000))
    assert (outcome.verdict, outcome.most_home, outcome.reason) == (UNSOLVABLE, None, STATES)
    assert canfield.decide(position, ANY, Limits()).most_home == 23

    game = ["canfield", "--partial-runs", "--spaces", "any"]
    done = CliRunner().invoke(main, ["solve", *game, "solvitaire:284", "--max-states", "20000", "--quiet"])
    assert done.exit_code == 10
    assert (
        "unsolvable, proved, how many cards can be brought home is not known, ended by the state-limit" in done.stdout
    )

    path = str(tmp_path / "x.jsonl")
    batch = ["batch", *game, "solvitaire:283..284", "--out", path, "--jobs", "1", "--json", "--quiet"]
    done = CliRunner().invoke(main, [*batch, "--max-states", "20000"])
    assert json.loads(done.stdout.splitlines()[-1])["unsolvable"] == 1
    pay = json.loads(CliRunner().invoke(main, ["stats", path, "--json"]).stdout)["pay"]
    assert (pay["mean"], pay["not_known"]) == (None, 1)
    done = CliRunner().invoke(main, [*batch, "--retry-undecided"])
    assert json.loads(done.stdout.splitlines()[-1])["unsolvable"] == 1
    rows = [found for found in read_results(path) if isinstance(found, Row)]
    assert {row.deal: row.most_home for row in rows} == {"solvitaire:283": 52, "solvitaire:284": 23}


def test_limits():
    position = deals.deal("solvitaire:8", WHOLE)
    outcome = canfield.decide(position, WHOLE, Limits(states=5000))
    assert (outcome.verdict, outcome.reason, outcome.most_home) == (UNDECIDED, STATES, None)
    assert outcome.stored >= 5000
    outcome = canfield.decide(position, WHOLE, Limits(memory=1_000_000))
    assert outcome.reason == "memory-limit" and outcome.bytes <= 1_000_000
    limits = Limits()
    limits.stop[0] = 1
    assert canfield.decide(position, WHOLE, limits).reason == "interrupted"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": ((), (1,), (2,), (3,))}, "column 1 is empty"),
        ({"columns": ((8, 4), (1,), (2,), (3,))}, "column 1 is not a run"),
        ({"stock": tuple(range(35))}, "34 cards in the stock"),
    ],
)
def test_impossible_positions_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        canfield.decide(replace(deals.deal("solvitaire:1", WHOLE), **change), WHOLE, Limits())
