"""What a command prints: bounded, kept, made readable."""

import codecs
import os
import re
from collections.abc import Callable

from deskmate.core.policy.redaction import SHAPES, Redaction

HEAD = TAIL = 15_000
MAX_BLOB = 64_000_000

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursors
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles and links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # strings for devices
    r"|\x1b[ -/]*[0-~]?"  # whatever else is one
)
_OVERSTRUCK = re.compile(r"[^\n]\x08")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Output:
    """The head and the tail of an output. If there is more, a file has all of it, up to `limit` bytes.

    `keep` opens that file when it is needed. Without it, only the head and the tail are kept. Secrets that `redaction`
    knows are removed from both, even if printed in pieces. Without `redaction`, the output is kept as printed.
    """

    def __init__(
        self,
        limit: int,
        keep: Callable[[], int] | None = None,
        head: int = HEAD,
        tail: int = TAIL,
        redaction: Redaction | None = SHAPES,
    ) -> None:
        self.full = False
        self.kept = False
        self.line_ends = 0
        self._limit, self._keep = limit, keep
        self._most_head, self._most_tail = head, tail
        self._head, self._tail = b"", b""
        self._total = 0
        self._file: int | None = None
        self._trouble = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._passing = redaction.passing() if redaction else None

    def add(self, data: bytes) -> bool:
        """Add some output. Return whether there was room for all of it."""
        text = self._decoder.decode(data)
        return self._take(self._passing.add(text) if self._passing else text)

    def finish(self) -> bool:
        """Add what is held back, because nothing follows. Return whether there was room for everything."""
        text = self._decoder.decode(b"", final=True)
        return self._take(self._passing.add(text) + self._passing.end() if self._passing else text)

    def _take(self, text: str) -> bool:
        data = text.encode(errors="surrogateescape")
        if len(data) > self._limit - self._total:
            self.full = True
            data = data[: self._limit - self._total]
        if self._total <= self._most_head + self._most_tail < self._total + len(data):
            self._spill()
        self._total += len(data)
        self.line_ends += data.count(b"\n")
        self._write(data)
        room = self._most_head - len(self._head)
        self._head += data[:room]
        self._tail = (self._tail + data[room:])[-self._most_tail :] if self._most_tail else b""
        return not self.full

    def text(self, blob: str) -> str:
        """Return the output for the model. `blob`: where it can read the rest."""
        self.finish()
        return self.so_far(blob)

    def so_far(self, blob: str) -> str:
        """Return the same for the output so far. Another thread may add to it meanwhile."""
        total = self._total
        gap = total - len(self._head) - len(self._tail)
        if gap <= 0:
            return clean(_decoded(self._head + self._tail))
        rest = f"They could not be saved: {self._trouble}" if self._trouble else f"All of it is in {blob}"
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(self._head)
        # The tail may start in the middle of a character.
        tail = _decoded(self._tail[:3].lstrip(bytes(range(0x80, 0xC0))) + self._tail[3:])
        return f"{clean(head)}\n[{gap:,} bytes left out. {rest}]\n{clean(tail)}"

    @property
    def is_cut(self) -> bool:
        """Whether the text leaves out a part of the output."""
        return self._total > len(self._head) + len(self._tail)

    def lines(self) -> str:
        """Return the complete lines of the head, cleaned, for an output whose rest is of no use."""
        return clean(_decoded(self.whole_lines()))

    def whole_lines(self) -> bytes:
        """Return the complete lines of the head as printed."""
        self.finish()
        return self._head[: self._head.rfind(b"\n") + 1] if self.full else self._head

    def close(self) -> None:
        """Write what is left, and close the file."""
        self.finish()
        self._let_go()

    def _let_go(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _spill(self) -> None:
        """Start the file with everything printed so far."""
        if self._keep is None:
            return
        try:
            self._file = self._keep()
        except OSError as error:
            self._trouble = error.strerror or str(error)
        else:
            self.kept = True
            self._write(self._head + self._tail)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while self._file is not None and rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            # A full disk is no reason to end the command. The text says that output was lost.
            self._trouble, self.kept = error.strerror or str(error), False
            self._let_go()


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def clean(text: str) -> str:
    """Return text without escapes and control characters. Of an overwritten line, only its last state remains."""
    text = _OVERSTRUCK.sub("", _ESCAPES.sub("", text))
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROLS.sub("", "\n".join(lines))
