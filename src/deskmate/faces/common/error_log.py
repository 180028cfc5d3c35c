"""Errors as people read them, and tracebacks in a private file.

Neither the file nor a logged line shows a secret that this process knows.
"""

import logging
import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from deskmate.errors import ALSO_AN_EVENT
from deskmate.faces.common.terminal_text import clean, one_line

PROGRAM = "deskmate: "


class Explained(Protocol):
    """An error or a warning: what happened, and how to fix it, or empty."""

    @property
    def message(self) -> str:
        """What happened."""

    @property
    def hint(self) -> str:
        """How to fix it, or empty."""


def error_lines(error: Explained) -> list[str]:
    """Return what happened, then how to fix it. Either may take several lines."""
    return [line for text in (error.message, error.hint) for line in clean(text).splitlines()]


def error_text(error: Explained, before: str = PROGRAM) -> str:
    """Return an error as text for a terminal, with `before` in front of the message."""
    return before + "\n".join(error_lines(error))


def keep(words: str, error: BaseException) -> Path:
    """Append an error and its traceback. Return the file. Raises OSError if it cannot be written."""
    # Imported here because it is slow, and most commands have nothing to log.
    from deskmate.app import environment, state_folder
    from deskmate.fs.safe_files import append_private

    file = state_folder(environment()) / "error.log"
    head = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} process {os.getpid()}: {words}\n"
    text = head + "".join(traceback.format_exception(error)) + "\n"
    append_private(file, discreet(text).encode(errors="backslashreplace"))
    return file


def discreet(text: str) -> str:
    """Return a text without the secrets that this process knows."""
    from deskmate.app import redaction_of

    return redaction_of().text(text)


@contextmanager
def logging_to(note: Callable[[str], None]) -> Iterator[None]:
    """Report every logged warning and error as one clean line, and keep its traceback in the file."""
    handler = _Notes(note)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


class _Notes(logging.Handler):
    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        if ALSO_AN_EVENT.items() <= vars(record).items():
            return
        words = record.getMessage()
        if record.exc_info and (error := record.exc_info[1]):
            words = f"{words}: {type(error).__name__}: {error}. {_where(words, error)}"
        self._note(f"{PROGRAM}{record.levelname.lower()}: {one_line(discreet(words))}")


def _where(words: str, error: BaseException) -> str:
    try:
        return f"Details are in {keep(words, error)}"
    except OSError as trouble:
        return f"The details could not be saved: {trouble.strerror}"
