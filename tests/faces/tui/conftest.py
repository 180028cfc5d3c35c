"""Screens look the same wherever they are tested: in one time zone, with colours."""

import time
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _in_one_time_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
