"""Ctrl-C at a terminal: interrupt first, then stop."""

import signal
from collections.abc import Callable
from types import FrameType

from deskmate.faces.common.stop_signals import StopSignals

# A second Ctrl-C within this time means leave.
TWICE_SECONDS = 2.0
# After this many unhandled presses, the event loop is taken to hang.
_UNANSWERED = 2


class InterruptKey(StopSignals):
    """Call `pressed` at Ctrl-C while something runs. Stop it at any other signal, and at a Ctrl-C that is not handled.

    `restore`: puts the terminal back in order before a signal ends the process at once.
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
