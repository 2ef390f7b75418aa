"""Move lists as text: writing, and reading what this and other programs write.

What a token means depends on the position, so reading is replaying: each token becomes moves that the reference judges
at once, and an error names the token and its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence

from cardems_solver import cards, reference
from cardems_solver.cards import Card
from cardems_solver.position import (
    CELL,
    COLUMN,
    DRAW,
    EMPTY,
    FOUNDATION,
    STOCK,
    WASTE,
    Move,
    Pile,
    Position,
)
from cardems_solver.reference import IllegalMove
from cardems_solver.rules import Rules

CELLS = "abcdefgk"
"""Letters of the cells; ``h`` is home."""

MINIMAL = {
    "A": Pile(WASTE),
    **{letter: Pile(FOUNDATION, cards.SUITS.index(suit)) for letter, suit in zip("BCDE", "CDSH", strict=True)},
    **{letter: Pile(COLUMN, i) for i, letter in enumerate("FGHIJKL")},
}
"""The piles in MinimalKlondike's notation."""

_MINIMAL_LETTERS = {pile: letter for letter, pile in MINIMAL.items()}


class MoveError(ValueError):
    """A move list that cannot be read or played; the message names the move and its place in the list."""


def notations_of(rules: Rules) -> list[str]:
    """The notations in which moves of the game are written."""
    return ["text"] + [name for name, (game, _) in WRITERS.items() if game == rules.game]


def check_notation(notation: str, rules: Rules) -> None:
    """Raises ValueError when moves of the game are not written in that notation."""
    known = notations_of(rules)
    if notation not in known:
        raise ValueError(f"{rules.preset} moves are not written as {notation!r} (choose from {', '.join(known)})")


def format_moves(position: Position, rules: Rules, moves: Sequence[Move], notation: str) -> list[str]:
    """The moves from the position on in a notation: one token a move.

    Raises:
        ValueError: the game is not written in that notation, or a move is illegal.
    """
    check_notation(notation, rules)
    write = _text if notation == "text" else WRITERS[notation][1]
    tokens = []
    for move in moves:
        after = reference.apply(position, rules, move)
        tokens.append(write(position, move, after))
        position = after
    return tokens


def parse_moves(text: str, position: Position, rules: Rules) -> list[Move]:
    """The moves from the position on that a text lists, in any notation of the game, recognised by its content.

    Banners and prose between the moves are ignored, and so are boards. A JSON object with ``moves`` (or a JSON list)
    is read, too.

    Raises:
        MoveError: a token is no move, or the move is illegal; or no moves are found in the text.
    """
    text = _from_json(text.removeprefix("\ufeff"))
    if not text.strip():
        return []
    reader, tokens = _recognise(text, rules)
    replay = _Replay(position, rules)
    if reader is _read_macroxue:
        replay.start_macroxue(tokens)
    for number, token in enumerate(tokens, 1):
        try:
            reader(replay, token)
        except IllegalMove as error:
            raise MoveError(f"move {number} ({token!r}): {error}") from None
    return replay.moves


