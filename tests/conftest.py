"""What every test shares: the event loop and how hard Hypothesis searches."""

import os
import time
from collections.abc import Callable

import pytest
from hypothesis import settings

settings.register_profile("ci", deadline=None, print_blob=True, max_examples=100)
settings.register_profile("quick", parent=settings.get_profile("ci"), max_examples=10)
settings.register_profile("soak", parent=settings.get_profile("ci"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Wait for a fact that another thread or process brings about, bounded."""

    def wait(fact: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 30
        while not fact():
            assert time.monotonic() < deadline, "it never came about"
            time.sleep(0.01)

    return wait
