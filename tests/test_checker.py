"""The compiled referee against the slow one: random games of every rule set, played well and badly."""

import random

import numpy as np
import pytest

from cardems_solver import cards, reference, rules
from cardems_solver.expand import expand, single_cards
from cardems_solver.kernels import checker
from cardems_solver.outcome import TO_CELL, TO_COLUMN, TO_FOUNDATION
from cardems_solver.position import CELL, COLUMN, DRAW, EMPTY, FOUNDATION, Move, Pile, Position

RULES = {
    "freecell": rules.preset("freecell"),
    "freecell, 2 cells, no return": rules.preset("freecell").with_options(cells=2, foundation_return=False),
    "freecell, no cells": rules.preset("freecell").with_options(cells=0),
    "klondike": rules.preset("klondike"),
    "klondike-one-pass": rules.preset("klondike-one-pass"),
    "klondike-draw-three": rules.preset("klondike-draw-three"),
    "klondike, draw 3, return": rules.preset("klondike").with_options(draw=3),
    "canfield": rules.preset("canfield"),
    "canfield, two passes": rules.preset("canfield").with_options(passes=2, draw=1),
    "canfield, partial runs, any": rules.preset("canfield").with_options(partial_runs=True, spaces="any"),
}


def deal(deck, game: rules.Rules) -> Position:
    """A deck in canonical card order laid out, plainly."""
    deck = tuple(deck)
    if game.game == "freecell":
        columns = tuple(deck[i::8] for i in range(8))
        return Position(columns, (0,) * 8, cells=(EMPTY,) * game.cells)
    if game.game == "klondike":
        starts = [i * (i + 1) // 2 for i in range(8)]
        columns = tuple(deck[starts[i] : starts[i + 1]] for i in range(7))
        return Position(columns, tuple(range(7)), stock=deck[28:])
    home = tuple(int(cards.suit(deck[0]) == s) for s in range(4))
    columns = tuple((c,) for c in deck[14:18])
    return Position(columns, (0,) * 4, foundations=home, base=cards.rank(deck[0]), reserve=deck[1:14], stock=deck[18:])


def late(rng: random.Random, game: rules.Rules) -> Position:
    """A random position with most cards home, the others anywhere that the game has."""
    base = rng.randrange(13) if game.game == "canfield" else 0
    left = rng.randrange(4, 22)
    foundations = [13] * 4
    loose = []
    while len(loose) < left:
        suit = rng.randrange(4)
        if foundations[suit] > (game.game == "canfield"):
            foundations[suit] -= 1
            loose.append(cards.card((base + foundations[suit]) % 13, suit))
    rng.shuffle(loose)
    columns = [[] for _ in range(game.columns)]
    cells, talon, reserve = [], [], []
    for c in loose:
        places = [*columns, columns[rng.randrange(game.columns)]]
        if len(cells) < game.cells:
            places.append(cells)
        if game.game != "freecell":
            places += [talon] * game.columns
        if game.game == "canfield":
            places += [reserve] * 2
        rng.choice(places).append(c)
    for column in columns:
        if not column and reserve:
            column.append(reserve.pop())
    drawn = rng.randrange(len(talon) + 1)
    down = [rng.randrange(len(c)) if c and game.game == "klondike" and rng.random() < 0.5 else 0 for c in columns]
    return Position(
        tuple(map(tuple, columns)),
        tuple(down),
        cells=tuple(cells) + (EMPTY,) * (game.cells - len(cells)),
        foundations=tuple(foundations),
        base=base,
        reserve=tuple(reserve),
        stock=tuple(talon[drawn:]),
        waste=tuple(talon[:drawn]),
        passes=rng.randint(1, game.passes) if game.passes else rng.randint(1, 3),
    )


def as_step(position: Position, move: Move) -> tuple[int, int]:
    source, target, count = move
    if source.kind == COLUMN:
        card = position.columns[source.index][-count]
    elif source.kind == CELL:
        card = position.cells[source.index]
    elif source.kind == FOUNDATION:
        card = position.foundation_top(source.index)
    else:
        card = (position.waste if source.kind == "waste" else position.reserve)[-1]
    if target.kind == FOUNDATION:
        return card, TO_FOUNDATION
    if target.kind == CELL:
        return card, TO_CELL
    column = position.columns[target.index]
    return card, column[-1] if column else TO_COLUMN


def play_at_random(rng: random.Random, position: Position, game: rules.Rules, most: int) -> list[tuple[int, int]]:
    """Steps of a random game that likes to send cards home."""
    steps = []
    for _ in range(2 * most):
        if position.won or len(steps) == most:
            break
        ahead = position
        for _ in range(rng.randrange(6)):
            if reference.can_draw(ahead, game):
                ahead = reference.apply(ahead, game, DRAW)
        moves = [move for move in reference.legal_moves(ahead, game) if move != DRAW]
        if not moves:
            continue
        home = [move for move in moves if move.target.kind == FOUNDATION]
        step = as_step(ahead, rng.choice(home if home and rng.random() < 0.8 else moves))
        position = expand(position, game, [step])[1]
        steps.append(step)
    return steps


def spoil(rng: random.Random, steps: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The steps with a few of them changed, left out, doubled or swapped."""
    steps = list(steps)
    for _ in range(rng.choice((1, 1, 2))):
        if not steps:
            break
        i = rng.randrange(len(steps))
        match rng.randrange(5):
            case 0:
                steps[i] = (steps[i][0], rng.randrange(55))
            case 1:
                steps[i] = (rng.randrange(52), rng.choice((steps[i][1], rng.randrange(55))))
            case 2:
                del steps[i]
            case 3:
                steps.insert(i, steps[i])
            case 4:
                j = rng.randrange(len(steps))
                steps[i], steps[j] = steps[j], steps[i]
    return steps


def judge(position: Position, game: rules.Rules, steps) -> tuple[int, bool, bool, int, int]:
    """Steps made, all legal, won, and the lengths in moves and taps, by the reference."""
    moves, now = [], position
    for n, step in enumerate(steps):
        try:
            more, now = expand(now, game, [step])
        except ValueError:  # IllegalMove, or the game has no free cell
            return n, False, False, 0, 0
        moves += more
    lengths = [reference.length(position, game, moves, metric) for metric in ("moves", "taps")]
    return len(steps), True, now.won, *lengths


@pytest.mark.parametrize("name", RULES)
def test_it_agrees_with_the_reference(name):
    game = RULES[name]
    rng = random.Random(name)
    row, single = checker.rules_row(game), checker.single_moves()
    won = spoilt = 0
    for trial in range(150):
        position = deal(rng.sample(range(52), 52), game) if trial % 4 == 0 else late(rng, game)
        for steps in (good := play_at_random(rng, position, game, 60), spoil(rng, good), spoil(rng, good)):
            expected = judge(position, game, steps)
            table = checker.load(position)
            made, legal, finished = checker.replay(table, row, single, np.array(steps, np.uint8).reshape(-1, 2))
            assert (made, legal) == expected[:2], (position, steps)
            if legal:
                assert finished == expected[2], (position, steps)
                assert table[checker.COUNT, checker.MADE] == expected[3]
                assert table[checker.COUNT, checker.MADE] + table[checker.COUNT, checker.TURNED] == expected[4]
            won += legal and finished
            spoilt += not legal
    assert won > 20 and spoilt > 50, "the games must be of both kinds for this test to mean anything"


@pytest.mark.parametrize("name", RULES)
def test_it_deals_as_the_reference_does(name):
    game = RULES[name]
    rng = random.Random(name)
    table, row = checker.new_table(), checker.rules_row(game)
    for _ in range(20):
        deck = rng.sample(range(52), 52)
        checker.check_many(
            table,
            row,
            checker.single_moves(),
            0,
            np.array([deck], np.uint8),
            np.ones(1, np.int8),
            np.full((1, 3, 2), checker.NO_STEP, np.uint8),
            np.zeros(1, np.int32),
        )
        expected = checker.load(deal(deck, game))
        assert (table[checker.HOME :] == expected[checker.HOME :]).all()
        for place in (*range(8), checker.TALON, checker.RESERVE):
            height = table[checker.HEIGHT, place]
            assert (table[place, :height] == expected[place, :height]).all()


def test_a_false_solution_is_found_among_others():
    game = RULES["klondike"]
    decks = np.array([range(52)] * 3, np.uint8)
    steps = np.full((3, 4, 2), checker.NO_STEP, np.uint8)
    lengths = np.zeros(3, np.int32)
    arguments = checker.new_table(), checker.rules_row(game), checker.single_moves(), 0, decks
    assert checker.check_many(*arguments, np.array([0, 2, 0], np.int8), steps, lengths) == -1
    assert (lengths == -1).all()
    assert checker.check_many(*arguments, np.array([0, 2, 1], np.int8), steps, lengths) == 2


@pytest.mark.parametrize("n", range(1, 14))
def test_the_cards_metric_counts_a_run_as_it_is_carried(n):
    game = rules.preset("freecell")
    run = tuple(cards.card(12 - i, 2 * (i % 2)) for i in range(n))
    single = checker.single_moves()
    for e in range(5):
        for m in range(6):
            empty = ((),) * m
            columns = ((cards.card(4, 1),), run, *empty, *((cards.card(i, 3),) for i in range(5 - m)), ())
            position = Position(columns, (0,) * len(columns), cells=(EMPTY,) * e)
            move = Move(Pile(COLUMN, 1), Pile(COLUMN, len(columns) - 1), n)
            if n > (1 + e) << m:
                assert single[n, e, m] == 0
            else:
                assert single[n, e, m] == len(single_cards(position, game, [move]))
