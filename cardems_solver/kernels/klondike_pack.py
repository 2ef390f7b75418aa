"""From a Klondike position to words and the table of what stays the same in a search."""

from __future__ import annotations

import numpy as np

from cardems_solver import cards
from cardems_solver.kernels.jit import record
from cardems_solver.kernels.klondike_bound import stack_costs
from cardems_solver.kernels.klondike_words import BASE, FIRST, HERE, HOME, SECOND, TABLE
from cardems_solver.position import Position
from cardems_solver.reference import continues
from cardems_solver.rules import Rules


def passes_left(position: Position, rules: Rules) -> int | None:
    """How many passes may still be begun; None if a limit cannot matter: each but the first one that plays no card is
    in vain, so there are never more useful ones than cards."""
    if rules.passes is None or rules.passes - position.passes >= len(position.stock) + len(position.waste):
        return None
    return rules.passes - position.passes


def pack(position: Position, rules: Rules, metric: str, prune: int) -> tuple[np.void, np.ndarray]:
    """The table for a search from a position, and the position's words, uint64[3].

    ``prune`` is a sum of flags of ``klondike_moves``.

    Raises:
        ValueError: the last card of a column is face down.
    """
    table = record(TABLE)
    codes = [int(HERE)] * 52
    for i, (column, face_down) in enumerate(zip(position.columns, position.face_down, strict=True)):
        if column and face_down >= len(column):
            raise ValueError(f"{cards.name(column[-1])} is the top of a column, yet face down")
        beneath, k = 0, 0
        for depth, c in enumerate(column):
            if depth == 0:
                codes[c] = BASE
            elif depth > face_down and continues(c, column[depth - 1]):
                codes[c] = FIRST if cards.suit(column[depth - 1]) == cards.suit(c) ^ 2 else SECOND
            else:
                k += 1
                table["top"][i, k], table["below"][i, k], table["under"][i, k] = c, beneath, column[depth - 1]
                table["above"][column[depth - 1]] = c
                table["stuck"][i] |= np.uint64(1 << c)
            beneath |= 1 << c
    for suit in range(4):
        for c in position.foundation_cards(suit):
            codes[c] = HOME
    stock = np.array(position.waste + position.stock, np.int64)
    left = passes_left(position, rules)
    flags = rules.draw, left is not None, rules.foundation_return, metric == "taps", len(position.columns), prune
    words = [sum((int(code) >> plane & 1) << c for c, code in enumerate(codes)) for plane in range(3)]
    words[1] |= (left or 0) << 52
    words[2] |= len(position.waste) << 52
    suits = [stock[stock & 3 == suit] for suit in range(4)]
    stacks = [stack_costs(cards_of_suit) for cards_of_suit in suits]
    table["rules"] = flags
    table["stocked"] = len(stock)
    table["stock"][: len(stock)] = stock
    table["undealt"] = sum(1 << int(c) for c in stock)
    table["spot"][: len(stock)] = [1 << list(suits[c & 3]).index(c) for c in stock]
    table["first"] = np.cumsum([0] + [len(rows) for rows in stacks[:3]])
    table["stacks"][: sum(map(len, stacks))] = np.concatenate(stacks)
    return table, np.array(words, np.uint64)
