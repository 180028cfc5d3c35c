"""Text or other, decided by the bytes."""

from deskmate.core.values import frozen
from deskmate.errors import ToolError

BOM = "\ufeff"

_OTHERS = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)


@frozen
class Text:
    """A file as text. `faithful`: writing it back gives the same bytes. If not, the file was not UTF-8."""

    body: str
    bom: str
    faithful: bool


def read_text(path: str, data: bytes) -> Text:
    """Return the bytes as text. Raises ToolError, naming the kind of file, if they are not text."""
    kind = next(
        (kind for magic, kind in _OTHERS if data.startswith(magic)), "a binary file" if b"\x00" in data else None
    )
    if kind:
        raise ToolError(
            f"{path} is {kind} of {len(data):,} bytes, not UTF-8 text. Use bash with a program that reads it."
        )
    try:
        body, faithful = data.decode("utf-8"), True
    except UnicodeDecodeError:
        body, faithful = data.decode("utf-8", errors="replace"), False
    return Text(body.removeprefix(BOM), BOM if body.startswith(BOM) else "", faithful)
