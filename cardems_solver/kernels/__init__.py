"""The compiled part: the only modules that import Numba. Everything here works on flat arrays and integers."""
