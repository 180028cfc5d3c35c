"""What every test shares: the event loop and how hard Hypothesis searches."""

import os

import pytest
from hypothesis import settings

settings.register_profile("ci", deadline=None, print_blob=True, max_examples=100)
settings.register_profile("soak", parent=settings.get_profile("ci"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
