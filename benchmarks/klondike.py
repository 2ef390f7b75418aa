"""Klondike, solvable or not: user CPU, positions and memory for a range of deals, one line a rule set.

    python benchmarks/klondike.py --deals 1..1000 --rules draw-one draw-three

With LONELYBOT set to the path of that program's ``lonecli``, its time on the same deals is measured, too, in the same
run. Its counts on ``solvitaire:1..1000``, for comparison: 92.8 million distinct positions drawing one, 228 million
drawing three.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import time

import numpy as np

from cardems_solver import deals, rules
from cardems_solver.kernels import klondike
from cardems_solver.limits import Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED

RULES = {
    "draw-one": rules.preset("klondike"),
    "draw-three": rules.preset("klondike").with_options(draw=3),
    "klondike-one-pass": rules.preset("klondike-one-pass"),
    "klondike-draw-three": rules.preset("klondike-draw-three"),
}
LONELYBOT_POSITIONS = {"draw-one": 92.8e6, "draw-three": 228e6}


def measure(game: rules.Rules, numbers: range, seconds: float, memory: int) -> None:
    times, stored, peak, won, undecided = [], 0, 0, 0, []
    for number in (2, 3):  # compiling does not count; between them they need all searches
        klondike.decide(deals.deal(f"solvitaire:{number}", game), game, Limits())
    for number in numbers:
        position = deals.deal(f"solvitaire:{number}", game)
        start = time.process_time()
        outcome = klondike.decide(position, game, Limits(seconds=seconds, memory=memory))
        times.append(time.process_time() - start)
        stored += outcome.stored
        peak = max(peak, outcome.bytes)
        won += outcome.verdict == SOLVABLE
        if outcome.verdict == UNDECIDED:
            undecided.append(number)
    cpu = np.array(times)
    print(
        f"  {won} of {len(cpu)} solvable, undecided {undecided}\n"
        f"  CPU {cpu.sum():.1f} s; a deal: mean {1e3 * cpu.mean():.2f} ms, median {1e3 * np.median(cpu):.2f}, "
        f"p99 {1e3 * np.quantile(cpu, 0.99):.1f}, max {1e3 * cpu.max():.0f} (deal {numbers[int(cpu.argmax())]})\n"
        f"  positions stored {stored / 1e6:.2f} million; largest search {peak / 1e6:.0f} MB"
    )


def lonelybot(program: str, draw: int, numbers: range) -> float:
    """User CPU of the peer on the same deals, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    for number in numbers:
        subprocess.run([program, "solve", "solvitaire", str(number), str(draw)], capture_output=True, check=False)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--deals", default="1..1000", help="numbers of the solvitaire scheme")
    parser.add_argument("--rules", nargs="+", choices=RULES, default=["draw-one", "draw-three"])
    parser.add_argument("--seconds", type=float, default=600, help="limit for a deal")
    parser.add_argument("--memory", type=int, default=4 << 30, help="bytes for a deal")
    options = parser.parse_args()
    first, last = (int(n) for n in options.deals.split(".."))
    numbers = range(first, last + 1)
    for name in options.rules:
        print(f"{name}, solvitaire:{first}..{last}")
        measure(RULES[name], numbers, options.seconds, options.memory)
        if name in LONELYBOT_POSITIONS:
            print(f"  lonelybot on 1..1000: {LONELYBOT_POSITIONS[name] / 1e6:.1f} million positions")
            if program := os.environ.get("LONELYBOT"):
                print(f"  lonelybot here: CPU {lonelybot(program, RULES[name].draw, numbers):.1f} s")


if __name__ == "__main__":
    main()
