"""From the search's actions to steps: which card goes onto which, with the columns laid out as they really are.

The search knows only which cards are in the tableau; here the columns are kept. A card that is to go home while
something lies on it is bared first: what lies on it moves to the card's twin.
"""

from __future__ import annotations

from cardems_solver import cards, reference
from cardems_solver.kernels.klondike_search import HOME, RETURN, SHIFT, STOCK_HOME, STOCK_PLACE
from cardems_solver.outcome import TO_COLUMN, TO_FOUNDATION, Step
from cardems_solver.position import Position


class Table:
    """The columns while the actions are played; ``steps`` collects what is done."""

    def __init__(self, position: Position):
        self.columns = [list(column) for column in position.columns]
        self.heights = list(position.foundations)
        self.steps: list[Step] = []

    def _find(self, c: int) -> tuple[list[int], int]:
        for column in self.columns:
            if c in column:
                return column, column.index(c)
        raise ValueError(f"{cards.name(c)} is not in the tableau")

    def _place(self, taken: list[int], source: list[int] | None = None) -> None:
        """Put cards on a column, not the one they come from, that accepts them."""
        for column in self.columns:
            if column and column is not source and reference.continues(taken[0], column[-1]):
                self.steps.append((taken[0], column[-1]))
                column += taken
                return
        self.columns[self.columns.index([])] += taken
        self.steps.append((taken[0], TO_COLUMN))

    def _take(self, c: int) -> list[int]:
        column, i = self._find(c)
        taken = column[i:]
        del column[i:]
        return taken

    def _home(self, c: int) -> None:
        self.heights[cards.suit(c)] += 1
        self.steps.append((c, TO_FOUNDATION))

    def play(self, action: int) -> None:
        kind, c = action >> 6, action & 63
        if kind == HOME:
            column, i = self._find(c)
            if column[i] != column[-1]:
                child = column[i + 1]
                self.steps.append((child, c ^ 1))
                twins = self._find(c ^ 1)[0]
                twins += self._take(child)
            self._take(c)
            self._home(c)
        elif kind == STOCK_HOME:
            self._home(c)
        elif kind in (RETURN, STOCK_PLACE):
            if kind == RETURN:
                self.heights[cards.suit(c)] -= 1
            self._place([c])
        elif kind == SHIFT:
            column, i = self._find(c)
            taken = column[i:]
            del column[i:]
            self._place(taken, column)

    def finish(self) -> None:
        """Send everything home, lowest cards first: all that is left is in runs and the stock."""
        while min(self.heights) < 13:
            suit = self.heights.index(min(self.heights))
            c = cards.card(self.heights[suit], suit)
            if any(c in column for column in self.columns):
                self._take(c)
            self._home(c)
