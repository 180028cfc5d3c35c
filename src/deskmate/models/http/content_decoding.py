"""What a server compressed. Requests ask for plain answers, but not every server listens."""

import zlib

from deskmate.models.http.http_failures import BadResponse

# A small piece can unpack to a thousand times its size, so it is unpacked in parts.
_PART = 1024 * 1024
_GZIP = 16 + zlib.MAX_WBITS


class ContentDecoder:
    """Unpacks one body. `encoding`: gzip or deflate. Raises BadResponse for any other."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise BadResponse(f"the answer is encoded as '{encoding[:40]}', which was not asked for")
        self._unpacker = zlib.decompressobj(zlib.MAX_WBITS if encoding == "deflate" else _GZIP)
        # Some servers send deflate without the two bytes that must come first.
        self._may_be_raw = encoding == "deflate"
        self._packed = b""
        # What was unpacked to nothing so far, as long as it may be deflate without these bytes.
        self._begun = b""

    def feed(self, piece: bytes) -> None:
        """Take a piece of the body. `read` returns what is in it."""
        self._packed += piece

    def read(self) -> bytes:
        """Return the next part. Empty if more pieces are needed. Raises BadResponse if it cannot be unpacked."""
        try:
            part = self._unpacker.decompress(self._packed, _PART)
        except zlib.error as error:
            if not self._may_be_raw:
                raise BadResponse("the answer is compressed, and cannot be unpacked") from error
            self._unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
            self._may_be_raw, self._packed = False, self._begun + self._packed
            return self.read()
        # Zlib would keep everything that follows, however much that is.
        if self._unpacker.unused_data:
            raise BadResponse("the answer goes on after its compressed part has ended")
        self._may_be_raw = self._may_be_raw and not part
        self._begun = self._begun + self._packed if self._may_be_raw else b""
        self._packed = self._unpacker.unconsumed_tail
        return part
