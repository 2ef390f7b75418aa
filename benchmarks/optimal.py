"""The fewest moves: how many deals are proved, with how many positions, in what time and memory.

    python -m benchmarks.optimal freecell --deals 1..200 [--no-foundation-return] [--metric cards] [--memory 8e9]

One line a deal, then the sums. States are positions stored; seconds are user CPU, compiling apart. ``soon`` is the
length of the best solution after one second of user CPU.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import statistics

from cardems_solver import deals
from cardems_solver.limits import Limits
from cardems_solver.rules import Rules, preset

SCHEMES = {"freecell": "ms", "klondike": "greenfelt", "canfield": "solvitaire"}


def user_seconds() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def measure(
    rules: Rules, deal: str, metric: str, memory: int
) -> tuple[bool, int, float, float, int | None, int | None]:
    """One deal: proved?, states, seconds, bytes a state, best length and length after a second."""
    minimum = importlib.import_module(f"cardems_solver.kernels.{rules.game}_optimal").minimum
    began = user_seconds()
    soon = None

    def progress(length: int | None = None, **_) -> None:
        nonlocal soon
        if length is not None and user_seconds() - began <= 1:
            soon = length

    outcome = minimum(deals.deal(deal, rules), rules, metric, Limits(memory=memory), progress=progress)
    seconds = user_seconds() - began
    length = None if outcome.steps is None else len(outcome.steps)
    proved = outcome.optimal or outcome.verdict == "unsolvable"
    print(
        f"{deal:12} {outcome.verdict} length {length} bound {outcome.lower_bound} soon {soon} "
        f"states {outcome.stored} {seconds:.2f} s",
        flush=True,
    )
    return proved, outcome.stored, seconds, outcome.bytes / max(outcome.stored, 1), length, soon


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", choices=["freecell", "klondike", "klondike-draw-three", "canfield"])
    parser.add_argument("--deals", default="1..10")
    parser.add_argument("--metric", default="moves")
    parser.add_argument("--memory", type=float, default=4e9)
    parser.add_argument("--no-foundation-return", action="store_true")
    arguments = parser.parse_args()
    rules = preset(arguments.preset)
    if arguments.no_foundation_return:
        rules = rules.with_options(foundation_return=False)
    first, _, last = arguments.deals.partition("..")
    numbers = range(int(first), int(last or first) + 1)
    scheme = SCHEMES[rules.game]
    measure(rules, f"{scheme}:{numbers[0]}", arguments.metric, 2_000_000)  # compiles
    rows = [measure(rules, f"{scheme}:{n}", arguments.metric, int(arguments.memory)) for n in numbers]
    proved, states, seconds, size, lengths, soon = zip(*rows, strict=True)
    both = [(best, early) for best, early in zip(lengths, soon, strict=True) if best and early]
    print(f"proved {sum(proved)} of {len(rows)}; states {sum(states)}, median {statistics.median(states):.0f}")
    print(f"user CPU mean {statistics.mean(seconds):.2f} s, median {statistics.median(seconds):.2f} s")
    large = [b for b, n in zip(size, states, strict=True) if n > 100_000]
    print(f"bytes a state where over 100,000 are stored: {max(large, default=0):.1f} at most")
    if both:
        print(f"after a second: {len(both)} solved, {statistics.mean(e - b for b, e in both):.2f} above the best known")


if __name__ == "__main__":
    main()
