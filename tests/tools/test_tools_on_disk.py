"""The same tools in a real folder, with real commands: what the parts promise each other holds."""

import os
from pathlib import Path

import pytest

from deskmate.core.agent.tool_results import Result
from deskmate.core.policy.permissions import Attempt
from deskmate.core.prompt.prompts import Image
from deskmate.errors import ToolError
from deskmate.workspace.local_workspace import LocalWorkspace
from tests.tools.tool_desk import ToolDesk

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def desk(folder: Path) -> ToolDesk:
    return ToolDesk(LocalWorkspace(folder, "main", "lead", grace_seconds=0.2, environ=os.environ))


@pytest.mark.behaviour("tools-base")
async def test_a_file_is_written_found_read_edited_and_run(desk: ToolDesk, folder: Path) -> None:
    await desk.use("write_file", path="src/hello.sh", content="echo hello\nexit 3\n")
    assert await desk.use("glob", pattern="**/*.sh") == Result("src/hello.sh")
    assert await desk.use("grep", pattern="ex.t", glob="*.sh") == Result("src/hello.sh:2:exit 3")
    assert (await desk.use("read_file", path="src/hello.sh")).text == "1\techo hello\n2\texit 3"
    await desk.use("edit_file", path="src/hello.sh", old_text="hello", new_text="goodbye")
    assert await desk.use("bash", command="sh src/hello.sh") == Result("goodbye\nexit status 3", ok=False)
    assert (folder / "src/hello.sh").read_text() == "echo goodbye\nexit 3\n"


@pytest.mark.behaviour("tools-base")
async def test_a_command_that_takes_too_long_is_ended_and_says_so(desk: ToolDesk) -> None:
    result = await desk.use("bash", command="echo begun; sleep 60", timeout=1)
    first, *rest = result.text.split("\n")
    assert (first, result.ok, len(rest)) == ("begun", False, 1)
    assert "exit status" not in rest[0]


@pytest.mark.behaviour("tools-base")
async def test_all_of_a_long_output_can_be_read_where_the_result_says(desk: ToolDesk) -> None:
    result = await desk.use("bash", command="seq 1 20000")
    blob = ".teams/main/blobs/lead-12-0.txt"
    assert result.ok
    assert result.text.count(blob) == 1
    assert (await desk.use("read_file", path=blob, offset=20000)).text == (
        "20000\t20000\n(lines 20000 to 20000 of 20000)"
    )


@pytest.mark.behaviour("tools-safety")
async def test_an_edit_of_what_a_teammate_changed_is_refused(desk: ToolDesk, folder: Path) -> None:
    (folder / "a.py").write_text("one\n")
    await desk.use("read_file", path="a.py")
    await desk.use("bash", command="echo two > a.py")
    with pytest.raises(ToolError):
        await desk.use("edit_file", path="a.py", old_text="two", new_text="three")
    with pytest.raises(ToolError):
        await desk.use("write_file", path="a.py", content="three\n")
    assert (folder / "a.py").read_text() == "two\n"


@pytest.mark.behaviour("tools-safety")
async def test_a_file_is_known_by_whatever_path_leads_to_it(desk: ToolDesk, folder: Path) -> None:
    (folder / "a.py").write_text("one\n")
    (folder / "link.py").symlink_to("a.py")
    await desk.use("read_file", path="link.py")
    await desk.use("write_file", path=str(folder / "a.py"), content="two\n")
    await desk.use("edit_file", path="./link.py", old_text="two", new_text="three")
    assert ((folder / "link.py").is_symlink(), (folder / "a.py").read_text()) == (True, "three\n")


async def test_a_search_is_judged_by_the_file_it_leads_to_and_in_a_folder_by_none(desk: ToolDesk, folder: Path) -> None:
    (folder / "keys").mkdir()
    (folder / "keys/a").write_text("secret\n")
    (folder / "door").symlink_to("keys/a")
    (folder / "hall").symlink_to("keys")
    assert await desk.attempt("grep", pattern="s", path="door") == Attempt("grep", ("keys/a",), inside=True)
    for path in (".", "keys", "hall", "nowhere"):
        assert await desk.attempt("grep", pattern="s", path=path) == Attempt("grep", None, inside=True)


@pytest.mark.behaviour("tools-safety")
async def test_what_leads_outside_is_refused_and_judged_by_where_it_leads(desk: ToolDesk, folder: Path) -> None:
    secret = folder.parent / "secret"
    secret.write_text("theirs")
    (folder / "door").symlink_to(secret)
    for path in ("../secret", str(secret), "door"):
        desk.files[str(secret)] = "known"
        with pytest.raises(ToolError):
            await desk.use("read_file", path=path)
        with pytest.raises(ToolError):
            await desk.use("write_file", path=path, content="mine")
        assert await desk.attempt("write_file", path=path, content="mine") == Attempt(
            "write_file", (str(secret),), inside=False
        )
    assert secret.read_text() == "theirs"


async def test_a_file_that_was_read_and_removed_can_be_written_anew(desk: ToolDesk, folder: Path) -> None:
    await desk.use("write_file", path="a.py", content="one\n")
    await desk.use("bash", command="rm a.py")
    await desk.use("write_file", path="a.py", content="two\n")
    assert (folder / "a.py").read_text() == "two\n"


@pytest.mark.behaviour("tools-errors")
@pytest.mark.parametrize("path", ["nothing.py", ".", "src", "a\0b", "src/a.py/b"])
async def test_what_is_no_file_is_an_error_the_model_can_read(desk: ToolDesk, folder: Path, path: str) -> None:
    await desk.use("write_file", path="src/a.py", content="")
    with pytest.raises(ToolError):
        await desk.use("read_file", path=path)
    with pytest.raises(ToolError):
        await desk.use("edit_file", path=path, old_text="a", new_text="b")


@pytest.mark.behaviour("tools-errors")
async def test_a_pattern_that_is_no_pattern_is_an_error_the_model_can_read(desk: ToolDesk, folder: Path) -> None:
    (folder / "a.py").write_text("(\n")
    with pytest.raises(ToolError):
        await desk.use("grep", pattern="(")


@pytest.mark.behaviour("tools-base")
async def test_a_picture_can_be_fetched_from_the_blob_it_was_kept_in(desk: ToolDesk, folder: Path) -> None:
    data = b"\x89PNG\r\n\x1a\n\x00rest"
    (folder / "p.png").write_bytes(data)
    result = await desk.use("read_file", path="p.png")
    blob = ".teams/main/blobs/lead-12-0.png"
    assert result.images == (Image("image/png", blob),)
    assert await desk.workspace.blob(blob) == data
