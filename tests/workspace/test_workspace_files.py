"""Reading and replacing files."""

import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest

from deskmate.core.log.fingerprints import fingerprint
from deskmate.errors import BadName, ToolError
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.workspace_files import MAX_READ

pytestmark = pytest.mark.anyio


def entries(root: Path) -> list[str]:
    """Return what stands in a workspace beside our own folder."""
    return sorted({*os.listdir(root)} - {".teams"})


def test_a_digest_is_short_and_of_the_bytes_alone() -> None:
    assert fingerprint(b"") == "e3b0c44298fc1c14"
    assert fingerprint(b"abc") == "ba7816bf8f01cfea"


async def test_a_new_file_is_made_with_the_folders_above_it(root: Path, workspace: LocalWorkspace) -> None:
    before = os.umask(0o027)
    try:
        await workspace.write("a/b/c.txt", b"one", known=None)
    finally:
        os.umask(before)
    assert (root / "a/b/c.txt").read_bytes() == b"one"
    assert stat.S_IMODE((root / "a/b/c.txt").stat().st_mode) == 0o640
    assert os.listdir(root / "a/b") == ["c.txt"]


async def test_a_known_file_is_replaced_and_keeps_its_mode_and_owner(root: Path, workspace: LocalWorkspace) -> None:
    file = root / "run.sh"
    file.write_bytes(b"one")
    file.chmod(0o751)
    if os.geteuid() == 0:
        os.chown(file, 12345, 54321)
    before = file.stat()
    await workspace.write("run.sh", b"two", known=fingerprint(b"one"))
    after = file.stat()
    assert file.read_bytes() == b"two"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert entries(root) == ["run.sh"]


@pytest.mark.behaviour("tools-safety")
@pytest.mark.parametrize(
    ("standing", "known", "words"),
    [
        (b"theirs", fingerprint(b"mine"), "changed since you read it"),
        (b"theirs", None, "already exists and you have not read it"),
        (None, fingerprint(b"mine"), "no longer exists"),
    ],
)
async def test_a_file_that_is_not_as_it_is_known_stays_as_it_is(
    root: Path, workspace: LocalWorkspace, standing: bytes | None, known: str | None, words: str
) -> None:
    if standing is not None:
        (root / "file").write_bytes(standing)
    with pytest.raises(ToolError, match=words):
        await workspace.write("file", b"new", known=known)
    assert {name: (root / name).read_bytes() for name in entries(root)} == ({"file": standing} if standing else {})


async def test_a_known_file_whose_folder_went_is_told(root: Path, workspace: LocalWorkspace) -> None:
    with pytest.raises(ToolError, match="no longer exists"):
        await workspace.write("gone/with/file", b"new", known=fingerprint(b"old"))
    assert os.listdir(root) == []


async def test_a_write_through_a_link_replaces_the_file_and_not_the_link(root: Path, workspace: LocalWorkspace) -> None:
    (root / "real").write_bytes(b"one")
    (root / "link").symlink_to("real")
    (root / "dangling").symlink_to("made")
    await workspace.write("link", b"two", known=fingerprint(b"one"))
    await workspace.write("dangling", b"new", known=None)
    assert (root / "link").is_symlink()
    assert (root / "real").read_bytes() == b"two"
    assert (root / "made").read_bytes() == b"new"


async def test_of_many_who_make_the_same_file_one_does(root: Path, workspace: LocalWorkspace) -> None:
    done = []

    async def make(number: int) -> None:
        try:
            await workspace.write("file", b"%d" % number, known=None)
            done.append(b"%d" % number)
        except ToolError:
            pass

    for _ in range(20):
        done.clear()
        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(make, number)
        assert done == [(root / "file").read_bytes()]
        (root / "file").unlink()


async def test_a_reader_sees_the_old_file_or_the_new_one(root: Path, workspace: LocalWorkspace) -> None:
    contents = [bytes([letter]) * 300_000 for letter in b"ab"]
    await workspace.write("file", contents[0], known=None)
    seen, over = set(), threading.Event()

    def look() -> None:
        while not over.is_set():
            seen.add((root / "file").read_bytes())

    reader = threading.Thread(target=look)
    reader.start()
    for turn in range(100):
        await workspace.write("file", contents[(turn + 1) % 2], known=fingerprint(contents[turn % 2]))
    over.set()
    reader.join()
    assert seen <= set(contents)


async def test_a_file_at_the_cap_is_read_and_one_above_it_is_not(root: Path, workspace: LocalWorkspace) -> None:
    with (root / "big").open("wb") as file:
        file.truncate(MAX_READ)
    assert len(await workspace.read("big")) == MAX_READ
    with (root / "big").open("ab") as file:
        file.write(b"x")
    with pytest.raises(ToolError, match=r"16,000,001 bytes.*Use grep, or bash with head"):
        await workspace.read("big")


async def test_a_folder_is_neither_read_nor_written(root: Path, workspace: LocalWorkspace) -> None:
    (root / "folder").mkdir()
    for path in ("folder", "folder/", ".", ""):
        with pytest.raises(ToolError, match="is a folder"):
            await workspace.read(path)
        with pytest.raises(ToolError, match="is a folder"):
            await workspace.write(path, b"", known=None)


