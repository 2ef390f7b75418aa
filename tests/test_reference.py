"""The reference against hand-made positions whose right answer is plain to see."""

from __future__ import annotations

import pytest

from cardems_solver import cards, reference
from cardems_solver.position import CELL, COLUMN, DRAW, EMPTY, FOUNDATION, RESERVE, WASTE, Move, Pile, Position
from cardems_solver.rules import PRESETS


def pile(text: str) -> tuple[int, ...]:
    return tuple(cards.parse(word) for word in text.split())


def rest_home(**piles) -> dict:
    """Foundations such that the cards named in the piles, which must be the highest of their suits, are not home."""
    held = {c for name, value in piles.items() for p in (value if name == "columns" else [value]) for c in p if c >= 0}
    heights = []
    for suit in range(4):
        missing = [cards.rank(c) for c in held if cards.suit(c) == suit]
        assert sorted(missing) == list(range(13 - len(missing), 13))
        heights.append(13 - len(missing))
    return {**piles, "foundations": tuple(heights)}


def columns(*texts: str, total: int) -> tuple[tuple[int, ...], ...]:
    return tuple(pile(text) for text in texts) + ((),) * (total - len(texts))


def klondike(*texts: str, face_down=(), stock="", waste="", **other) -> Position:
    held = rest_home(columns=columns(*texts, total=7), stock=pile(stock), waste=pile(waste))
    face_down = tuple(face_down) + (0,) * (7 - len(face_down))
    return Position(face_down=face_down, **held, **other)


def freecell(*texts: str, cells="- - - -") -> Position:
    held_cells = tuple(EMPTY if word == "-" else cards.parse(word) for word in cells.split())
    held = rest_home(columns=columns(*texts, total=8), cells=held_cells)
    return Position(face_down=(0,) * 8, **held)


def col(number: int) -> Pile:
    return Pile(COLUMN, number - 1)


def home(suit: str) -> Pile:
    return Pile(FOUNDATION, cards.SUITS.index(suit))


class TestFreeCell:
    rules = PRESETS["freecell"]

    def test_capacity_of_two_cells_and_one_other_empty_column(self):
        texts = [
            "KH QS JH TS 9H 8S 7H",
            "KS",
            "KD",
            "KC",
            "QC QH",
            "JD JC QD",
            "JS TH TC TD 9C 9S 9D 8H 8D 8C 7S 7C 7D",
        ]
        position = freecell(*texts, cells="- - - -")
        assert reference.capacity(position, to_empty_column=False) == 10
        assert reference.capacity(position, to_empty_column=True) == 5
        two = rest_home(columns=position.columns, cells=position.cells)
        taken = Position(face_down=(0,) * 8, columns=two["columns"], cells=(0, EMPTY, 1, EMPTY))
        assert reference.capacity(taken, to_empty_column=False) == 6
        assert reference.capacity(taken, to_empty_column=True) == 3

    def test_run_longer_than_capacity_is_refused(self):
        position = freecell("KD QC JD TC 9D", "KC", "KH", "KS QH", "QD", "JH JS QS", "JC TD", "TS TH", cells="- - - -")
        assert reference.run_length(position, 0) == 5
        full = Position(
            columns=position.columns, face_down=position.face_down, foundations=position.foundations, cells=(EMPTY,)
        )
        with pytest.raises(reference.IllegalMove, match="room to move 2"):
            reference.apply(full, self.rules, Move(col(1), col(3), 4))

    def test_card_returns_to_cell_or_column(self):
        position = freecell("KD", "KC", "KH", "KS")
        targets = {m.target.kind for m in reference.legal_moves(position, self.rules) if m.source == home("H")}
        assert targets == {CELL, COLUMN}
        strict = self.rules.with_options(foundation_return=False)
        assert not any(m.source.kind == FOUNDATION for m in reference.legal_moves(position, strict))

    def test_score_is_clamped_after_each_event(self):
        position = freecell("KD", "KC", "KH", "KS")
        moves = [
            Move(home("H"), Pile(CELL, 0)),  # -15, shown as 0
            Move(Pile(CELL, 0), home("H")),
            Move(col(1), home("D")),
        ]
        assert reference.score(position, self.rules, moves) == 20


