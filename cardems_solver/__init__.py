"""Exact solver and analysis tool for FreeCell, Klondike and Canfield.

from cardems_solver import deal, preset, solve

result = solve(deal("ms:1", preset("freecell")), preset("freecell"))
print(result.verdict, result.length)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cardems_solver.deals import deal
    from cardems_solver.formats import read_position, write_position
    from cardems_solver.notation import format_moves, parse_moves
    from cardems_solver.position import Move, Position
    from cardems_solver.rules import Rules, preset
    from cardems_solver.solver import SolveResult, solve

__version__ = "0.1.0"

_HOMES = {
    "deal": "deals",
    "read_position": "formats",
    "write_position": "formats",
    "format_moves": "notation",
    "parse_moves": "notation",
    "Move": "position",
    "Position": "position",
    "Rules": "rules",
    "preset": "rules",
    "SolveResult": "solver",
    "solve": "solver",
}

__all__ = [
    "Move",
    "Position",
    "Rules",
    "SolveResult",
    "deal",
    "format_moves",
    "parse_moves",
    "preset",
    "read_position",
    "solve",
    "write_position",
]


def __getattr__(name: str) -> Any:
    """Loads a public name's module when it is first asked for, so that importing the package costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
