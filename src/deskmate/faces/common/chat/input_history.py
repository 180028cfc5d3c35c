"""What was typed before.

Known secrets are never stored: a line taken back from the history has the secret's name in place of the secret.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from deskmate.app import redaction_of, state_folder
from deskmate.fs.safe_files import append_private, open_folder, read_end, replace_file

KEPT = 1000
_MOST_BYTES = 16_000_000


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
            data = read_end(self._file, _MOST_BYTES)
        except FileNotFoundError:
            return []
        lines = data.decode(errors="replace").splitlines()
        texts = [text for text in map(_text, lines) if text][-KEPT:]
        if len(lines) > 2 * KEPT or len(data) == _MOST_BYTES:
            self._shorten(texts)
        return texts

    def add(self, text: str) -> None:
        """Append a text, with known secrets replaced."""
        append_private(self._file, _line(redaction_of(environ=self._environ).text(text)))

    def _shorten(self, texts: list[str]) -> None:
        with open_folder(self._file.parent.resolve()) as folder:
            replace_file(folder, self._file.name, b"".join(map(_line, texts)))


def _line(text: str) -> bytes:
    return json.dumps(text).encode() + b"\n"


def _text(line: str) -> str:
    try:
        text = json.loads(line)
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""
