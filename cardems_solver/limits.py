"""What ends a search before its end: time, states, memory, an interrupt. Kernels come back often enough to ask."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

import numpy as np

TIME, STATES, MEMORY, INTERRUPTED = "time-limit", "state-limit", "memory-limit", "interrupted"


def machine_memory() -> int:
    """Bytes of memory that this process may count on: the machine's, or its control group's if that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as file:
                total = min(total, int(file.read()))
        except (OSError, ValueError):
            continue
    return total


@dataclass
class Limits:
    """The limits of one search; the clock starts when the object is made.

    Attributes:
        seconds: wall-clock time, or None.
        states: positions stored, or None.
        memory: bytes for the search's arrays; None means three quarters of the machine's.
        stop: one byte that anyone may set to end the search (kernels look at it, too).
    """

    seconds: float | None = None
    states: int | None = None
    memory: int | None = None
    stop: np.ndarray = field(default_factory=lambda: np.zeros(1, np.uint8))
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        if self.memory is None:
            self.memory = machine_memory() * 3 // 4

    def elapsed(self) -> float:
        return time.perf_counter() - self.started

    def exceeded(self, states: int = 0) -> str | None:
        """The limit that has been reached, if any (memory is asked for separately, before an array grows)."""
        if self.stop[0]:
            return INTERRUPTED
        if self.seconds is not None and self.elapsed() >= self.seconds:
            return TIME
        if self.states is not None and states >= self.states:
            return STATES
        return None

    def allows(self, total_bytes: int) -> bool:
        """May the search's arrays take so many bytes in all?"""
        return total_bytes <= self.memory