class _Replay:
    """A position, the moves that led to it, and what readers must remember between tokens."""

    def __init__(self, position: Position, rules: Rules) -> None:
        self.position, self.rules = position, rules
        self.moves: list[Move] = []
        self.turned_up: int | None = None
        """The column in which the last move turned a card up."""
        self.packed: list[Card] = []
        """The cards in cells in macroxue's order: there they close up."""
        self.goes_home: Callable[[Card], bool] = lambda card: False

    def play(self, source: Pile, target: Pile, count: int = 1) -> None:
        move = Move(source, target, count)
        self.position, events = reference.play(self.position, self.rules, move)
        self.turned_up = source.index if events.turned_up else None
        self.moves.append(move)

    def draw(self) -> None:
        self.play(*DRAW)

    def top(self, pile: Pile) -> Card | None:
        """The card of a pile that is available; None when there is none, or no such pile."""
        if pile.kind == FOUNDATION:
            return self.position.foundation_top(pile.index)
        if pile.kind in (COLUMN, CELL):
            piles = self.position.columns if pile.kind == COLUMN else [(c,) for c in self.position.cells]
            there = piles[pile.index] if pile.index in range(len(piles)) else ()
        else:
            there = self.position.waste if pile.kind == WASTE else self.position.reserve
        return there[-1] if there and there[-1] != EMPTY else None

    def home(self, source: Pile) -> None:
        """Send the available card of a pile to its foundation."""
        card = self.top(source)
        if card is None:
            raise IllegalMove(f"{_place(source)} is empty")
        self.play(source, Pile(FOUNDATION, cards.suit(card)))

    def fitting(self, source: Pile, target: Pile) -> int:
        """How many cards of a column go onto a target: the run that fits an occupied column; to an empty one a king
        and its run in Klondike, one card in FreeCell."""
        if source.kind != COLUMN or target.kind != COLUMN or self.top(source) is None:
            return 1
        column, on = self.position.columns[source.index], self.top(target)
        run = reference.run_length(self.position, source.index)
        for count in range(1, run + 1):
            if on is not None and reference.continues(column[-count], on, self.position.base):
                return count
            if on is None and self.rules.game == "klondike" and cards.rank(column[-count]) == 12:
                return count
        if on is not None and source != target:
            raise IllegalMove(f"no card of column {source.index + 1} goes on {cards.name(on)}")
        return 1

    # macroxue: the cells close up, and cards go home by themselves

    def start_macroxue(self, tokens: list[str]) -> None:
        """As its player does: without a written move home every card goes that can, with all 52 none, otherwise the
        safe ones."""
        written = sum(token[1] == "h" for token in tokens)
        if written == 0:
            self.goes_home = lambda card: True
        elif written < 52:
            self.goes_home = self.is_safe
        self.packed = [c for c in self.position.cells if c != EMPTY]
        self.send_home()

    def is_safe(self, card: Card) -> bool:
        """Aces and twos, and cards whose two lower neighbours in the other colour are home."""
        rank, colour = cards.rank(card), cards.colour(card)
        return rank <= 1 or all(self.position.foundations[s] >= rank for s in range(4) if s >> 1 != colour)

    def send_home(self) -> None:
        """Play cards home for as long as ``goes_home`` says so, and bring ``packed`` up to date."""
        piles = [Pile(CELL, i) for i in range(len(self.position.cells))]
        piles += [Pile(COLUMN, i) for i in range(len(self.position.columns))]
        progress = True
        while progress:
            progress = False
            for pile in piles:
                card = self.top(pile)
                if card is not None and self.position.next_home(cards.suit(card)) == card and self.goes_home(card):
                    self.home(pile)
                    progress = True
        self.packed = [c for c in self.packed if c in self.position.cells]
        self.packed += [c for c in self.position.cells if c != EMPTY and c not in self.packed]


# --- Writing --------------------------------------------------------------------------------------------------------


def _place(pile: Pile) -> str:
    """A pile in words."""
    if pile.kind == COLUMN:
        return f"column {pile.index + 1}"
    return f"cell {CELLS[pile.index]}" if pile.kind == CELL else pile.kind


def _names(pile: Iterable[Card]) -> str:
    return ", ".join(map(cards.name, pile))


def _text(position: Position, move: Move, after: Position) -> str:
    """For people: ``5H, 4S: column 3 to column 6 (on 6C)``. What is in round brackets only explains."""
    source, target, count = move
    if source.kind == STOCK:
        if position.stock:
            return f"draw {_names(after.waste[len(position.waste) :])}"
        return f"turn the waste over, draw {_names(after.waste)}"
    if target.kind == COLUMN:
        taken = after.columns[target.index][-count:]
    elif target.kind == CELL:
        taken = (after.cells[target.index],)
    else:
        taken = after.foundation_cards(target.index)[-1:]
    notes = []
    if target.kind == COLUMN:
        below = position.columns[target.index]
        notes.append(f"on {cards.name(below[-1])}" if below else "empty")
    if source.kind == COLUMN and position.columns[source.index][: -count or None]:
        if after.face_down[source.index] < position.face_down[source.index]:
            notes.append(f"turns up {cards.name(after.columns[source.index][-1])}")
    elif source.kind == COLUMN and position.reserve:
        notes.append(f"{cards.name(after.columns[source.index][-1])} from the reserve fills column {source.index + 1}")
    brackets = f" ({'; '.join(notes)})" if notes else ""
    return f"{_names(taken)}: {_place(source)} to {_place(target)}{brackets}"


