"""Random games of every kind for tests: deals and the positions of walks that lean towards the foundations."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from cardems_solver import cards, deals, reference
from cardems_solver.position import FOUNDATION, STOCK, Move, Position
from cardems_solver.rules import PRESETS, Rules

FREECELL, KLONDIKE, CANFIELD = PRESETS["freecell"], PRESETS["klondike"], PRESETS["canfield"]

RULES = [
    FREECELL,
    FREECELL.with_options(cells=0),
    FREECELL.with_options(cells=8),
    KLONDIKE,
    KLONDIKE.with_options(draw=3),
    PRESETS["klondike-one-pass"],
    PRESETS["klondike-draw-three"],
    CANFIELD,
    CANFIELD.with_options(partial_runs=True, spaces="any", draw=1),
]


def random_deal(generator: random.Random, rules: Rules) -> Position:
    deck = list(cards.DECK)
    generator.shuffle(deck)
    return deals.lay_out(deck, rules)


def random_game(generator: random.Random, rules: Rules, steps: int) -> tuple[Position, list[Move]]:
    """A deal and some legal moves from it, at most so many; moves home are taken more often than others."""
    start = position = random_deal(generator, rules)
    moves: list[Move] = []
    while len(moves) < steps:
        legal = reference.legal_moves(position, rules)
        if not legal:
            break
        home = [move for move in legal if move.target.kind == FOUNDATION]
        moved = [move for move in legal if move.source.kind not in (STOCK, FOUNDATION)]
        choice = next((kind for kind in (home, moved) if kind and generator.random() < 0.7), legal)
        moves.append(generator.choice(choice))
        position = reference.apply(position, rules, moves[-1])
    return start, moves


@st.composite
def games(draw, rules: list[Rules] = RULES, steps: int = 120) -> tuple[Rules, Position, list[Move]]:
    """Rules, a random deal and a random legal move list."""
    chosen = draw(st.sampled_from(rules))
    generator = random.Random(draw(st.integers(0, 2**32)))
    return (chosen, *random_game(generator, chosen, draw(st.integers(0, steps))))


@st.composite
def positions(draw, rules: list[Rules] = RULES, steps: int = 120) -> tuple[Rules, Position]:
    """Rules and a position that a random game came to."""
    chosen, position, moves = draw(games(rules, steps))
    for move in moves:
        position = reference.apply(position, chosen, move)
    return chosen, position
