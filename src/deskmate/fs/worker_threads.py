"""Threads for blocking work.

`anyio.to_thread` costs 41 µs a call here, these threads 26 µs, and an append itself 25 µs. So a store has a few of its
own, and all workspaces of a process share some. They get everything that may block for long.
"""

import asyncio
import math
import os
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from queue import SimpleQueue
from typing import Any, TypeVar

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from deskmate.errors import StoreUnavailable
from deskmate.fs.private_folder import WouldWait

T = TypeVar("T")
# A call without a thread that takes this long would hold up everything else, so threads do the work for a while.
_SLOW_SECONDS = 0.02
_PAUSE_SECONDS = 10.0
_SHARED_MOST = 40


class _Begun(asyncio.Future[None]):
    """Work that a thread has begun. A task that is cancelled meanwhile learns of that once the work is done."""

    def cancel(self, msg: Any = None) -> bool:
        """Return False. The task then keeps the cancellation until it runs again."""
        return False


Job = tuple[Callable[[], None], asyncio.AbstractEventLoop, _Begun]


class WorkerThreads:
    """A few threads, started when needed and ended by `close`."""

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._open = 0
        self._counting = threading.Lock()
        self._slow_until = -math.inf
        self._process = os.getpid()
        self.closed = False

    @property
    def inherited(self) -> bool:
        """Whether this process is a forked child, which has no copies of the threads."""
        return os.getpid() != self._process

    def check(self) -> None:
        """Raise StoreUnavailable if nothing can be run any more."""
        if self.inherited:
            raise StoreUnavailable("This store was opened before a fork", "Open it again in the new process.")
        if self.closed:
            raise StoreUnavailable("This store is closed", "Open it again.")

    async def try_here(self, work: Callable[..., T]) -> T:
        """Return what `work(wait=False)` returns, called without a thread.

        If that raises WouldWait, or if such calls are slow now, return what `work()` returns in a thread.
        """
        await checkpoint_if_cancelled()
        self.check()
        began = time.monotonic()
        if began >= self._slow_until:
            try:
                return work(wait=False)
            except WouldWait:
                pass
            finally:
                if (ended := time.monotonic()) - began > _SLOW_SECONDS:
                    self._slow_until = ended + _PAUSE_SECONDS
        return await self.run(work)

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns. If cancelled before, it does not begin. Once begun, it is waited for."""
        await checkpoint_if_cancelled()
        self.check()
        loop = asyncio.get_running_loop()
        begun = _Begun(loop=loop)
        # Not as the result of the future: the event loop keeps that until the caller waits again. So everything read
        # would stay in memory while the caller makes something smaller of it.
        results: list[T] = []
        self._count(1)
        self._jobs.put((lambda: results.append(work()), loop, begun))
        with anyio.CancelScope(shield=True):
            try:
                await begun
            except asyncio.CancelledError:
                # A cancelled caller does not get the error. Without this line asyncio would warn about that.
                begun.exception()
                raise
        return results.pop()

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, loop, begun = job
            error = None
            try:
                work()
            except BaseException as raised:
                error = raised
            try:
                loop.call_soon_threadsafe(self._finish, begun, error)
            except RuntimeError:
                # The event loop has ended, so nobody waits for the result.
                self._count(-1)
            # A thread that waits for its next job must not keep what it read for the last one in memory.
            del job, work, begun, error

    def _count(self, more: int) -> None:
        """Note that there is one more job, or one less. Start a thread if there are too few."""
        # Jobs may come from the event loops of several threads.
        with self._counting:
            self._open += more
            if len(self._threads) < min(self._open, self._most):
                self._threads.append(threading.Thread(target=self._serve, name="deskmate-worker", daemon=True))
                self._threads[-1].start()

    def _finish(self, begun: _Begun, error: BaseException | None) -> None:
        self._count(-1)
        if error is None:
            begun.set_result(None)
        else:
            begun.set_exception(error)

    def close(self) -> None:
        """Return once the threads have finished their jobs. In a forked child there are none."""
        self.closed = True
        if self.inherited:
            return
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []


async def on_shared_thread(work: Callable[[], T]) -> T:
    """Return what `work` returns on a thread that everything in this process shares. A cancellation waits for it."""
    return await _shared(os.getpid()).run(work)


# A forked child has no copies of the threads, so it gets others. They end with the process.
@lru_cache(maxsize=1)
def _shared(process: int) -> WorkerThreads:
    return WorkerThreads(_SHARED_MOST)
