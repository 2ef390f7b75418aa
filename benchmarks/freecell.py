"""FreeCell decided side by side with fc-solve (Debian's freecell-solver-bin), on Microsoft deals.

    python benchmarks/freecell.py [--to 32000] [--runs 3]

Deals, solves and checks 1..2000 and 1..TO in chunks, all of it compiled, on one core. Times are user CPU of the fastest
run, after compiling; the two programs take turns, so that a busy machine slows both. Proves the eight deals below one
million that cannot be won, with and without foundation return, and solves the hard ones that can.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess

import numpy as np

from cardems_solver import deals
from cardems_solver.chunks import MAX_STEPS
from cardems_solver.kernels import checker, dealing, freecell
from cardems_solver.limits import Limits
from cardems_solver.rules import preset

PEER = "freecell-solver-range-parallel-solve"
CHUNK = 2000
MOST_STATES = 1_000_000
RULES = preset("freecell")
UNSOLVABLE = (11982, 146692, 186216, 455889, 495505, 512118, 517776, 781948)
HARD = (1941, 98714, 739671, 1001874, 94717719)


def decide(first: int, last: int) -> tuple[np.ndarray, ...]:
    """Verdicts, lengths, positions expanded and generated of a range of deals, every solution checked."""
    results = []
    for start in range(first, last + 1, CHUNK):
        decks = dealing.deal_many("ms", "freecell", np.arange(start, min(start + CHUNK, last + 1), dtype=np.uint64))
        n = len(decks)
        verdicts, lengths = np.zeros(n, np.int8), np.zeros(n, np.int32)
        expanded, generated = np.zeros(n, np.int64), np.zeros(n, np.int64)
        steps = np.full((n, MAX_STEPS, 2), checker.NO_STEP, np.uint8)
        stop = np.zeros(1, np.uint8)
        freecell.decide_many(decks, RULES, MOST_STATES, stop, verdicts, lengths, expanded, generated, steps)
        table, row, single = checker.new_table(), checker.rules_row(RULES), checker.single_moves()
        bad = checker.check_many(table, row, single, checker.METRICS["moves"], decks, verdicts, steps, lengths)
        if bad >= 0:
            raise SystemExit(f"ms:{start + bad}: the solution does not replay")
        results.append((verdicts, lengths, expanded, generated))
    return tuple(np.concatenate(parts) for parts in zip(*results, strict=True))


def user(who: int) -> float:
    return resource.getrusage(who).ru_utime


def peer(last: int) -> float | None:
    """User CPU seconds of the peer, None where it is missing."""
    if shutil.which(PEER) is None:
        return None
    before = user(resource.RUSAGE_CHILDREN)
    subprocess.run([PEER, "1", str(last), str(last), "-l", "lg"], stdout=subprocess.DEVNULL, check=True)
    return user(resource.RUSAGE_CHILDREN) - before


def compare(last: int, runs: int) -> None:
    ours, theirs = [], []
    for _ in range(runs):
        before = user(resource.RUSAGE_SELF)
        verdicts, lengths, expanded, generated = decide(1, last)
        ours.append(user(resource.RUSAGE_SELF) - before)
        theirs.append(peer(last))
    won = verdicts == 1
    print(
        f"ms:1..{last}: {won.sum()} solvable, {(verdicts == 2).sum()} unsolvable, {(verdicts == 0).sum()} undecided\n"
        f"  positions a deal: {expanded.mean():.1f} expanded (median {np.median(expanded):.0f}, 99th percentile "
        f"{np.percentile(expanded, 99):.0f}), {generated.mean():.0f} children\n"
        f"  mean length {lengths[won].mean():.2f} moves\n"
        f"  {last / min(ours):,.0f} deals/s, {1e6 * min(ours) / last:.1f} us a deal, checked"
    )
    if theirs[0] is None:
        print(f"  {PEER} is missing (freecell-solver-bin): nothing to compare with")
    else:
        print(f"  fc-solve -l lg: {last / min(theirs):,.0f} deals/s; ratio {min(theirs) / min(ours):.2f}")


def prove() -> None:
    print("\n     deal  return  verdict     expanded  arrays MB  user s")
    for returns in (True, False):
        rules = RULES.with_options(foundation_return=returns)
        for number in UNSOLVABLE + HARD:
            position = deals.deal(number, rules)
            before = os.times().user
            outcome = freecell.decide(position, rules, Limits())
            seconds = os.times().user - before
            print(
                f"{number:9}  {'yes' if returns else 'no':6}  {outcome.verdict:10}  {outcome.expanded:8}"
                f"  {outcome.bytes / 1e6:9.1f}  {seconds:6.2f}"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=int, default=32000, help="last deal of the longer range")
    parser.add_argument("--runs", type=int, default=3, help="the fastest counts")
    options = parser.parse_args()
    # Compile everything: the hasty search, the patient one that wins, the one that proves.
    decide(1, 10)
    for number in (11982, 94717719):
        freecell.decide(deals.deal(number, RULES), RULES, Limits())
    compare(2000, options.runs)
    compare(options.to, options.runs)
    prove()
    print(f"\nlargest resident size: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
