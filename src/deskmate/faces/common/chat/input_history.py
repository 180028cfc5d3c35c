"""What was typed before.

Known secrets are never stored: a line taken back from the history has the secret's name in place of the secret.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from deskmate.app import redaction_of, state_folder

KEPT = 1000
_PRIVATE = 0o600


class InputHistory:
    """Typed texts, oldest first. Methods raise OSError if the file cannot be read or written."""

    def __init__(self, file: Path, environ: Mapping[str, str]) -> None:
        self._file, self._environ = file, environ

    @classmethod
    def of_user(cls, environ: Mapping[str, str]) -> "InputHistory":
        """Return the history that Deskmate keeps for the user."""
        return cls(state_folder(environ) / "history.jsonl", environ)

    def read(self) -> list[str]:
        """Return the last texts, oldest first. Lines that contain no valid text are skipped."""
        try:
            with os.fdopen(self._open(os.O_RDONLY), encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            return []
        if len(lines) > 2 * KEPT:
            self._shorten(lines[-KEPT:])
        return [text for text in map(_text, lines) if text][-KEPT:]

    def add(self, text: str) -> None:
        """Append a text, with known secrets replaced."""
        line = json.dumps(redaction_of(environ=self._environ).text(text))
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = self._open(os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with os.fdopen(opened, "a", encoding="ascii") as file:
            os.fchmod(opened, _PRIVATE)
            file.write(f"{line}\n")

    def _open(self, flags: int) -> int:
        # Follow no symlink: it could make us read or write another file.
        return os.open(self._file, flags | os.O_NOFOLLOW | os.O_CLOEXEC, _PRIVATE)

    def _shorten(self, lines: list[str]) -> None:
        other = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        other.unlink(missing_ok=True)
        opened = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE)
        with os.fdopen(opened, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        other.replace(self._file)


def _text(line: str) -> str:
    try:
        text = json.loads(line)
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""