def _standard(position: Position, move: Move, after: Position) -> str:
    """As fc-solve writes it: two characters, with ``v`` and a hex digit for a run that goes to an empty column."""
    source, target, count = move
    start = {COLUMN: str(source.index + 1), CELL: CELLS[source.index : source.index + 1]}.get(source.kind)
    end = {COLUMN: str(target.index + 1), CELL: CELLS[target.index : target.index + 1]}.get(target.kind, "h")
    token = (start or cards.SUITS[source.index]) + end
    to_empty_column = target.kind == COLUMN and not position.columns[target.index]
    return f"{token}v{count:x}" if to_empty_column and count > 1 else token


def _minimal(position: Position, move: Move, after: Position) -> str:
    """MinimalKlondike's: ``@`` for a draw, otherwise a letter for each pile."""
    if move.source.kind == STOCK:
        return "@"
    return _MINIMAL_LETTERS[move.source] + _MINIMAL_LETTERS[move.target]


WRITERS: dict[str, tuple[str, Callable[[Position, Move, Position], str]]] = {
    "standard": ("freecell", _standard),
    "minimal-klondike": ("klondike", _minimal),
}
"""The game of each notation but ``text`` (which is for all), and what writes a move: position before, move, after."""


# --- Reading: one function a notation, which plays what a token says ------------------------------------------------

Reader = Callable[[_Replay, str], None]

_CARD = "(?:10|[2-9TJQKA])[HDCS]"
_PILE = f"column [0-9]{{1,2}}|cell [{CELLS}]|waste|reserve|foundation"
_MOVED = re.compile(f"({_CARD}(?:, ?{_CARD})*): ?({_PILE}) to ({_PILE})\\b")
_DRAWN = re.compile(f"(turn the waste over, ?)?draw(?: ({_CARD}(?:, ?{_CARD})*))?$")
_NUMBERED = re.compile(r"\s*([0-9]{1,6})[.)]\s+(.*)")


def _pile(text: str, suit: int) -> Pile:
    """The pile that ``_place`` calls so."""
    kind, _, index = text.partition(" ")
    if kind == COLUMN:
        return Pile(COLUMN, int(index) - 1)
    if kind == CELL:
        return Pile(CELL, CELLS.index(index))
    return Pile(kind, suit if kind == FOUNDATION else 0)


def _read_text(replay: _Replay, token: str) -> None:
    drawn = _DRAWN.match(token)
    if drawn:
        if drawn[1] and replay.position.stock:
            raise IllegalMove("the waste cannot be turned over: the stock is not empty")
        waste = () if drawn[1] else replay.position.waste
        replay.draw()
        named = [cards.parse(name) for name in drawn[2].split(",")] if drawn[2] else None
        drawn_cards = replay.position.waste[len(waste) :]
        if named is not None and tuple(named) != drawn_cards:
            raise IllegalMove(f"the cards drawn are {_names(drawn_cards)}")
        return
    moved = _MOVED.match(token)
    if not moved:
        raise IllegalMove("not a move")
    taken = tuple(cards.parse(name) for name in moved[1].split(","))
    suit = cards.suit(taken[0])
    source, target = _pile(moved[2], suit), _pile(moved[3], suit)
    top = replay.top(source)
    there: tuple[Card, ...] = () if top is None else (top,)
    if source.kind == COLUMN and there:
        there = replay.position.columns[source.index][-len(taken) :]
    if there and there != taken:
        raise IllegalMove(f"{_place(source)} ends in {_names(there)}")
    replay.play(source, target, len(taken))


_STANDARD = re.compile(f"(?:[1-8][1-8{CELLS}h]|[{CELLS}][1-8h]|[HDCS][1-8{CELLS}])(?:v[0-9a-f])?")


