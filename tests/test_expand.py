"""Runs carried card by card end where the run would have ended."""

from __future__ import annotations

import random

from cardems_solver import expand, reference
from cardems_solver.position import COLUMN
from cardems_solver.rules import preset
from tests import naive


def test_runs_carried_card_by_card_end_in_the_same_position():
    rng = random.Random(5)
    rules = preset("freecell")
    longest = 0
    for _ in range(300):
        position = naive.late_position(rules, rng, 16)
        moves, here = [], position
        for _ in range(30):
            legal = reference.legal_moves(here, rules)
            if not legal:
                break
            weights = [m.count**2 + 2 * (m.target.kind == COLUMN) for m in legal]
            moves.append(rng.choices(legal, weights)[0])
            here = reference.apply(here, rules, moves[-1])
        longest = max([longest, *(m.count for m in moves)])
        single = expand.single_cards(position, rules, moves)
        after = position
        for move in single:
            assert move.count == 1
            after = reference.apply(after, rules, move)
        assert after == here
    assert longest >= 5
