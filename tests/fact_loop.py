"""An event loop that looks at facts between its turns, so that a test can wait for one without spinning.

A loop of `while not fact(): await checkpoint()` keeps a core busy, and takes its time from the threads and processes
that bring the fact about. This event loop looks as often, but sleeps while it has nothing else to do.
"""

import asyncio
import selectors
from collections.abc import Callable

# How long the loop may sleep while somebody waits: another process can bring a fact about without waking the loop.
LOOK_SECONDS = 0.002

Fact = Callable[[], object]


class FactSelector(selectors.DefaultSelector):
    """Waits for files as any selector does. Before that it looks which facts hold, and wakes who waits for them."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[asyncio.Future[None], Fact] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self._waiting:
            woken = [_look(future, fact) for future, fact in self._waiting.items()]
            most = 0.0 if any(woken) else LOOK_SECONDS
            timeout = most if timeout is None else min(timeout, most)
        return super().select(timeout)

    async def wait(self, fact: Fact) -> None:
        """Return once a fact holds. Raises what it raises."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = fact
        try:
            await future
        finally:
            del self._waiting[future]


def _look(future: asyncio.Future[None], fact: Fact) -> bool:
    """Wake who waits, if the fact holds or cannot be looked at. Return whether it is awake."""
    try:
        if not future.done() and fact():
            future.set_result(None)
    except Exception as error:
        future.set_exception(error)
    return future.done()


class FactLoop(asyncio.SelectorEventLoop):
    """The event loop of the tests."""

    def __init__(self) -> None:
        self.facts = FactSelector()
        super().__init__(self.facts)


async def wait_for(fact: Fact) -> None:
    """Return once a fact holds, having looked at every turn of the event loop. Bounded by the caller."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, FactLoop), "wait_for works only in a test marked anyio: its event loop looks at facts"
    if not fact():
        await loop.facts.wait(fact)
