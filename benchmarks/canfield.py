"""Canfield: CPU time on Solvitaire's seeds, win rate and expected pay with all cards known.

    python benchmarks/canfield.py [--deals 1..100] [--variant canfield|any] [--states 30000000] [--first 100000]

Every deal is first searched with up to ``--first`` positions, all in one compiled call, then those left one by one with
up to ``--states``. The pay of a stake of 50 is 5 a card home, 500 for all; where a deal stays undecided, what is known
bounds it. Compare: Solvitaire takes 96 s of user CPU on deals 1..100 of variant ``any`` (its ``canfield``), two cut off
at 33 s; its authors publish win rates of 71.245 +- 0.031 % (``any``) and 67.562 +- 0.034 % (``canfield``).
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from cardems_solver import deals
from cardems_solver.kernels import canfield, dealing
from cardems_solver.limits import Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED
from cardems_solver.rules import PRESETS

VARIANTS = {
    "canfield": PRESETS["canfield"],
    "any": PRESETS["canfield"].with_options(partial_runs=True, spaces="any"),
}
CHUNK = 500


def cpu() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def interval(values: np.ndarray) -> tuple[float, float]:
    """Mean and the half width of its 95 % interval."""
    return float(values.mean()), 1.96 * float(values.std(ddof=1)) / len(values) ** 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deals", default="1..100")
    parser.add_argument("--variant", choices=VARIANTS, default="any")
    parser.add_argument("--states", type=int, default=30_000_000)
    parser.add_argument("--first", type=int, default=100_000)
    parser.add_argument("--out", help="write one line a deal: number, verdict (0, 1, 2), most cards home")
    options = parser.parse_args()
    rules = VARIANTS[options.variant]
    low, _, high = options.deals.partition("..")
    numbers = np.arange(int(low), int(high or low) + 1, dtype=np.uint64)
    n = len(numbers)
    decks = dealing.deal_many("solvitaire", "canfield", numbers)
    stop = np.zeros(1, np.uint8)
    verdicts, lengths, home = np.zeros(n, np.int8), np.zeros(n, np.int32), np.zeros(n, np.int8)
    expanded, generated = np.zeros(n, np.int64), np.zeros(n, np.int64)

    def some(chunk: slice, states: int) -> None:
        outs = (verdicts[chunk], lengths[chunk], expanded[chunk], generated[chunk])
        canfield.decide_many(decks[chunk], rules, states, stop, *outs, None, home[chunk])

    some(slice(0, 1), 1000)
    started, clock = cpu(), time.perf_counter()
    for first in range(0, n, CHUNK):
        some(slice(first, first + CHUNK), options.first)
        print(f"{first + CHUNK}: {cpu() - started:.1f} s, {(verdicts == 0)[: first + CHUNK].sum()} left", flush=True)
    worst = 0
    for i in np.flatnonzero(verdicts == 0):
        if options.states <= options.first:
            break
        outcome = canfield.decide(deals.deal(f"solvitaire:{numbers[i]}", rules), rules, Limits(states=options.states))
        worst = max(worst, outcome.bytes)
        if outcome.verdict == UNDECIDED:
            continue
        verdicts[i] = 1 if outcome.verdict == SOLVABLE else 2
        home[i] = outcome.most_home
    seconds = cpu() - started
    won, lost, open_ = (int((verdicts == v).sum()) for v in (1, 2, 0))
    print(f"{options.variant} solvitaire:{options.deals}: {won} solvable, {lost} unsolvable, {open_} undecided")
    print(f"user CPU {seconds:.1f} s, wall {time.perf_counter() - clock:.1f} s, most memory {worst >> 20} MB")
    half = 1.96 * (0.71 * 0.29 / n) ** 0.5
    print(f"win rate {won / n:.3%} to {(won + open_) / n:.3%}, each +- {half:.3%}")
    least = np.where(verdicts == 1, 500, 5 * home.astype(np.int64))
    most = np.where(verdicts == 0, 500, least)
    for text, pay in (("at least", least), ("at most", most)):
        mean, width = interval(pay)
        print(f"expected pay of a stake of 50, {text}: {mean:.2f} +- {width:.2f}")
    if options.out:
        np.savetxt(options.out, np.stack([numbers.astype(np.int64), verdicts, home], 1), fmt="%d")


if __name__ == "__main__":
    main()
