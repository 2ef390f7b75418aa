"""Few runs that hit every clause of a set (``freecell_clauses``), or the proof that more are needed.

What is known of a set is remembered by the set itself, not by a hash of it, and once more by what is left of it when
the runs that must be taken are: sets that differ elsewhere share it.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, lowest, mix3, popcount
from cardems_solver.kernels.jit import jit

LEVELS = 54
REMEMBERED = 1 << 11


@jit
def recall(clauses, low, high):
    """Where in the memory a set of clauses is, if need be in place of another."""
    at = mix3(low, high, U0) & np.uint64(REMEMBERED - 1)
    memory = clauses.memory[at]
    if memory[0] != low or memory[1] != high:
        memory[0], memory[1], memory[2], memory[3] = low, high, U0, U0
    return at


@jit
def _all_hit(clauses, low, high, runs):
    """Do some runs hit all of a set of clauses?"""
    hitting = clauses.hitting
    while runs:
        card = lowest(runs)
        runs &= runs - U1
        low &= ~hitting[card, 0]
        high &= ~hitting[card, 1]
    return low | high == U0


@jit
def runs_to_hit(clauses, low, high, most, guess):
    """A set of at most ``most`` runs that hits all of a set of clauses: is there one? The set. ``guess`` may be it."""
    memory = clauses.memory[recall(clauses, low, high)]
    if most < np.int64(memory[3]):
        return False, U0
    if memory[2] and popcount(memory[2]) <= most:
        return True, memory[2]
    if guess and popcount(guess) <= most and _all_hit(clauses, low, high, guess):
        memory[2] = guess
        return True, guess
    hit, runs = _runs_besides_single(low, high, most, clauses)
    memory = clauses.memory[recall(clauses, low, high)]
    if not hit:
        memory[3] = np.uint64(most + 1)
        return False, U0
    memory[2] = runs
    return True, runs


@jit
def _runs_besides_single(low, high, most, clauses):
    """The same by way of the smaller set of clauses that is left once those of a single run are hit."""
    single = U0
    while True:
        low1, high1 = low & clauses.sizes[0, 0], high & clauses.sizes[0, 1]
        if low1 | high1 == U0:
            break
        run = clauses.runs[lowest(low1) if low1 else 64 + lowest(high1)]
        card = lowest(run)
        low &= ~clauses.hitting[card, 0]
        high &= ~clauses.hitting[card, 1]
        single |= run
        most -= 1
    if most < 0:
        return False, U0
    memory = clauses.memory[recall(clauses, low, high)]
    if most < np.int64(memory[3]):
        return False, U0
    if memory[2] and popcount(memory[2]) <= most:
        return True, memory[2] | single
    hit, runs = _hitting_set(low, high, most, clauses)
    if not hit:
        memory[3] = np.uint64(most + 1)
        return False, U0
    memory[2] = runs
    return True, runs | single


@jit
def _shortest(low, high, clauses):
    """A clause of fewest runs of a set that is not empty, of clauses of more than one run."""
    for size in range(1, 3):
        some = low & clauses.sizes[size, 0]
        if some:
            return lowest(some)
        some = high & clauses.sizes[size, 1]
        if some:
            return 64 + lowest(some)
    return lowest(low) if low else 64 + lowest(high)


@jit
def _apart(low, high, most, clauses):
    """Are there more than ``most`` clauses, of a set, no two of which have a run in common?"""
    near = clauses.near
    while low | high:
        most -= 1
        if most < 0:
            return True
        i = _shortest(low, high, clauses)
        low &= ~near[i, 0]
        high &= ~near[i, 1]
    return False


@jit
def _hitting_set(low, high, most, clauses):
    """A set of at most ``most`` runs that hits all of a set of clauses: is there one? The set.

    Depth first: a run of a shortest clause is taken, the one that hits most, and then the set is tried without it. What
    to go back to is in ``levels``: the clauses left, the runs taken, those not to be taken, those of the clause
    that are left to be tried, and how many may be taken.
    """
    hitting, levels = clauses.hitting, clauses.levels
    taken, without = U0, U0
    level = 0
    while True:
        if most >= 0 and not _apart(low, high, most, clauses):
            if low | high == U0:
                return True, taken
            left = clauses.runs[_shortest(low, high, clauses)] & ~without
        else:
            left = U0
        while left == U0:
            # back to the last run taken that is not the only choice, and on without it
            level -= 1
            if level < 0:
                return False, U0
            low, high, taken, without = levels[level, 0], levels[level, 1], levels[level, 2], levels[level, 3]
            left = levels[level, 4]
            most = np.int64(levels[level, 5])
        run, hits = U0, 0
        some = left
        while some:
            one = some & (~some + U1)
            some ^= one
            card = lowest(one)
            hit = popcount(hitting[card, 0] & low) + popcount(hitting[card, 1] & high)
            if hit > hits:
                run, hits = one, hit
        left ^= run
        if left:
            levels[level, 0], levels[level, 1], levels[level, 2] = low, high, taken
            levels[level, 3], levels[level, 4], levels[level, 5] = without | run, left, np.uint64(most)
            level += 1
        card = lowest(run)
        low &= ~hitting[card, 0]
        high &= ~hitting[card, 1]
        taken |= run
        most -= 1
