"""Ctrl-C at a terminal: interrupt first, then stop."""

import signal
from collections.abc import Callable
from types import FrameType

from deskmate.faces.common.stop_signals import StopSignals

# How long a second Ctrl-C means the first.
TWICE_SECONDS = 2.0
# Nobody answers any more where so many presses were not taken in.
_UNANSWERED = 2


class InterruptKey(StopSignals):
    """Tell of Ctrl-C while something runs; stop it at any other signal, and at Ctrl-C that nobody takes in.

    `restore`: leaves the terminal as it was, before a signal ends the process at once.
    """

    def __init__(self, note: Callable[[str], None], restore: Callable[[], None] = lambda: None) -> None:
        super().__init__(note)
        self._restore = restore
        self._waiting = 0
        self.pressed: Callable[[], None] = self.pull

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._running is None or self._signalled:
            self._restore()
        elif number == signal.SIGINT and self._waiting < _UNANSWERED:
            self._waiting += 1
            self._running[0].call_soon_threadsafe(self._press)
            return
        super()._hear(number, frame)

    def _press(self) -> None:
        self._waiting = 0
        self.pressed()
