"""Files as agents last read or wrote them, to show what somebody else changed since."""

from collections import OrderedDict

from deskmate.core.log.fingerprints import fingerprint

MOST_BYTES = 32_000_000


class KnownVersions:
    """The latest versions of files that were read and written, by fingerprint. The oldest make room for new ones.

    They are only in memory. After a restart there are none, and nothing depends on them.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._size = most_bytes, 0
        self._versions = OrderedDict[str, bytes]()

    def keep(self, data: bytes) -> str:
        """Keep a version, and return its fingerprint."""
        known = fingerprint(data)
        if known not in self._versions:
            self._versions[known] = data
            self._size += len(data)
        self._versions.move_to_end(known)
        while self._size > self._most:
            self._size -= len(self._versions.popitem(last=False)[1])
        return known

    def get(self, known: str) -> bytes | None:
        """Return the version with a fingerprint, or None if it is not kept any more."""
        return self._versions.get(known)
