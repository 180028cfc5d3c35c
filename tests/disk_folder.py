"""`tmp_path` on a disk, for tests of what the stores do to files. Elsewhere it is in memory: see `conftest.py`."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="deskmate-") as folder:
        yield Path(folder).resolve()
