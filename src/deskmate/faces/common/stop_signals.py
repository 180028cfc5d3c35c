"""Signals that stop a run."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import anyio

STOPPING = "deskmate: stopping; once more ends it at once"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """Stop what runs in good order at the first signal; end the process at the next, or at any while nothing runs.

    `note`: tells people something. It is called in the loop, never in a signal's handler.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._running: tuple[asyncio.AbstractEventLoop, anyio.CancelScope] | None = None
        self._signalled = False

    @contextmanager
    def stops(self, scope: anyio.CancelScope) -> Iterator[None]:
        """Let a scope of this loop be what runs."""
        loop = asyncio.get_running_loop()
        self._running = loop, scope
        try:
            with _woken(loop):
                yield
        finally:
            self._running = None

    def pull(self) -> None:
        """Stop what runs, if anything does. Any thread may."""
        if self._running is not None:
            loop, scope = self._running
            # It may have ended since.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(scope.cancel)

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Heed signals. Not by the loop, which may be what hangs."""
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        # Ignored ones stay so: nohup and shells in the background ask for it.
        heeded = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
        for number in heeded:
            signal.signal(number, self._hear)
        try:
            yield
        finally:
            for number, handler in heeded.items():
                signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._running is None or self._signalled:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        self._signalled = True
        self._running[0].call_soon_threadsafe(self._note, STOPPING)
        self.pull()


@contextmanager
def _woken(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Let every signal wake a loop that sleeps.

    One that comes just before the sleep, or to another thread, would else be noticed only when something else does.
    """
    ours, kernels = socket.socketpair()
    with ours, kernels:
        ours.setblocking(False)
        kernels.setblocking(False)
        loop.add_reader(ours, ours.recv, 4096)
        before = signal.set_wakeup_fd(kernels.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(ours)
