"""Server-sent events from bytes."""

import re
from collections.abc import Iterator

from deskmate.core.values import frozen
from deskmate.errors import ModelRejected, ModelTrouble

EVENT_CAP = 16 * 1024 * 1024
# Three lines for each token of the largest answer, times two. A stream of short lines takes long to read.
LINES_CAP = 1_000_000
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


@frozen
class ServerEvent:
    """One event of a stream. The name is empty if the server sent none."""

    name: str
    data: str


class EventParser:
    """Turns the pieces of one stream into its events.

    An event above EVENT_CAP bytes raises ModelTrouble, a stream of more than LINES_CAP lines ModelRejected.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._lines_left = LINES_CAP
        self._scanned = 0
        self._size = 0
        self._name = ""
        self._data: list[str] = []
        self._begun = False

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """Yield the events that this piece completes."""
        self._rest += piece
        for line in self._lines():
            if event := self._take(line):
                yield event
        self._check_size(self._size + len(self._rest))

    def end(self) -> Iterator[ServerEvent]:
        """Yield what is unfinished at the end of the stream. Some servers omit the last blank line."""
        line = bytes(self._rest).removesuffix(b"\r")
        self._rest.clear()
        for last in (line, b""):
            if event := self._take(last):
                yield event

    def _lines(self) -> Iterator[bytes]:
        while found := _LINE_END.search(self._rest, self._scanned):
            start, stop = found.span()
            if found[0] == b"\r" and stop == len(self._rest):
                # The other half of a CRLF may be in the next piece.
                self._scanned = start
                return
            line = bytes(self._rest[:start])
            # A match keeps a buffer on the bytes it was found in. They cannot be cut until it is deleted.
            del found
            del self._rest[:stop]
            self._scanned = 0
            yield line
        self._scanned = len(self._rest)

    def _take(self, line: bytes) -> ServerEvent | None:
        """Add a line. Return the event that it completes."""
        self._lines_left -= 1
        if self._lines_left < 0:
            raise ModelRejected(f"The answer has more than {LINES_CAP:,} lines, so Deskmate stopped reading")
        if not self._begun:
            self._begun, line = True, line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        field, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
            self._size += len(line)
            self._check_size(self._size)
        return None

    def _dispatch(self) -> ServerEvent | None:
        name, data = self._name, self._data
        self._name, self._data, self._size = "", [], 0
        return ServerEvent(name, "\n".join(data)) if data else None

    def _check_size(self, size: int) -> None:
        if size > EVENT_CAP:
            raise ModelTrouble(f"An event of the answer has more than {EVENT_CAP} bytes, so Deskmate stopped reading")
