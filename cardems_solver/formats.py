"""Positions as text: reading by content, whatever the format, and writing.

Read: boards as fc-solve and PySol write them (a line a column, with labelled lines such as ``Foundations:`` before),
Solvitaire's JSON, decks of 156 digits, 52 cards in a line. A bad text yields a ``DealError`` that names the place.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cardems_solver import cards, deals
from cardems_solver.cards import Card
from cardems_solver.position import EMPTY, Position
from cardems_solver.rules import Rules

FORMATS = ("text", "fc-solve", "pysol", "solvitaire", "digits", "line")
LARGEST = 1 << 20
"""Bytes; a larger file is no position."""

LAYOUTS = (
    "understood are: a line a column (put ':' before each when some are empty), 52 cards in one line, "
    "FreeCell row by row (six lines of 8 cards, one of 4), Solvitaire JSON, a deck of 156 digits"
)


class DealError(ValueError):
    """A text that is not a position of the game; the message names the file, the line and the card."""


class DealWarning(UserWarning):
    """A position that was read, but perhaps not as its author meant it."""


def load(argument: str, rules: Rules) -> tuple[Position, str | None]:
    """The position that a DEAL argument means (a deal number, a file, ``-`` for standard input, or the cards
    themselves), and for a deal number its full name (``ms:11982``), else None.

    Raises:
        ValueError: there is no such deal or file, or it is broken (``DealError``).
    """
    if argument == "-":
        return read_position(sys.stdin.buffer.read(LARGEST + 1), rules, "standard input"), None
    longest_number = len(str(deals.SCHEMES["exact"].high))
    is_number = re.fullmatch("[0-9]+", argument) and len(argument) <= longest_number
    if is_number or argument.partition(":")[0] in deals.SCHEMES:
        name = deals.deal_name(argument, rules)
        return deals.deal(name, rules), name
    is_text = len(argument.split()) > 1
    is_deck = re.fullmatch("[0-9]+", argument.strip()) and len(argument) > longest_number
    if is_deck or argument.lstrip().startswith("{"):
        return read_position(argument, rules, "deal"), None
    try:
        if Path(argument).exists():
            with open(argument, "rb") as file:
                return read_position(file.read(LARGEST + 1), rules, argument), None
    except DealError:
        raise
    except (OSError, ValueError) as error:  # a name too long for a file, a directory, a null character
        if not is_text:
            raise DealError(f"{argument[:80]}: {getattr(error, 'strerror', None) or error}") from None
    if is_text:
        return read_position(argument, rules, "deal"), None
    if re.match("[a-z-]+:", argument):
        deals.split_name(argument, rules)
    scheme = deals.DEFAULT_SCHEME[rules.game]
    raise DealError(
        f"{argument!r} is neither a deal number ({scheme} takes {deals.SCHEMES[scheme].range_text}) nor a file"
    )


# --- Reading --------------------------------------------------------------------------------------------------------


def read_position(text: str | bytes, rules: Rules, name: str = "deal") -> Position:
    """The position that a text in any of the formats describes.

    Args:
        text: text, or the bytes of a file.
        rules: the game; which formats there are, and how many cells, depends on it.
        name: what messages call the text, usually a file name.

    Raises:
        DealError: the text is not a position of the game.
    """
    if len(text) > LARGEST:
        raise DealError(f"{name}: too large to be a position")
    if isinstance(text, bytes):
        utf16 = text.startswith((b"\xff\xfe", b"\xfe\xff"))
        try:
            text = text.decode("utf-16" if utf16 else "utf-8")
        except UnicodeDecodeError:
            raise DealError(f"{name}: not a text file") from None
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise DealError(f"{name}: no cards")
    digits = "".join(text.split())
    if text.lstrip().startswith(("{", "[")):
        position = _Json(text, rules, name).position()
    elif re.fullmatch("[0-9]+", digits):
        position = _from_digits(digits, rules, name)
    elif found := re.search(r"^deck[ \t]+([0-9]+)[ \t]*\r?$", text, re.MULTILINE):
        warnings.warn(f"{name}: only its line 'deck ...' is read", DealWarning, stacklevel=2)
        position = _from_digits(found[1], rules, name)
    else:
        position = _Board(text, rules, name).position()
    position = _as_the_rules_would(position, rules, name)
    try:
        position.check(rules)
    except ValueError as error:
        raise DealError(f"{name}: {error}") from None
    return position


def _as_the_rules_would(position: Position, rules: Rules, name: str) -> Position:
    """The position after what happens by itself: top cards are turned up, Canfield's empty columns filled."""
    columns, face_down, reserve = list(position.columns), list(position.face_down), position.reserve
    turned_up, filled = [], []
    for i, column in enumerate(columns):
        if column and face_down[i] == len(column):
            face_down[i] -= 1
            turned_up.append(i)
        if not column and reserve:
            columns[i], reserve = reserve[-1:], reserve[:-1]
            filled.append(i)
    for which, what in ((turned_up, "face down on top, turned up"), (filled, "empty, filled from the reserve")):
        if which:
            listed = ("columns " if len(which) > 1 else "column ") + ", ".join(str(i + 1) for i in which)
            warnings.warn(f"{name}: {listed}: {what}", DealWarning, stacklevel=3)
    dealt = all(len(column) == i + 1 for i, column in enumerate(columns))
    if rules.game == "klondike" and dealt and not any(face_down):
        how = "lower case suits in JSON, <7H> in a board"
        warnings.warn(
            f"{name}: no card is marked as face down ({how}): all are read as face up", DealWarning, stacklevel=3
        )
    return replace(position, columns=tuple(columns), face_down=tuple(face_down), reserve=reserve)


