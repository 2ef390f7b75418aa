"""The three-word state against the reference: the same successors, the same positions."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cardems_solver import cards, reference
from cardems_solver.kernels import freecell_state as state
from cardems_solver.kernels.jit import jit
from cardems_solver.position import EMPTY, Position
from cardems_solver.rules import Rules, preset
from tests import naive


def walk(rng: random.Random, position: Position, rules: Rules, steps: int) -> Position:
    """Where a random walk ends."""
    for _ in range(steps):
        moves = reference.legal_moves(position, rules)
        if not moves:
            break
        position = reference.apply(position, rules, rng.choice(moves))
    return position


@jit
def _successors(a, b, c, layout, cells, returns, runs, out, moves):
    n = state.list_moves(a, b, c, layout, cells, returns, runs, moves)
    for i in range(n):
        move = np.int64(moves[i])
        out[i, 0], out[i, 1], out[i, 2] = state.moved(a, b, c, move >> 3, move & 7)
    return n


def successors(words, layout, cells, returns, runs):
    out = np.zeros((state.MAX_MOVES, 3), np.uint64)
    moves = np.zeros(state.MAX_MOVES, np.uint16)
    n = _successors(*words, layout, cells, returns, runs, out, moves)
    return out[:n], moves[:n]


def check_successors(origin: Position, position: Position, layout, words, rules):
    """The kernel's successors of a position reached from ``origin`` are the reference's."""
    returns = int(rules.foundation_return)
    for runs in (0, 1):
        found, _ = successors(words, layout, rules.cells, returns, runs)
        kernel = sorted(state.decoded(w, origin).canonical() for w in found)
        plain = [m for m in reference.legal_moves(position, rules) if runs or m.count == 1]
        # several moves of the reference may lead to positions that differ only in the order of columns or cells
        expected = sorted({reference.apply(position, rules, m).canonical() for m in plain})
        assert kernel == expected


@pytest.mark.parametrize("returns", [False, True])
@pytest.mark.parametrize("cells", range(9))
def test_successors_are_the_references(cells, returns):
    generator = random.Random(cells * 2 + returns)
    rules = preset("freecell").with_options(cells=cells, foundation_return=returns)
    for number in range(40):
        if number % 2:
            origin = naive.late_position(rules, generator, generator.randint(1, 40))
        else:
            origin = walk(generator, naive.random_deal(rules, generator), rules, generator.choice([0, 0, 30, 200]))
        layout, words = state.start(origin)
        position = origin
        assert state.decoded(words, origin).canonical() == origin.canonical()
        for _ in range(6):
            check_successors(origin, position, layout, words, rules)
            found, moves = successors(words, layout, cells, int(returns), 1)
            if not len(moves):
                break
            words = found[generator.randrange(len(moves))]
            position = state.decoded(words, origin)


def test_words_forget_the_names_of_columns_and_cells():
    generator = random.Random(7)
    rules = preset("freecell")
    for _ in range(50):
        position = walk(generator, naive.random_deal(rules, generator), rules, 60)
        columns, places = list(position.columns), list(position.cells)
        generator.shuffle(columns)
        generator.shuffle(places)
        other = Position(tuple(columns), position.face_down, tuple(places), position.foundations)
        assert np.array_equal(state.start(position)[1], state.start(other)[1])


def test_missing_columns_are_empty():
    position = Position((tuple(range(52)),), (0,), (EMPTY,) * 4)
    layout, words = state.start(position)
    _, moves = successors(words, layout, 4, 0, 1)
    top = 51
    assert {int(m) for m in moves} == {top << 3 | state.CELL, top << 3 | state.BASE}


@pytest.mark.parametrize("returns", [0, 1])
def test_safe_cards_by_the_rule_in_words(returns):
    generator = random.Random(3)
    for _ in range(300):
        heights = [generator.randint(0, 13) for _ in range(4)]
        if generator.random() < 0.5:
            level = generator.randint(0, 11)
            heights = [min(13, level + generator.randint(0, 2)) for _ in range(4)]
        home = sum(1 << cards.card(r, s) for s in range(4) for r in range(heights[s]))
        expected = set()
        for s in range(4):
            r = heights[s]
            others = all(heights[o] >= r for o in (s ^ 2, s ^ 3))
            twin = heights[s ^ 1] >= r - 1
            if r < 13 and others and (twin or not returns):
                expected.add(cards.card(r, s))
        assert {c for c in cards.DECK if int(state.safe_home(np.uint64(home), returns)) >> c & 1} == expected


def test_kernels_return_no_floats():
    layout, words = state.start(naive.random_deal(preset("freecell"), random.Random(1)))
    a, b, c = words
    out = np.zeros(state.MAX_MOVES, np.uint16)
    state.list_moves(a, b, c, layout, 4, 1, 1, out)
    state.moved(a, b, c, 3, 4)
    state.safe_home(a & c, 1)
    state.capacity(a, b, c, 4, True)
    for function in (state.list_moves, state.moved, state.safe_home, state.capacity):
        for overload in function.overloads.values():
            assert "float" not in str(overload.signature.return_type)
