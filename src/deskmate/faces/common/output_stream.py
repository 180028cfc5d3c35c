"""Output that never blocks the program."""

import errno
import os
import select
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

# More than a reader that still reads is ever behind.
CAP_BYTES = 64 * 2**20
# A reader that takes nothing for so long has stopped reading.
PATIENCE_SECONDS = 2.0
# What a pipe takes in one piece.
_PIECE_BYTES = 4096
_BEHIND_BYTES = 64 * 1024


class OutputStream:
    """Write to a stream from a thread of its own. `put` neither waits nor raises.

    What goes wrong first is kept in `trouble`, then `alarm` is called from whichever thread noticed it, and what comes
    later is dropped. Leaving it as a context drains it, as long as its reader reads.
    """

    def __init__(self, stream: TextIO, alarm: Callable[[], object] = lambda: None) -> None:
        self.trouble: OSError | None = None
        # Past Python's buffer: a thread that is stuck in there keeps the interpreter from ending.
        self.number = stream.fileno()
        self._encoding, self._alarm = stream.encoding, alarm
        self._turn = threading.Condition()
        self._waiting = bytearray()
        self._stuck = self._closed = False
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()

    @property
    def failure(self) -> str:
        """Why not all could be written; nothing where its reader closed it, who has seen enough."""
        trouble = self.trouble
        return "" if trouble is None or isinstance(trouble, BrokenPipeError) else trouble.strerror or str(trouble)

    @property
    def behind(self) -> bool:
        """Whether so much waits that what lives only for a moment is not worth writing."""
        return len(self._waiting) > _BEHIND_BYTES

    def put(self, text: str) -> None:
        """Have a text written. A character that the encoding lacks becomes a question mark."""
        data = text.encode(self._encoding, "replace")
        with self._turn:
            if self.trouble is not None:
                return
            if full := len(self._waiting) + len(data) > CAP_BYTES:
                self.trouble = OSError(errno.ENOBUFS, f"its reader is {CAP_BYTES >> 20} MB behind")
            else:
                self._waiting += data
                self._turn.notify_all()
        if full:
            self._alarm()

    def drain(self, patience_seconds: float | None) -> bool:
        """Wait until all is written; return False once nothing moves for so long. None: wait as long as it takes.

        A reader that was given up is not waited for again before it reads.
        """
        with self._turn:
            while self._waiting and not (self._stuck and patience_seconds is not None):
                self._stuck = not self._turn.wait(patience_seconds)
            return not self._waiting

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        drained = self.drain(PATIENCE_SECONDS)
        with self._turn:
            self._closed = True
            self._turn.notify_all()
        if drained:
            self._writer.join()

    def _write(self) -> None:
        while piece := self._next():
            try:
                written = os.write(self.number, piece)
            except BlockingIOError:
                # Whoever shares the stream with us made it so; we have the time.
                select.select([], [self.number], [])
            except OSError as error:
                self._give_up(error)
                return
            else:
                with self._turn:
                    self._stuck = False
                    del self._waiting[:written]
                    self._turn.notify_all()

    def _next(self) -> bytes:
        with self._turn:
            self._turn.wait_for(lambda: self._waiting or self._closed)
            return bytes(self._waiting[:_PIECE_BYTES])

    def _give_up(self, error: OSError) -> None:
        with self._turn:
            self.trouble = self.trouble or error
            self._waiting.clear()
            self._turn.notify_all()
        self._alarm()
