"""The three-word state against the reference: the same successors, the same positions."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import numpy as np
import pytest

from cardems_solver import cards, deals, reference
from cardems_solver.kernels import freecell_state as state
from cardems_solver.kernels.jit import jit, jit_making
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


@jit_making
def _neighbours(words, layout, cells, returns, out):
    """All successors of many positions, uint64[m, 3] to uint64[n, 3]."""
    moves = np.empty(state.MAX_MOVES, np.uint16)
    n = 0
    for k in range(words.shape[0]):
        a, b, c = words[k, 0], words[k, 1], words[k, 2]
        for i in range(state.list_moves(a, b, c, layout, cells, returns, 1, moves)):
            move = np.int64(moves[i])
            out[n, 0], out[n, 1], out[n, 2] = state.moved(a, b, c, move >> 3, move & 7)
            n += 1
    return n


def kernel_counts(position, rules, depth):
    """How many positions are 0, 1, ... ``depth`` moves away, by the kernel."""
    layout, words = state.start(position)
    layer = {tuple(words)}
    seen, counts = set(layer), [1]
    for _ in range(depth):
        out = np.zeros((len(layer) * 64, 3), np.uint64)
        n = _neighbours(
            np.array(sorted(layer), np.uint64).reshape(-1, 3), layout, rules.cells, int(rules.foundation_return), out
        )
        layer = set(map(tuple, out[:n])) - seen
        seen |= layer
        counts.append(len(layer))
    return counts


def reference_counts(position, rules, depth):
    """The same by the reference, slowly."""
    layer = {position.canonical(): position}
    seen, counts = set(layer), [1]
    for _ in range(depth):
        after = (reference.apply(p, rules, m) for p in layer.values() for m in reference.legal_moves(p, rules))
        layer = {p.canonical(): p for p in after}
        for key in seen & layer.keys():
            del layer[key]
        seen |= layer.keys()
        counts.append(len(layer))
    return counts


def counted() -> list[tuple[str, int, bool, list[int]]]:
    with open(Path(__file__).parent.parent / "data" / "freecell_counts.csv") as file:
        return [
            (row["deal"], int(row["cells"]), row["foundation_return"] == "1", [*map(int, row["positions"].split())])
            for row in csv.DictReader(file)
        ]


def by_first_move(position, rules, depth):
    """What a failure shows: the counts after each first move, by kernel and reference, where they differ."""
    lines = []
    for move in reference.legal_moves(position, rules):
        after = reference.apply(position, rules, move)
        kernel, plain = kernel_counts(after, rules, depth), reference_counts(after, rules, depth)
        lines.append(f"{move}: kernel {kernel}, reference {plain}" + ("" if kernel == plain else "   <---"))
    return "\n".join(lines)


@pytest.mark.parametrize(("deal", "cells", "returns", "counts"), counted())
def test_positions_counted_by_depth(deal, cells, returns, counts):
    rules = preset("freecell").with_options(cells=cells, foundation_return=returns)
    position = deals.deal(deal, rules)
    found = kernel_counts(position, rules, len(counts) - 1)
    assert found == counts, by_first_move(position, rules, min(len(counts) - 2, 4))


@pytest.mark.slow
@pytest.mark.parametrize(("deal", "cells", "returns", "counts"), counted())
def test_counts_are_the_references(deal, cells, returns, counts):
    rules = preset("freecell").with_options(cells=cells, foundation_return=returns)
    assert reference_counts(deals.deal(deal, rules), rules, len(counts) - 1) == counts
