"""The first lines of a git bundle: which commit it has, and which commits a receiver must have already.

Everything after them is a pack, which git itself checks. A bundle may come from a machine that somebody took over. So
nothing is used of a header that is not exactly as Deskmate writes it, and its one ref is never created: the receiver
knows by itself where the commit belongs.
"""

import re
from collections.abc import Sequence

from deskmate.core.travel.code_records import MOST_NAMED
from deskmate.core.values import frozen
from deskmate.errors import ToolError

REF = "refs/deskmate/travel"
# More than the longest header that is allowed has.
MOST_HEADER = 16_384
_PACK_HEADER = 12
# A packed object has at least one byte of its own and eight of zlib.
_LEAST_OBJECT = 9
# The memory that git needs to read a pack grows with the objects that the pack claims to have.
MOST_OBJECTS = 5_000_000
_SIGNATURES = {40: b"# v2 git bundle\n", 64: b"# v3 git bundle\n@object-format=sha256\n"}
_LINE = re.compile(r"(-?)([0-9a-f]{40}|[0-9a-f]{64})(?: (.*))?")


@frozen
class BundleHeader:
    """What a bundle says about itself. `size`: the bytes of the header, which the pack comes after."""

    tip: str
    needs: tuple[str, ...]
    size: int


def header_bytes(tip: str, needs: Sequence[str]) -> bytes:
    """Return the header of a bundle with the commit `tip`, which git understands too."""
    lines = [*(f"-{need}\n" for need in needs), f"{tip} {REF}\n", "\n"]
    return _SIGNATURES[len(tip)] + "".join(lines).encode()


def read_header(start: bytes, size: int) -> BundleHeader:
    """Return the header of a bundle. `start`: its first bytes. `size`: how many there are. Raises ToolError."""
    head, blank, pack = start[:MOST_HEADER].partition(b"\n\n")
    found = _signature(head + b"\n")
    if not blank or found is None:
        raise ToolError("What was sent is not a git bundle that Deskmate made")
    digits, signature = found
    lines = head[len(signature) :].decode(errors="replace").split("\n")
    named = [_LINE.fullmatch(line) for line in lines]
    if not all(one and len(one[2]) == digits for one in named) or len(lines) > MOST_NAMED + 1:
        raise ToolError("The header of the bundle has a line that is not allowed")
    commits = [(one[1], one[2], one[3] or "") for one in named if one]
    if [ref for mark, _, ref in commits if not mark] != [REF] or commits[-1][0]:
        raise ToolError(f"The bundle must have exactly one ref, {REF}")
    _check_pack(pack, size - len(head) - 2)
    return BundleHeader(commits[-1][1], tuple(commit for _, commit, _ in commits[:-1]), len(head) + 2)


def _signature(head: bytes) -> tuple[int, bytes] | None:
    return next((one for one in _SIGNATURES.items() if head.startswith(one[1])), None)


def _check_pack(pack: bytes, size: int) -> None:
    """Raise ToolError if a pack claims to have more objects than it can have, or than git can read safely."""
    count = int.from_bytes(pack[8:_PACK_HEADER], "big")
    if len(pack) < _PACK_HEADER or not pack.startswith(b"PACK"):
        raise ToolError("The bundle has no pack")
    if count > MOST_OBJECTS or count * _LEAST_OBJECT > size:
        raise ToolError(f"The bundle says that it has {count:,} objects in {size:,} bytes, which cannot be")
