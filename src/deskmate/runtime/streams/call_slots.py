"""At most so many model calls at once in all processes of a team.

A slot is a seat of the store, so that a process that is killed frees its own. `budget` stands above.
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

    Of this process only as many members as there are slots ask the store, in the order they came: a thousand in line
    cost it nothing. They try every slot that nobody here uses; where other processes hold them all, each waits for one
    of these, though another may be free sooner. Nobody looks again and again.
    """

    def __init__(self, store: Store, count: int) -> None:
        self._store = store
        self._line = anyio.Semaphore(count)
        # In an order of its own, so that processes in line do not all wait for the same one.
        self._unused = deque(random.sample(range(count), count))

    @asynccontextmanager
    async def one(self, note: str) -> AsyncIterator[None]:
        """Hold a slot, having waited for it."""
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
        # There is one: who got here through the line uses none yet, and the line lets in as many as there are.
        number = self._unused.popleft()
        try:
            async with self._store.hold(f"calls/{number}", note, wait=wait):
                yield
        finally:
            self._unused.append(number)