def _position(
    rules: Rules,
    columns: Iterable[Sequence[Card]],
    face_down: Iterable[int] = (),
    cells: Iterable[int] = (),
    **rest: Any,
) -> Position:
    """A position with as many columns and cells as the game has (more only where cards lie in them)."""
    piles, places = [tuple(column) for column in columns], list(cells)
    piles += [()] * (rules.columns - len(piles))
    hidden = [*face_down, *[0] * len(piles)][: len(piles)]
    while len(places) > rules.cells and places[-1] == EMPTY:
        places.pop()
    if rules.game == "freecell":
        places += [EMPTY] * (rules.cells - len(places))
    return Position(tuple(piles), tuple(hidden), tuple(places), **rest)


def _from_deck(deck: Sequence[Card], rules: Rules, name: str) -> Position:
    """The deal of a canonical deck."""
    try:
        Position((tuple(deck),), (0,)).check(rules)
    except ValueError as error:
        raise DealError(f"{name}: {error}") from None
    return deals.lay_out(deck, rules)


def _from_digits(digits: str, rules: Rules, name: str) -> Position:
    """A deck of 156 digits, three a card: rank 01 to 13, suit 1 to 4 for C, D, H, S; in row order."""
    if len(digits) > 156 or len(digits) % 3:
        raise DealError(
            f"{name}: {len(digits)} digits, but a deck has 156 (a card is three: rank 01-13, suit 1-4 CDHS)"
        )
    row_order = []
    for i in range(0, len(digits), 3):
        rank, suit = int(digits[i : i + 2]), int(digits[i + 2])
        if not (1 <= rank <= 13 and 1 <= suit <= 4):
            raise DealError(f"{name}: {digits[i : i + 3]!r} (card {i // 3 + 1}) is not a card")
        row_order.append(cards.card(rank - 1, cards.SUITS.index("CDHS"[suit - 1])))
    if len(row_order) == 52:
        row_order = [row_order[i] for i in deals.ROW_ORDER[rules.game]]
    return _from_deck(row_order, rules, name)


_LABELS = {
    "foundations": "foundations",
    "foundation": "foundations",
    "founds": "foundations",
    "freecells": "cells",
    "freecell": "cells",
    "fc": "cells",
    "cells": "cells",
    "talon": "stock",
    "stock": "stock",
    "waste": "waste",
    "reserve": "reserve",
    "base": "base",
    "pass": "pass",
}


