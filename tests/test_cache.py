"""Compiled code is kept: a second start of the program compiles nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def solve(game: str, cache: str, *options: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "cardems_solver.cli", "solve", game, "3", "--max-states", "20000", *options]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "NUMBA_CACHE_DIR": cache})


@pytest.mark.parametrize(
    "game",
    ["freecell", "canfield", "klondike"],
)
def test_second_start_compiles_nothing(game, tmp_path):
    first = solve(game, str(tmp_path))
    assert "compiling" in first.stderr
    again = solve(game, str(tmp_path))
    assert again.stdout.split(",")[0] == first.stdout.split(",")[0]
    assert "compiling" not in again.stderr
