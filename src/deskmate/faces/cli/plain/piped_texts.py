"""Texts from a pipe.

Reading may block forever, so it is done in a daemon thread, which ends with the process.
"""

import asyncio
import sys
import threading
from contextlib import suppress
from queue import SimpleQueue

from deskmate.app import GOAL_CAP
from deskmate.errors import Refused


class PipedTexts:
    """The texts on stdin, read one at a time."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Future[str | None]]] = SimpleQueue()
        threading.Thread(target=self._keep_reading, daemon=True).start()

    async def next(self) -> str | None:
        """Return the next text, or None at the end. A line that ends in a backslash continues on the next.

        Raises Refused if stdin cannot be read.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str | None] = loop.create_future()
        self._asked.put((loop, answer))
        return await answer

    def _keep_reading(self) -> None:
        while True:
            loop, answer = self._asked.get()
            try:
                text, trouble = _text(), None
            except OSError as error:
                text, trouble = None, error
            # The event loop that asked may be closed by now.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, answer, text, trouble)


def first_piped() -> str:
    """Return the first text of stdin that is not blank. Raises Refused if there is none."""
    if text := next_piped():
        return text
    raise Refused("There is no message: stdin is empty", 'Pipe text in, or type it: deskmate "TEXT"')


def next_piped() -> str | None:
    """Return the next text of stdin that is not blank, or None at the end. Raises Refused if it cannot be read."""
    try:
        while (text := _text()) is not None:
            if text.strip():
                return text
    except OSError as error:
        raise _unreadable(error) from error
    return None


def _text() -> str | None:
    text = _line()
    while text is not None and text.endswith("\\"):
        more = _line()
        text = f"{text[:-1]}\n{more}" if more is not None else text[:-1]
    return text


def _line() -> str | None:
    """Return the next line of stdin. A line too long for a message is cut, but stays long enough to be refused."""
    line = piece = sys.stdin.buffer.readline(GOAL_CAP)
    while piece and not piece.endswith(b"\n"):
        piece = sys.stdin.buffer.readline(GOAL_CAP)
        line = (line + piece)[: 2 * GOAL_CAP]
    return line.decode("utf-8", "replace").rstrip("\r\n") if line else None


def _settle(answer: "asyncio.Future[str | None]", text: str | None, trouble: OSError | None) -> None:
    if answer.done():
        return
    if trouble is None:
        answer.set_result(text)
    else:
        answer.set_exception(_unreadable(trouble))


def _unreadable(trouble: OSError) -> Refused:
    return Refused(f"Cannot read stdin: {trouble.strerror}", "Connect it to a terminal, a file or a pipe.")
