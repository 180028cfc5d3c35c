"""write_file and edit_file: what is written, and what is refused so that nobody's work is lost."""

import anyio
import anyio.lowlevel
import pytest

from deskmate.core.agent.tool_results import Result
from deskmate.core.log.fingerprints import fingerprint
from deskmate.errors import ToolError
from deskmate.tools.files.known_versions import KnownVersions
from tests.tools.tool_desk import MemoryWorkspace, ToolDesk

pytestmark = pytest.mark.anyio


async def knows(desk: ToolDesk, workspace: MemoryWorkspace, data: bytes, path: str = "a.py") -> None:
    workspace.files[path] = data
    desk.files[path] = fingerprint(data)


@pytest.mark.behaviour("tools-base")
async def test_a_new_file_is_written_and_known(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    assert await desk.use("write_file", path="./a.py", content="one\ntwo\n") == Result(
        "Wrote 2 lines to a.py",
        shown="--- a.py\n+++ a.py\n@@ -0,0 +1,2 @@\n+one\n+two",
        files={"a.py": fingerprint(b"one\ntwo\n")},
    )
    assert workspace.files == {"a.py": b"one\ntwo\n"}


@pytest.mark.behaviour("tools-base")
async def test_a_file_that_was_read_is_replaced(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    workspace.files["a.py"] = b"one\n"
    await desk.use("read_file", path="a.py")
    assert await desk.use("write_file", path="a.py", content="two") == Result(
        "Wrote 1 line to a.py",
        shown="--- a.py\n+++ a.py\n@@ -1,1 +1,1 @@\n-one\n+two",
        files={"a.py": fingerprint(b"two")},
    )
    assert workspace.files == {"a.py": b"two"}


@pytest.mark.behaviour("tools-base")
async def test_a_file_just_written_can_be_written_and_edited_again(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    await desk.use("write_file", path="a.py", content="one")
    await desk.use("write_file", path="a.py", content="two")
    await desk.use("edit_file", path="a.py", old_text="two", new_text="three")
    await desk.use("edit_file", path="a.py", old_text="three", new_text="four")
    assert workspace.files == {"a.py": b"four"}


CHANGES: dict[str, dict[str, str]] = {
    "write_file": {"path": "a.py", "content": "mine\n"},
    "edit_file": {"path": "a.py", "old_text": "theirs", "new_text": "mine"},
}


@pytest.mark.behaviour("tools-safety")
@pytest.mark.parametrize("name", CHANGES)
async def test_a_file_that_was_not_read_is_left_alone(desk: ToolDesk, workspace: MemoryWorkspace, name: str) -> None:
    workspace.files["a.py"] = b"theirs\n"
    with pytest.raises(ToolError, match=r"a\.py exists and you have not read it\. Read it"):
        await desk.use(name, **CHANGES[name])
    assert workspace.files == {"a.py": b"theirs\n"}


@pytest.mark.behaviour("tools-safety")
@pytest.mark.parametrize("name", CHANGES)
async def test_a_file_that_changed_since_it_was_read_is_left_alone_until_it_is_read_again(
    desk: ToolDesk, workspace: MemoryWorkspace, name: str
) -> None:
    workspace.files["a.py"] = b"old\n"
    await desk.use("read_file", path="a.py")
    workspace.files["a.py"] = b"theirs\n"
    with pytest.raises(ToolError, match=r"a\.py was changed since you read it\. Read it again"):
        await desk.use(name, **CHANGES[name])
    assert workspace.files == {"a.py": b"theirs\n"}
    await desk.use("read_file", path="a.py")
    await desk.use(name, **CHANGES[name])
    assert workspace.files == {"a.py": b"mine\n"}


@pytest.mark.behaviour("radar")
@pytest.mark.parametrize("name", CHANGES)
async def test_an_agent_reads_who_changed_a_file_since_and_how(
    desk: ToolDesk, workspace: MemoryWorkspace, name: str
) -> None:
    workspace.files["a.py"] = b"old\nsame\n"
    await desk.use("read_file", path="a.py")
    workspace.files["a.py"] = b"theirs\nsame\n"
    desk.writers["a.py", fingerprint(b"theirs\nsame\n")] = "bob"
    with pytest.raises(ToolError) as caught:
        await desk.use(name, **CHANGES[name])
    told = str(caught.value)
    assert "by bob" in told
    assert told.endswith("--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n-old\n+theirs\n same")


@pytest.mark.behaviour("radar")
async def test_what_others_changed_is_shown_without_secrets_and_bounded(
    desk: ToolDesk, workspace: MemoryWorkspace
) -> None:
    secret = "sk-ant-api03-" + "Zk3" * 31
    workspace.files["a.py"] = b"old\n"
    await desk.use("read_file", path="a.py")
    workspace.files["a.py"] = "".join(f"line {n} {'x' * 50}\n" for n in range(5000)).encode()
    with pytest.raises(ToolError) as long:
        await desk.use("write_file", path="a.py", content="mine\n")
    assert len(str(long.value)) < 6000
    workspace.files["a.py"] = f"KEY = '{secret}'\n".encode()
    with pytest.raises(ToolError) as caught:
        await desk.use("write_file", path="a.py", content="mine\n")
    assert secret not in str(caught.value)
    assert "+KEY" in str(caught.value)


@pytest.mark.behaviour("radar")
async def test_a_file_that_is_no_text_any_more_is_refused_without_a_diff(
    desk: ToolDesk, workspace: MemoryWorkspace
) -> None:
    workspace.files["a.py"] = b"old\n"
    await desk.use("read_file", path="a.py")
    workspace.files["a.py"] = b"\x00\x01"
    with pytest.raises(ToolError) as caught:
        await desk.use("write_file", path="a.py", content="mine\n")
    assert "@@" not in str(caught.value)


def test_old_versions_make_room_for_new_ones() -> None:
    versions = KnownVersions(most_bytes=10)
    first, second = versions.keep(b"12345"), versions.keep(b"67890")
    versions.keep(b"12345")
    third = versions.keep(b"abcde")
    assert [versions.get(one) for one in (first, second, third)] == [b"12345", None, b"abcde"]
    assert versions.get(versions.keep(b"more than there is room for")) is None


class ChangedWhileWriting(MemoryWorkspace):
    """Somebody else writes between what the tool looks at and what it writes."""

    async def write(self, path: str, data: bytes, *, known: str | None) -> None:
        self.files["a.py"] = b"theirs, later\n"
        await super().write(path, data, known=known)


@pytest.mark.behaviour("tools-safety")
@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_at_the_last_moment_is_left_alone_too(name: str) -> None:
    workspace = ChangedWhileWriting({"a.py": b"theirs\n"})
    desk = ToolDesk(workspace, files={"a.py": fingerprint(b"theirs\n")})
    with pytest.raises(ToolError, match="not as it was known"):
        await desk.use(name, **CHANGES[name])
    assert workspace.files == {"a.py": b"theirs, later\n"}


class CutWhileWriting(MemoryWorkspace):
    """The writer is cancelled before it learns that it has written."""

    scope: anyio.CancelScope

    async def write(self, path: str, data: bytes, *, known: str | None) -> None:
        await super().write(path, data, known=known)
        self.scope.cancel()


@pytest.mark.parametrize("name", CHANGES)
async def test_what_is_written_is_told_though_it_was_cut_meanwhile(name: str) -> None:
    workspace = CutWhileWriting({"a.py": b"theirs\n"})
    desk = ToolDesk(workspace, files={"a.py": fingerprint(b"theirs\n")})
    with anyio.CancelScope() as workspace.scope:
        await desk.use(name, **CHANGES[name])
    assert desk.files == {"a.py": fingerprint(b"mine\n")}


@pytest.mark.behaviour("tools-safety")
async def test_a_file_that_appears_at_the_last_moment_is_left_alone_too() -> None:
    workspace = ChangedWhileWriting()
    with pytest.raises(ToolError, match="not as it was known"):
        await ToolDesk(workspace).use("write_file", path="a.py", content="mine")
    assert workspace.files == {"a.py": b"theirs, later\n"}


async def test_a_file_that_was_read_and_is_gone_can_be_written_anew(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    await knows(desk, workspace, b"old\n")
    del workspace.files["a.py"]
    await desk.use("write_file", path="a.py", content="new\n")
    assert workspace.files == {"a.py": b"new\n"}


@pytest.mark.behaviour("tools-safety")
async def test_nothing_is_written_outside_of_the_workspace(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    with pytest.raises(ToolError, match=r"\.\./a.py lies outside"):
        await desk.use("write_file", path="../a.py", content="mine")
    assert workspace.files == {}


@pytest.mark.behaviour("tools-base")
async def test_an_edit_says_its_line_and_shows_the_change(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    await knows(desk, workspace, b"a\nb\nc\nd\ne\nf\n")
    assert await desk.use("edit_file", path="a.py", old_text="e", new_text="E1\nE2") == Result(
        "Edited a.py: line 5",
        shown="--- a.py\n+++ a.py\n@@ -2,5 +2,6 @@\n b\n c\n d\n-e\n+E1\n+E2\n f",
        files={"a.py": fingerprint(b"a\nb\nc\nd\nE1\nE2\nf\n")},
    )
    assert workspace.files == {"a.py": b"a\nb\nc\nd\nE1\nE2\nf\n"}


@pytest.mark.behaviour("tools-base")
async def test_replacing_all_says_how_many_places(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    await knows(desk, workspace, b"a\nb a\n")
    result = await desk.use("edit_file", path="a.py", old_text="a", new_text="c", replace_all=True)
    assert (result.text, workspace.files) == ("Edited a.py: 2 places, first line 1", {"a.py": b"c\nb c\n"})


@pytest.mark.behaviour("tools-base")
async def test_an_edit_keeps_line_endings_and_a_byte_order_mark(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    await knows(desk, workspace, b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
    await desk.use("edit_file", path="a.py", old_text="one\ntwo", new_text="1\n2\n2b")
    assert workspace.files == {"a.py": b"\xef\xbb\xbf1\r\n2\r\n2b\r\nthree\r\n"}


async def test_a_file_that_is_not_utf8_is_not_edited(desk: ToolDesk, workspace: MemoryWorkspace) -> None:
    await knows(desk, workspace, b"caf\xe9 one\n")
    with pytest.raises(ToolError, match=r"a\.py is not UTF-8"):
        await desk.use("edit_file", path="a.py", old_text="one", new_text="two")
    assert workspace.files == {"a.py": b"caf\xe9 one\n"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("edit_file", {"old_text": "a", "new_text": "b", "replace_all": True}),
        ("write_file", {"content": "b\n" * 200_000}),
    ],
)
async def test_the_event_loop_is_free_while_a_large_file_is_changed(
    desk: ToolDesk, workspace: MemoryWorkspace, name: str, arguments: dict[str, object]
) -> None:
    await knows(desk, workspace, b"a\n" * 200_000)
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as group:
        group.start_soon(turn)
        await desk.use(name, path="a.py", **arguments)
        group.cancel_scope.cancel()
    assert workspace.files == {"a.py": b"b\n" * 200_000}
    assert turns > 10


@pytest.mark.behaviour("tools-errors")
async def test_a_file_that_is_not_there_cannot_be_edited(desk: ToolDesk) -> None:
    with pytest.raises(ToolError, match=r"there is no file a\.py"):
        await desk.use("edit_file", path="a.py", old_text="a", new_text="b")


@pytest.mark.behaviour("secrets")
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("write_file", {"content": "KEY=[redacted: API key]\nPORT=1\n"}),
        ("edit_file", {"old_text": "PORT", "new_text": "K2=[redacted: API key]\nPORT"}),
    ],
)
async def test_what_stands_for_a_secret_does_not_get_into_a_file_in_its_place(
    desk: ToolDesk, workspace: MemoryWorkspace, name: str, change: dict[str, str]
) -> None:
    await knows(desk, workspace, b"KEY=1234\nPORT=0\n", ".env")
    with pytest.raises(ToolError, match=r"Nothing was written: \[redacted: API key\] is not a secret of"):
        await desk.use(name, path=".env", **change)
    assert workspace.files == {".env": b"KEY=1234\nPORT=0\n"}


@pytest.mark.behaviour("secrets")
async def test_a_file_that_speaks_of_redaction_itself_can_be_changed(
    desk: ToolDesk, workspace: MemoryWorkspace
) -> None:
    await knows(desk, workspace, b"told: [redacted: API key]\n")
    await desk.use("edit_file", path="a.py", old_text="told", new_text="shown")
    assert workspace.files == {"a.py": b"shown: [redacted: API key]\n"}