def _without_gaps(lines: list[tuple[int, str, bool]], wanted: int) -> list[tuple[int, str, bool]]:
    """The lines that are columns. With colons an empty column is ``:``; without any, a blank line between others is
    one, unless there are as many filled ones as the game has: then the board is merely spaced out."""
    filled = [line for line in lines if line[1].strip() or line[2]]
    if not filled or any(colon for _, _, colon in filled) or len(filled) == wanted:
        return filled
    return lines[lines.index(filled[0]) : lines.index(filled[-1]) + 1]


class _Board:
    """Reads a board: labelled lines, then a line a column."""

    def __init__(self, text: str, rules: Rules, name: str) -> None:
        self.rules, self.name = rules, name
        self.labelled: dict[str, tuple[int, str]] = {}
        lines: list[tuple[int, str, bool]] = []
        """Those with columns: number, cards, and whether a colon goes before. Blank ones are included."""
        for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
            content, hash_sign, _ = line.partition("#")
            if hash_sign and not content.strip():
                continue
            found = re.match(r"\s*([A-Za-z]*)\s*:(.*)", content)
            if not found or not found[1]:
                lines.append((number, found[2] if found else content, bool(found)))
                continue
            label = _LABELS.get(found[1].lower())
            if not label:
                raise DealError(f"{name}:{number}: {found[1]!r} is not a part of a board")
            if label in self.labelled:
                raise DealError(f"{name}:{number}: {found[1]!r} for the second time")
            self.labelled[label] = number, found[2]
        self.colons = any(colon for _, _, colon in lines)
        self.columns = [(number, cards_there) for number, cards_there, _ in _without_gaps(lines, rules.columns)]

    def card(self, token: str, line: int) -> Card:
        try:
            return cards.parse(token)
        except ValueError as error:
            raise DealError(f"{self.name}:{line}: {error}") from None

    def pile(self, label: str) -> list[Card]:
        line, text = self.labelled.get(label, (0, ""))
        return [self.card(token, line) for token in _tokens(text) if token != "-"]

    def column(self, line: int, text: str) -> tuple[list[Card], int]:
        """The cards of a column, and how many of them are face down (in angle brackets)."""
        column: list[Card] = []
        face_down = 0
        for token in _tokens(text):
            hidden = re.fullmatch("<([^<>]+)>", token)
            if hidden:
                if face_down < len(column):
                    raise DealError(f"{self.name}:{line}: {token} is face down, but lies on a card that is face up")
                face_down += 1
            column.append(self.card(hidden[1] if hidden else token, line))
        return column, face_down

    def position(self) -> Position:
        read = [self.column(line, text) for line, text in self.columns]
        if not read and not self.labelled:
            raise DealError(f"{self.name}: no cards")
        columns = [column for column, _ in read]
        if not self.labelled and not self.colons:
            deck = self.as_deck(columns)
            if deck is not None:
                return _from_deck(deck, self.rules, self.name)
        foundations, base = self.foundations()
        if len(columns) > self.rules.columns:
            preset = self.rules.preset
            message = f"{len(columns)} columns, but {preset} has {self.rules.columns}; {LAYOUTS}"
            raise DealError(f"{self.name}: {message}")
        return _position(
            self.rules,
            columns,
            [face_down for _, face_down in read],
            self.cells(),
            foundations=foundations,
            base=base,
            reserve=tuple(self.pile("reserve")),
            stock=tuple(self.pile("stock")),
            waste=tuple(self.pile("waste")),
            passes=self.number("pass"),
        )

    def as_deck(self, lines: list[list[Card]]) -> list[Card] | None:
        """The deck, if the lines are not columns but 52 cards in a line or a FreeCell deal row by row."""
        lengths = [len(line) for line in lines]
        if len(lines) == 1 and (lengths[0] > 40 or self.rules.game != "freecell"):
            return lines[0]
        if self.rules.game == "freecell" and sum(lengths) == 52:
            if lengths == [8] * 6 + [4]:
                return [c for line in lines for c in line]
            if len(lines) != self.rules.columns:
                what = f"{len(lines)} lines of {', '.join(map(str, lengths))} cards are neither columns nor rows"
                raise DealError(f"{self.name}: {what}; {LAYOUTS}")
        return None

    def number(self, label: str) -> int:
        line, text = self.labelled.get(label, (0, "1"))
        if not re.fullmatch(r"\s*[0-9]{1,6}\s*", text):
            raise DealError(f"{self.name}:{line}: {text.strip()!r} is not a number")
        return int(text)

    def foundations(self) -> tuple[tuple[int, ...], int]:
        """The heights by suit, and the base rank. ``H-4`` (top rank, 0 for none), ``4H`` (top card) or ``-``."""
        line, text = self.labelled.get("foundations", (0, ""))
        tops: dict[int, int] = {}
        for token in _tokens(text):
            if token == "-":
                continue
            none = re.fullmatch("([HDCShdcs])-?0", token)
            top = cards.SUITS.index(none[1].upper()) if none else self.card(token.replace("-", "", 1), line)
            if cards.suit(top) in tops:
                raise DealError(f"{self.name}:{line}: two foundations of {cards.SUITS[cards.suit(top)]}")
            tops[cards.suit(top)] = -1 if none else cards.rank(top)
        ranks = [rank for rank in tops.values() if rank >= 0]
        base = 0
        if self.rules.game == "canfield":
            if "base" in self.labelled:
                base_line, base_text = self.labelled["base"]
                base = cards.rank(self.card(base_text.strip()[:2] + "S", base_line))
            elif len(ranks) == 1:
                base = ranks[0]
            else:
                raise DealError(f"{self.name}: a line 'Base: rank' must say on which rank the foundations start")
        ranks = [tops.get(suit, -1) for suit in range(4)]
        return tuple((rank - base) % 13 + 1 if rank >= 0 else 0 for rank in ranks), base

    def cells(self) -> list[int]:
        """The cells in their places. fc-solve prints fields of four characters, and an empty cell as a gap."""
        line, text = self.labelled.get("cells", (0, ""))
        text = text.rstrip()
        fields = [text[i : i + 4] for i in range(0, len(text), 4)]
        if text and all(re.fullmatch(r"    |  \S\S| 10\S", field) for field in fields):
            tokens = [field.strip() or "-" for field in fields]
        else:
            tokens = _tokens(text)
        return [EMPTY if token in ("-", "--", "*") else self.card(token, line) for token in tokens]


