"""What a dead predecessor left running is ended, what it left half written is removed; what is not its own is not."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.processes import Mark, start_by_ps, start_of

pytestmark = pytest.mark.anyio

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="what left its group is found by /proc")

PREDECESSOR = """
import anyio, os, sys
from pathlib import Path
from deskmate.workspace.local_workspace import LocalWorkspace

workspace = LocalWorkspace(Path(sys.argv[1]), 'main', sys.argv[3], environ=os.environ)
anyio.run(lambda: workspace.run(sys.argv[2], timeout_seconds=600, blob=sys.argv[3] + '-1-0.txt'))
"""

KILLED_WRITER = """
import anyio, os, signal, sys
from pathlib import Path
from deskmate.core.log.fingerprints import fingerprint
from deskmate.workspace.local_workspace import LocalWorkspace

root, path, deed = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

def die(event, args):
    if event == deed and '.deskmate-' in str(args[0]):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(die)
known = fingerprint((root / path).read_bytes()) if (root / path).exists() else None
anyio.run(lambda: LocalWorkspace(root, 'main', 'lead', environ=os.environ).write(path, b'new', known=known))
"""


@pytest.fixture
def leave(root: Path, eventually: Callable[[Callable[[], bool]], None]) -> Iterator[Callable[..., int]]:
    """Have a member run a command that writes its id to `pid`, kill the member's own process, return that id."""
    left = []

    def leave_one(command: str, member: str = "lead", *, unlist: bool = False) -> int:
        words = [sys.executable, "-c", PREDECESSOR, str(root), command, member]
        with subprocess.Popen(words) as predecessor:
            groups = root / ".teams" / "main" / f"{member}.groups"
            eventually(lambda: (root / "pid").exists() and (root / "pid").read_text().endswith("\n"))
            eventually(lambda: groups.exists() and groups.read_text() != "")
            predecessor.kill()
        if unlist:
            groups.unlink()
        left.append(int((root / "pid").read_text()))
        (root / "pid").unlink()
        assert start_of(left[-1])
        return left[-1]

    yield leave_one
    for pid in left:
        if alive(pid):
            os.killpg(os.getpgid(pid), signal.SIGKILL)


def alive(pid: int) -> bool:
    listing = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(listing.stdout.strip()) and not listing.stdout.startswith("Z")


async def test_a_listed_group_is_ended(root: Path, workspace: LocalWorkspace, leave: Callable[..., int]) -> None:
    pid = leave("sleep 600 & echo $$ > pid; wait")
    groups = root / ".teams/main/lead.groups"
    assert groups.read_text() == f"{pid} {start_of(pid)}\n"
    assert groups.stat().st_mode & 0o777 == 0o600
    assert await workspace.sweep() == 2
    assert not alive(pid)
    assert groups.read_text() == ""
    assert await workspace.sweep() == 0


@on_linux
@pytest.mark.parametrize("unlist", [False, True])
async def test_what_left_its_group_is_ended_by_what_it_carries(
    workspace: LocalWorkspace, leave: Callable[..., int], unlist: bool
) -> None:
    pid = leave("setsid sh -c 'echo $$ > pid; trap \"\" TERM; while :; do sleep 1; done' & sleep 600", unlist=unlist)
    assert await workspace.sweep() >= 2
    assert not alive(pid)


async def test_another_process_of_the_same_id_is_left_alone(root: Path, workspace: LocalWorkspace) -> None:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as other:
        groups = root / ".teams/main/lead.groups"
        groups.parent.mkdir(parents=True)
        groups.write_text(f"{other.pid} 12345\nnonsense\n{other.pid}\n999999999 1\n")
        assert await workspace.sweep() == 0
        assert other.poll() is None
        assert groups.read_text() == ""
        other.kill()


async def test_what_another_seat_left_is_left_alone(
    root: Path, tmp_path: Path, workspace: LocalWorkspace, leave: Callable[..., int]
) -> None:
    pid = leave("sleep 600 & echo $$ > pid; wait", "bob")
    (tmp_path / "elsewhere").mkdir()
    assert await workspace.sweep() == 0
    assert await LocalWorkspace(tmp_path / "elsewhere", "main", "bob", environ=os.environ).sweep() == 0
    assert await LocalWorkspace(root, "other", "bob", environ=os.environ).sweep() == 0
    assert alive(pid)
    assert await LocalWorkspace(root, "main", "bob", environ=os.environ).sweep() == 2


async def test_what_is_run_keeps_the_list_of_what_was_left(
    root: Path, workspace: LocalWorkspace, leave: Callable[..., int]
) -> None:
    pid = leave("sleep 600 & echo $$ > pid; wait")
    ran = await workspace.run("cat .teams/main/lead.groups", timeout_seconds=60, blob="lead-1-1.txt")
    assert ran.output.startswith(f"{pid} {start_of(pid)}\n")
    assert (root / ".teams/main/lead.groups").read_text() == f"{pid} {start_of(pid)}\n"


def test_this_process_is_never_among_those_to_end() -> None:
    entry = next(iter(os.environ))
    mark = Mark(os.getpgrp(), frozenset({os.fsencode(f"{entry}={os.environ[entry]}")}))
    assert os.getpid() not in mark.living()
    assert os.getppid() not in mark.living()


def test_where_there_is_no_proc_groups_and_starts_are_toldby_ps() -> None:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as child:
        assert dict(Mark(child.pid).by_ps()) == {child.pid: child.pid}
        assert start_by_ps(child.pid)
        child.kill()
    assert start_by_ps(child.pid) is None


@pytest.mark.parametrize(
    ("path", "deed", "after"),
    [
        pytest.param("old.txt", "os.rename", {"old.txt": b"old"}, id="before it replaced a file"),
        pytest.param("a\n%41/new.txt", "os.link", {"old.txt": b"old"}, id="before it made one"),
        pytest.param("new.txt", "os.remove", {"old.txt": b"old", "new.txt": b"new"}, id="after it made one"),
    ],
)
async def test_what_a_killed_writer_left_half_written_is_removed(
    root: Path, workspace: LocalWorkspace, path: str, deed: str, after: dict[str, bytes]
) -> None:
    (root / "old.txt").write_bytes(b"old")
    killed = subprocess.run([sys.executable, "-c", KILLED_WRITER, str(root), path, deed], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert files(root) != after
    await workspace.sweep()
    assert files(root) == after
    assert (root / ".teams/main/lead.unfinished").read_text() == ""


async def test_only_what_is_named_like_an_unfinished_file_inside_the_workspace_is_removed(
    root: Path, tmp_path: Path, workspace: LocalWorkspace
) -> None:
    name = ".deskmate-0123456789abcdef"
    for folder in (tmp_path / "outside", root / ".teams", root):
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"")
    (root / "precious.txt").write_bytes(b"")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / ".teams/main").mkdir()
    lines = ["precious.txt", f"../outside/{name}", f"out/{name}", f".teams/{name}", f"gone/{name}", name, "", "%00"]
    (root / ".teams/main/lead.unfinished").write_text("".join(f"{line}\n" for line in lines))
    await workspace.sweep()
    assert files(root) == {"precious.txt": b""}
    assert (tmp_path / "outside" / name).exists()
    assert (root / ".teams" / name).exists()


def files(root: Path) -> dict[str, bytes]:
    paths = (path for path in root.rglob("*") if path.is_file() and ".teams" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}
