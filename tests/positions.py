"""Random FreeCell positions for tests: deals, late positions, and where random walks end."""

from __future__ import annotations

import random

from cardems_solver import cards, reference
from cardems_solver.position import EMPTY, Position
from cardems_solver.rules import Rules


def dealt(generator: random.Random, cells: int = 4, columns: int = 8) -> Position:
    """A random deal."""
    deck = list(cards.DECK)
    generator.shuffle(deck)
    return Position(tuple(tuple(deck[j::columns]) for j in range(columns)), (0,) * columns, (EMPTY,) * cells)


def late(generator: random.Random, cells: int, left: int, columns: int = 8) -> Position:
    """A random position with ``left`` cards that are not home, on at most so many columns, the others home."""
    foundations = [13, 13, 13, 13]
    for _ in range(left):
        foundations[generator.choice([s for s in range(4) if foundations[s]])] -= 1
    loose = [cards.card(rank, s) for s in range(4) for rank in range(foundations[s], 13)]
    generator.shuffle(loose)
    in_cells = [loose.pop() for _ in range(generator.randint(0, min(cells, len(loose))))]
    piles: list[list[int]] = [[] for _ in range(columns)]
    for c in loose:
        generator.choice(piles).append(c)
    places = in_cells + [EMPTY] * (cells - len(in_cells))
    return Position(tuple(map(tuple, piles)), (0,) * columns, tuple(places), tuple(foundations))


def walk(generator: random.Random, position: Position, rules: Rules, steps: int) -> Position:
    """Where a random walk ends."""
    for _ in range(steps):
        moves = reference.legal_moves(position, rules)
        if not moves:
            break
        position = reference.apply(position, rules, generator.choice(moves))
    return position