def _read_standard(replay: _Replay, token: str) -> None:
    if not _STANDARD.fullmatch(token):
        raise IllegalMove("not a move")

    def pile(letter: str) -> Pile:
        if letter.isdigit():
            return Pile(COLUMN, int(letter) - 1)
        return Pile(FOUNDATION, cards.SUITS.index(letter)) if letter.isupper() else Pile(CELL, CELLS.index(letter))

    source = pile(token[0])
    if token[1] == "h":
        replay.home(source)
        return
    target = pile(token[1])
    replay.play(source, target, int(token[3], 16) if len(token) > 2 else replay.fitting(source, target))


_MINIMAL = re.compile("@|[A-L][B-L]")


def _read_minimal(replay: _Replay, token: str) -> None:
    if token == "@":
        replay.draw()
    elif not _MINIMAL.fullmatch(token):
        raise IllegalMove("not a move")
    else:
        source, target = (MINIMAL[letter] for letter in token)
        replay.play(source, target, replay.fitting(source, target))


_KLONDIKE_SOLVER = re.compile("DR([0-9]{1,3})|NEW|F([1-7])|([W1-7])([1-7CDSH])(?:-([0-9]{1,2}))?|([CDSH])([1-7])")


def _read_klondike_solver(replay: _Replay, token: str) -> None:
    """Klondike-Solver's: ``DR2`` draws twice, ``NEW`` turns the waste over, ``F3`` turns up a card in column 3; both
    happen by themselves here, and are only checked."""
    found = _KLONDIKE_SOLVER.fullmatch(token)
    if not found:
        raise IllegalMove("not a move")
    draws, flip, start, end, count, suit, column = found.groups()

    def pile(letter: str) -> Pile:
        if letter.isdigit():
            return Pile(COLUMN, int(letter) - 1)
        return Pile(WASTE) if letter == "W" else Pile(FOUNDATION, cards.SUITS.index(letter))

    if draws:
        for _ in range(int(draws)):
            replay.draw()
    elif token == "NEW":
        if replay.position.stock:
            raise IllegalMove("the waste cannot be turned over: the stock is not empty")
    elif flip:
        if replay.turned_up != int(flip) - 1:
            raise IllegalMove(f"no card is to be turned up in column {flip}")
        replay.turned_up = None
    elif suit:
        replay.play(pile(suit), pile(column))
    else:
        replay.play(pile(start), pile(end), int(count or 1))


_MACROXUE = re.compile("(?:[0-9]+:)?((?:[1-8a-g][1-8rh])+)")


def _read_macroxue(replay: _Replay, token: str) -> None:
    """macroxue's: a cell letter counts the cards in cells, which close up; ``r`` is any cell; a move to an empty
    column takes all cards that may go."""
    start, end = token[0], token[1]
    if start.isdigit():
        source = Pile(COLUMN, int(start) - 1)
    else:
        index = "abcdefgh".index(start)
        if index >= len(replay.packed):
            raise IllegalMove(f"there are only {len(replay.packed)} cards in cells")
        source = Pile(CELL, replay.position.cells.index(replay.packed[index]))
    if end == "h":
        replay.home(source)
    elif end == "r":
        if EMPTY not in replay.position.cells:
            raise IllegalMove("no cell is free")
        replay.play(source, Pile(CELL, replay.position.cells.index(EMPTY)))
    else:
        target = Pile(COLUMN, int(end) - 1)
        count = replay.fitting(source, target)
        if source.kind == COLUMN and replay.top(target) is None and replay.top(source) is not None:
            room = reference.capacity(replay.position, to_empty_column=True)
            count = min(reference.run_length(replay.position, source.index), room)
        replay.play(source, target, count)
    replay.send_home()


# --- Which notation is it, and where are its moves? -----------------------------------------------------------------