class TestKlondike:
    rules = PRESETS["klondike"]
    three = PRESETS["klondike-draw-three"]

    def test_last_partial_draw_is_playable(self):
        position = klondike("KH", "KS", "KD", stock="KC QC QH QS QD")
        after = reference.apply(position, self.three, DRAW)
        assert after.waste == pile("KC QC QH")
        after = reference.apply(after, self.three, DRAW)
        assert after.waste[-1] == cards.parse("QD") and not after.stock

    def test_waste_is_turned_over_in_order_and_passes_are_counted(self):
        position = klondike("KH", "KS", "KD", stock="KC", waste="QD QH")
        after = reference.apply(position, self.rules, DRAW)
        assert (after.waste, after.passes) == (pile("QD QH KC"), 1)
        again, events = reference.play(after, self.rules, DRAW)
        assert (again.stock, again.waste, again.passes) == (pile("QH KC"), pile("QD"), 2)
        assert events.turned_over
        one_pass = PRESETS["klondike-one-pass"]
        assert DRAW not in reference.legal_moves(after, one_pass)
        with pytest.raises(reference.IllegalMove, match="no pass"):
            reference.apply(after, one_pass, DRAW)

    def test_third_pass_is_the_last(self):
        position = klondike("KH", "KS", "KD", waste="KC", passes=3)
        assert not reference.can_draw(position, self.three)
        assert reference.can_draw(position, self.rules)

    def test_only_kings_fill_empty_columns_and_tails_of_runs_move(self):
        position = klondike("KD QC JD", "KC QD JC", "KH QS", "KS QH JS JH", face_down=(0, 0, 0, 1))
        moves = reference.legal_moves(position, self.rules)
        assert Move(col(1), col(3), 1) in moves
        assert Move(col(4), col(5), 3) not in moves
        assert all(
            position.columns[m.target.index] for m in moves if m.target.kind == COLUMN and m.source.kind == COLUMN
        )

    def test_turning_up_is_automatic_and_scores(self):
        position = klondike("KD QH", "KC QD", "KH QS", "KS QC", face_down=(1,))
        after, events = reference.play(position, self.rules, Move(col(1), home("H")))
        assert events.turned_up and events.sent_home
        assert after.face_down[0] == 0
        assert reference.add_score(0, events, self.rules) == 15

    def test_turning_the_waste_over_costs_100_but_never_below_0(self):
        position = klondike("KH", "KS", "KD", waste="KC")
        moves = [Move(col(1), home("H")), DRAW, Move(Pile(WASTE), home("C"))]
        assert reference.score(position, self.rules, moves) == 10
        assert reference.length(position, self.rules, moves, "moves") == 3
        assert reference.length(position, self.rules, moves, "taps") == 4


class TestCanfield:
    rules = PRESETS["canfield"]

    def position(self, **piles) -> Position:
        piles = {"columns": columns("KH", "KS", "KD", "QC", total=4), "reserve": (), "stock": (), "waste": ()} | piles
        return Position(face_down=(0,) * 4, **rest_home(**piles))

    def test_space_is_filled_from_the_reserve_at_once(self):
        position = self.position(reserve=pile("QH KC"))
        after = reference.apply(position, self.rules, Move(col(3), home("D")))
        assert after.columns[2] == pile("KC") and after.reserve == pile("QH")

    def test_space_takes_the_waste_once_the_reserve_is_gone(self):
        position = self.position(columns=columns("KH", "KS", "QC QD", total=4), waste=pile("KC"), reserve=pile("KD"))
        moves = reference.legal_moves(position, self.rules)
        assert Move(Pile(RESERVE), col(4)) not in moves
        gone = self.position(columns=columns("KH QS", "KS", "KD QH", total=4), waste=pile("QC KC QD"))
        filled = [m for m in reference.legal_moves(gone, self.rules) if m.target == col(4)]
        assert filled == [Move(Pile(WASTE), col(4))]
        anything = self.rules.with_options(spaces="any", partial_runs=True)
        filled = [m for m in reference.legal_moves(gone, anything) if m.target == col(4)]
        assert Move(col(1), col(4), 1) in filled and Move(Pile(WASTE), col(4)) in filled

    def test_only_whole_columns_move(self):
        position = self.position(columns=columns("KH QS", "KD", "KC", "KS", total=4))
        assert Move(col(1), col(2), 1) not in reference.legal_moves(position, self.rules)
        partial = self.rules.with_options(partial_runs=True)
        assert Move(col(1), col(2), 1) in reference.legal_moves(position, partial)

    @pytest.mark.parametrize(
        ("child", "parent", "base", "accepted"),
        [("KH", "AS", 5, True), ("KH", "AS", 0, False), ("5H", "6S", 5, False), ("6H", "7S", 5, True)],
    )
    def test_ranks_count_from_the_base_card(self, child, parent, base, accepted):
        assert reference.continues(cards.parse(child), cards.parse(parent), base) is accepted

    def test_stakes(self):
        position = self.position(columns=columns("KH", "KS", "KD", "KC", total=4))
        assert reference.stake_pay(position) == 5 * 48
        won = self.position(columns=((),) * 4)
        assert won.won and reference.stake_pay(won) == 500
