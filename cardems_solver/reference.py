"""The games played slowly and plainly, straight from the rule pages. Judges every solution.

Nothing here is shared with the kernels but the numbering of the cards. Positions that differ only by the names of
columns or cells are not merged, except that ``legal_moves`` offers only the first of several empty columns or cells and
leaves out carrying a whole column to an empty one: the position after would be the same but for names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from cardems_solver import cards
from cardems_solver.cards import Card
from cardems_solver.position import (
    CELL,
    COLUMN,
    DRAW,
    EMPTY,
    FOUNDATION,
    RESERVE,
    STOCK,
    WASTE,
    Move,
    Pile,
    Position,
)
from cardems_solver.rules import Rules


class IllegalMove(ValueError):
    """A move that the rules forbid; the message says why."""


class Events(NamedTuple):
    """What a move made happen, as far as the score cares."""

    sent_home: bool = False
    waste_to_column: bool = False
    turned_up: bool = False
    returned: bool = False
    turned_over: bool = False


def continues(child: Card, parent: Card, base: int = 0) -> bool:
    """May ``child`` lie on ``parent`` in a column: one rank lower, other colour, ranks counted from the base?"""
    child_rank, parent_rank = (cards.rank(child) - base) % 13, (cards.rank(parent) - base) % 13
    return child_rank + 1 == parent_rank and cards.colour(child) != cards.colour(parent)


def run_length(position: Position, column: int) -> int:
    """How many cards at the end of a column are face up and form a run."""
    pile = position.columns[column]
    face_up = len(pile) - position.face_down[column]
    length = min(1, face_up)
    while length < face_up and continues(pile[-length], pile[-length - 1], position.base):
        length += 1
    return length


def capacity(position: Position, to_empty_column: bool) -> int:
    """How many cards can be moved as one in FreeCell: (1 + empty cells) x 2^(empty columns), an empty target apart."""
    empty_cells = position.cells.count(EMPTY)
    empty_columns = sum(not column for column in position.columns)
    return (1 + empty_cells) << (empty_columns - to_empty_column)


def can_draw(position: Position, rules: Rules) -> bool:
    if position.stock:
        return True
    return bool(position.waste) and (rules.passes is None or position.passes < rules.passes)


def _moving_cards(position: Position, rules: Rules, move: Move) -> tuple[Card, ...]:
    """The cards that a move takes, deepest first.

    Raises:
        IllegalMove: they are not there, or may not be taken.
    """
    source, _, count = move
    if source.kind != COLUMN and count != 1:
        raise IllegalMove("only columns give more than one card at once")
    if source.kind == COLUMN:
        if not 0 <= source.index < len(position.columns):
            raise IllegalMove(f"there is no column {source.index + 1}")
        pile = position.columns[source.index]
        if not pile:
            raise IllegalMove(f"column {source.index + 1} is empty")
        if not 1 <= count <= run_length(position, source.index):
            raise IllegalMove(f"the last {count} cards of column {source.index + 1} are not a run")
        return pile[-count:]
    if source.kind == CELL:
        if not 0 <= source.index < len(position.cells):
            raise IllegalMove(f"there is no cell {source.index + 1}")
        if position.cells[source.index] == EMPTY:
            raise IllegalMove(f"cell {source.index + 1} is empty")
        return (position.cells[source.index],)
    if source.kind == FOUNDATION:
        if not rules.foundation_return:
            raise IllegalMove("foundation cards may not return")
        top = position.foundation_top(source.index)
        if top is None:
            raise IllegalMove(f"the foundation of {cards.SUITS[source.index]} is empty")
        return (top,)
    pile = {WASTE: position.waste, RESERVE: position.reserve}.get(source.kind, ())
    if not pile:
        raise IllegalMove(f"the {source.kind} is empty")
    return pile[-1:]


def _check_target(position: Position, rules: Rules, move: Move, taken: tuple[Card, ...]) -> None:
    """Raises IllegalMove when the target does not accept the cards."""
    source, target, count = move
    text = cards.name(taken[0])
    if target.kind == FOUNDATION:
        if count != 1 or source.kind == FOUNDATION:
            raise IllegalMove("foundations take one card at a time")
        if position.next_home(target.index) != taken[0]:
            raise IllegalMove(f"{text} does not go on the foundation yet")
    elif target.kind == CELL:
        if not 0 <= target.index < len(position.cells):
            raise IllegalMove(f"there is no cell {target.index + 1}")
        if count != 1:
            raise IllegalMove("a cell takes one card")
        if position.cells[target.index] != EMPTY:
            raise IllegalMove(f"cell {target.index + 1} is taken")
    elif target.kind == COLUMN:
        if not 0 <= target.index < len(position.columns):
            raise IllegalMove(f"there is no column {target.index + 1}")
        pile = position.columns[target.index]
        if source == target:
            raise IllegalMove("source and target are the same column")
        if pile and not continues(taken[0], pile[-1], position.base):
            raise IllegalMove(f"{text} does not go on {cards.name(pile[-1])}")
        if rules.game == "freecell":
            room = capacity(position, to_empty_column=not pile)
            if count > room:
                raise IllegalMove(f"{count} cards are too many: there is room to move {room}")
        elif rules.game == "klondike":
            if not pile and cards.rank(taken[0]) != 12:
                raise IllegalMove(f"only a king goes to an empty column, not {text}")
        else:
            if source.kind == COLUMN and not rules.partial_runs and count != len(position.columns[source.index]):
                raise IllegalMove("only whole columns move")
            if not pile and source.kind != WASTE and rules.spaces != "any":
                raise IllegalMove("only the waste fills an empty column")
    else:
        raise IllegalMove(f"nothing goes to the {target.kind}")


def _draw(position: Position, rules: Rules) -> tuple[Position, Events]:
    if not can_draw(position, rules):
        if position.waste:
            raise IllegalMove(f"no pass is left: {rules.passes} allowed")
        raise IllegalMove("stock and waste are empty")
    stock, waste, passes = position.stock, position.waste, position.passes
    turned_over = not stock
    if turned_over:
        stock, waste, passes = waste, (), passes + 1
    drawn = stock[: rules.draw]
    return (
        replace(position, stock=stock[rules.draw :], waste=waste + drawn, passes=passes),
        Events(turned_over=turned_over),
    )


def play(position: Position, rules: Rules, move: Move) -> tuple[Position, Events]:
    """The position after a move, and what happened.

    Raises:
        IllegalMove: the rules forbid it.
    """
    if move.source.kind == STOCK:
        return _draw(position, rules)
    taken = _moving_cards(position, rules, move)
    _check_target(position, rules, move, taken)
    source, target, count = move

    columns, face_down = list(position.columns), list(position.face_down)
    cells, foundations = list(position.cells), list(position.foundations)
    reserve, waste = position.reserve, position.waste
    turned_up = False

    if source.kind == COLUMN:
        columns[source.index] = columns[source.index][:-count]
    elif source.kind == CELL:
        cells[source.index] = EMPTY
    elif source.kind == FOUNDATION:
        foundations[source.index] -= 1
    elif source.kind == WASTE:
        waste = waste[:-1]
    else:
        reserve = reserve[:-1]

    if target.kind == COLUMN:
        columns[target.index] += taken
    elif target.kind == CELL:
        cells[target.index] = taken[0]
    else:
        foundations[target.index] += 1

    if source.kind == COLUMN:
        left = columns[source.index]
        if left and face_down[source.index] == len(left):
            face_down[source.index] -= 1
            turned_up = True
        if not left and reserve:
            columns[source.index], reserve = reserve[-1:], reserve[:-1]

    after = replace(
        position,
        columns=tuple(columns),
        face_down=tuple(face_down),
        cells=tuple(cells),
        foundations=tuple(foundations),
        reserve=reserve,
        waste=waste,
    )
    return after, Events(
        sent_home=target.kind == FOUNDATION,
        waste_to_column=source.kind == WASTE and target.kind == COLUMN,
        turned_up=turned_up,
        returned=source.kind == FOUNDATION,
    )


def apply(position: Position, rules: Rules, move: Move) -> Position:
    """The position after a move.

    Raises:
        IllegalMove: the rules forbid it.
    """
    return play(position, rules, move)[0]


def legal_moves(position: Position, rules: Rules) -> list[Move]:
    """Every move that the rules allow (see the module's first paragraph for the two kinds left out)."""
    columns = range(len(position.columns))
    empty = [i for i in columns if not position.columns[i]]
    targets = [Pile(COLUMN, i) for i in columns if position.columns[i]] + [Pile(COLUMN, i) for i in empty[:1]]
    if EMPTY in position.cells:
        targets.append(Pile(CELL, position.cells.index(EMPTY)))

    sources = [(Pile(COLUMN, i), count) for i in columns for count in range(1, run_length(position, i) + 1)]
    sources += [(Pile(CELL, i), 1) for i, c in enumerate(position.cells) if c != EMPTY]
    sources += [(Pile(kind), 1) for kind in (WASTE, RESERVE)]
    sources += [(Pile(FOUNDATION, suit), 1) for suit in range(4)]

    moves = [DRAW] if can_draw(position, rules) else []
    for source, count in sources:
        try:
            taken = _moving_cards(position, rules, Move(source, source, count))
        except IllegalMove:
            continue
        for target in [*targets, Pile(FOUNDATION, cards.suit(taken[0]))]:
            move = Move(source, target, count)
            if source.kind == target.kind == CELL:
                continue
            if target.kind == COLUMN and not position.columns[target.index]:
                whole = source.kind == COLUMN and count == len(position.columns[source.index])
                if whole:
                    continue
            try:
                _check_target(position, rules, move, taken)
            except IllegalMove:
                continue
            moves.append(move)
    return moves


def score(position: Position, rules: Rules, moves: Iterable[Move]) -> int | None:
    """The Cardems score after the moves, never below 0 (clamped after each event); None where the rules have none.

    Raises:
        IllegalMove: a move is not legal.
    """
    total = 0
    for move in moves:
        position, events = play(position, rules, move)
        total = add_score(total, events, rules)
    return total if rules.scored else None


def add_score(total: int, events: Events, rules: Rules) -> int:
    """The score after the events of one move, each clamped at 0."""
    klondike = rules.game == "klondike"
    points = (
        -100 if events.turned_over else 0,
        -15 if events.returned else 0,
        10 if events.sent_home else 0,
        5 if events.waste_to_column and klondike else 0,
        5 if events.turned_up and klondike else 0,
    )
    for change in points:
        total = max(0, total + change)
    return total


def stake_pay(position: Position) -> int:
    """What a Canfield position pays for a stake of 50: 5 for each card home, 500 for all."""
    home = sum(position.foundations)
    return 500 if home == 52 else 5 * home


METRICS: dict[str, tuple[str, ...]] = {
    "freecell": ("moves", "cards"),
    "klondike": ("moves", "taps"),
    "canfield": ("moves", "taps"),
}


def length(position: Position, rules: Rules, moves: Iterable[Move], metric: str = "moves") -> int:
    """The length of a move list in a metric: one a move, and in ``taps`` one for each time the waste is turned over.
    In ``cards`` a list must hold only single-card moves.

    Raises:
        IllegalMove: a move is not legal, or carries several cards in the ``cards`` metric.
    """
    total = 0
    for move in moves:
        if metric == "cards" and move.count > 1:
            raise IllegalMove("the cards metric has no moves of several cards")
        position, events = play(position, rules, move)
        total += 1 + (metric == "taps" and events.turned_over)
    return total