async def test_a_file_is_no_folder(root: Path, workspace: LocalWorkspace) -> None:
    (root / "file").write_bytes(b"x")
    with pytest.raises(ToolError, match="does not exist"):
        await workspace.read("file/x")
    with pytest.raises(ToolError, match="Not a directory"):
        await workspace.write("file/x", b"", known=None)
    assert entries(root) == ["file"]


@pytest.mark.behaviour("tools-safety")
async def test_special_files_are_refused_without_waiting(root: Path, workspace: LocalWorkspace) -> None:
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(root, os.O_RDONLY)
        try:
            # The whole path may be longer than a socket's name can be.
            here = os.getcwd()
            os.fchdir(folder)
            listener.bind("socket")
            os.chdir(here)
        finally:
            os.close(folder)
        special = ["fifo", "socket"]
        if os.geteuid() == 0:
            os.mknod(root / "device", stat.S_IFCHR | 0o666, os.makedev(1, 5))
            special.append("device")
        with anyio.fail_after(20):
            for path in special:
                for attempt in (
                    workspace.read(path),
                    workspace.write(path, b"", known=fingerprint(b"")),
                    workspace.search("x", path, ""),
                ):
                    with pytest.raises(ToolError, match="is not a regular file"):
                        await attempt
    assert stat.S_ISFIFO((root / "fifo").lstat().st_mode)


async def test_a_disk_without_second_names_gets_its_files_too(root: Path) -> None:
    strace = shutil.which("strace")
    if not strace:
        pytest.skip("strace is not installed: no faults injected into system calls")
    script = (
        "import anyio, os, sys; from pathlib import Path; from deskmate.errors import ToolError\n"
        "from deskmate.workspace.local_workspace import LocalWorkspace\n"
        "async def main():\n"
        "    workspace = LocalWorkspace(Path(sys.argv[1]), 'main', 'lead', environ=os.environ)\n"
        "    await workspace.write('file', b'one', known=None)\n"
        "    try: await workspace.write('file', b'two', known=None)\n"
        "    except ToolError as error: print(error)\n"
        "anyio.run(main)\n"
    )
    fault = ["-f", "-qq", "-e", "trace=linkat", "-e", "inject=linkat:error=EPERM", "-o", "/dev/null"]
    done = subprocess.run(
        [strace, *fault, sys.executable, "-c", script, root], capture_output=True, text=True, check=True, timeout=60
    )
    assert "already exists" in done.stdout
    assert {name: (root / name).read_bytes() for name in entries(root)} == {"file": b"one"}


async def test_a_blob_is_private_and_can_be_read_back(root: Path, workspace: LocalWorkspace) -> None:
    (root / ".teams").mkdir(mode=0o755)
    path = await workspace.keep("lead-12-0.txt", b"one")
    assert await workspace.keep("lead-12-0.txt", b"two") == path == ".teams/main/blobs/lead-12-0.txt"
    assert await workspace.blob(path) == await workspace.read(path) == b"two"
    modes = [stat.S_IMODE((root / above).stat().st_mode) for above in (path, ".teams", ".teams/main/blobs")]
    assert modes == [0o600, 0o700, 0o700]
    assert os.listdir(root / ".teams/main/blobs") == ["lead-12-0.txt"]


@pytest.mark.parametrize(
    "name", ["", ".", "lead-../x", "../lead-1", "lead-a/b", "bob-1-0.txt", "lead-\n", "lead-" + "x" * 200]
)
async def test_a_blob_of_another_name_is_refused(root: Path, workspace: LocalWorkspace, name: str) -> None:
    with pytest.raises(BadName):
        await workspace.keep(name, b"")
    with pytest.raises(BadName):
        await workspace.run("true", timeout_seconds=1, blob=name)
    assert os.listdir(root) == []


@pytest.mark.parametrize("link", [".teams", ".teams/main", ".teams/main/blobs"])
async def test_a_link_in_the_place_of_a_private_folder_is_not_followed(
    root: Path, workspace: LocalWorkspace, link: str
) -> None:
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    (root / link).symlink_to(root.parent / "outside")
    with pytest.raises(ToolError, match="cannot be used"):
        await workspace.keep("lead-1-0.txt", b"x")
    ran = await workspace.run("seq 10000", timeout_seconds=30, blob="lead-1-0.txt")
    assert "They could not be saved" in ran.output
    assert (ran.exit, ran.blob) == (0, None)
    assert os.listdir(root.parent / "outside") == ["secret"]


async def test_only_own_blobs_are_blobs(root: Path, workspace: LocalWorkspace) -> None:
    (root / "file").write_bytes(b"x")
    await workspace.keep("lead-1-0.txt", b"")
    (root / ".teams/main/blobs/bob-1-0.txt").write_bytes(b"x")
    for path in ("file", ".teams/main/blobs/bob-1-0.txt", ".teams/main/blobs", "."):
        with pytest.raises(ToolError, match="is not a blob of 'lead'"):
            await workspace.blob(path)
