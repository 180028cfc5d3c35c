"""read_file: lines, pictures, and what is neither."""

import pytest

from deskmate.core.agent.tool_results import Result
from deskmate.core.log.fingerprints import fingerprint
from deskmate.core.policy.permissions import Attempt
from deskmate.core.prompt.prompts import Image
from deskmate.errors import ToolError
from tests.tools.tool_desk import MemoryWorkspace, ToolDesk

pytestmark = pytest.mark.anyio

PICTURES = {
    "png": b"\x89PNG\r\n\x1a\n\x00rest",
    "jpeg": b"\xff\xd8\xff\xe0rest",
    "gif": b"GIF89a rest",
    "webp": b"RIFF\x10\x00\x00\x00WEBPrest",
}


async def read(desk: ToolDesk, workspace: MemoryWorkspace, data: bytes, **arguments: int) -> str:
    workspace.files["a.txt"] = data
    return (await desk.use("read_file", path="a.txt", **arguments)).text


@pytest.mark.behaviour("tools-base")
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"one\n\n  three\n", "1\tone\n2\t\n3\t  three"),
        (b"no end", "1\tno end"),
        (b"one\r\ntwo\r\n", "1\tone\n2\ttwo"),
        (b"\xef\xbb\xbfmarked\n", "1\tmarked"),
        ("Grüße 猫\n".encode(), "1\tGrüße 猫"),
        (b"form\x0cfeed\x0bline\x1csep\n", "1\tform\x0cfeed\x0bline\x1csep"),
        (b"\n", "1\t"),
        (b"", "(a.txt is empty)"),
        (b"\xef\xbb\xbf", "(a.txt is empty)"),
        (
            b"caf\xe9\n",
            "1\tcaf�\n(Not UTF-8: � marks what cannot be shown. edit_file does not work on this file.)",
        ),
    ],
)
async def test_a_file_is_read_as_numbered_lines(
    desk: ToolDesk, workspace: MemoryWorkspace, data: bytes, text: str
) -> None:
    assert await read(desk, workspace, data) == text


@pytest.mark.behaviour("tools-base")
@pytest.mark.parametrize(
    ("window", "text"),
    [
        ({"limit": 2}, "1\ta\n2\tb\n(lines 1 to 2 of 4. Continue with offset 3.)"),
        ({"offset": 3}, "3\tc\n4\td\n(lines 3 to 4 of 4)"),
        ({"offset": 2, "limit": 1}, "2\tb\n(lines 2 to 2 of 4. Continue with offset 3.)"),
        ({"limit": 4}, "1\ta\n2\tb\n3\tc\n4\td"),
    ],
)
async def test_a_part_of_a_file_says_how_to_read_on(
    desk: ToolDesk, workspace: MemoryWorkspace, window: dict[str, int], text: str
) -> None:
    assert await read(desk, workspace, b"a\nb\nc\nd\n", **window) == text


async def test_an_offset_behind_the_end_is_refused_with_the_number_of_lines(
    desk: ToolDesk, workspace: MemoryWorkspace
) -> None:
    with pytest.raises(ToolError, match=r"a\.txt has 2 lines. Use an offset of at most 2."):
        await read(desk, workspace, b"a\nb\n", offset=3)


@pytest.mark.behaviour("tools-base")
async def test_reading_on_as_told_shows_every_line_of_a_large_file_once(
    desk: ToolDesk, workspace: MemoryWorkspace
) -> None:
    workspace.files["a.txt"] = "".join(f"line {n} {'x' * (n % 90)}\n" for n in range(5000)).encode()
    seen: list[str] = []
    offset: int | None = 1
    while offset:
        text = (await desk.use("read_file", path="a.txt", offset=offset)).text
        assert len(text) < 50_000
        *lines, note = text.split("\n")
        seen += lines
        offset = int(note.rstrip(".)").rpartition(" ")[2]) if "Continue with" in note else None
    assert seen == [f"{n + 1}\tline {n} {'x' * (n % 90)}" for n in range(5000)]


