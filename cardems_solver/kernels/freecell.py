"""FreeCell, solvable or not: a quick search that finds most solutions, then one that leaves nothing out."""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels import freecell_complete, freecell_quick
from cardems_solver.kernels.freecell_guide import GUIDES
from cardems_solver.kernels.freecell_state import COLUMNS, arrays
from cardems_solver.limits import Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE, Outcome
from cardems_solver.position import EMPTY, Position
from cardems_solver.rules import Rules

_MOST = 1 << 62
_MAX_STEPS = 512


def decide(position: Position, rules: Rules, limits: Limits, progress=None) -> Outcome:
    """Find a solution or prove that there is none; see ``outcome.Outcome``."""
    columns, heights, in_cells, home = arrays(position)
    room = freecell_quick.room()
    verdict, length = np.zeros(1, np.int8), np.zeros(1, np.int32)
    expanded, generated = np.zeros(1, np.int64), np.zeros(1, np.int64)
    steps = np.zeros((1, _MAX_STEPS, 2), np.uint8)
    freecell_quick.solve_many(
        room,
        GUIDES,
        columns[None],
        heights[None],
        np.array([in_cells]),
        np.array([home]),
        rules.cells,
        _MOST if limits.states is None else limits.states,
        limits.stop,
        verdict,
        length,
        expanded,
        generated,
        steps,
    )
    done = int(expanded[0]), int(generated[0])
    if verdict[0]:
        found = [(int(card), int(destination)) for card, destination in steps[0, : length[0]]]
        size = freecell_quick.size(room)
        return Outcome(SOLVABLE, None, found, *done, stored=done[0], bytes=size)
    reason = limits.exceeded(done[0])
    if reason is not None:
        return Outcome(UNDECIDED, reason, None, *done, stored=done[0])
    return freecell_complete.decide(position, rules, limits, progress, *done)


def decide_many(
    decks: np.ndarray,
    rules: Rules,
    max_states: int,
    stop: np.ndarray,
    out_verdict: np.ndarray,
    out_length: np.ndarray,
    out_expanded: np.ndarray,
    out_generated: np.ndarray,
    out_steps: np.ndarray | None = None,
) -> None:
    """Decide many deals, each within a number of states; what is not decided then is left with verdict 0.

    Args:
        decks: uint8[n, 52], row by row as dealt.
        rules: the rules to play by.
        max_states: positions that may be spent on a deal, a few millions at most.
        stop: uint8[1]; ends the work when set.
        out_verdict: int8[n], set to 0 undecided, 1 solvable, 2 unsolvable (proved).
        out_length: int32[n], number of steps of the solution (one a move).
        out_expanded, out_generated: int64[n], positions.
        out_steps: uint8[n, m, 2], the solutions (see ``outcome``); a solution that does not fit leaves the deal
            undecided.
    """
    n = len(decks)
    rows = np.zeros((n, 56), np.uint8)
    rows[:, :52] = decks
    columns = np.ascontiguousarray(rows.reshape(n, 7, COLUMNS).transpose(0, 2, 1))
    heights = np.empty((n, COLUMNS), np.int64)
    heights[:] = [7, 7, 7, 7, 6, 6, 6, 6]
    none = np.zeros(n, np.uint64)
    if out_steps is None:
        out_steps = np.empty((n, _MAX_STEPS, 2), np.uint8)
    out_verdict[:] = 0
    freecell_quick.solve_many(
        freecell_quick.room(),
        GUIDES,
        columns,
        heights,
        none,
        none,
        rules.cells,
        max_states,
        stop,
        out_verdict,
        out_length,
        out_expanded,
        out_generated,
        out_steps,
    )
    for i in np.flatnonzero(out_verdict == 0):
        if stop[0]:
            return
        left = max_states - int(out_expanded[i])
        if left <= 0:
            continue
        position = Position(
            tuple(tuple(decks[i, j::COLUMNS].tolist()) for j in range(COLUMNS)), (0,) * COLUMNS, (EMPTY,) * rules.cells
        )
        done = int(out_expanded[i]), int(out_generated[i])
        outcome = freecell_complete.decide(position, rules, Limits(states=left, stop=stop), None, *done)
        out_expanded[i], out_generated[i] = outcome.expanded, outcome.generated
        if outcome.verdict == UNSOLVABLE:
            out_verdict[i] = 2
        elif outcome.verdict == SOLVABLE and len(outcome.steps) <= out_steps.shape[1]:
            out_verdict[i] = 1
            out_length[i] = len(outcome.steps)
            out_steps[i, : len(outcome.steps)] = outcome.steps
