"""Output that never blocks the program."""

import errno
import os
import select
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

# A reader that is still reading never falls this far behind.
CAP_BYTES = 64 * 2**20
# A reader that takes nothing for this long has stopped reading.
PATIENCE_SECONDS = 2.0
# A pipe takes this much in one piece.
_PIECE_BYTES = 4096
_BEHIND_BYTES = 64 * 1024


class OutputStream:
    """Write to a stream from a separate thread. `put` neither waits nor raises.

    The first error is kept in `trouble`. Then `alarm` is called in the thread that noticed the error, and later output
    is dropped. Leaving the context waits for remaining output as long as the reader reads.
    """

    def __init__(self, stream: TextIO, alarm: Callable[[], object] = lambda: None) -> None:
        self.trouble: OSError | None = None
        # Bypass Python's buffer: a thread stuck in it keeps the interpreter from exiting.
        self.number = stream.fileno()
        self._encoding, self._alarm = stream.encoding, alarm
        self._turn = threading.Condition()
        self._waiting = bytearray()
        self._stuck = self._closed = False
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()

    @property
    def failure(self) -> str:
        """Why not everything was written. Empty if the reader closed the stream, because it has seen enough."""
        trouble = self.trouble
        return "" if trouble is None or isinstance(trouble, BrokenPipeError) else trouble.strerror or str(trouble)

    @property
    def behind(self) -> bool:
        """Whether so much output is waiting that short-lived lines are not worth writing."""
        return len(self._waiting) > _BEHIND_BYTES

    def put(self, text: str) -> None:
        """Queue a text for writing. Characters missing from the encoding become question marks."""
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
        """Wait until everything is written. Return False if nothing moves for this time. None waits without limit.

        A reader that timed out once is not waited for again until it reads.
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
                # Another process that shares the stream made it non-blocking. We can wait.
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
