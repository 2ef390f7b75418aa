"""Deal numbers against published vectors, their ranges, and ranges of deals."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cardems_solver import cards, deals
from cardems_solver.deals import DealRange
from cardems_solver.kernels import dealing
from cardems_solver.rules import PRESETS

DATA = Path(__file__).parent.parent / "data"
FREECELL, KLONDIKE, CANFIELD = PRESETS["freecell"], PRESETS["klondike"], PRESETS["canfield"]


def rows(name):
    with open(DATA / name, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def digits(deck):
    """A Klondike deck as 156 digits in row order."""
    row_order = [deck[deals.ROW_ORDER["klondike"].index(i)] for i in range(52)]
    return "".join(f"{cards.rank(c) + 1:02}{'CDHS'.index(cards.name(c)[1]) + 1}" for c in row_order)


@pytest.mark.parametrize("row", rows("deal_numbers.csv"), ids=lambda row: f"{row['scheme']}:{row['number'][:12]}")
def test_published_deal_numbers(row):
    assert digits(deals.deal_deck(row["scheme"], int(row["number"]), "klondike")) == row["cards"]


@pytest.mark.parametrize(("file", "rules"), [("klondike_verdicts.csv", KLONDIKE), ("canfield_verdicts.csv", CANFIELD)])
def test_solvitaire_deals(file, rules):
    for row in rows(file):
        position = deals.deal(row["deal"], rules)
        assert position == deals.lay_out([cards.parse(name) for name in row["cards"].split()], rules)


def test_solvitaire_freecell_deals():
    for row in rows("freecell_solvitaire.csv"):
        columns = deals.deal(row["deal"], FREECELL).columns
        assert (
            " ".join(cards.name(c) for column in columns for c in column)
            == row["cards (columns 1 to 8, deepest first)"]
        )


def test_ms_boards_at_the_edges_of_each_regime():
    text = (DATA / "cases" / "04_fc_boundary_seeds.txt").read_text()
    boards = re.findall(r"## (\d+)\n((?:\w\w .*\n)+)", text)
    assert len(boards) == 15
    for number, board in boards:
        columns = deals.deal(number, FREECELL).columns
        assert "".join(" ".join(map(cards.name, column)) + "\n" for column in columns) == board, number


@given(st.integers(1, 2**33 - 1))
def test_ms_as_pysol_cards_deals(number):
    pytest.importorskip("pysol_cards")
    from pysol_cards.cards import CardRenderer
    from pysol_cards.deal_game import Game
    from pysol_cards.random_base import RandomBase

    board = Game("freecell", number, RandomBase.DEALS_MS).calc_layout_string(CardRenderer(True))
    columns = deals.deal(number, FREECELL).columns
    assert [" ".join(map(cards.name, column)) for column in columns] == board.splitlines()


@pytest.mark.parametrize(
    ("name", "rules", "message"),
    [
        ("0", FREECELL, "out of range: ms takes 1 to 8589934591"),
        ("8589934592", FREECELL, "out of range: ms takes 1 to 8589934591"),
        ("-3", FREECELL, "'-3' is not a deal number"),
        ("1e6", FREECELL, "'1e6' is not a deal number"),
        ("0x10", FREECELL, "'0x10' is not a deal number"),
        ("24 ", FREECELL, "'24 ' is not a deal number"),
        ("", FREECELL, "'' is not a deal number"),
        ("٣", FREECELL, "is not a deal number"),
        ("1_000", FREECELL, "is not a deal number"),
        ("9" * 5000, FREECELL, "5000 digits"),
        ("nonsense:3", FREECELL, "not a scheme of deal numbers (freecell has ms, solvitaire)"),
        ("ms:3", KLONDIKE, "'ms' does not number deals of klondike (it has solvitaire, greenfelt,"),
        ("greenfelt:2147483647", KLONDIKE, "greenfelt takes 0 to 2147483646"),
        ("klondike-solver:2147483648", KLONDIKE, "klondike-solver takes 0 to 2147483647"),
        ("4294967296", KLONDIKE, "solvitaire takes 0 to 4294967295"),
        ("exact:" + str(2**226), KLONDIKE, "exact takes 0 to 52! - 1"),
        ("exact:1", CANFIELD, "does not number deals of canfield (it has solvitaire)"),
    ],
)
def test_refused_with_the_range(name, rules, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        deals.deal(name, rules)


def test_names():
    assert deals.deal_name("11982", FREECELL) == "ms:11982"
    assert deals.deal_name(22, KLONDIKE) == "solvitaire:22"
    assert deals.deal_name("greenfelt:007", KLONDIKE) == "greenfelt:7"
    assert all(deals.schemes_of(game)[0] == default for game, default in deals.DEFAULT_SCHEME.items())


@given(st.permutations(range(52)))
def test_exact_number_round_trip(deck):
    position = deals.lay_out(deck, KLONDIKE)
    assert deals.deal(f"exact:{deals.exact_number(position, KLONDIKE)}", KLONDIKE) == position


@given(st.integers(0, deals.SCHEMES["exact"].high))
def test_exact_deal_round_trip(number):
    assert deals.exact_number(deals.deal(f"exact:{number}", KLONDIKE), KLONDIKE) == number


@given(st.permutations(range(52)), st.sampled_from([FREECELL, KLONDIKE, CANFIELD]))
def test_canonical_deck_round_trip(deck, rules):
    position = deals.lay_out(deck, rules)
    position.check(rules)
    assert deals.canonical_deck(position, rules) == deck


def test_mersenne_twister_is_the_standard_one():
    expected = np.random.RandomState(22)
    draws = deals.mersenne_twister(22)
    assert [next(draws) for _ in range(2000)] == [int(expected.randint(0, 2**32, dtype=np.uint32)) for _ in range(2000)]


@pytest.mark.parametrize("scheme", dealing.CODES)
def test_compiled_dealing_is_the_same(scheme):
    description = deals.SCHEMES[scheme]
    edges = [description.low, description.high]
    edges += [n for n in (2**31 - 1, 2**31, 2**32 - 1, 2**32) if n <= description.high]
    random = np.random.default_rng(1)
    numbers = np.array(edges + random.integers(description.low, description.high, 200).tolist(), np.uint64)
    for game in description.orders:
        decks = dealing.deal_many(scheme, game, numbers)
        assert decks.dtype == np.uint8
        for number, deck in zip(numbers, decks, strict=True):
            assert deck.tolist() == deals.deal_deck(scheme, int(number), game), number


def test_ranges():
    assert deals.parse_range("1..1000", FREECELL) == [DealRange("ms", 1, 1000)]
    assert deals.parse_range("ms:1..32000", FREECELL) == [DealRange("ms", 1, 32000)]
    assert deals.parse_range("greenfelt:5..greenfelt:6", KLONDIKE) == [DealRange("greenfelt", 5, 6)]
    (single,) = deals.parse_range("solvitaire:22", FREECELL)
    assert (single.count, list(single), list(single.names)) == (1, [22], ["solvitaire:22"])


@pytest.mark.parametrize(
    "text", ["5..1", "0..3", "1..", "..4", "1...4", "ms:1..solvitaire:4", "1..1e3", "deals.txt", "*"]
)
def test_bad_ranges(text):
    with pytest.raises(ValueError):
        deals.parse_range(text, FREECELL)


def test_range_file(tmp_path):
    path = tmp_path / "deals.txt"
    path.write_text("\ufeff# hard ones\r\n11982\r\nms:146692 # another\r\n\r\n1..3\r\n", encoding="utf-8")
    expected = [DealRange("ms", 11982, 11982), DealRange("ms", 146692, 146692), DealRange("ms", 1, 3)]
    assert deals.parse_range(str(path), FREECELL) == expected
    path.write_text("11982\n# x\nabc\n")
    with pytest.raises(ValueError, match=re.escape("deals.txt:3: 'abc'")):
        deals.parse_range(str(path), FREECELL)
    path.write_text("# nothing\n")
    with pytest.raises(ValueError, match="no deals"):
        deals.parse_range(str(path), FREECELL)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not a text file"):
        deals.parse_range(str(path), FREECELL)
