"""Compiled dealing: deal numbers to canonical decks (see ``deals``), the integer schemes only.

The decks and orders that a scheme needs are arguments, not constants: the cache of compiled code would not notice a
change in ``deals``. ``deal_one`` is for other kernels, ``deal_many`` for Python.
"""

from __future__ import annotations

import numpy as np

from cardems_solver import deals
from cardems_solver.kernels.jit import entry_making, jit, jit_making

CODES = {"ms": 0, "solvitaire": 1, "greenfelt": 2, "klondike-solver": 3}
"""The schemes that can be dealt here, and their numbers in compiled code."""

_WORD = np.uint64(0xFFFFFFFF)
_S11, _S30, _S7, _S15, _S18 = (np.uint64(n) for n in (11, 30, 7, 15, 18))
_U0, _U1 = np.uint64(0), np.uint64(1)
_INIT = np.uint64(1812433253)
_UPPER, _LOWER = np.uint64(0x80000000), np.uint64(0x7FFFFFFF)
_TWIST = np.uint64(0x9908B0DF)
_TEMPER_B, _TEMPER_C = np.uint64(0x9D2C5680), np.uint64(0xEFC60000)


@jit
def _ms(number, deck):
    beyond = number >= 1 << 32
    high = 0x8000 if number >= 1 << 31 else 0
    x = number & 0xFFFFFFFF
    for left in range(52, 0, -1):
        x = (x * 214013 + 2531011) & 0xFFFFFFFF
        r = (x >> 16) + 1 if beyond else ((x >> 16) & 0x7FFF) | high
        j = r % left
        deck[j], deck[left - 1] = deck[left - 1], deck[j]


@jit
def _seed(number, state):
    """MT19937's seeding (Matsumoto & Nishimura, 2002)."""
    word = np.uint64(number) & _WORD
    state[0] = word
    for i in range(1, 624):
        word = (_INIT * (word ^ (word >> _S30)) + np.uint64(i)) & _WORD
        state[i] = word


@jit
def _output(state, i):
    """Output ``i`` of MT19937, to be asked for in turn. Only the word that is needed is twisted: a deal takes about 60
    of the 624. state: uint64[624], modified in place."""
    i = i % 624
    y = (state[i] & _UPPER) | (state[(i + 1) % 624] & _LOWER)
    y = state[(i + 397) % 624] ^ (y >> _U1) ^ (_TWIST if y & _U1 else _U0)
    state[i] = y
    y ^= y >> _S11
    y ^= (y << _S7) & _TEMPER_B
    y ^= (y << _S15) & _TEMPER_C
    return np.int64(y ^ (y >> _S18))


@jit
def _solvitaire(number, deck, state):
    _seed(number, state)
    drawn = 0
    for i in range(51, 0, -1):
        bucket = 0xFFFFFFFF // (i + 1)
        if 0xFFFFFFFF % (i + 1) == i:
            bucket += 1
        j = i + 1
        while j > i:
            j = _output(state, drawn) // bucket
            drawn += 1
        deck[i], deck[j] = deck[j], deck[i]


@jit
def _greenfelt(number, deck):
    x = number
    for _ in range(7):
        for j in range(52):
            x = 16807 * x % 0x7FFFFFFF
            k = x % 52
            deck[j], deck[k] = deck[k], deck[j]


@jit
def _klondike_solver_step(s):
    """s: int32[3], modified in place; returns the next value."""
    m, t, v = s[0], s[1], s[2]
    y = np.int32(t - m) ^ t ^ v ^ m
    m = m ^ t ^ v
    v = v ^ np.int32(t - m)
    t = t ^ v ^ y
    v = v ^ np.int32(t << 7) ^ (m >> 16) ^ np.int32(y << 8)
    s[0], s[1], s[2] = m, t, v
    return np.int64(v) & 0x7FFFFFFF


@jit_making
def _klondike_solver(number, deck):
    s = np.empty(3, np.int32)
    s[0], s[1], s[2] = 51651237, 895213268, number
    for _ in range(50):
        _klondike_solver_step(s)
    s[2] = np.int32(0x9417B3AF ^ number ^ (number >> 15))
    for _ in range(950):
        _klondike_solver_step(s)
    for _ in range(269):
        j = _klondike_solver_step(s) % 52
        k = _klondike_solver_step(s) % 52
        deck[j], deck[k] = deck[k], deck[j]


@jit
def deal_one(code, number, sorted_deck, order, shuffled, state, out):
    """Write the canonical deck of one deal to ``out`` (uint8[52]).

    code: from ``CODES``; number: int64, in the scheme's range; sorted_deck, order: uint8[52] from ``tables``;
    shuffled (uint8[52]) and state (uint64[624]): room to work in.
    """
    for i in range(52):
        shuffled[i] = sorted_deck[i]
    if code == 0:
        _ms(number, shuffled)
    elif code == 1:
        _solvitaire(number, shuffled, state)
    elif code == 2:
        _greenfelt(number, shuffled)
    else:
        _klondike_solver(number, shuffled)
    for i in range(52):
        out[i] = shuffled[order[i]]


@entry_making
def _deal_many(code, numbers, sorted_deck, order, out):
    shuffled = np.empty(52, np.uint8)
    state = np.empty(624, np.uint64)
    for n in range(numbers.size):
        deal_one(code, np.int64(numbers[n]), sorted_deck, order, shuffled, state, out[n])


def tables(scheme: str, game: str) -> tuple[np.ndarray, np.ndarray]:
    """What ``deal_one`` needs for a scheme and a game: the sorted deck and the order, uint8[52] each."""
    description = deals.SCHEMES[scheme]
    return np.array(description.deck, np.uint8), np.array(description.orders[game], np.uint8)


def deal_many(scheme: str, game: str, numbers: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The canonical decks of many deals of one scheme.

    Args:
        scheme: one of ``CODES`` that the game has.
        game: ``freecell``, ``klondike`` or ``canfield``.
        numbers: uint64[n], each in the scheme's range (not checked).
        out: uint8[n, 52] to write to, or None for a new one.

    Returns:
        ``out``: row i is the deck of ``numbers[i]``.
    """
    numbers = np.ascontiguousarray(numbers, np.uint64)
    if out is None:
        out = np.empty((numbers.size, 52), np.uint8)
    _deal_many(CODES[scheme], numbers, *tables(scheme, game), out)
    return out
