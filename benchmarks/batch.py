"""What a batch costs beyond the searches, and what a second worker brings.

    python benchmarks/batch.py [--deals 100000] [--jobs 2] [--game freecell]

Runs the same deals through the bare compiled loop (dealing and deciding, nothing else), then through batches with one
worker and with several, results written to a file. Wall-clock ratios mean something on an idle machine only; user CPU a
deal is sound on a busy one, too.
"""

from __future__ import annotations

import argparse
import importlib
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from cardems_solver import batch, chunks
from cardems_solver.deals import DEFAULT_SCHEME, DealRange
from cardems_solver.kernels.dealing import deal_many
from cardems_solver.limits import machine_memory
from cardems_solver.results import ResultFile
from cardems_solver.rules import PRESETS, preset
from cardems_solver.worklist import Feeder, WorkList


def bare(question: chunks.Question, scheme: str, numbers: np.ndarray) -> None:
    """Deal and decide, a thousand at a time."""
    kernel = importlib.import_module(f"cardems_solver.kernels.{question.rules.game}")
    stop = np.zeros(1, np.uint8)
    for first in range(0, len(numbers), 1000):
        decks = deal_many(scheme, question.rules.game, numbers[first : first + 1000])
        n = len(decks)
        verdicts, lengths = np.zeros(n, np.int8), np.zeros(n, np.int32)
        expanded, generated = np.zeros(n, np.int64), np.zeros(n, np.int64)
        steps = np.empty((n, chunks.MAX_STEPS, 2), np.uint8)
        kernel.decide_many(decks, question.rules, question.budget, stop, verdicts, lengths, expanded, generated, steps)


def whole(question: chunks.Question, work: WorkList, jobs: int) -> batch.Summary:
    """A batch as ``cardems batch --out`` runs it."""
    with tempfile.TemporaryDirectory() as directory:
        out = ResultFile(Path(directory) / "x.jsonl", batch.header(question, work, None), work, False)
        engine = batch.LocalEngine(question, Feeder(work), jobs, machine_memory() // 2)
        summary = batch.run(question, engine, batch.Tally(), out=out)
        out.close()
    return summary


def measure(name: str, deals: int, work) -> tuple[float, float]:
    """Wall-clock and user CPU seconds of ``work()``."""
    wall, user = time.perf_counter(), os.times().user
    work()
    wall, user = time.perf_counter() - wall, os.times().user - user
    print(f"{name:<22} {deals / wall:10,.0f} deals/s   {1e6 * user / deals:8.1f} us user CPU a deal")
    return wall, user


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", default="freecell", choices=list(PRESETS))
    parser.add_argument("--deals", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    rules = preset(arguments.game)
    # A limit of the first pass's budget: no full searches, so that all three do the same work.
    question = chunks.Question(rules, max_states=chunks.BUDGET[rules.game])
    scheme = DEFAULT_SCHEME[rules.game]
    work = WorkList([DealRange(scheme, 1, arguments.deals)])
    numbers = np.arange(1, arguments.deals + 1, dtype=np.uint64)

    # Compile everything first, also what only some deals need.
    bare(question, scheme, numbers[:5000])
    whole(question, WorkList([DealRange(scheme, 1, 100)]), 1)
    _, loop = measure("bare compiled loop", arguments.deals, lambda: bare(question, scheme, numbers))
    wall_one, one = measure("batch, 1 worker", arguments.deals, lambda: whole(question, work, 1))
    name = f"batch, {arguments.jobs} workers"
    wall_many, many = measure(name, arguments.deals, lambda: whole(question, work, arguments.jobs))
    print(
        f"user CPU a deal, batch / bare loop: {one / loop:.2f} with 1 worker, {many / loop:.2f} with {arguments.jobs}"
    )
    print(f"deals/s, {arguments.jobs} workers / 1 worker: {wall_one / wall_many:.2f}")


if __name__ == "__main__":
    main()
