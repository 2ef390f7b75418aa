"""Deal numbers: each scheme is a published way to shuffle a deck by a number.

A shuffle gives 52 cards in the order of its own array; a fixed order of positions (``ORDERS``) turns that into the
game's *canonical deck*, the one that everything here speaks of: FreeCell row by row as dealt (card i goes to column
i mod 8), Klondike columns 1 to 7 (deepest first) and then the stock (first drawn first), Canfield the base card, the
reserve (bottom to top), the four columns and the stock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import factorial
from pathlib import Path
from typing import NamedTuple

from cardems_solver import cards
from cardems_solver.cards import Card
from cardems_solver.position import EMPTY, Position
from cardems_solver.rules import Rules


def _deck(suits: str, by_rank: bool) -> tuple[Card, ...]:
    """A sorted deck: all aces, all twos, ... (``by_rank``), or suit after suit."""
    letters = [cards.SUITS.index(letter) for letter in suits]
    if by_rank:
        return tuple(cards.card(rank, suit) for rank in range(13) for suit in letters)
    return tuple(cards.card(rank, suit) for suit in letters for rank in range(13))


# --- The shuffles: deck and number to the shuffled array -----------------------------------------------------------


def _ms(deck: list[Card], number: int) -> None:
    """Microsoft FreeCell's generator, with the extensions beyond 2^31 and 2^32 of FreeCell Pro."""
    beyond = number >= 1 << 32
    x = number - (1 << 32) if beyond else number
    for left in range(52, 0, -1):
        x = (x * 214013 + 2531011) & 0xFFFFFFFF
        if beyond:
            r = (x >> 16) + 1
        else:
            r = (x >> 16 & 0x7FFF) | (0x8000 if number >= 1 << 31 else 0)
        # The cards dealt gather at the end of the deck, the first one last: the order below reverses them.
        j = r % left
        deck[j], deck[left - 1] = deck[left - 1], deck[j]


def mersenne_twister(seed: int) -> Iterator[int]:
    """The 32-bit outputs of MT19937 (Matsumoto & Nishimura 1998, seeding of 2002), each word twisted when asked for."""
    state = [seed & 0xFFFFFFFF]
    for i in range(1, 624):
        state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + i) & 0xFFFFFFFF)
    i = 0
    while True:
        y = state[i] & 0x80000000 | state[(i + 1) % 624] & 0x7FFFFFFF
        state[i] = state[(i + 397) % 624] ^ y >> 1 ^ (0x9908B0DF if y & 1 else 0)
        y = state[i]
        y ^= y >> 11
        y ^= y << 7 & 0x9D2C5680
        y ^= y << 15 & 0xEFC60000
        yield y ^ y >> 18
        i = (i + 1) % 624


