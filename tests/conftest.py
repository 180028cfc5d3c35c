"""What every test shares: the event loop and how hard Hypothesis searches."""

import gc
import os
import signal
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from deskmate.testing.knowledge.knowledge_checks import take_found
from tests.fact_loop import FactLoop

settings.register_profile("ci", deadline=None, print_blob=True, max_examples=100)
settings.register_profile("quick", parent=settings.get_profile("ci"), max_examples=10)
settings.register_profile("soak", parent=settings.get_profile("ci"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


# One authority in place of the system's hundred and more, which take 20 ms to load for each client.
AUTHORITIES = Path(__file__).parent / "models/wires/certificates/company-ca.pem"
# Where `tmp_path` is, if it is of use. Thousands of tests sync files, and a disk takes longer for that than the tests.
MEMORY = "/dev/shm"
MEMORY_BYTES = 2 << 30


def pytest_configure() -> None:
    """Let Ctrl-C reach the programs that tests start, trust one authority, put temporary folders into memory.

    A shell ignores Ctrl-C for what it runs in the background.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["SSL_CERT_FILE"] = str(AUTHORITIES)
    if has_room(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


def has_room(folder: str) -> bool:
    """Tell whether a folder can be written, has room for all tests, and lets programs run."""
    if not os.access(folder, os.W_OK):
        return False
    system = os.statvfs(folder)
    return system.f_bavail * system.f_frsize > MEMORY_BYTES and not system.f_flag & os.ST_NOEXEC


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among the tests themselves: there are thousands, none is ever freed, and each look costs."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """Run one worker more than there are cores: many tests wait for a process or a screen."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": FactLoop}


@pytest.fixture(autouse=True)
def every_model_was_told_what_it_needs() -> Iterator[None]:
    """Fail a test in which a scripted model found a gap in what it was told: the agent itself only parks on that."""
    take_found()
    yield
    assert take_found() == []


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Wait for a fact that another thread or process brings about, bounded."""

    def wait(fact: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 30
        while not fact():
            assert time.monotonic() < deadline, "it never came about"
            time.sleep(0.01)

    return wait
