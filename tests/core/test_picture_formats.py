"""Pictures are known by their bytes."""

import pytest

from deskmate.core.picture_formats import Pixels, picture_type, pixels_of
from tests.sample_images import gif, jpeg, png, webp

SIZE = (1024, 768)


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (png(*SIZE), "image/png"),
        (gif(*SIZE), "image/gif"),
        (jpeg(*SIZE), "image/jpeg"),
        (jpeg(*SIZE, frame=0xC2), "image/jpeg"),
        (webp(b"VP8X", *SIZE), "image/webp"),
        (webp(b"VP8L", *SIZE), "image/webp"),
        (webp(b"VP8 ", *SIZE), "image/webp"),
    ],
)
def test_the_header_of_a_picture_says_its_type_and_size(data: bytes, media_type: str) -> None:
    assert (picture_type(data), pixels_of(data)) == (media_type, Pixels(1024, 768))


@pytest.mark.parametrize("data", [b"", b"hello", b"%PDF-1.7", b"RIFF\0\0\0\0WAVE", b"BM" + bytes(60)])
def test_other_files_are_no_pictures(data: bytes) -> None:
    assert (picture_type(data), pixels_of(data)) == (None, None)


WHOLE = [png(), gif(), jpeg(), webp(b"VP8X"), webp(b"VP8L"), webp(b"VP8 ")]


@pytest.mark.parametrize("data", [png(0, 3), png()[:20], webp(b"VP9 "), b"\xff\xd8\xff\xda\x00\x02ab"])
def test_a_damaged_header_has_no_size(data: bytes) -> None:
    assert pixels_of(data) is None


@pytest.mark.parametrize("data", WHOLE)
def test_no_cut_of_a_picture_is_an_error(data: bytes) -> None:
    assert {pixels_of(data[:end]) for end in range(len(data) + 1)} == {None, Pixels(4, 3)}
