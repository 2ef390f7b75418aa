"""Move lists: round trips, and what other programs write about real deals."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cardems_solver import cards, deals, notation, reference
from cardems_solver.formats import read_position, write_position
from cardems_solver.notation import MoveError, check_notation, format_moves, parse_moves
from cardems_solver.position import Move, Pile
from tests.games import CANFIELD, FREECELL, KLONDIKE, RULES, games

DATA = Path(__file__).parent.parent / "data"


def play(position, rules, moves):
    for move in moves:
        position = reference.apply(position, rules, move)
    return position


def as_printed(tokens, name):
    """A token list as the command line prints it."""
    if name == "text":
        return "".join(f"{number:3}. {token}\n" for number, token in enumerate(tokens, 1))
    return "\n".join(" ".join(tokens[i : i + 20]) for i in range(0, len(tokens), 20))


# --- Round trips ----------------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(games())
def test_round_trip(game):
    rules, position, moves = game
    for name in notation.notations_of(rules):
        tokens = format_moves(position, rules, moves, name)
        assert len(tokens) == len(moves)
        assert parse_moves(as_printed(tokens, name), position, rules) == moves
        assert parse_moves("\n".join(tokens), position, rules) == moves
        if moves:
            head = f"{rules.preset} solvitaire:24: solvable, 81 moves, score 520, 1,234 positions in 24 ms\n"
            assert parse_moves(head + as_printed(tokens, name), position, rules) == moves
        assert parse_moves(json.dumps({"deal": None, "moves": tokens}), position, rules) == moves
        assert parse_moves(json.dumps(tokens), position, rules) == moves


@settings(max_examples=150)
@given(games(), st.data())
def test_damaged_lists_name_a_move(game, data):
    """A list with a token changed is another legal list, or the error names the place."""
    rules, position, moves = game
    name = data.draw(st.sampled_from(notation.notations_of(rules)))
    tokens = format_moves(position, rules, moves, name)
    place = data.draw(st.integers(0, len(tokens)))
    put_in = st.one_of(st.text(max_size=4), st.sampled_from(["@", "1a", "a1", "AB", "FG", "S5", "15vf", "8k", *tokens]))
    tokens[place : place + data.draw(st.integers(0, 2))] = [data.draw(put_in)]
    try:
        played = parse_moves(as_printed(tokens, name), position, rules)
    except MoveError as error:
        assert re.match(r"move \d+ (\(|is missing)|no moves|the JSON|\d+ solutions", str(error))
    else:
        play(position, rules, played)


@given(st.text(max_size=60), st.sampled_from(RULES))
def test_noise(text, rules):
    position = deals.deal("3", rules)
    try:
        played = parse_moves(text, position, rules)
    except MoveError:
        return
    play(position, rules, played)


# --- What other programs write --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted((DATA / "solutions").glob("fc-solve_*")), ids=lambda path: path.stem)
def test_fc_solve(path):
    number = re.search(r"ms(\d+)", path.stem)[1]
    position, text = deals.deal(number, FREECELL), path.read_text()
    moves = parse_moves(text, position, FREECELL)
    assert play(position, FREECELL, moves).won
    if "boards" not in path.stem:
        assert format_moves(position, FREECELL, moves, "standard") == text.split("\n\n")[1].split()


def test_fc_solve_boards_between_the_moves():
    """fc-solve prints the board after each move: each is what the replay comes to, with every card in its place."""
    text = (DATA / "solutions" / "fc-solve_ms24_boards.txt").read_text()
    boards = re.findall(r"^Foundations:.*?\n\n", text, re.MULTILINE | re.DOTALL)
    position = deals.deal("24", FREECELL)
    moves = parse_moves(text, position, FREECELL)
    assert len(boards) == len(moves) + 1
    for board, move in zip(boards, [*moves, None], strict=True):
        assert read_position(board, FREECELL) == position
        if move:
            position = reference.apply(position, FREECELL, move)
    assert position.won


@pytest.mark.skipif(not shutil.which("fc-solve"), reason="fc-solve is not installed")
@pytest.mark.parametrize("options", ["-snx -m", "-snx -m -p -t -sam", "-snx -m -sam"])
def test_fc_solve_itself(options):
    for number in range(1, 31):
        position = deals.deal(number, FREECELL)
        board = write_position(position, FREECELL, "fc-solve")
        command = ["fc-solve", *options.split(), "-l", "lg", "-"]
        text = subprocess.run(command, input=board, text=True, capture_output=True).stdout
        assert play(position, FREECELL, parse_moves(text, position, FREECELL)).won, number


def macroxue_solutions():
    lines = (DATA / "cases" / "20_fc_macroxue_solutions.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("line", macroxue_solutions(), ids=lambda line: line.partition(":")[0])
def test_macroxue(line):
    position = deals.deal(line.partition(":")[0], FREECELL)
    assert play(position, FREECELL, parse_moves(line, position, FREECELL)).won


def test_several_macroxue_solutions_are_refused():
    text = "\n".join(macroxue_solutions())
    with pytest.raises(MoveError, match="5 solutions in one list"):
        parse_moves(text, deals.deal("1", FREECELL), FREECELL)


def test_minimal_klondike():
    """Deal, moves and the length of 130 from a public report; the moves stand among other lines."""
    text = (DATA / "cases" / "12_kl_greenfelt_1492773577.txt").read_text()
    position = deals.deal("greenfelt:1492773577", KLONDIKE)
    moves = parse_moves(text, position, KLONDIKE)
    assert play(position, KLONDIKE, moves).won
    assert reference.length(position, KLONDIKE, moves) == 130
    tokens = format_moves(position, KLONDIKE, moves, "minimal-klondike")
    listed = re.search("^moves (.*)$", text, re.MULTILINE)[1]
    assert "".join(tokens) == listed.replace(" ", "")


def test_minimal_klondike_as_it_prints():
    """Its output is a deal, a board (pairs such as KD look like moves), the moves and a line of facts."""
    text = (DATA / "cases" / "12_kl_greenfelt_1492773577.txt").read_text()
    position = deals.deal("greenfelt:1492773577", KLONDIKE)
    columns = [[cards.name(c) for c in column] for column in position.columns]
    rows = [[column[i] if i < len(column) else "  " for column in columns] for i in range(7)]
    stock = [cards.name(c) for c in position.stock]
    printed = [
        "Deal: " + re.search("^deck (.*)$", text, re.MULTILINE)[1],
        "  A        B  C  D  E",
        "  F  G  H  I  J  K  L",
        *("".join(f"{'+' if i == j else ' '}{name}" for j, name in enumerate(row)) for i, row in enumerate(rows)),
        *(" " + " ".join(stock[i : i + 7]) for i in range(0, 24, 7)),
        "Moves: " + re.search("^moves (.*)$", text, re.MULTILINE)[1],
        "(Deal Result: Solved Foundation: 52 Moves: 130 Rounds: 7 States: 1,000 Took: 00:00:01.234)",
        "Done 00:00:01.235",
    ]
    assert parse_moves("\n".join(printed), position, KLONDIKE) == parse_moves(text, position, KLONDIKE)


@pytest.mark.parametrize("path", sorted((DATA / "solutions").glob("klondike-solver_*")), ids=lambda path: path.stem)
def test_klondike_solver(path):
    number, draw = re.search(r"_(\d+)_draw(\d)", path.stem).groups()
    rules = KLONDIKE.with_options(draw=int(draw))
    position = deals.deal(f"klondike-solver:{number}", rules)
    text = path.read_text()
    assert play(position, rules, parse_moves(text, position, rules)).won
    assert play(position, rules, parse_moves(text.strip().splitlines()[-1], position, rules)).won


@pytest.mark.parametrize("draw", [1, 3])
def test_klondike_solver_itself(draw):
    solitaire = pytest.importorskip("pyksolve.solver").Solitaire
    rules = KLONDIKE.with_options(draw=draw)
    solved = 0
    for number in range(10, 22):
        game = solitaire()
        game.shuffle1(number)
        game.reset_game(draw)
        position = deals.deal(f"klondike-solver:{number}", rules)
        assert write_position(position, rules, "digits").strip() == game.get_solitaire()
        if "Solved" in str(game.solve_fast(max_closed_count=20_000)):
            solved += 1
            assert play(position, rules, parse_moves(game.moves_made(), position, rules)).won
    assert solved >= 3


# --- Details ----------------------------------------------------------------------------------------------------------


def freecell(columns, foundations="H-0 C-0 D-0 S-0", cells="- - - -"):
    text = f"Foundations: {foundations}\nFreecells: {cells}\n" + "".join(f": {column}\n" for column in columns)
    return read_position(text, FREECELL)


LATE = freecell(["KH QS JD TS", "KS QD", "", "KC", "KD QC JH"], "H-T C-J D-T S-9", "- JS QH -")


def test_runs_and_returns():
    to_empty = [Move(Pile("column", 0), Pile("column", 2), 2)]
    assert format_moves(LATE, FREECELL, to_empty, "standard") == ["13v2"]
    assert parse_moves("13v2", LATE, FREECELL) == to_empty
    assert parse_moves("13", LATE, FREECELL) == [Move(Pile("column", 0), Pile("column", 2), 1)]
    returned = [Move(Pile("foundation", 2), Pile("cell", 0)), Move(Pile("foundation", 1), Pile("cell", 3))]
    assert format_moves(LATE, FREECELL, returned, "standard") == ["Ca", "Dd"]
    assert parse_moves("Ca Dd", LATE, FREECELL) == returned
    assert format_moves(LATE, FREECELL, returned, "text")[0] == "JC: foundation to cell a"
    assert format_moves(LATE, FREECELL, to_empty, "text") == ["JD, TS: column 1 to column 3 (empty)"]


def test_the_run_that_fits():
    position = play(LATE, FREECELL, parse_moves("c4 b4", LATE, FREECELL))
    assert parse_moves("42", position, FREECELL) == [Move(Pile("column", 3), Pile("column", 1), 1)]
    position = play(position, FREECELL, parse_moves("42 13v2", position, FREECELL))
    assert parse_moves("31", position, FREECELL) == [Move(Pile("column", 2), Pile("column", 0), 2)]


def test_eight_cells():
    rules = FREECELL.with_options(cells=8)
    position = deals.deal("1", rules)
    tokens = [f"{column}{cell}" for column, cell in zip("12345678", "abcdefgk", strict=True)]
    assert format_moves(position, rules, parse_moves(" ".join(tokens), position, rules), "standard") == tokens


@pytest.mark.parametrize(
    ("text", "rules", "message"),
    [
        ("2a 3d 4z", FREECELL, "move 3 ('4z'): not a move"),
        ("2a\n2a\nzz\n", FREECELL, "move 2 ('2a'): cell 1 is taken"),
        ("1a 12v9", FREECELL, "move 2 ('12v9'): the last 9 cards of column 1 are not a run"),
        ("12", FREECELL, "move 1 ('12'): no card of column 1 goes on "),
        ("1h", FREECELL, "does not go on the foundation yet"),
        ("S5", FREECELL, "move 1 ('S5'): the foundation of S is empty"),
        ("ah", FREECELL, "move 1 ('ah'): cell a is empty"),
        ("1g", FREECELL, "there is no cell 7"),
        ("1r2r3r4r5r", FREECELL, "move 5 ('5r'): no cell is free"),
        ("1rb2", FREECELL, "move 2 ('b2'): there are only 1 cards in cells"),
        ("This list is empty", FREECELL, "no moves of freecell"),
        ("@@ AF BX", KLONDIKE, "move 3 ('AF'): "),
        ("@ HI Z", KLONDIKE, "move 2 ('HI'): "),
        ("DR1 XX DR2", KLONDIKE, "move 2 ('XX'): not a move"),
        ("DR2 NEW", KLONDIKE, "move 2 ('NEW'): the waste cannot be turned over: the stock is not empty"),
        ("DR2 F3", KLONDIKE, "move 2 ('F3'): no card is to be turned up in column 3"),
        ("1. draw 2S", KLONDIKE, "move 1 ('draw 2S'): the cards drawn are "),
        ("1. turn the waste over, draw", KLONDIKE, "the stock is not empty"),
        ("1. draw\n2. nothing else", KLONDIKE, "move 2 ('nothing else'): not a move"),
        ("1. draw\n3. draw", KLONDIKE, "move 2 is missing: 3 comes after 1"),
        ("AS: column 1 to column 2", KLONDIKE, "move 1 ('AS: column 1 to column 2'): column 1 ends in "),
        ("AS: column 0 to column 2", KLONDIKE, "there is no column 0"),
        ("AS: column 9 to column 2", KLONDIKE, "there is no column 9"),
        ("AS: reserve to column 2", KLONDIKE, "the reserve is empty"),
        ("1a 2b", CANFIELD, "no moves of canfield"),
        ('{"moves": null}', FREECELL, "the JSON has no list of moves"),
        ("[1, 2]", FREECELL, "the JSON has no list of moves"),
    ],
)
def test_errors_name_the_place(text, rules, message):
    with pytest.raises(MoveError, match=re.escape(message)):
        parse_moves(text, deals.deal("1", rules), rules)


def test_no_moves_at_all():
    assert parse_moves(" \n", deals.deal("1", FREECELL), FREECELL) == []
    assert parse_moves("[]", deals.deal("1", FREECELL), FREECELL) == []


def test_notations_of_each_game():
    assert notation.notations_of(FREECELL) == ["text", "standard"]
    assert notation.notations_of(KLONDIKE) == ["text", "minimal-klondike"]
    assert notation.notations_of(CANFIELD) == ["text"]
    with pytest.raises(ValueError, match="klondike moves are not written as 'standard' \\(choose from text, minimal"):
        check_notation("standard", KLONDIKE)


def test_text_says_what_happens():
    klondike = deals.deal("solvitaire:3", KLONDIKE)
    assert format_moves(klondike, KLONDIKE, [reference.DRAW], "text") == ["draw 8H"]
    placed = {"tableau piles": [["2H"], ["4D"], ["3D"], ["4C"]], "foundations": ["2C"], "reserve": ["3C", "AS"]}
    named = ["2H", "4D", "3D", "4C", "2C", "3C", "AS"]
    stock = [rank + suit for rank in "A23456789TJQK" for suit in "HDCS" if rank + suit not in named]
    placed["tableau piles"][0][:0] = stock[34:]
    canfield = read_position(json.dumps(placed | {"stock": stock[:34]}), CANFIELD)
    moves = [Move(Pile("column", 2), Pile("column", 3))]
    assert format_moves(canfield, CANFIELD, moves, "text") == [
        "3D: column 3 to column 4 (on 4C; AS from the reserve fills column 3)"
    ]
