"""From a kernel's steps (which card goes where) to real moves between piles, with the draws they need."""

from __future__ import annotations

from collections.abc import Iterable

from cardems_solver import cards, reference
from cardems_solver.outcome import TO_CELL, TO_COLUMN, TO_FOUNDATION, Step
from cardems_solver.position import CELL, COLUMN, DRAW, EMPTY, FOUNDATION, RESERVE, WASTE, Move, Pile, Position
from cardems_solver.rules import Rules


def _find(position: Position, card: int) -> tuple[Pile, int] | None:
    """The pile with a card, and how many cards from it to the top; None in the stock or buried in the waste."""
    for i, column in enumerate(position.columns):
        if card in column:
            return Pile(COLUMN, i), len(column) - column.index(card)
    if card in position.cells:
        return Pile(CELL, position.cells.index(card)), 1
    if position.waste[-1:] == (card,):
        return Pile(WASTE), 1
    if position.reserve[-1:] == (card,):
        return Pile(RESERVE), 1
    if position.foundation_top(cards.suit(card)) == card:
        return Pile(FOUNDATION, cards.suit(card)), 1
    return None


def _target(position: Position, card: int, destination: int) -> Pile:
    if destination == TO_FOUNDATION:
        return Pile(FOUNDATION, cards.suit(card))
    if destination == TO_CELL:
        return Pile(CELL, position.cells.index(EMPTY))
    for i, column in enumerate(position.columns):
        if destination == TO_COLUMN and not column:
            return Pile(COLUMN, i)
        if column and column[-1] == destination:
            return Pile(COLUMN, i)
    raise reference.IllegalMove(f"{cards.name(card)} has nowhere to go (destination {destination})")


def expand(position: Position, rules: Rules, steps: Iterable[Step]) -> tuple[list[Move], Position]:
    """Real moves for the steps, each checked by the reference as it is made, and the position they lead to.

    Raises:
        reference.IllegalMove: a step cannot be made: the kernel that made it is wrong.
    """
    moves: list[Move] = []
    for card, destination in steps:
        drawn_since = 0
        while (found := _find(position, card)) is None:
            drawn_since += 1
            if drawn_since > 3 * (len(position.stock) + len(position.waste)) + 3:
                raise reference.IllegalMove(f"{cards.name(card)} cannot be reached")
            position = reference.apply(position, rules, DRAW)
            moves.append(DRAW)
        source, count = found
        move = Move(source, _target(position, card, destination), count)
        position = reference.apply(position, rules, move)
        moves.append(move)
    return moves, position
