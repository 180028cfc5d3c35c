"""A response from bytes. No I/O."""

import re
from collections.abc import Callable, Mapping

from deskmate.core.values import frozen
from deskmate.models.http.http_failures import BadResponse

HEAD_CAP = 128 * 1024
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: ([^\r\n\0]*))?")
# It matches in one way only, or a header could take hours. White space around the value is removed afterwards.
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n\0]*)")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r?")
_LENGTH = re.compile("[0-9]{1,18}")
_NO_BODY = frozenset({204, 304})


@frozen
class ResponseHead:
    """Status, reason and headers, which have names in lower case. `keeps`: the connection can be used again."""

    status: int
    reason: str
    headers: Mapping[str, str]
    keeps: bool

    @property
    def is_success(self) -> bool:
        """Whether the request was accepted."""
        return 200 <= self.status < 300


class ResponseReader:
    """Reads one response. Feed it what arrives. Its body comes back piece by piece.

    `head`: None until it is complete. `is_done`: the response is complete. `rest`: bytes after the response.
    `tunnels`: the answer to CONNECT, which has no body.
    """

    def __init__(self, *, tunnels: bool = False) -> None:
        self.head: ResponseHead | None = None
        self.is_done = False
        self._tunnels = tunnels
        self._buffer = bytearray()
        # Bytes of answers before the real one, and of headers after the body.
        self._extra = 0
        # Bytes left of the body or of the chunk. None: the body ends with the connection.
        self._left: int | None = 0
        self._read: Callable[[list[bytes]], bool] = self._read_head

    @property
    def rest(self) -> bool:
        """Whether something arrived that does not belong to the response."""
        return self.is_done and bool(self._buffer)

    def feed(self, data: bytes) -> bytes:
        """Return what this adds to the body. Raises BadResponse."""
        self._buffer += data
        body: list[bytes] = []
        while not self.is_done and self._read(body):
            pass
        return body[0] if len(body) == 1 else b"".join(body)

    def end(self) -> None:
        """Note that the connection ended. Raises BadResponse if the response was not complete."""
        if self.head and self._left is None:
            self.is_done = True
        elif not self.is_done:
            raise BadResponse("the server closed the connection before its answer was complete")

    def _read_head(self, body: list[bytes]) -> bool:
        if (found := _HEAD_END.search(self._buffer)) is None:
            if len(self._buffer) > HEAD_CAP:
                raise BadResponse(f"the headers of the answer have more than {HEAD_CAP:,} bytes")
            return False
        lines, stop = bytes(self._buffer[: found.start()]).split(b"\n"), found.end()
        # A match keeps a buffer on the bytes it was found in. They cannot be cut until it is deleted.
        del found
        del self._buffer[:stop]
        version, status, reason = _status_of(lines[0].removesuffix(b"\r"))
        if status == 101:
            raise BadResponse("the server wants to change the protocol")
        if status >= 200:
            headers = _headers_of(lines[1:])
            self.head = ResponseHead(
                status, reason, headers, version == 1 and not _says(headers, "connection", "close")
            )
            self._frame(self.head)
        else:
            # It is followed by the real one.
            self._count_extra(stop)
        return True

    def _count_extra(self, size: int) -> None:
        self._extra += size
        if self._extra > HEAD_CAP:
            raise BadResponse(f"the answer has more than {HEAD_CAP:,} bytes that are not of its headers or its body")

    def _frame(self, head: ResponseHead) -> None:
        """Choose how the body ends."""
        if head.status in _NO_BODY or (self._tunnels and head.is_success):
            self.is_done = True
        elif "transfer-encoding" in head.headers:
            if head.headers["transfer-encoding"].lower() != "chunked":
                raise BadResponse("the answer has a transfer encoding other than chunked")
            self._read = self._read_chunk_size
        elif "content-length" in head.headers:
            self._left = _length_of(head.headers["content-length"])
            self.is_done, self._read = not self._left, self._read_all
        else:
            self._left, self._read = None, self._read_all
            self.head = ResponseHead(head.status, head.reason, head.headers, keeps=False)

    def _read_all(self, body: list[bytes]) -> bool:
        self._take(body)
        self.is_done = self._left == 0
        return False

    def _take(self, body: list[bytes]) -> None:
        """Move what is there of the body, or of the chunk."""
        piece = bytes(self._buffer[: self._left])
        del self._buffer[: self._left]
        if self._left is not None:
            self._left -= len(piece)
        if piece:
            body.append(piece)

    def _read_chunk_size(self, body: list[bytes]) -> bool:
        if (line := self._line()) is None:
            return False
        found = _CHUNK_SIZE.fullmatch(line)
        if not found:
            raise BadResponse("a part of the answer has no size")
        self._left = int(found[1], 16)
        self._read = self._read_chunk if self._left else self._read_trailer
        return True

    def _read_chunk(self, body: list[bytes]) -> bool:
        self._take(body)
        if self._left:
            return False
        self._read = self._read_chunk_end
        return True

    def _read_chunk_end(self, body: list[bytes]) -> bool:
        if (line := self._line()) is None:
            return False
        if line not in (b"", b"\r"):
            raise BadResponse("a part of the answer is larger than its size")
        self._read = self._read_chunk_size
        return True

    def _read_trailer(self, body: list[bytes]) -> bool:
        line = self._line()
        self._count_extra(0 if line is None else len(line) + 1)
        self.is_done = line in (b"", b"\r")
        return line is not None

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\n")
        if end < 0:
            if len(self._buffer) > HEAD_CAP:
                raise BadResponse(f"a line of the answer has more than {HEAD_CAP:,} bytes")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line


def _status_of(line: bytes) -> tuple[int, int, str]:
    found = _STATUS_LINE.fullmatch(line)
    if not found:
        raise BadResponse("the answer does not begin as one of HTTP/1.1 does")
    return int(found[1]), int(found[2]), (found[3] or b"").decode("latin-1")


def _headers_of(lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        found = _HEADER.fullmatch(line.removesuffix(b"\r"))
        if not found:
            raise BadResponse("a header of the answer cannot be read")
        name, value = found[1].decode().lower(), found[2].strip(b" \t").decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _says(headers: Mapping[str, str], name: str, word: str) -> bool:
    return word in (part.strip().lower() for part in headers.get(name, "").split(","))


def _length_of(value: str) -> int:
    lengths = {part.strip() for part in value.split(",")}
    length = lengths.pop()
    if lengths or not _LENGTH.fullmatch(length):
        raise BadResponse("the length of the answer cannot be read")
    return int(length)
