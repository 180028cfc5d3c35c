"""One thread with an event loop, for the connections of an engine.

The clients of servers belong to one event loop, but an engine is used by blocking code, by several event loops one
after the other, and by threads. So its connections live in a loop of their own.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from deskmate.errors import StoreUnavailable

T = TypeVar("T")
_CLOSE_SECONDS = 5.0


class LoopThread:
    """A daemon thread that runs coroutines. It starts with the first one. `leave` runs in it before it ends."""

    def __init__(self, leave: Callable[[], Awaitable[None]]) -> None:
        self._leave, self._guard, self._process = leave, threading.Lock(), os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.current_thread()
        self.closed = False

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine returns. Blocks. Raises StoreUnavailable after `close`."""
        return self._submit(work).result()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine returns, for a caller in another event loop. A cancelled caller cancels it."""
        try:
            await checkpoint_if_cancelled()
        except BaseException:
            work.close()
            raise
        return await asyncio.wrap_future(self._submit(work))

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine returns, like `run`. A caller that is cancelled meanwhile waits for the end."""
        submitted = self._submit(work)
        with anyio.CancelScope(shield=True):
            await asyncio.wrap_future(submitted)
        return submitted.result()

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._started())
        except BaseException:
            work.close()
            raise

    def _started(self) -> asyncio.AbstractEventLoop:
        if os.getpid() != self._process:
            raise StoreUnavailable("This store was opened before a fork", "Open it again in the new process.")
        with self._guard:
            if self.closed:
                raise StoreUnavailable("This store is closed", "Open it again.")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="deskmate-engine", daemon=True)
                self._thread.start()
                atexit.register(self.close)
            return self._loop

    def close(self) -> None:
        """Close the connections and end the thread."""
        with self._guard:
            loop, self.closed = self._loop, True
            self._loop = None
        if loop is None or os.getpid() != self._process:
            return
        atexit.unregister(self.close)
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._end(), loop).result(_CLOSE_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join(_CLOSE_SECONDS)

    async def _end(self) -> None:
        await self._leave()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
