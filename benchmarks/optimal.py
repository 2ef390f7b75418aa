"""The fewest moves: how many deals are proved, with how many positions, in what time and memory.

    python -m benchmarks.optimal freecell --deals 1..200 [--no-foundation-return] [--metric cards] [--memory 8e9]
    python -m benchmarks.optimal klondike --deals 1..60 [--draw 3] [--peer 5000000]
    python -m benchmarks.optimal klondike --published

One line a deal, then the sums. States are positions stored, those of quick searches included where there are such
(``last``: by the last search alone); seconds are user CPU, compiling apart. ``soon`` is the
length of the best solution after one second of user CPU. With ``--peer N`` Klondike-Solver (``pip install pyksolve``)
solves the same deals, each within N states; it tells no numbers of states, and with draw three its minima are not
always minimal. ``--published`` solves the decks of ``data/klondike_states.csv`` and compares the states with
MinimalKlondike's; all that our searches store is counted.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import multiprocessing
import resource
import statistics
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from cardems_solver import deals, formats, reference
from cardems_solver.expand import expand
from cardems_solver.limits import Limits
from cardems_solver.position import Position
from cardems_solver.rules import Rules, preset

SCHEMES = {"freecell": "ms", "klondike": "greenfelt", "canfield": "solvitaire"}


def user_seconds() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def measure(
    rules: Rules, name: str, position: Position, metric: str, memory: int
) -> tuple[bool, int, float, float, int | None, int | None]:
    """One deal: proved?, states, seconds, bytes a state (0: few), best length, and length after a second."""
    minimum = importlib.import_module(f"cardems_solver.kernels.{rules.game}_optimal").minimum
    began = user_seconds()
    soon = None

    def progress(length: int | None = None, **_) -> None:
        nonlocal soon
        if length is not None and user_seconds() - began <= 1:
            soon = length

    outcome = minimum(position, rules, metric, Limits(memory=memory), progress=progress)
    seconds = user_seconds() - began
    length = None if outcome.steps is None else replayed(position, rules, metric, outcome.steps)
    states = outcome.all_stored or outcome.stored
    proved = outcome.optimal or outcome.verdict == "unsolvable"
    print(
        f"{name:12} {outcome.verdict} length {length} bound {outcome.lower_bound} soon {soon} "
        f"states {states} last {outcome.stored} {seconds:.2f} s, {outcome.bytes >> 20} MB",
        flush=True,
    )
    size = outcome.bytes / outcome.stored if outcome.stored > 100_000 else 0.0
    return proved, states, seconds, size, length, soon


def replayed(position: Position, rules: Rules, metric: str, steps: list) -> int:
    """The length of a solution, in Klondike and Canfield with its draws."""
    if rules.game == "freecell":
        return len(steps)
    moves, _ = expand(position, rules, steps)
    return reference.length(position, rules, moves, metric)


def published(memory: int) -> None:
    """The decks for which MinimalKlondike's states are known."""
    ratios = []
    with open(Path(__file__).parent.parent / "data" / "klondike_states.csv", newline="") as file:
        for row in csv.DictReader(file):
            rules = preset("klondike").with_options(
                draw=int(row["draw"]),
                passes=int(row["max_passes"]),
                foundation_return=row["foundation_return"] == "yes",
            )
            position = formats.read_position(row["cards"], rules)
            proved, states, _, _, length, _ = measure(rules, row["deal"], position, "moves", memory)
            if not proved or length != int(row["minimum_moves"]):
                print(f"{row['deal']}: {row['minimum_moves']} expected")
            ratios.append(states / int(row["peer_states"]))
    print(f"states, as a part of MinimalKlondike's: median {statistics.median(ratios):.3f}, most {max(ratios):.3f}")


def peer(deal: str, draw: int, states: int) -> tuple[str, int, float]:
    """Klondike-Solver on the same deal: how it ended, its length (cards turned up count there), its user CPU."""
    from pyksolve.solver import Solitaire

    game = Solitaire()
    game.draw_count = draw
    game.shuffle2(int(deal.partition(":")[2]))
    game.reset_game(draw)
    began = user_seconds()
    result = game.solve_minimal(max_closed_count=states)
    return result.name, game.moves_made_normalized_count, user_seconds() - began


def peer_apart(deal: str, draw: int, states: int) -> tuple[bool, float]:
    """The same in a process of its own, because it may crash: did it prove something, and its user CPU."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        try:
            result, length, seconds = pool.submit(peer, deal, draw, states).result()
        except BrokenProcessPool:
            result, length, seconds = "crashed", 0, 0.0
    print(f"{'':12} Klondike-Solver {result} length {length} {seconds:.2f} s", flush=True)
    return result in ("SolvedMinimal", "Impossible"), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", choices=["freecell", "klondike", "klondike-draw-three", "canfield"])
    parser.add_argument("--deals", default="1..10")
    parser.add_argument("--metric", default="moves")
    parser.add_argument("--memory", type=float, default=4e9)
    parser.add_argument("--no-foundation-return", action="store_true")
    parser.add_argument("--draw", type=int)
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--peer", type=int, metavar="STATES")
    arguments = parser.parse_args()
    rules = preset(arguments.preset)
    if arguments.no_foundation_return:
        rules = rules.with_options(foundation_return=False)
    if arguments.draw:
        rules = rules.with_options(draw=arguments.draw)
    first, _, last = arguments.deals.partition("..")
    numbers = range(int(first), int(last or first) + 1)
    scheme = SCHEMES[rules.game]
    first_deal = deals.deal(f"{scheme}:{numbers[0]}", rules)
    measure(rules, "(compiles)", first_deal, arguments.metric, 2_000_000)
    if rules.game == "klondike":
        importlib.import_module("cardems_solver.kernels.klondike").decide(first_deal, rules, Limits())
    if arguments.published:
        published(int(arguments.memory))
        return
    rows, peers = [], []
    for n in numbers:
        position = deals.deal(f"{scheme}:{n}", rules)
        rows.append(measure(rules, f"{scheme}:{n}", position, arguments.metric, int(arguments.memory)))
        if arguments.peer:
            peers.append(peer_apart(f"{scheme}:{n}", rules.draw, arguments.peer))
    proved, states, seconds, size, lengths, soon = zip(*rows, strict=True)
    both = [(best, early) for best, early in zip(lengths, soon, strict=True) if best and early]
    print(f"proved {sum(proved)} of {len(rows)}; states {sum(states)}, median {statistics.median(states):.0f}")
    print(f"user CPU mean {statistics.mean(seconds):.2f} s, median {statistics.median(seconds):.2f} s")
    if peers:
        ended, peer_seconds = zip(*peers, strict=True)
        print(f"Klondike-Solver ended {sum(ended)}; user CPU mean {statistics.mean(peer_seconds):.2f} s")
    print(f"bytes a state where the last search stored over 100,000: {max(size):.1f} at most")
    if both:
        print(f"after a second: {len(both)} solved, {statistics.mean(e - b for b, e in both):.2f} above the best known")


if __name__ == "__main__":
    main()
