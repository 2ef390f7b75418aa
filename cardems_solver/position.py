"""A position of any of the games, as plain tuples of card numbers, and a move between two of its piles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cardems_solver import cards
from cardems_solver.cards import Card
from cardems_solver.rules import Rules

EMPTY = -1
"""In ``Position.cells``: nothing is there."""


class Pile(NamedTuple):
    """A place for cards: ``kind`` is one of the constants below, ``index`` counts from 0 (foundations: the suit)."""

    kind: str
    index: int = 0


COLUMN, CELL, FOUNDATION, STOCK, WASTE, RESERVE = "column", "cell", "foundation", "stock", "waste", "reserve"


class Move(NamedTuple):
    """``count`` cards from one pile to another. A draw goes from the stock to the waste with count 0: how many cards it
    takes, and whether the waste is turned over first, follows from the position."""

    source: Pile
    target: Pile
    count: int = 1


DRAW = Move(Pile(STOCK), Pile(WASTE), 0)

ROOM = {("klondike", STOCK): 24, ("canfield", STOCK): 34, ("canfield", RESERVE): 13}
"""Cards that stock and waste, or the reserve, hold at most: as many as are dealt to them."""


@dataclass(frozen=True)
class Position:
    """Where every card is. Piles list their top (available) card last, except the stock: next drawn first.

    Attributes:
        columns: the tableau.
        face_down: for each column, how many of its deepest cards are face down.
        cells: the free cells in fixed places, EMPTY where free.
        foundations: number of cards on each foundation, by suit.
        base: the rank on which the foundations start.
        reserve: Canfield's reserve.
        stock: next drawn first.
        waste: top last.
        passes: passes through the stock begun so far, from 1.
    """

    columns: tuple[tuple[Card, ...], ...]
    face_down: tuple[int, ...]
    cells: tuple[int, ...] = ()
    foundations: tuple[int, int, int, int] = (0, 0, 0, 0)
    base: int = 0
    reserve: tuple[Card, ...] = ()
    stock: tuple[Card, ...] = ()
    waste: tuple[Card, ...] = ()
    passes: int = 1

    @property
    def won(self) -> bool:
        return self.foundations == (13, 13, 13, 13)

    def foundation_cards(self, suit: int) -> tuple[Card, ...]:
        """The cards on a suit's foundation, bottom first."""
        return tuple(cards.card((self.base + i) % 13, suit) for i in range(self.foundations[suit]))

    def foundation_top(self, suit: int) -> Card | None:
        height = self.foundations[suit]
        return cards.card((self.base + height - 1) % 13, suit) if height else None

    def next_home(self, suit: int) -> Card | None:
        """The card that this suit's foundation takes next."""
        height = self.foundations[suit]
        return cards.card((self.base + height) % 13, suit) if height < 13 else None

    def everywhere(self) -> Iterator[Card]:
        """Every card, in no particular order."""
        for column in self.columns:
            yield from column
        yield from (c for c in self.cells if c != EMPTY)
        for suit in range(4):
            yield from self.foundation_cards(suit)
        yield from self.reserve
        yield from self.stock
        yield from self.waste

    def canonical(self) -> tuple:
        """A key that is the same for positions which differ only in the order of columns or of cells."""
        columns = tuple(sorted(zip(self.columns, self.face_down, strict=True)))
        return (columns, tuple(sorted(self.cells)), self.foundations, self.reserve, self.stock, self.waste, self.passes)

    def check(self, rules: Rules) -> None:
        """Raises ValueError where this cannot be a position of that game: cards that are missing or appear twice, too
        many columns or cells, piles that the game does not have."""
        counts = Counter(self.everywhere())
        missing = [cards.name(c) for c in cards.DECK if not counts[c]]
        twice = [cards.name(c) for c in cards.DECK if counts[c] > 1]
        complaints = []
        if missing:
            listed = ", ".join(missing)
            complaints.append(f"{listed} {'is' if len(missing) == 1 else 'are'} missing")
            if len(missing) > 4:
                complaints[-1] = f"{len(missing)} cards are missing ({listed})"
        for text in twice:
            complaints.append(f"{text} appears {'twice' if counts[cards.parse(text)] == 2 else 'more than twice'}")
        if len(self.columns) > rules.columns:
            complaints.append(f"{len(self.columns)} columns, but {rules.preset} has {rules.columns}")
        if len(self.cells) > rules.cells:
            complaints.append(f"{len(self.cells)} cells, but the rules allow {rules.cells}")
        for pile, size in (("stock", len(self.stock) + len(self.waste)), ("reserve", len(self.reserve))):
            room = ROOM.get((rules.game, pile), 52)
            if size > room:
                where = "stock and waste" if pile == "stock" else pile
                complaints.append(f"{size} cards in {where}, but {rules.preset} has {room}")
        if self.reserve and rules.game != "canfield":
            complaints.append(f"{rules.preset} has no reserve")
        if (self.stock or self.waste) and rules.game == "freecell":
            complaints.append(f"{rules.preset} has no stock")
        if any(self.face_down) and rules.game != "klondike":
            complaints.append(f"{rules.preset} has no cards face down in its columns")
        if self.passes < 1 or (rules.passes is not None and self.passes > rules.passes):
            complaints.append(f"pass {self.passes}, but the rules allow {rules.passes}")
        if complaints:
            raise ValueError(", ".join(complaints))
