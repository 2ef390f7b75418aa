"""What a search hands back: a verdict and, for a won deal, its solution as steps.

A step is ``(card, destination)``: a card (in a column: with all that lies on it) goes onto another card, to an empty
column, to a cell or to its foundation. Draws are not steps: ``expand`` puts in as many as it takes until the card is
the waste's top.
"""

from __future__ import annotations

from typing import NamedTuple

SOLVABLE, UNSOLVABLE, UNDECIDED = "solvable", "unsolvable", "undecided"

TO_COLUMN = 52
"""Destination: an empty column. (0 to 51: onto that card.)"""
TO_CELL = 53
TO_FOUNDATION = 54

Step = tuple[int, int]


class Outcome(NamedTuple):
    """What one search found.

    Attributes:
        verdict: SOLVABLE, UNSOLVABLE (proved) or UNDECIDED.
        reason: for UNDECIDED, or a minimum or Canfield's ``most_home`` not proved: the limit that ended the search (see
            ``limits``).
        steps: for SOLVABLE, the solution.
        expanded: positions expanded.
        generated: positions generated.
        lower_bound: proved lower bound on the length, where asked for.
        optimal: is the solution's length the proved minimum?
        most_home: Canfield: the most cards that can reach the foundations, once proved.
        stored: positions in the table at the end.
        bytes: memory that the search's arrays took at most.
        all_stored: positions stored by all searches together, where there are several and they are counted.
    """

    verdict: str
    reason: str | None = None
    steps: list[Step] | None = None
    expanded: int = 0
    generated: int = 0
    lower_bound: int | None = None
    optimal: bool = False
    most_home: int | None = None
    stored: int = 0
    bytes: int = 0
    all_stored: int = 0
