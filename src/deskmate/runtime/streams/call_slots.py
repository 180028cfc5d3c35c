"""At most so many model calls at once in all processes of a team.

A slot is a seat of the store, so a killed process frees its slots.
"""

import random
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import anyio

from deskmate.errors import Held
from deskmate.ports import Store


class CallSlots:
    """The slots of a team, as one process takes them.

    Only as many members of this process as there are slots ask the store, in the order they came. So a thousand
    waiting members cost the store nothing. They try every slot that nobody in this process uses. If other processes
    have them all, each waits for one of these, though another may be free sooner. Nobody polls.
    """

    def __init__(self, store: Store, count: int) -> None:
        self._store = store
        self._line = anyio.Semaphore(count)
        # In random order, so that waiting processes do not all wait for the same slot.
        self._unused = deque(random.sample(range(count), count))

    @asynccontextmanager
    async def one(self, note: str) -> AsyncIterator[None]:
        """Wait for a slot and keep it while the context is open."""
        async with self._line, AsyncExitStack() as stack:
            await self._take(stack, note)
            yield

    async def _take(self, stack: AsyncExitStack, note: str) -> None:
        for _ in range(len(self._unused)):
            with suppress(Held):
                await stack.enter_async_context(self._slot(note, wait=False))
                return
        await stack.enter_async_context(self._slot(note, wait=True))

    @asynccontextmanager
    async def _slot(self, note: str, *, wait: bool) -> AsyncIterator[None]:
        # Never empty: the semaphore lets in as many callers as there are slots, and each takes one.
        number = self._unused.popleft()
        try:
            async with self._store.hold(f"calls/{number}", note, wait=wait):
                yield
        finally:
            self._unused.append(number)
