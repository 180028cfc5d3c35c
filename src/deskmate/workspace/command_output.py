"""What a command prints: bounded, kept, made readable.

`command` hands over the bytes as they come; `local` reads the text when it has ended.
"""

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
    """The head and the tail of what was printed; beyond both, a file holds all of it, up to `limit` bytes.

    `keep` opens that file when it is needed; without it, only the head and the tail remain. No secret that `redaction`
    knows gets into either, in whatever pieces it was printed; without one all is as it was printed.
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
        """Take some more; tell whether there is room for all of it."""
        text = self._decoder.decode(data)
        return self._take(self._passing.add(text) if self._passing else text)

    def finish(self) -> bool:
        """Take what is held back, as nothing comes behind it; tell whether there was room for all."""
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
        """Return what the model reads; `blob` is where it may read the rest."""
        self.finish()
        return self.so_far(blob)

    def so_far(self, blob: str) -> str:
        """Return the same of what was printed until now. Another thread may add to it meanwhile."""
        total = self._total
        gap = total - len(self._head) - len(self._tail)
        if gap <= 0:
            return clean(_decoded(self._head + self._tail))
        rest = f"They could not be saved: {self._trouble}" if self._trouble else f"All of it is in {blob}"
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(self._head)
        # The first bytes of the tail may be the end of a character whose beginning was left out.
        tail = _decoded(self._tail[:3].lstrip(bytes(range(0x80, 0xC0))) + self._tail[3:])
        return f"{clean(head)}\n[{gap:,} bytes left out. {rest}]\n{clean(tail)}"

    @property
    def is_cut(self) -> bool:
        """Whether more was printed than the text has."""
        return self._total > len(self._head) + len(self._tail)

    def lines(self) -> str:
        """Return the whole lines of the head, for an output of which the rest is of no use."""
        return clean(_decoded(self.whole_lines()))

    def whole_lines(self) -> bytes:
        """Return the same as it was printed."""
        self.finish()
        return self._head[: self._head.rfind(b"\n") + 1] if self.full else self._head

    def close(self) -> None:
        """Write what is left, and let go of the file."""
        self.finish()
        self._let_go()

    def _let_go(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _spill(self) -> None:
        """Begin the file with what is held; until now that is all there was."""
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
            # A full disk is no reason to end the command: what it prints is told to be lost.
            self._trouble, self.kept = error.strerror or str(error), False
            self._let_go()


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def clean(text: str) -> str:
    """Return text as it would stand on paper: no escapes, no controls, of a line written over only its last state."""
    text = _OVERSTRUCK.sub("", _ESCAPES.sub("", text))
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROLS.sub("", "\n".join(lines))
