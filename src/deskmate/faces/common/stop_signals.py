"""Signals that stop a run."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import anyio

STOPPING = "deskmate: stopping. Press Ctrl-C again to stop at once"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """Stop the running scope in good order at the first signal. End the process at the next, or if nothing runs.

    `note`: shows people a message. It is called in the event loop, never in a signal handler.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._running: tuple[asyncio.AbstractEventLoop, anyio.CancelScope] | None = None
        self._signalled = False

    @contextmanager
    def stops(self, scope: anyio.CancelScope) -> Iterator[None]:
        """Make a scope of this event loop the one that signals stop."""
        loop = asyncio.get_running_loop()
        self._running = loop, scope
        try:
            with _woken(loop):
                yield
        finally:
            self._running = None

    def pull(self) -> None:
        """Cancel the running scope, if there is one. Safe to call from any thread."""
        if self._running is not None:
            loop, scope = self._running
            # The loop may have closed in the meantime.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(scope.cancel)

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Handle signals. The event loop is not used for this, because it may be what hangs."""
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        # Keep ignoring ignored signals: nohup and background shells rely on it.
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
    """Let every signal wake a sleeping event loop.

    Otherwise a signal that arrives just before the sleep, or in another thread, is noticed only at the next event.
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