def _from_json(text: str) -> str:
    """The moves of a JSON object or list, one a line; any other text as it is."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    moves = found.get("moves") if isinstance(found, dict) else found
    if not isinstance(moves, list) or not all(isinstance(move, str) for move in moves):
        raise MoveError("the JSON has no list of moves")
    return "\n".join(moves)


_LABEL = re.compile("(?:Foundations?|Founds|Freecells?|FC|Cells|Talon|Stock|Waste|Reserve|Base|Pass|[0-9]*):", re.I)
_ON_BOARD = re.compile(f"(?:[+<-]?{_CARD}>?)+|[HDCS]-[0-9AJQKT]+|##|[A-L]|[-=+*<>]+", re.I)


def _is_board(line: str) -> bool:
    """Is it a line of a board, as other programs print them between the moves?"""
    first, *rest = line.split()
    if _LABEL.fullmatch(first):
        return not first[0].isdigit() or all(map(_ON_BOARD.fullmatch, rest))
    return all(map(_ON_BOARD.fullmatch, (first, *rest)))


def _recognise(text: str, rules: Rules) -> tuple[Reader, list[str]]:
    """The notation of a text, and its moves."""
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    if any(_MOVED.match(line) or _DRAWN.match(line) for line in map(_unnumbered, lines)):
        return _read_text, _text_moves(lines)
    words = [word for line in lines for word in line.split()]
    if rules.game == "freecell":
        glued = [found[1] for word in words if (found := _MACROXUE.fullmatch(word)) and "r" in word]
        if not glued and len(words) == 1 and len(words[0]) > 2 and (found := _MACROXUE.fullmatch(words[0])):
            glued = [found[1]]
        if len(glued) > 1:
            raise MoveError(f"{len(glued)} solutions in one list")
        if glued:
            return _read_macroxue, [glued[0][i : i + 2] for i in range(0, len(glued[0]), 2)]
        tokens = _moves_among_prose(lines, _STANDARD)
        reader = _read_standard
    elif rules.game == "klondike":
        minimal = re.compile(f"(?:{_MINIMAL.pattern})+")
        theirs = sum(bool(_KLONDIKE_SOLVER.fullmatch(word)) for word in words)
        ours = sum(bool(minimal.fullmatch(word)) for word in words)
        if theirs > ours and not any("@" in word for word in words):
            tokens = _moves_among_prose(lines, _KLONDIKE_SOLVER)
            reader = _read_klondike_solver
        else:
            tokens = []
            for word in _moves_among_prose(lines, minimal):
                tokens += _MINIMAL.findall(word) if minimal.fullmatch(word) else [word]
            reader = _read_minimal
    else:
        tokens, reader = [], _read_text
    if not tokens:
        raise MoveError(f"no moves of {rules.preset} in the text")
    return reader, tokens


def _unnumbered(line: str) -> str:
    numbered = _NUMBERED.match(line)
    return (numbered[2] if numbered else line).strip()


def _text_moves(lines: list[str]) -> list[str]:
    """The lines with moves in ``text``: the numbered ones, which must leave no gap, and what looks like a move."""
    tokens, last = [], None
    for line in lines:
        numbered = _NUMBERED.match(line)
        if numbered:
            if last is not None and int(numbered[1]) != last + 1:
                raise MoveError(f"move {last + 1} is missing: {numbered[1]} comes after {last}")
            last = int(numbered[1])
        if numbered or _MOVED.match(line) or _DRAWN.match(line):
            tokens.append(_unnumbered(line))
    return tokens


def _moves_among_prose(lines: list[str], pattern: re.Pattern) -> list[str]:
    """The tokens of the lines that hold moves, perhaps after a label (``Moves:``).

    A line of a board is none, nor one with words among its tokens, nor one without a move after a label. In any other
    line every token must be a move, and what is not is left in for the reader to refuse.
    """
    tokens = []
    for line in filter(None, lines):
        words = line.split()
        if _LABEL.match(line) and _is_board(line):
            continue
        labels = []
        while words and not pattern.fullmatch(words[0]) and re.fullmatch("(?i)moves?|solution|.*:", words[0]):
            labels.append(words.pop(0).lower().rstrip(":"))
        words = [word for word in words if not re.fullmatch(r"[0-9]+[.)]", word)]
        others = [word for word in words if not pattern.fullmatch(word)]
        if others:
            prose = any(re.search("[A-Za-z]{3}", word) for word in others)
            labelled = len(others) == len(words) and not {"move", "moves", "solution"}.issuperset(labels)
            if prose or labelled or _is_board(line) or not re.search("[A-Za-z0-9]", line):
                continue
        tokens += words
    return tokens