def _tokens(text: str) -> list[str]:
    return text.replace(",", " ").split()


class _Json:
    """Reads Solvitaire's JSON. Piles list their top card last, the stock too (it is drawn first). A lower case suit
    in the tableau is face down in games that have such cards. Beyond Solvitaire: ``cells`` may have empty places
    ("" or null), and ``pass`` is the pass through the stock, from 1."""

    def __init__(self, text: str, rules: Rules, name: str) -> None:
        self.text, self.rules, self.name = text, rules, name
        try:
            found = json.loads(text, object_pairs_hook=self.unique)
        except json.JSONDecodeError as error:
            raise DealError(f"{name}:{error.lineno}: not JSON: {error.msg}") from None
        except (RecursionError, ValueError) as error:
            if isinstance(error, DealError):
                raise
            raise DealError(f"{name}: not JSON that could be a position") from None
        if not isinstance(found, dict):
            raise DealError(f"{name}: the JSON is not an object with 'tableau piles'")
        self.found = found

    def unique(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        for key in keys:
            if keys.count(key) > 1:
                raise DealError(f"{self.name}: {key!r} for the second time")
        return dict(pairs)

    def card(self, value: Any) -> Card:
        if isinstance(value, str):
            try:
                return cards.parse(value)
            except ValueError:
                place = self.text.find(json.dumps(value, ensure_ascii=False))
                line = f":{self.text.count(chr(10), 0, place) + 1}" if place >= 0 else ""
                raise DealError(f"{self.name}{line}: {value!r} is not a card") from None
        raise DealError(f"{self.name}: {json.dumps(value)[:40]} is not a card")

    def take(self, *keys: str) -> list[Any]:
        """A list of the object, empty if it is not there; takes it out."""
        present = [key for key in keys if key in self.found]
        if len(present) > 1:
            raise DealError(f"{self.name}: both {' and '.join(map(repr, present))}")
        value = self.found.pop(present[0]) if present else []
        if not isinstance(value, list):
            raise DealError(f"{self.name}: {present[0]!r} is not a list")
        return value

    def position(self) -> Position:
        if "tableau piles" not in self.found:
            raise DealError(f"{self.name}: the JSON has no 'tableau piles'")
        columns: list[list[Card]] = []
        face_down = []
        for pile in self.take("tableau piles"):
            if not isinstance(pile, list):
                raise DealError(f"{self.name}: a tableau pile is not a list")
            column = [self.card(value) for value in pile]
            hidden = [self.rules.game == "klondike" and value.strip()[-1:] in "cdhs" for value in pile]
            if hidden != sorted(hidden, reverse=True):
                raise DealError(f"{self.name}: column {len(columns) + 1} has a face-down card on one that is face up")
            columns.append(column)
            face_down.append(sum(hidden))
        if len(columns) > self.rules.columns:
            raise DealError(f"{self.name}: {len(columns)} columns, but {self.rules.preset} has {self.rules.columns}")
        cells = [EMPTY if value in ("", None, "-") else self.card(value) for value in self.take("cells")]
        foundations, base = self.foundations()
        stock, waste, reserve = (tuple(map(self.card, self.take(key))) for key in ("stock", "waste", "reserve"))
        passes = self.found.pop("pass", 1)
        if type(passes) is not int:
            raise DealError(f"{self.name}: 'pass' is not a number")
        if self.found:
            raise DealError(f"{self.name}: {next(iter(self.found))!r} is not a part of a position")
        return _position(
            self.rules,
            columns,
            face_down,
            cells,
            foundations=foundations,
            base=base,
            reserve=reserve,
            stock=stock[::-1],
            waste=waste,
            passes=passes,
        )

    def foundations(self) -> tuple[tuple[int, ...], int]:
        """The heights by suit and the base rank, from one flat list or one list a suit, bottom card first."""
        piles: list[list[Card]] = [[], [], [], []]
        for value in self.take("foundations", "foundation"):
            for card in map(self.card, value if isinstance(value, list) else [value]):
                piles[cards.suit(card)].append(card)
        base = 0
        if self.rules.game == "canfield":
            filled = [pile for pile in piles if pile]
            if not filled:
                raise DealError(f"{self.name}: no foundation card, but one shows the base rank")
            base = cards.rank(filled[0][0])
        for suit, pile in enumerate(piles):
            for height, found in enumerate(pile):
                expected = cards.card((base + height) % 13, suit)
                if height > 12 or found != expected:
                    raise DealError(
                        f"{self.name}: {cards.name(found)} on a foundation where {cards.name(expected)} should be"
                    )
        return tuple(map(len, piles)), base


# --- Writing --------------------------------------------------------------------------------------------------------


def write_position(position: Position, rules: Rules, layout: str = "text") -> str:
    """The position in one of ``FORMATS``, ending in a newline.

    Raises:
        ValueError: there is no such format, or it cannot say this position.
    """
    if layout not in FORMATS:
        raise ValueError(f"{layout!r} is not a format (choose from {', '.join(FORMATS)})")
    if layout == "text":
        return _board(position, rules, everything=True)
    if layout == "solvitaire":
        return json.dumps(_solvitaire(position, rules)) + "\n"
    if layout in ("fc-solve", "pysol"):
        if rules.game == "canfield" or (rules.game == "klondike" and layout == "fc-solve"):
            raise ValueError(f"{layout} has no boards of {rules.game}")
        if position.waste or position.passes > 1:
            raise ValueError(f"{layout} boards have no waste")
        return _board(position, rules, everything=False)
    deck = deals.canonical_deck(position, rules)
    if deck is None:
        raise ValueError(f"{layout} can only say a deal, not a position on the way")
    if layout == "line":
        return " ".join(map(cards.name, deck)) + "\n"
    row_order = [Card()] * 52
    for c, i in zip(deck, deals.ROW_ORDER[rules.game], strict=True):
        row_order[i] = c
    return "".join(f"{cards.rank(c) + 1:02}{'CDHS'.index(cards.SUITS[cards.suit(c)]) + 1}" for c in row_order) + "\n"


def one_line(position: Position, rules: Rules) -> str:
    """The position on one line, in a form that ``load`` accepts: the cards of a deal, JSON for any other."""
    layout = "line" if deals.canonical_deck(position, rules) else "solvitaire"
    return write_position(position, rules, layout).strip()


def _names(pile: Iterable[int]) -> str:
    return " ".join("-" if c == EMPTY else cards.name(c) for c in pile)


def _board(position: Position, rules: Rules, everything: bool) -> str:
    """A board: labelled lines (those that say nothing are left out unless ``everything`` is asked for), then the
    columns, with a colon where there are labels (a blank line alone might get lost)."""
    lines = []
    if everything and rules.game == "canfield":
        lines.append(f"Base: {cards.RANKS[position.base]}")
    if everything or any(position.foundations):
        tops = [position.foundation_top(suit) for suit in range(4)]
        shown = [
            f"{letter}-{'0' if top is None else cards.name(top)[0]}"
            for letter, top in zip(cards.SUITS, tops, strict=True)
        ]
        lines.append("Foundations: " + " ".join(shown[suit] for suit in (0, 2, 1, 3)))
    if rules.game == "freecell":
        if (everything and position.cells) or any(c != EMPTY for c in position.cells):
            lines.append(f"Freecells: {_names(position.cells)}")
    else:
        lines.append(f"{'Stock' if everything else 'Talon'}: {_names(position.stock)}".rstrip())
        if everything:
            lines.append(f"Waste: {_names(position.waste)}".rstrip())
            if position.passes > 1:
                lines.append(f"Pass: {position.passes}")
        if rules.game == "canfield":
            lines.append(f"Reserve: {_names(position.reserve)}".rstrip())
    colon = ": " if lines and (everything or rules.game == "freecell" or not all(position.columns)) else ""
    if not all(position.columns):
        colon = ": "
    for column, face_down in zip(position.columns, position.face_down, strict=True):
        names = [f"<{cards.name(c)}>" if i < face_down else cards.name(c) for i, c in enumerate(column)]
        lines.append((colon + " ".join(names)).rstrip())
    return "\n".join(lines) + "\n"


def _solvitaire(position: Position, rules: Rules) -> dict[str, Any]:
    """What Solvitaire's JSON says; a key whose pile is empty or not in the game is left out."""

    def text(c: int) -> str:
        return "" if c == EMPTY else cards.name(c).replace("T", "10")

    def column(pile: Sequence[Card], face_down: int) -> list[str]:
        names = [text(c) for c in pile]
        return [name[:-1] + name[-1].lower() if i < face_down else name for i, name in enumerate(names)]

    found: dict[str, Any] = {"tableau piles": list(map(column, position.columns, position.face_down))}
    if any(position.foundations):
        found["foundations"] = [text(c) for suit in range(4) for c in position.foundation_cards(suit)]
    if any(c != EMPTY for c in position.cells):
        found["cells"] = [text(c) for c in position.cells]
    for key, pile in (("reserve", position.reserve), ("stock", position.stock[::-1]), ("waste", position.waste)):
        if pile:
            found[key] = [text(c) for c in pile]
    if position.passes > 1:
        found["pass"] = position.passes
    return found
