"""FreeCell, solvable or not."""

from __future__ import annotations

from cardems_solver.kernels import freecell_complete
from cardems_solver.limits import Limits
from cardems_solver.outcome import Outcome
from cardems_solver.position import Position
from cardems_solver.rules import Rules


def decide(position: Position, rules: Rules, limits: Limits, progress=None) -> Outcome:
    """Find a solution or prove that there is none; see ``outcome.Outcome``."""
    return freecell_complete.decide(position, rules, limits, progress)
