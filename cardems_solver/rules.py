"""The games as data: one frozen ``Rules`` value says everything that a rule page does; a preset is a named one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

UNLIMITED = None
"""The value of ``Rules.passes`` for as many passes through the stock as one likes."""


@dataclass(frozen=True)
class Rules:
    """The rules of one game.

    Attributes:
        preset: the name given on the command line.
        game: the family: ``freecell``, ``klondike`` or ``canfield``.
        columns: number of columns.
        cells: number of free cells (FreeCell).
        draw: cards drawn at once from the stock.
        passes: passes through the stock, the first one counted, or None for no limit.
        foundation_return: may a foundation's top card go back to the tableau (in FreeCell also to a cell)?
        partial_runs: may a part of a column move (Canfield; always so in the others)?
        spaces: what fills an empty Canfield column once the reserve is gone: ``waste`` or ``any``.
        scored: does the Cardems score apply?
        source: the rule page.
    """

    preset: str
    game: str
    source: str
    columns: int
    cells: int = 0
    draw: int = 0
    passes: int | None = UNLIMITED
    foundation_return: bool = False
    partial_runs: bool = True
    spaces: str = "waste"
    scored: bool = False

    def options(self) -> dict[str, Any]:
        """The rules that this game has options for, by their names in JSON."""
        values = {name: getattr(self, name) for name in OPTIONS[self.game]}
        if "passes" in values and values["passes"] is UNLIMITED:
            values["passes"] = "unlimited"
        return values

    def with_options(self, **options: Any) -> Rules:
        """These rules with some overridden.

        Raises:
            ValueError: the game has no such rule, or not with that value.
        """
        for name, value in options.items():
            if name not in OPTIONS[self.game]:
                known = ", ".join(OPTIONS[self.game])
                raise ValueError(f"{self.preset} has no rule {name!r} (it has {known})")
            if name == "passes" and value == "unlimited":
                options[name] = UNLIMITED
        rules = replace(self, **options)
        rules.validate()
        return rules

    def validate(self) -> None:
        """Raises ValueError when a value is out of its range."""
        if not 0 <= self.cells <= 8:
            raise ValueError(f"cells must be 0 to 8, not {self.cells}")
        if self.game != "freecell" and not 1 <= self.draw <= 24:
            raise ValueError(f"draw must be 1 to 24, not {self.draw}")
        if self.passes is not UNLIMITED and self.passes < 1:
            raise ValueError(f"passes must be at least 1, not {self.passes}")
        if self.spaces not in ("waste", "any"):
            raise ValueError(f"spaces must be 'waste' or 'any', not {self.spaces!r}")


OPTIONS: dict[str, tuple[str, ...]] = {
    "freecell": ("cells", "foundation_return"),
    "klondike": ("draw", "passes", "foundation_return"),
    "canfield": ("draw", "passes", "partial_runs", "spaces"),
}

PRESETS: dict[str, Rules] = {
    rules.preset: rules
    for rules in (
        Rules("freecell", "freecell", "Cardems FreeCell", 8, cells=4, foundation_return=True, scored=True),
        Rules("klondike", "klondike", "Cardems Klondike", 7, draw=1, foundation_return=True, scored=True),
        Rules("klondike-one-pass", "klondike", "traditional Klondike", 7, draw=1, passes=1),
        Rules("klondike-draw-three", "klondike", "traditional Klondike, alternative", 7, draw=3, passes=3),
        Rules("canfield", "canfield", "Canfield (Hoyle)", 4, draw=3, partial_runs=False),
    )
}


def preset(name: str) -> Rules:
    """The preset of that name.

    Raises:
        ValueError: there is none; the message lists them.
    """
    try:
        return PRESETS[name]
    except KeyError:
        raise ValueError(f"{name!r} is not a game (choose from {', '.join(PRESETS)})") from None
