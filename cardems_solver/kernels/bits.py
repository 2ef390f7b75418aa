"""Bit tricks on 64-bit words, with named unsigned constants (an int64 in the mix would make the result signed)."""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.jit import jit

U0 = np.uint64(0)
U1 = np.uint64(1)
U2 = np.uint64(2)
U4 = np.uint64(4)

_M1 = np.uint64(0x5555555555555555)
_M2 = np.uint64(0x3333333333333333)
_M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_H01 = np.uint64(0x0101010101010101)
_S56 = np.uint64(56)


@jit
def popcount(x):
    """Number of ones; LLVM makes one instruction of it."""
    x = x - ((x >> U1) & _M1)
    x = (x & _M2) + ((x >> U2) & _M2)
    x = (x + (x >> U4)) & _M4
    return np.int64((x * _H01) >> _S56)


@jit
def lowest(x):
    """Index of the lowest one of a word that is not 0."""
    return popcount((x & (~x + U1)) - U1)


@jit
def bit(i):
    return U1 << np.uint64(i)


_MIX1 = np.uint64(0x9E3779B97F4A7C15)
_MIX2 = np.uint64(0xBF58476D1CE4E5B9)
_MIX3 = np.uint64(0x94D049BB133111EB)
_S29 = np.uint64(29)
_S32 = np.uint64(32)


@jit
def mix(x):
    """A hash of one word (the finaliser of splitmix64, Steele et al. 2014, shortened)."""
    x = (x ^ (x >> _S32)) * _MIX2
    return x ^ (x >> _S29)


@jit
def mix3(a, b, c):
    """A hash of three words."""
    x = (a * _MIX1) ^ (b * _MIX2 + (b >> _S32)) ^ (c * _MIX3 + (c >> _S29))
    x = (x ^ (x >> _S32)) * _MIX2
    return x ^ (x >> _S29)