def _solvitaire(deck: list[Card], number: int) -> None:
    """Fisher-Yates with the uniform integers of Boost (buckets and rejection) from MT19937."""
    draws = mersenne_twister(number)
    for i in range(51, 0, -1):
        bucket, rest = divmod(0xFFFFFFFF, i + 1)
        bucket += rest == i
        j = next(draw // bucket for draw in draws if draw // bucket <= i)
        deck[i], deck[j] = deck[j], deck[i]


def _greenfelt(deck: list[Card], number: int) -> None:
    """Seven passes of swaps driven by the minimal standard generator (Park & Miller 1988)."""
    x = number
    for _ in range(7):
        for j in range(52):
            x = 16807 * x % 0x7FFFFFFF
            k = x % 52
            deck[j], deck[k] = deck[k], deck[j]


def _signed(x: int) -> int:
    """The value of the low 32 bits as a signed integer."""
    return (x + 0x80000000 & 0xFFFFFFFF) - 0x80000000


def _klondike_solver(deck: list[Card], number: int) -> None:
    """Klondike-Solver's own generator: warmed up, seeded again by its last value, then 269 swaps."""
    m, t, v = 51651237, 895213268, number

    def step() -> int:
        nonlocal m, t, v
        y = _signed(_signed(t - m) ^ t ^ v ^ m)
        m = _signed(m ^ t ^ v)
        v = _signed(v ^ _signed(t - m))
        t = _signed(t ^ v ^ y)
        v = _signed(v ^ _signed(t << 7) ^ m >> 16 ^ _signed(y << 8))
        return v & 0x7FFFFFFF

    for _ in range(50):
        step()
    v = _signed(0x9417B3AF ^ number ^ number >> 15)
    for _ in range(950):
        step()
    for _ in range(269):
        j, k = step() % 52, step() % 52
        deck[j], deck[k] = deck[k], deck[j]


def _exact(deck: list[Card], number: int) -> None:
    """The permutation of that number; undoes ``exact_number`` digit by digit (mixed radix, least digit first)."""
    digits = []
    for radix in range(2, 53):
        number, digit = divmod(number, radix)
        digits.append(digit)
    for i in range(1, 52):
        p = digits[i - 1]
        deck[p], deck[i] = deck[i], deck[p]


def _microsoft_collection(deck: list[Card], number: int) -> None:
    """Fisher-Yates by the digits of the number (mixed radix 52, 51, ..., least digit first)."""
    for i in range(51, 0, -1):
        number, j = divmod(number, i + 1)
        deck[i], deck[j] = deck[j], deck[i]


# --- From the shuffled array to the canonical deck -----------------------------------------------------------------


def _row_order(game: str) -> tuple[int, ...]:
    """For each card of a canonical deck, its place in *row order*: Klondike's tableau dealt row by row, then the stock.
    The other games' canonical decks are in the order of dealing already."""
    if game != "klondike":
        return tuple(range(52))
    place = iter(range(52))
    columns: list[list[int]] = [[] for _ in range(7)]
    for row in range(7):
        for column in columns[row:]:
            column.append(next(place))
    return tuple(i for column in columns for i in column) + tuple(place)


ROW_ORDER = {game: _row_order(game) for game in ("freecell", "klondike", "canfield")}


def _reversed(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(51 - i for i in order)


def _solvitaire_klondike() -> tuple[int, ...]:
    """The tableau is dealt from position 27 downwards, each row from column 7 to the left."""
    place = iter(range(27, -1, -1))
    columns: list[list[int]] = [[] for _ in range(7)]
    for row in range(7):
        for column in range(6, row - 1, -1):
            columns[column].append(next(place))
    return tuple(i for column in columns for i in column) + tuple(range(28, 52))


class Scheme(NamedTuple):
    """A way to number deals.

    Attributes:
        low, high: the range of the numbers.
        deck: the deck before the shuffle.
        shuffle: shuffles a deck (modified in place) by a number.
        orders: for each game that has the scheme, where card i of its canonical deck lies in the shuffled deck.
        range_text: the range as messages say it.
    """

    low: int
    high: int
    deck: tuple[Card, ...]
    shuffle: Callable[[list[Card], int], None]
    orders: dict[str, tuple[int, ...]]
    range_text: str


_ALL = factorial(52) - 1

SCHEMES: dict[str, Scheme] = {
    "ms": Scheme(
        1,
        (1 << 33) - 1,
        _deck("CDHS", by_rank=True),
        _ms,
        {"freecell": _reversed(ROW_ORDER["freecell"])},
        "1 to 8589934591 (2^33 - 1)",
    ),
    "solvitaire": Scheme(
        0,
        (1 << 32) - 1,
        _deck("CHSD", by_rank=True),
        _solvitaire,
        {
            "freecell": _reversed(ROW_ORDER["freecell"]),
            "klondike": _solvitaire_klondike(),
            "canfield": (0, *range(17, 4, -1), 4, 3, 2, 1, *range(18, 52)),
        },
        "0 to 4294967295 (2^32 - 1)",
    ),
    "greenfelt": Scheme(
        0,
        (1 << 31) - 2,
        _deck("CDHS", by_rank=False),
        _greenfelt,
        {"klondike": _reversed(ROW_ORDER["klondike"])},
        "0 to 2147483646 (2^31 - 2)",
    ),
    "klondike-solver": Scheme(
        0,
        (1 << 31) - 1,
        _deck("CDSH", by_rank=False),
        _klondike_solver,
        {"klondike": ROW_ORDER["klondike"]},
        "0 to 2147483647 (2^31 - 1)",
    ),
    "exact": Scheme(
        0,
        _ALL,
        tuple(cards.DECK),
        _exact,
        {"klondike": tuple(range(52))},
        "0 to 52! - 1",
    ),
    "microsoft-collection": Scheme(
        0,
        _ALL,
        _deck("SHCD", by_rank=False),
        _microsoft_collection,
        {"klondike": _reversed(ROW_ORDER["klondike"])},
        "0 to 52! - 1",
    ),
}

DEFAULT_SCHEME = {"freecell": "ms", "klondike": "solvitaire", "canfield": "solvitaire"}


def schemes_of(game: str) -> list[str]:
    """The schemes that a game has, its default first."""
    names = [name for name, scheme in SCHEMES.items() if game in scheme.orders]
    return sorted(names, key=lambda name: name != DEFAULT_SCHEME[game])


def split_name(name: str, rules: Rules) -> tuple[str, int]:
    """The scheme and the number that ``11982`` (the game's default scheme) or ``solvitaire:22`` name.

    Raises:
        ValueError: no such scheme, the game does not have it, or the number is none or out of range.
    """
    scheme_name, colon, number_text = name.partition(":")
    if not colon:
        scheme_name, number_text = DEFAULT_SCHEME[rules.game], name
    scheme = SCHEMES.get(scheme_name)
    known = ", ".join(schemes_of(rules.game))
    if scheme is None:
        raise ValueError(f"{scheme_name!r} is not a scheme of deal numbers ({rules.game} has {known})")
    if rules.game not in scheme.orders:
        raise ValueError(f"{scheme_name!r} does not number deals of {rules.game} (it has {known})")
    if not re.fullmatch("[0-9]+", number_text):
        raise ValueError(f"{number_text!r} is not a deal number: {scheme_name} takes {scheme.range_text}")
    # Longer digit strings are out of every range; Python refuses to convert very long ones.
    digits = number_text.lstrip("0") or "0"
    if len(digits) > 70 or not scheme.low <= int(digits) <= scheme.high:
        shown = digits if len(digits) <= 70 else f"{digits[:10]}... ({len(digits)} digits)"
        raise ValueError(f"deal number {shown} is out of range: {scheme_name} takes {scheme.range_text}")
    return scheme_name, int(digits)


def deal_name(name: str | int, rules: Rules) -> str:
    """A deal's full name: ``11982`` becomes ``ms:11982``.

    Raises:
        ValueError: see ``split_name``.
    """
    scheme, number = split_name(str(name), rules)
    return f"{scheme}:{number}"


def deal_deck(scheme_name: str, number: int, game: str) -> list[Card]:
    """The canonical deck of a deal (scheme, number and game as ``split_name`` has checked them)."""
    scheme = SCHEMES[scheme_name]
    deck = list(scheme.deck)
    scheme.shuffle(deck, number)
    return [deck[i] for i in scheme.orders[game]]


def deal(name: str | int, rules: Rules) -> Position:
    """The deal of that name or number.

    Raises:
        ValueError: see ``split_name``.
    """
    scheme, number = split_name(str(name), rules)
    return lay_out(deal_deck(scheme, number, rules.game), rules)


def lay_out(deck: Sequence[Card], rules: Rules) -> Position:
    """The opening position of a canonical deck: 52 different cards."""
    deck = tuple(int(c) for c in deck)
    if rules.game == "freecell":
        columns = tuple(deck[i :: rules.columns] for i in range(rules.columns))
        return Position(columns, (0,) * rules.columns, cells=(EMPTY,) * rules.cells)
    if rules.game == "klondike":
        columns = tuple(deck[n * (n + 1) // 2 :][: n + 1] for n in range(7))
        return Position(columns, tuple(range(7)), stock=deck[28:])
    base = deck[0]
    hearts, diamonds, clubs, spades = (int(cards.suit(base) == suit) for suit in range(4))
    return Position(
        tuple((c,) for c in deck[14:18]),
        (0,) * 4,
        foundations=(hearts, diamonds, clubs, spades),
        base=cards.rank(base),
        reserve=deck[1:14],
        stock=deck[18:],
    )


def canonical_deck(position: Position, rules: Rules) -> list[Card] | None:
    """The canonical deck whose opening position this is; None for any later position."""
    if rules.game == "freecell":
        height = max((len(column) for column in position.columns), default=0)
        deck = [column[row] for row in range(height) for column in position.columns if row < len(column)]
    elif rules.game == "klondike":
        deck = [c for column in position.columns for c in column] + list(position.stock)
    else:
        base = [c for suit in range(4) for c in position.foundation_cards(suit)]
        deck = [*base, *position.reserve, *(c for column in position.columns for c in column), *position.stock]
    return deck if len(deck) == 52 and lay_out(deck, rules) == position else None


def exact_number(position: Position, rules: Rules) -> int:
    """The number of a Klondike deal in the scheme ``exact``: every one has exactly one.

    Raises:
        ValueError: the position is not a Klondike deal.
    """
    deck = canonical_deck(position, rules) if rules.game == "klondike" else None
    if deck is None:
        raise ValueError("only Klondike deals have an exact number")
    number = 0
    for i in range(51, 0, -1):
        p = deck.index(i)
        number = number * (i + 1) + p
        deck[p], deck[i] = deck[i], deck[p]
    return number


# --- Ranges of deals ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DealRange:
    """The deals ``scheme:first`` to ``scheme:last``, both included."""

    scheme: str
    first: int
    last: int

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.last + 1))

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def names(self) -> Iterator[str]:
        return (f"{self.scheme}:{number}" for number in self)


def parse_range(text: str, rules: Rules) -> list[DealRange]:
    """What ``1..1000``, ``ms:1..32000``, ``solvitaire:22`` or a file with one deal (or such a range) a line say, in
    their order. In a file ``#`` starts a comment.

    Raises:
        ValueError: not a deal, out of range, the wrong way round, no such file, or a file without deals.
    """
    if not re.fullmatch(r"[^/\\]*:?[0-9]+(\.\.[0-9]+)?", text) and Path(text).is_file():
        return _read_ranges(Path(text), rules)
    return [_parse_one_range(text, rules)]


def _parse_one_range(text: str, rules: Rules) -> DealRange:
    first_text, dots, last_text = text.partition("..")
    if not dots and ":" not in text and not re.fullmatch("[0-9]+", text):
        raise ValueError(f"{text!r} is neither a deal number, a range (1..1000) nor a file")
    scheme, first = split_name(first_text, rules)
    if not dots:
        return DealRange(scheme, first, first)
    last_scheme, last = split_name(last_text if ":" in last_text else f"{scheme}:{last_text}", rules)
    if last_scheme != scheme:
        raise ValueError(f"{text!r} goes from one scheme to another")
    if last < first:
        raise ValueError(f"{text!r} is empty: the first number is greater than the last")
    return DealRange(scheme, first, last)


def _read_ranges(path: Path, rules: Rules) -> list[DealRange]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a text file") from None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    ranges = []
    for i, line in enumerate(lines, 1):
        content = line.partition("#")[0].strip()
        if content:
            try:
                ranges.append(_parse_one_range(content, rules))
            except ValueError as error:
                raise ValueError(f"{path}:{i}: {error}") from None
    if not ranges:
        raise ValueError(f"{path}: no deals")
    return ranges
