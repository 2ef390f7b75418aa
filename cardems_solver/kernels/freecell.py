"""FreeCell, solvable or not: hasty searches that find most solutions, then a patient one that leaves nothing out."""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels import freecell_search as search
from cardems_solver.kernels.freecell_guide import GUIDES, PATIENT_GUIDE, Weight, guidance, move_scores
from cardems_solver.kernels.freecell_search import FULL, GENERATED, NODES, RUNNING, WON, Pool
from cardems_solver.kernels.freecell_state import COLUMNS, NEVER, arrays
from cardems_solver.kernels.table import grown, rehash
from cardems_solver.limits import MEMORY, Limits
from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE, Outcome, Step
from cardems_solver.position import EMPTY, Position
from cardems_solver.rules import Rules

_MAX_STEPS = 512
_MOVES = np.array([move_scores(guide) for guide in GUIDES])


def _hasty_pool() -> Pool:
    return search.new_pool(1 << int(GUIDES[:, Weight.BUDGET].max()).bit_length())


def _size(pool: Pool) -> int:
    return sum(array.nbytes for array in pool)


class _Patient:
    """One patient search, whose pool is made larger as it goes on."""

    def __init__(self, position: Position, rules: Rules, limits: Limits, prune: bool = True) -> None:
        self.cells, self.returns, self.limits = rules.cells, int(rules.foundation_return), limits
        self.rule = self.returns if prune else NEVER
        self.guidance = guidance()
        self.pool = search.new_pool(4096)
        search.start(self.pool, self.guidance, PATIENT_GUIDE, move_scores(PATIENT_GUIDE), *arrays(position))

    def advance(self, budget: int) -> int:
        return search.advance(self.pool, self.guidance, self.cells, self.returns, self.rule, budget)

    @property
    def nodes(self) -> int:
        return int(self.pool.counts[NODES]) - 1

    def grow(self) -> bool:
        """Make more room; False where the limits do not allow it."""
        words, before, marks, slots, entries, heads, counts, moves = self.pool
        short_of_nodes = self.nodes + 1 == len(words)
        extra = words.nbytes + before.nbytes + marks.nbytes + slots.nbytes if short_of_nodes else entries.nbytes
        if (
            not self.limits.allows(_size(self.pool) + extra)
            or 2 * len(words) > search.MOST_NODES
            or 2 * len(entries) > search.MOST_ENTRIES
        ):
            return False
        self.pool = None
        if short_of_nodes:
            words, before, marks, slots = (grown(array, 2 * len(array)) for array in (words, before, marks, slots))
            slots[:] = 0
            rehash(slots, words[1:], counts[NODES] - 1)
        else:
            entries = grown(entries, 2 * len(entries))
        self.pool = Pool(words, before, marks, slots, entries, heads, counts, moves)
        return True

    def steps(self) -> list[Step]:
        """The solution found."""
        n, room = -1, _MAX_STEPS
        while n < 0:
            steps = np.zeros((room, 2), np.int64)
            n = search.trace(self.pool, self.guidance.layout, self.rule, steps)
            room *= 2
        return [(int(card), int(destination)) for card, destination in steps[:n]]


def decide_patiently(
    position: Position,
    rules: Rules,
    limits: Limits,
    progress=None,
    expanded: int = 0,
    generated: int = 0,
    prune: bool = True,
) -> Outcome:
    """``decide`` without the hasty searches.

    expanded, generated: what was done before; prune: False to send no card home at once.
    """
    patient = _Patient(position, rules, limits, prune)
    budget = 1000
    while True:
        status = patient.advance(budget)
        budget = min(2 * budget, 20_000)
        if status not in (RUNNING, FULL):
            reason = None
            break
        reason = limits.exceeded(expanded + patient.nodes)
        if reason is None and status == FULL and not patient.grow():
            reason = MEMORY
        if reason is not None:
            break
        if progress is not None:
            progress(expanded=expanded + patient.nodes, stored=patient.nodes)
    verdict = UNDECIDED if reason is not None else SOLVABLE if status == WON else UNSOLVABLE
    return Outcome(
        verdict=verdict,
        reason=reason,
        steps=patient.steps() if verdict == SOLVABLE else None,
        expanded=expanded + patient.nodes,
        generated=generated + int(patient.pool.counts[GENERATED]),
        stored=patient.nodes,
        bytes=_size(patient.pool),
    )


def decide(position: Position, rules: Rules, limits: Limits, progress=None) -> Outcome:
    """Find a solution or prove that there is none; see ``outcome.Outcome``."""
    columns, heights, in_cells, home = arrays(position)
    pool = _hasty_pool()
    verdict, length = np.zeros(1, np.int8), np.zeros(1, np.int32)
    expanded, generated = np.zeros(1, np.int64), np.zeros(1, np.int64)
    steps = np.zeros((1, _MAX_STEPS, 2), np.uint8)
    search.solve_many(
        pool,
        guidance(),
        GUIDES,
        _MOVES,
        columns[None],
        heights[None],
        np.array([in_cells]),
        np.array([home]),
        rules.cells,
        int(rules.foundation_return),
        (1 << 62) if limits.states is None else limits.states,
        limits.stop,
        verdict,
        length,
        expanded,
        generated,
        steps,
    )
    done = int(expanded[0]), int(generated[0])
    if verdict[0] == 2:
        return Outcome(UNSOLVABLE, None, None, *done, stored=done[0], bytes=_size(pool))
    if verdict[0] == 1:
        found = [(int(card), int(destination)) for card, destination in steps[0, : length[0]]]
        return Outcome(SOLVABLE, None, found, *done, stored=done[0], bytes=_size(pool))
    reason = limits.exceeded(done[0])
    if reason is not None:
        return Outcome(UNDECIDED, reason, None, *done, stored=done[0], bytes=_size(pool))
    del pool
    return decide_patiently(position, rules, limits, progress, *done)


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
    search.solve_many(
        _hasty_pool(),
        guidance(),
        GUIDES,
        _MOVES,
        columns,
        heights,
        none,
        none,
        rules.cells,
        int(rules.foundation_return),
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
        done = int(out_expanded[i]), int(out_generated[i])
        if done[0] >= max_states:
            continue
        deck = decks[i].tolist()
        position = Position(
            tuple(tuple(deck[j::COLUMNS]) for j in range(COLUMNS)), (0,) * COLUMNS, (EMPTY,) * rules.cells
        )
        outcome = decide_patiently(position, rules, Limits(states=max_states, stop=stop), None, *done)
        out_expanded[i], out_generated[i] = outcome.expanded, outcome.generated
        if outcome.verdict == UNSOLVABLE:
            out_verdict[i] = 2
        elif outcome.verdict == SOLVABLE and len(outcome.steps) <= out_steps.shape[1]:
            out_verdict[i] = 1
            out_length[i] = len(outcome.steps)
            out_steps[i, : len(outcome.steps)] = outcome.steps
