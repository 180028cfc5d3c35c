"""Small images of each format, with headers as real programs write them."""

import struct
import zlib


def png(width: int = 4, height: int = 3, colour: int = 0) -> bytes:
    """Return a whole grey PNG image."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + bytes([colour]) * width) * height)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def gif(width: int = 4, height: int = 3) -> bytes:
    """Return the header of a GIF image."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def jpeg(width: int = 4, height: int = 3, frame: int = 0xC0) -> bytes:
    """Return the header of a JPEG image: a comment, a table and fill bytes come before the frame."""
    before = b"\xff\xe0\x00\x10JFIF\0" + bytes(9) + b"\xff\xc4\x00\x04ab" + b"\xff\xff"
    return b"\xff\xd8" + before + bytes([0xFF, frame]) + struct.pack(">HBHH", 11, 8, height, width) + bytes(6)


def webp(kind: bytes, width: int = 4, height: int = 3) -> bytes:
    """Return the header of a WebP image: extended (VP8X), lossless (VP8L) or lossy (VP8 )."""
    match kind:
        case b"VP8X":
            data = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
        case b"VP8L":
            data = b"\x2f" + ((height - 1) << 14 | (width - 1)).to_bytes(4, "little")
        case _:
            data = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
    return b"RIFF" + struct.pack("<I", len(data) + 12) + b"WEBP" + kind + struct.pack("<I", len(data)) + data
