"""Pictures that models can see: their media type and their size in pixels, decided by the bytes."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from deskmate.core.values import frozen

# Providers count the picture in base64, which is a third longer, and take at most 5 MB of that.
MAX_PICTURE_BYTES = 5 * 1024 * 1024 * 3 // 4
_STARTS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))
# Segments of a JPEG that begin a frame. The others in this range are tables.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# Segments of a JPEG without a length: fill bytes, restarts, start of the picture, and one that is never used now.
_JPEG_BARE = frozenset({0x01, 0xFF, *range(0xD0, 0xD9)})

Order: TypeAlias = Literal["big", "little"]


@frozen
class Pixels:
    """The width and height of a picture."""

    width: int
    height: int


def picture_type(data: bytes) -> str | None:
    """Return the media type of a picture that models can see, or None."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for start, media_type in _STARTS if data.startswith(start)), None)


def pixels_of(data: bytes) -> Pixels | None:
    """Return the size of a picture that models can see, or None if its header is damaged or it is none."""
    media_type = picture_type(data)
    found = _HEADERS[media_type](data) if media_type else None
    return found if found and found.width and found.height else None


def _png(data: bytes) -> Pixels | None:
    return _both(data, 16, 4, "big") if data[12:16] == b"IHDR" else None


def _gif(data: bytes) -> Pixels | None:
    return _both(data, 6, 2, "little")


def _jpeg(data: bytes) -> Pixels | None:
    place = 2
    while place + 4 <= len(data) and data[place] == 0xFF:
        kind = data[place + 1]
        if kind in _JPEG_FRAMES:
            size = _both(data, place + 5, 2, "big")
            return Pixels(size.height, size.width) if size else None
        # A fill byte may be the first byte of the next segment.
        bare = 1 if kind == 0xFF else 2
        place += bare if kind in _JPEG_BARE else 2 + int.from_bytes(data[place + 2 : place + 4], "big")
    return None


def _webp(data: bytes) -> Pixels | None:
    match data[12:16]:
        case b"VP8X":
            size = _both(data, 24, 3, "little")
            return Pixels(size.width + 1, size.height + 1) if size else None
        case b"VP8L" if len(data) >= 25:
            bits = int.from_bytes(data[21:25], "little")
            return Pixels((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8 ":
            size = _both(data, 26, 2, "little")
            return Pixels(size.width & 0x3FFF, size.height & 0x3FFF) if size else None
    return None


def _both(data: bytes, start: int, width: int, order: Order) -> Pixels | None:
    """Return two numbers of `width` bytes each that follow each other."""
    middle, end = start + width, start + 2 * width
    if len(data) < end:
        return None
    return Pixels(int.from_bytes(data[start:middle], order), int.from_bytes(data[middle:end], order))


_HEADERS: Mapping[str, Callable[[bytes], Pixels | None]] = MappingProxyType(
    {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}
)
PICTURE_TYPES = frozenset(_HEADERS)
