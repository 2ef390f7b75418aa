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


def single_cards(position: Position, rules: Rules, moves: Iterable[Move]) -> list[Move]:
    """The same play with every run carried card by card through cells and empty columns (FreeCell).

    Raises:
        reference.IllegalMove: a move is not legal.
    """
    single: list[Move] = []
    for move in moves:
        after = reference.apply(position, rules, move)
        if move.count == 1:
            single.append(move)
        else:
            empty = [Pile(COLUMN, i) for i, column in enumerate(position.columns) if not column]
            cells = [Pile(CELL, i) for i, c in enumerate(position.cells) if c == EMPTY]
            single += _carry(move.source, move.target, move.count, cells, [p for p in empty if p != move.target])
        position = after
    return single


def _carry(source: Pile, target: Pile, count: int, cells: list[Pile], columns: list[Pile]) -> list[Move]:
    """Single-card moves for a run of ``count`` cards: through the cells alone where they do, otherwise the upper part
    to an empty column first, by the same means."""
    if count <= len(cells) + 1:
        parked = cells[: count - 1]
        return (
            [Move(source, cell) for cell in parked] + [Move(source, target)] + [Move(c, target) for c in parked[::-1]]
        )
    if not columns:
        raise reference.IllegalMove(f"no room to carry {count} cards")
    column, rest = columns[0], columns[1:]
    lower = (1 + len(cells)) << len(rest)  # as many as can be carried once the column is taken
    if count <= lower:
        return _carry(source, target, count, cells, rest)
    upper = count - lower
    return (
        _carry(source, column, upper, cells, rest)
        + _carry(source, target, lower, cells, rest)
        + _carry(column, target, upper, cells, rest)
    )
