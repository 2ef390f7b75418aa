"""Random late positions and slow, certain answers about them, straight from the reference: the oracle for kernels."""

from __future__ import annotations

import heapq
import random
from itertools import count

from cardems_solver import cards, reference
from cardems_solver.position import EMPTY, Move, Position
from cardems_solver.rules import Rules


class TooMany(Exception):
    """The brute force met more positions than it was allowed."""


def deal_cards(rules: Rules, deck: list[int]) -> Position:
    """The deal of a whole deck in the game's own order: FreeCell row by row, Klondike columns then stock, Canfield base
    card, reserve, columns, stock."""
    if rules.game == "freecell":
        columns = tuple(tuple(deck[i::8]) for i in range(8))
        return Position(columns, (0,) * 8, cells=(EMPTY,) * rules.cells)
    if rules.game == "klondike":
        starts = [i * (i + 1) // 2 for i in range(8)]
        columns = tuple(tuple(deck[starts[i] : starts[i + 1]]) for i in range(7))
        return Position(columns, tuple(range(7)), stock=tuple(deck[28:]))
    heights = [0, 0, 0, 0]
    heights[cards.suit(deck[0])] = 1
    return Position(
        columns=tuple((c,) for c in deck[14:18]),
        face_down=(0,) * 4,
        foundations=tuple(heights),
        base=cards.rank(deck[0]),
        reserve=tuple(deck[1:14]),
        stock=tuple(deck[18:]),
    )


def random_deal(rules: Rules, rng: random.Random) -> Position:
    deck = list(cards.DECK)
    rng.shuffle(deck)
    return deal_cards(rules, deck)


def late_position(rules: Rules, rng: random.Random, left: int) -> Position:
    """A random legal position with ``left`` cards not yet home; a game's piles are filled at random."""
    base = rng.randrange(13) if rules.game == "canfield" else 0
    heights = [13] * 4
    lowest = 1 if rules.game == "canfield" else 0
    level = rng.choice((0.9, 0.5, 0.1))  # lopsided foundations make positions that cannot be won common
    behind = rng.sample(range(4), 2)
    for _ in range(left):
        suits = [s for s in range(4) if heights[s] > lowest]
        highest = max(suits, key=lambda s: (heights[s], rng.random()))
        heights[highest if rng.random() < level else rng.choice([s for s in behind if s in suits] or suits)] -= 1
    held = [cards.card((base + i) % 13, s) for s in range(4) for i in range(heights[s], 13)]
    rng.shuffle(held)
    foundations = tuple(heights)
    if rules.game == "freecell":
        parked = rng.randint(0, min(rules.cells, len(held)))
        cells = [*held[:parked], *[EMPTY] * (rules.cells - parked)]
        used = rng.randint(3, 8) if rng.random() < 0.3 else 8
        columns = [tuple(held[parked + i :: used]) if i < used else () for i in range(8)]
        return Position(tuple(columns), (0,) * 8, cells=tuple(cells), foundations=foundations)
    in_stock = rng.randint(0, min(rng.choice((4, 8, 12)), len(held)))
    drawn = rng.randint(0, in_stock)
    stock, waste, held = held[drawn:in_stock], held[:drawn], held[in_stock:]
    passes = rng.randint(1, rules.passes or 1)
    if rules.game == "klondike":
        used = rng.randint(1, 7)
        columns = [tuple(held[i::used]) if i < used else () for i in range(7)]
        hidden = rng.choice((0.3, 0.8, 1.0))
        face_down = [max(0, len(c) - 1) if rng.random() < hidden else rng.randint(0, len(c) // 2) for c in columns]
        # Face-up cards must form a run, as in every position that play can reach.
        for i, column in enumerate(columns):
            run = 1
            while run < len(column) and reference.continues(column[-run], column[-run - 1]):
                run += 1
            face_down[i] = max(face_down[i], len(column) - run)
        return Position(
            tuple(columns), tuple(face_down), (), foundations, stock=tuple(stock), waste=tuple(waste), passes=passes
        )
    in_reserve = rng.randint(0, min(5, len(held)))
    reserve, held = held[:in_reserve], held[in_reserve:]
    piles: list[list[int]] = [[] for _ in range(4)]
    leftover = []
    for c in held:  # columns hold runs only, as in every position that play can reach
        fitting = [p for p in piles if not p or reference.continues(c, p[-1], base)]
        (rng.choice(fitting) if fitting else leftover).append(c)
    stock += leftover
    while reserve and [] in piles:
        piles[piles.index([])].append(reserve.pop())
    return Position(
        tuple(tuple(p) for p in piles),
        (0,) * 4,
        (),
        foundations,
        base,
        tuple(reserve),
        tuple(stock),
        tuple(waste),
        passes,
    )


def successors(position: Position, rules: Rules) -> list[tuple[Move, Position]]:
    return [(move, reference.apply(position, rules, move)) for move in reference.legal_moves(position, rules)]


def reachable(position: Position, rules: Rules, most: int = 50_000) -> dict[tuple, Position]:
    """Every position that can be reached, by canonical key.

    Raises:
        TooMany: there are more than ``most``.
    """
    seen = {position.canonical(): position}
    todo = [position]
    while todo:
        for _, after in successors(todo.pop(), rules):
            key = after.canonical()
            if key not in seen:
                if len(seen) >= most:
                    raise TooMany
                seen[key] = after
                todo.append(after)
    return seen


def solvable(position: Position, rules: Rules, most: int = 50_000) -> bool:
    """Can the position be won? Searches deeper foundations first, so that most won positions end soon.

    Raises:
        TooMany: more than ``most`` positions would be needed.
    """
    tie = count()
    seen = {position.canonical()}
    todo = [(-sum(position.foundations), next(tie), position)]
    while todo:
        _, _, here = heapq.heappop(todo)
        if here.won:
            return True
        for _, after in successors(here, rules):
            key = after.canonical()
            if key not in seen:
                if len(seen) >= most:
                    raise TooMany
                seen.add(key)
                heapq.heappush(todo, (-sum(after.foundations), next(tie), after))
    return False


def most_home(position: Position, rules: Rules, most: int = 50_000) -> int:
    """The most cards that can reach the foundations.

    Raises:
        TooMany: more than ``most`` positions can be reached.
    """
    return max(sum(p.foundations) for p in reachable(position, rules, most).values())


def fewest(position: Position, rules: Rules, metric: str = "moves", most: int = 50_000) -> int | None:
    """The length of the shortest solution, None when there is none (Dijkstra).

    Raises:
        TooMany: more than ``most`` positions would be needed.
    """
    tie = count()
    best = {position.canonical(): 0}
    todo = [(0, next(tie), position)]
    while todo:
        distance, _, here = heapq.heappop(todo)
        if here.won:
            return distance
        if distance > best[here.canonical()]:
            continue
        for move in reference.legal_moves(here, rules):
            if metric == "cards" and move.count > 1:
                continue
            after, events = reference.play(here, rules, move)
            cost = distance + 1 + (metric == "taps" and events.turned_over)
            key = after.canonical()
            if cost < best.get(key, 1 << 30):
                if len(best) >= most:
                    raise TooMany
                best[key] = cost
                heapq.heappush(todo, (cost, next(tie), after))
    return None
