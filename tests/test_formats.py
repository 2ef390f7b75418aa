"""Positions as text: the public cases, round trips of every format, bad input of every kind, and noise."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import threading
import warnings
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cardems_solver import cards, deals, formats, reference
from cardems_solver.formats import DealError, DealWarning, load, one_line, read_position, write_position
from cardems_solver.position import EMPTY
from tests.games import CANFIELD, FREECELL, KLONDIKE, RULES, positions

CASES = Path(__file__).parent.parent / "data" / "cases"
DEAL_24 = deals.deal(24, FREECELL)
BOARD_24 = write_position(DEAL_24, FREECELL, "fc-solve")


def case(name, rules, **options):
    return load(str(CASES / name), rules.with_options(**options))[0]


# --- Cases from public reports (data/README.md says what should come out) --------------------------------------------


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("01_fc_ms11982_impossible.txt", 11982),
        ("01b_fc_ms11982_solvitaire_json.txt", 11982),
        ("02_fc_ms1941_autoplay_trap.txt", 1941),
        ("06a_fc24_mixed_10_T_no_trailing_newline.txt", 24),
        ("06g_fc24_founds_all_zero.txt", 24),
        ("07c_fc_bom_crlf.txt", 24),
        ("07d_fc_lowercase.txt", 24),
        ("07f_fc_comments_blank_lines.txt", 24),
        ("07h_fc_unicode_suits.txt", 24),
        ("07i_fc_row_major_rosetta.txt", 24),
        ("07j_fc_one_line_52.txt", 24),
    ],
)
def test_freecell_deals(name, number):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert case(name, FREECELL) == deals.deal(number, FREECELL)


def names(pile):
    return " ".join("-" if c == EMPTY else cards.name(c) for c in pile)


def test_board_with_colons_and_an_empty_column():
    position = case("06e_fc24_mid_colons_empty_column.txt", FREECELL)
    assert position.foundations == (4, 1, 1, 1)
    assert names(position.cells) == "6S 8H QD 4S"
    assert position.columns[6] == ()
    assert names(position.columns[7]) == "7S 6C 7D 4D 8S 9D"


def test_board_with_an_empty_line_as_a_column():
    position = case("06f_fc24_mid_uncoloned_empty_line_column.txt", FREECELL)
    assert position.foundations == (10, 1, 7, 11)
    assert names(position.cells) == "3D 7D - -"
    assert list(map(len, position.columns)) == [3, 2, 0, 6, 7, 1, 1, 1]


def test_foundations_in_any_order():
    position = case("06i_fc24_mod_founds_order_SHCD.txt", FREECELL)
    assert position.foundations == (2, 1, 2, 2)
    assert position.columns[3] == ()


def test_no_cells():
    assert case("06j_fc_zero_cells_mid.txt", FREECELL, cells=0).cells == ()


@pytest.mark.parametrize(
    ("name", "rules", "message"),
    [
        ("06b_fc24_stray_char.txt", FREECELL, "06b_fc24_stray_char.txt:8: 'd' is not a card"),
        ("07a_fc_missing_card.txt", FREECELL, "07a_fc_missing_card.txt: 4C is missing"),
        ("07b_fc_duplicate_card.txt", FREECELL, "07b_fc_duplicate_card.txt: 4C is missing, 2C appears twice"),
        ("07e_fc_empty.txt", FREECELL, "07e_fc_empty.txt: no cards"),
        ("14_kl_truncated_deck_31_cards.txt", KLONDIKE, "14_kl_truncated_deck_31_cards.txt: 21 cards are missing"),
    ],
)
def test_refused_cases(name, rules, message):
    with pytest.raises(DealError, match=re.escape(message)):
        case(name, rules)


@pytest.mark.parametrize("name", ["08_kl_worry_back_same_pile_draw1.txt", "10_kl_draw3_three_passes_claim.txt"])
def test_decks_of_digits(name):
    position = case(name, KLONDIKE)
    assert write_position(position, KLONDIKE, "digits").strip() == (CASES / name).read_text().strip()


@pytest.mark.parametrize(
    ("name", "deal"),
    [
        ("12_kl_greenfelt_1492773577.txt", "greenfelt:1492773577"),
        ("13_kl_greenfelt_2095819838_unwinnable.txt", "greenfelt:2095819838"),
    ],
)
def test_a_deck_among_other_lines(name, deal):
    with pytest.warns(DealWarning, match="only its line"):
        assert case(name, KLONDIKE) == deals.deal(deal, KLONDIKE)


def test_pysol_klondike():
    position = case("16_kl_pysol_talon_text.txt", KLONDIKE)
    assert position.face_down == (0, 1, 2, 3, 4, 5, 6)
    assert names(position.stock).startswith("TC TS AD 4D QS")
    assert names(position.columns[6]) == "4C AH 2S 6C 6H TH KH"
    assert write_position(position, KLONDIKE, "pysol") == (CASES / "16_kl_pysol_talon_text.txt").read_text()


def test_upper_case_json_is_face_up_with_a_warning():
    with pytest.warns(DealWarning, match="no card is marked as face down"):
        position = case("17a_kl_solvitaire_all_uppercase_json.txt", KLONDIKE)
    assert position.face_down == (0,) * 7
    assert names(position.columns[2]) == "9S 7D 6H"
    assert names(position.stock).startswith("9D 10C".replace("10", "T"))  # the last one listed is drawn first


def test_solvitaire_seed_1():
    assert case("17c_kl_solvitaire_seed1_unsolvable_json.txt", KLONDIKE) == deals.deal("solvitaire:1", KLONDIKE)


# --- Round trips ----------------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(positions(), st.sampled_from(formats.FORMATS))
def test_round_trip(found, layout):
    rules, position = found
    try:
        text = write_position(position, rules, layout)
    except ValueError:
        dealt = deals.canonical_deck(position, rules) is not None
        assert layout not in ("text", "solvitaire")
        assert not (dealt and layout in ("digits", "line"))
        assert not (rules.game == "freecell" and layout in ("fc-solve", "pysol"))
        assert not (rules.game == "klondike" and layout == "pysol" and not position.waste and position.passes == 1)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if rules.game == "klondike" and not any(position.face_down) else "error")
        assert read_position(text, rules) == position
        assert read_position(text.replace("\n", "\r\n").encode("utf-8-sig"), rules) == position
        assert read_position(text.encode("utf-16"), rules) == position


@settings(max_examples=100)
@given(positions())
def test_one_line_is_a_deal_argument(found):
    rules, position = found
    text = one_line(position, rules)
    assert "\n" not in text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert load(text, rules) == (position, None)


@pytest.mark.parametrize("rules", RULES)
def test_every_deal_in_every_form(rules):
    position = deals.deal("7", rules)
    forms = {"freecell": 6, "klondike": 5, "canfield": 4}
    read = []
    for layout in formats.FORMATS:
        with contextlib.suppress(ValueError):
            read.append(read_position(write_position(position, rules, layout), rules))
    assert read == [position] * forms[rules.game]


def test_readers_beyond_the_writers():
    board = write_position(DEAL_24, FREECELL, "fc-solve")
    variants = {
        "spaced out": board.replace("\n", "\n\n"),
        "colons": "".join(f": {line}\n" for line in board.splitlines()),
        "founds": "Founds: H-0 C-0 D-0 S-0\nFC: - - - -\n" + board,
        "no founds": "Foundations: -\n" + board,
        "suit first": re.sub(r"(\w)([HDCS])", r"\2\1", board),
        "zero for ten": board.replace("T", "0"),
        "commas": board.replace(" ", ","),
        "comments": board.replace("\n", " # a column\n", 3),
    }
    for text in variants.values():
        assert read_position(text, FREECELL) == DEAL_24
    founds = {"suits": [["AC", "2C"], [], [], ["AH", "2H"]], "flat": ["AH", "AC", "2C", "2H"]}
    for value in founds.values():
        text = json.dumps({"tableau piles": [["3H"]], "foundation": value})
        with pytest.raises(DealError, match="47 cards are missing"):
            read_position(text, FREECELL)


def test_gaps_are_empty_cells():
    board = write_position(DEAL_24, FREECELL, "fc-solve").replace(" 2H\n", "\n").replace(" QD\n", "\n")
    position = read_position("Freecells:      2H      QD\n" + board, FREECELL)
    assert names(position.cells) == "- 2H - QD"
    assert names(read_position("Freecells: 2H QD\n" + board, FREECELL).cells) == "2H QD - -"
    assert names(read_position("Freecells: - 2H - QD\n" + board, FREECELL).cells) == "- 2H - QD"


def test_what_happens_by_itself_has_happened():
    text = write_position(deals.deal("1", KLONDIKE), KLONDIKE, "solvitaire")
    with pytest.warns(DealWarning, match="columns 1, 2, 3, 4, 5, 6, 7: face down on top, turned up"):
        assert read_position(text.lower(), KLONDIKE) == deals.deal("1", KLONDIKE)
    canfield = deals.deal("1", CANFIELD)
    found = json.loads(write_position(canfield, CANFIELD, "solvitaire"))
    found["tableau piles"][0] += found["tableau piles"][2]
    found["tableau piles"][2] = []
    with pytest.warns(DealWarning, match="column 3: empty, filled from the reserve"):
        position = read_position(json.dumps(found), CANFIELD)
    assert position.columns[2] == canfield.reserve[-1:]
    assert position.reserve == canfield.reserve[:-1]


# --- Bad input ------------------------------------------------------------------------------------------------------

FULL_DECK = [cards.name(c) for c in cards.DECK]
JSON_24 = json.loads(write_position(DEAL_24, FREECELL, "solvitaire"))


@pytest.mark.parametrize(
    ("text", "rules", "message"),
    [
        ("", FREECELL, "deal: no cards"),
        ("\ufeff\n\n", FREECELL, "deal: no cards"),
        ("# only this\n", FREECELL, "deal: no cards"),
        (b"\xff\x00\xfe", FREECELL, "deal: not a text file"),
        (b"4C" * (1 << 20), FREECELL, "too large"),
        ("24", FREECELL, "2 digits, but a deck has 156"),
        ("015" * 52, KLONDIKE, "'015' (card 1) is not a card"),
        ("011" * 52, KLONDIKE, "51 cards are missing"),
        ("011" * 53, KLONDIKE, "159 digits"),
        (BOARD_24 + BOARD_24, FREECELL, "16 columns, but freecell has 8"),
        ("\n".join(" ".join(BOARD_24.split()[i : i + 13]) for i in range(0, 52, 13)), FREECELL, "understood are"),
        (BOARD_24 + "Freecells: 4C\n", FREECELL, "4C appears twice"),
        ("Cellar: 4C\n" + BOARD_24, FREECELL, "deal:1: 'Cellar' is not a part of a board"),
        ("FC: -\nFreecells: -\n" + BOARD_24, FREECELL, "deal:2: 'Freecells' for the second time"),
        ("Foundations: H-X\n" + BOARD_24, FREECELL, "deal:1: 'HX' is not a card"),
        ("Foundations: H-0 H-2\n" + BOARD_24, FREECELL, "two foundations of H"),
        ("Freecells: - - - - -\n" + BOARD_24.replace("2H", ""), FREECELL, "2H is missing"),
        ("FC: - - - - 2H\n" + BOARD_24.replace(" 2H", ""), FREECELL, "5 cells, but the rules allow 4"),
        ("Talon: 2H\n" + BOARD_24.replace(" 2H", ""), FREECELL, "freecell has no stock"),
        ("Reserve: 2H\n" + BOARD_24.replace(" 2H", ""), FREECELL, "freecell has no reserve"),
        (BOARD_24.replace("4C", "<4C>"), FREECELL, "no cards face down"),
        (BOARD_24, KLONDIKE, "8 columns, but klondike has 7"),
        ("Talon: 4C\n5C\n7H <9H>\n", KLONDIKE, "deal:3: <9H> is face down, but lies on a card that is face up"),
        ("Pass: x\n5C\n", KLONDIKE, "deal:1: 'x' is not a number"),
        ("Foundations: H-4 C-4\n5C\n", CANFIELD, "Base: rank"),
        ("{", FREECELL, "deal:1: not JSON"),
        ('{"tableau piles": [[\n"4C",\n]]}', FREECELL, "deal:3: not JSON"),
        ("[" * 100000, FREECELL, "not JSON"),
        ("[]", FREECELL, "not an object"),
        ("{}", FREECELL, "no 'tableau piles'"),
        ('{"tableau piles": 3}', FREECELL, "'tableau piles' is not a list"),
        ('{"tableau piles": [3]}', FREECELL, "a tableau pile is not a list"),
        ('{"tableau piles": [[3]]}', FREECELL, "deal: 3 is not a card"),
        ('{"tableau piles": [[\n"4C", "d"]]}', FREECELL, "deal:2: 'd' is not a card"),
        ('{"tableau piles": [[]], "tableau piles": [[]]}', FREECELL, "'tableau piles' for the second time"),
        ('{"tableau piles": [[]], "hole": "AS"}', FREECELL, "'hole' is not a part"),
        ('{"tableau piles": [[]], "foundation": [], "foundations": []}', FREECELL, "both"),
        ('{"tableau piles": [[]], "foundations": ["5H"]}', FREECELL, "5H on a foundation where AH should be"),
        ('{"tableau piles": [[]], "pass": true}', KLONDIKE, "'pass' is not a number"),
        ('{"tableau piles": [[]], "pass": 1e400}', KLONDIKE, "'pass' is not a number"),
        ('{"tableau piles": [["4C", "5d"]]}', KLONDIKE, "column 1 has a face-down card on one that is face up"),
        ('{"tableau piles": []}', CANFIELD, "no foundation card"),
        (
            json.dumps({"tableau piles": [], "stock": FULL_DECK}),
            KLONDIKE,
            "52 cards in stock and waste, but klondike has 24",
        ),
        (json.dumps({"tableau piles": [], "stock": FULL_DECK[1:], "foundations": ["AH"]}), CANFIELD, "canfield has 34"),
        (json.dumps(JSON_24), CANFIELD, "8 columns, but canfield has 4"),
        (json.dumps(JSON_24 | {"waste": ["4C"]}), FREECELL, "4C appears twice"),
    ],
)
def test_refused(text, rules, message):
    with pytest.raises(DealError, match=re.escape(message)):
        read_position(text, rules)


ANY = st.sampled_from(RULES)
WORDS = st.sampled_from(
    [
        "Foundations:",
        "Freecells:",
        "Talon:",
        "Base:",
        "Pass:",
        ":",
        "4C",
        "<4C>",
        "-",
        "10H",
        "H-4",
        "#",
        "{",
        "}",
        "[",
        "]",
        '"',
        ",",
        "011",
        "null",
        "♥",
        "\ufeff",
        "\x00",
    ]
)


def read_or_refuse(text, rules):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            position = read_position(text, rules)
        except DealError:
            return
        position.check(rules)
        reference.legal_moves(position, rules)


@given(st.binary(max_size=200), ANY)
def test_noise_is_refused(noise, rules):
    read_or_refuse(noise, rules)


@given(st.lists(st.one_of(WORDS, st.sampled_from(["\n", " "]), st.text(max_size=3)), max_size=40), ANY)
def test_words_out_of_place(words, rules):
    read_or_refuse(" ".join(words), rules)


@settings(max_examples=200)
@given(positions(), st.sampled_from(formats.FORMATS), st.data())
def test_damaged_positions(found, layout, data):
    """A written position with a bit cut out and a bit put in is another good position or refused."""
    rules, position = found
    try:
        text = write_position(position, rules, layout)
    except ValueError:
        assume(False)
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 6))
    put_in = data.draw(st.one_of(WORDS, st.text(max_size=4), st.just(text[start : start + 3])))
    read_or_refuse(text[:start] + put_in + text[start + length :], rules)


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(["4C", "", "kd", "x"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(["tableau piles", "stock", "waste", "foundations", "cells", "reserve", "pass"]), JSON_VALUES
    ),
    ANY,
)
def test_json_of_any_shape(found, rules):
    read_or_refuse(json.dumps({"tableau piles": []} | found), rules)


# --- The argument of the command line --------------------------------------------------------------------------------


def test_load_numbers_and_names():
    assert load("24", FREECELL) == (DEAL_24, "ms:24")
    assert load("solvitaire:22", KLONDIKE) == (deals.deal("solvitaire:22", KLONDIKE), "solvitaire:22")


def test_load_the_deck_itself():
    assert load(write_position(DEAL_24, FREECELL, "line"), FREECELL) == (DEAL_24, None)
    digits = write_position(deals.deal("5", KLONDIKE), KLONDIKE, "digits").strip()
    assert load(digits, KLONDIKE) == (deals.deal("5", KLONDIKE), None)
    with pytest.raises(DealError, match="21 cards are missing"):
        load(digits[:93], KLONDIKE)
    with pytest.raises(DealError, match="no 'tableau piles'"):
        load("{}", KLONDIKE)


NO_DEALS = ["24 ", " 24", "1e6", "0x10", "-3", "+24", "24.0", "٢٤", "", "nowhere.txt", "x" * 5000, "a\0b"]


@pytest.mark.parametrize("text", NO_DEALS)
def test_load_refuses_what_is_no_deal(text):
    with pytest.raises(ValueError):
        load(text, FREECELL)


def test_load_names_the_range_and_the_schemes():
    with pytest.raises(ValueError, match="ms takes 1 to 8589934591"):
        load("0", FREECELL)
    with pytest.raises(ValueError, match="ms takes 1 to 8589934591"):
        load("1e6", FREECELL)
    with pytest.raises(ValueError, match="freecell has ms, solvitaire"):
        load("nonsense:5", FREECELL)


def test_load_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("24").write_text("not looked at: a number is a number")
    assert load("24", FREECELL)[1] == "ms:24"
    Path("my board").write_text(BOARD_24)
    assert load("my board", FREECELL) == (DEAL_24, None)
    with pytest.raises(ValueError, match="directory"):
        load(".", FREECELL)


def test_load_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(BOARD_24,))
    writer.start()
    assert load(str(pipe), FREECELL) == (DEAL_24, None)
    writer.join()


def test_write_refuses():
    with pytest.raises(ValueError, match="choose from text, fc-solve"):
        write_position(DEAL_24, FREECELL, "xml")
    with pytest.raises(ValueError, match="fc-solve has no boards of klondike"):
        write_position(deals.deal("1", KLONDIKE), KLONDIKE, "fc-solve")
    drawn = reference.apply(deals.deal("1", KLONDIKE), KLONDIKE, reference.DRAW)
    for layout in ("pysol", "digits", "line"):
        with pytest.raises(ValueError):
            write_position(drawn, KLONDIKE, layout)


@pytest.mark.skipif(not shutil.which("fc-solve"), reason="fc-solve is not installed")
@settings(max_examples=20)
@given(positions([FREECELL]))
def test_fc_solve_reads_what_is_written(found):
    """The position that fc-solve prints first, with columns in an order of its own, is the one it was given."""
    rules, position = found
    command = ["fc-solve", "-s", "-p", "-t", "--max-iters", "2", "-"]
    printed = subprocess.run(command, input=write_position(position, rules, "fc-solve"), text=True, capture_output=True)
    board = re.search(r"^Foundations:.*?\n\n", printed.stdout, re.MULTILINE | re.DOTALL)
    assert read_position(board[0], rules).canonical() == position.canonical()


def test_the_examples_of_the_documentation():
    text = (CASES.parent.parent / "docs" / "formats.md").read_text()
    examples = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(examples) == 5
    for game, example in examples:
        rules = {"freecell": FREECELL, "klondike": KLONDIKE, "canfield": CANFIELD}[game]
        read_position(example, rules)
        assert load(example, rules)[1] is None
    for name, scheme in deals.SCHEMES.items():
        (line,) = re.findall(rf"^\| `{name}` \|.*$", text, re.MULTILINE)
        assert all(game in line.lower() for game in scheme.orders)
