"""Canfield: CPU time and memory on Solvitaire's seeds.

    python benchmarks/canfield.py [--deals 1..100] [--variant canfield|any] [--states 50000000] [--first 100000]

Every deal is first searched with up to ``--first`` positions, all in one compiled call, then those left one by one with
up to ``--states``. Compare: Solvitaire takes 96 s of user CPU on deals 1..100 of variant ``any`` (its ``canfield``),
two cut off at 33 s. For win rates and the pay of a stake: ``cardems batch`` and ``cardems stats``.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from cardems_solver import deals
from cardems_solver.kernels import canfield, dealing
from cardems_solver.limits import Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE
from cardems_solver.rules import PRESETS

VARIANTS = {
    "canfield": PRESETS["canfield"],
    "any": PRESETS["canfield"].with_options(partial_runs=True, spaces="any"),
}
CHUNK = 500


def cpu() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deals", default="1..100")
    parser.add_argument("--variant", choices=VARIANTS, default="any")
    parser.add_argument("--states", type=int, default=50_000_000)
    parser.add_argument("--first", type=int, default=100_000)
    options = parser.parse_args()
    rules = VARIANTS[options.variant]
    low, _, high = options.deals.partition("..")
    numbers = np.arange(int(low), int(high or low) + 1, dtype=np.uint64)
    n = len(numbers)
    decks = dealing.deal_many("solvitaire", "canfield", numbers)
    stop = np.zeros(1, np.uint8)
    verdicts, lengths = np.zeros(n, np.int8), np.zeros(n, np.int32)
    expanded, generated = np.zeros(n, np.int64), np.zeros(n, np.int64)

    def some(chunk: slice, states: int) -> None:
        outs = (verdicts[chunk], lengths[chunk], expanded[chunk], generated[chunk])
        canfield.decide_many(decks[chunk], rules, states, stop, *outs)

    some(slice(0, 1), 1000)
    started, clock = cpu(), time.perf_counter()
    for first in range(0, n, CHUNK):
        some(slice(first, first + CHUNK), options.first)
        print(f"{first + CHUNK}: {cpu() - started:.1f} s, {(verdicts == 0)[: first + CHUNK].sum()} left", flush=True)
    most_memory, longest = 0, (0.0, "none")
    for i in np.flatnonzero(verdicts == 0):
        name, began = f"solvitaire:{numbers[i]}", cpu()
        outcome = canfield.decide(deals.deal(name, rules), rules, Limits(states=options.states))
        most_memory = max(most_memory, outcome.bytes)
        longest = max(longest, (cpu() - began, name))
        verdicts[i] = {UNDECIDED: 0, SOLVABLE: 1, UNSOLVABLE: 2}[outcome.verdict]
    won, lost, left = (int((verdicts == v).sum()) for v in (1, 2, 0))
    print(f"{options.variant} solvitaire:{options.deals}: {won} solvable, {lost} unsolvable, {left} undecided")
    print(f"user CPU {cpu() - started:.1f} s, wall {time.perf_counter() - clock:.1f} s")
    print(f"most memory {most_memory >> 20} MB")
    print(f"longest: {longest[0]:.1f} s, {longest[1]}")


if __name__ == "__main__":
    main()
