"""The decorators for compiled code, and the cache behind them.

``@jit`` is for helpers, ``@entry`` for the few functions that Python calls. Neither counts references to arrays, which
cost up to four fifths of the time of a search (each view of a row, each array taken from a tuple is counted up and down
by an atomic instruction): so they may neither make arrays nor return them. What must is marked with ``@jit_making`` or
``@entry_making``, and leaves the loops to others (docs/decisions/0004).

Entries are cached on disk. Numba's own cache does not notice an edit in *another* file, so ours lies in a directory
named by a digest of all kernel sources; an edit anywhere makes a new one, and those not used for a month are removed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
from numba.core.event import Event, Listener, register

MONTH = 30 * 86400
DIGEST = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
    + numba.__version__.encode()
    + np.__version__.encode()
).hexdigest()[:16]


def _user_cache() -> Path:
    if "NUMBA_CACHE_DIR" in os.environ:
        return Path(os.environ["NUMBA_CACHE_DIR"])
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "cardems-solver"


def _prepare_cache() -> Path | None:
    """The directory for this version's compiled code, made if need be; None where nothing can be written."""
    for root in (_user_cache, lambda: Path(tempfile.gettempdir()) / f"cardems-solver-{os.getuid()}"):
        try:
            base = root()
            directory = base / DIGEST
            if not directory.is_dir():
                directory.mkdir(parents=True, exist_ok=True)
                for old in base.iterdir():
                    if len(old.name) == len(DIGEST) and time.time() - old.stat().st_mtime > MONTH:
                        shutil.rmtree(old, ignore_errors=True)
            with tempfile.TemporaryFile(dir=directory):
                return directory
        except (OSError, RuntimeError, AttributeError):
            continue
    print(
        "cardems: no directory can be written to keep compiled code in; it is compiled anew each time", file=sys.stderr
    )
    return None


CACHE = _prepare_cache()

jit = numba.njit(nogil=True, _nrt=False)
"""For helpers: compiled into the entries that use them."""

jit_making = numba.njit(nogil=True, _nrt=True)
"""For helpers that make or return arrays."""


def entry(function: Callable) -> Callable:
    """For functions that Python calls: cached on disk, and run without the interpreter's lock."""
    return _cached(function, _nrt=False)


def entry_making(function: Callable) -> Callable:
    """For functions that Python calls and that make or return arrays."""
    return _cached(function, _nrt=True)


def _cached(function: Callable, **options) -> Callable:
    if CACHE is None:
        return numba.njit(nogil=True, **options)(function)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE)
    try:
        return numba.njit(nogil=True, cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before


def record(dtype: np.dtype) -> np.void:
    """A record of zeros, for a kernel's many arrays of fixed size.

    Kernels read and write its fields as attributes. It is passed on as one address. A tuple of arrays is passed on as
    some eight words an array, at every call that is not compiled in place (docs/decisions/0009).
    """
    return np.zeros(1, dtype)[0]


class _FirstCompile(Listener):
    """Calls back when the first function is really compiled, not when one is loaded from the cache."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback = callback
        self.told = False

    def on_start(self, event: Event) -> None:
        if not self.told:
            self.told = True
            self.callback()

    def on_end(self, event: Event) -> None:
        pass


def on_first_compile(callback: Callable[[], None]) -> None:
    """Have ``callback()`` called, once, before the first function of this process is compiled."""
    register("numba:compile", _FirstCompile(callback))
