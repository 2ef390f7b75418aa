"""What all tests share: the data directory."""

from pathlib import Path

import pytest

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture
def data() -> Path:
    return DATA