async def test_a_long_line_is_cut_and_the_cut_is_told(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    assert await read(desk, workspace, b"y" * 2000 + b"\n" + b"x" * 5001 + b"\n") == (
        f"1\t{'y' * 2000}\n2\t{'x' * 2000}… (+3,001 characters)\n"
        "(Lines are cut after 2,000 characters. See the rest with bash.)"
    )


@pytest.mark.behaviour("tools-base")
@pytest.mark.parametrize("kind", PICTURES)
async def test_a_picture_is_kept_in_a_blob_and_named_in_the_result(
    desk: ToolDesk, workspace: MemoryWorkspace, kind: str
) -> None:
    data = PICTURES[kind]
    workspace.files["p"] = data
    blob = f".teams/main/blobs/lead-12-0.{kind}"
    assert await desk.use("read_file", path="p") == Result(
        f"p: image/{kind}, {len(data)} bytes", images=(Image(f"image/{kind}", blob),), files={"p": fingerprint(data)}
    )
    assert workspace.blobs == {blob: data}


async def test_a_picture_that_no_model_takes_is_refused_and_not_kept(
    desk: ToolDesk, workspace: MemoryWorkspace
) -> None:
    most = 5 * 1024 * 1024 * 3 // 4
    workspace.files = {"fits": b"GIF89a".ljust(most, b"."), "large": b"GIF89a".ljust(most + 1, b".")}
    assert (await desk.use("read_file", path="fits")).ok
    workspace.blobs.clear()
    with pytest.raises(ToolError, match="large is a picture of 3,932,161 bytes"):
        await desk.use("read_file", path="large")
    assert workspace.blobs == {}


@pytest.mark.behaviour("tools-errors")
@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"%PDF-1.7 text", "a PDF of 13 bytes"),
        (b"PK\x03\x04", "a zip archive of 4 bytes"),
        (b"\x1f\x8b\x08", "a gzip archive of 3 bytes"),
        (b"\x7fELF\x02", "a program of 5 bytes"),
        (b"SQLite format 3\x00", "an SQLite database of 16 bytes"),
        ("text".encode("utf-16"), "UTF-16 text of 10 bytes"),
        (b"a\x00b", "a binary file of 3 bytes"),
    ],
)
async def test_what_is_no_text_is_refused_with_its_kind_and_size(
    desk: ToolDesk, workspace: MemoryWorkspace, data: bytes, kind: str
) -> None:
    with pytest.raises(ToolError, match=f"a.txt is {kind}"):
        await read(desk, workspace, data)


async def test_a_part_makes_the_whole_file_known_under_its_resolved_path(
    desk: ToolDesk, workspace: MemoryWorkspace
) -> None:
    workspace.files["src/a.py"] = b"a\nb\n"
    result = await desk.use("read_file", path="/desk/src/../src/a.py", limit=1)
    assert result.files == {"src/a.py": fingerprint(b"a\nb\n")}


@pytest.mark.behaviour("tools-errors")
async def test_a_file_that_is_not_there_is_an_error_the_model_can_read(desk: ToolDesk) -> None:
    with pytest.raises(ToolError, match=r"there is no file a\.txt"):
        await desk.use("read_file", path="a.txt")


@pytest.mark.behaviour("tools-safety")
@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file"])
async def test_the_rules_see_the_resolved_path_and_whether_it_lies_inside(desk: ToolDesk, name: str) -> None:
    needed = {
        "read_file": {},
        "write_file": {"content": ""},
        "edit_file": {"old_text": "a", "new_text": "b"},
    }[name]
    assert await desk.attempt(name, path="a/../b.py", **needed) == Attempt(name, ("b.py",), inside=True)
    assert await desk.attempt(name, path="../b.py", **needed) == Attempt(name, ("/b.py",), inside=False)
