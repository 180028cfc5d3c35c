"""The header of a bundle, as Deskmate writes it and as somebody else might."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.travel.bundle_header import MOST_OBJECTS, REF, BundleHeader, header_bytes, read_header
from deskmate.errors import ToolError

A, B, C = "a" * 40, "b" * 40, "c" * 40
PACK = b"PACK\0\0\0\2\0\0\0\1"


@pytest.mark.parametrize("digits", [40, 64])
@pytest.mark.parametrize("count", [0, 1, 64])
def test_a_header_is_read_as_it_was_written(digits: int, count: int) -> None:
    tip, needs = "a" * digits, tuple(f"{number:0{digits}x}" for number in range(count))
    header = header_bytes(tip, needs)
    assert read_header(header + PACK + b"x" * 20, len(header) + 32) == BundleHeader(tip, needs, len(header))


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"PACK",
        f"{A} {REF}\n\n".encode(),
        f"# v3 git bundle\n@filter=blob:none\n{A} {REF}\n\n".encode(),
        f"# v3 git bundle\n@object-format=sha256\n@filter=blob:none\n{'a' * 64} {REF}\n\n".encode(),
        f"# v2 git bundle\n{A} {REF}\n".encode(),
        f"# v2 git bundle\n{A} refs/heads/trunk\n\n".encode(),
        f"# v2 git bundle\n{A} {REF}/../../heads/trunk\n\n".encode(),
        f"# v2 git bundle\n{A} {REF}\n{B} refs/heads/trunk\n\n".encode(),
        f"# v2 git bundle\n{A} {REF}\n{B} {REF}\n\n".encode(),
        f"# v2 git bundle\n{A} {REF}\n-{B}\n\n".encode(),
        f"# v2 git bundle\n-{B}\n\n".encode(),
        f"# v2 git bundle\n{A} --upload-pack=x\n\n".encode(),
        f"# v2 git bundle\n--help\n{A} {REF}\n\n".encode(),
        f"# v2 git bundle\n{'a' * 64} {REF}\n\n".encode(),
        f"# v2 git bundle\n{A[:39]} {REF}\n\n".encode(),
        b"# v2 git bundle\n" + f"-{B}\n".encode() * 66 + f"{A} {REF}\n\n".encode(),
        b"# v2 git bundle\n" + b"x" * 40_000,
    ],
    ids=lambda header: repr(header[:50]),
)
def test_any_other_header_is_refused(header: bytes) -> None:
    with pytest.raises(ToolError):
        read_header(header + PACK + b"x" * 20, len(header) + 32)


@pytest.mark.parametrize(
    ("pack", "size"),
    [
        (b"", 0),
        (b"PACK", 4),
        (b"PUCK" + PACK[4:], 1000),
        (PACK[:8] + b"\xff\xff\xff\xff", 10**9),
        (PACK[:8] + (MOST_OBJECTS + 1).to_bytes(4, "big"), 10**12),
        (PACK[:8] + (100).to_bytes(4, "big"), 800),
    ],
)
def test_a_pack_that_cannot_have_so_many_objects_is_refused(pack: bytes, size: int) -> None:
    header = header_bytes(A, [B])
    with pytest.raises(ToolError):
        read_header(header + pack, len(header) + size)


@given(st.binary(max_size=200))
def test_no_bytes_do_anything_but_be_refused(data: bytes) -> None:
    for start in (b"", b"# v2 git bundle\n", f"# v2 git bundle\n{A} {REF}\n".encode(), header_bytes(A, [C])):
        try:
            header = read_header(start + data, len(start + data))
        except ToolError:
            continue
        assert start == header_bytes(A, [C]) or b"PACK" in data
        assert header.tip
