"""Card numbers: ``4 * rank + suit``, ace 0, suits in the order hearts, diamonds, clubs, spades.

The two red suits are 0 and 1, the two black ones 2 and 3, so a card of suit ``s`` can rest only on cards of the next
rank with suit ``s ^ 2`` or ``s ^ 3``, and ``suit >> 1`` is the colour.
"""

Card = int
RANKS = "A23456789TJQK"
SUITS = "HDCS"
SUIT_SYMBOLS = "♥♦♣♠"
DECK = range(52)


def card(rank: int, suit: int) -> Card:
    return 4 * rank + suit


def rank(c: Card) -> int:
    """0 for an ace to 12 for a king."""
    return c >> 2


def suit(c: Card) -> int:
    return c & 3


def colour(c: Card) -> int:
    """0 for red, 1 for black."""
    return c >> 1 & 1


def name(c: Card) -> str:
    """Two characters, as ``TD``."""
    return RANKS[c >> 2] + SUITS[c & 3]


_SUIT_LETTERS = {letter: s for s, letter in enumerate(SUITS)} | {symbol: s for s, symbol in enumerate(SUIT_SYMBOLS)}
_SUIT_LETTERS |= {symbol: s for s, symbol in enumerate("♡♢♧♤")}


def parse(text: str) -> Card:
    """The card that ``text`` names (``TD``, ``10d``, ``0D``, ``T♦``, or suit first: ``DT``).

    Raises:
        ValueError: the text is not a card.
    """
    upper = text.strip().replace("\ufe0f", "").upper()
    for rank_text, suit_text in ((upper[:-1], upper[-1:]), (upper[1:], upper[:1])):
        if rank_text in ("10", "0"):
            rank_text = "T"
        if rank_text == "1":
            rank_text = "A"
        if len(rank_text) == 1 and rank_text in RANKS and suit_text in _SUIT_LETTERS:
            return card(RANKS.index(rank_text), _SUIT_LETTERS[suit_text])
    raise ValueError(f"{text!r} is not a card")
