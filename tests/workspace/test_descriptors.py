"""However much is asked for at once, all of it is done with the files that may be open, and nothing is left behind."""

import contextlib
import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from deskmate.errors import ToolError
from deskmate.workspace.descriptors import room_to_run
from deskmate.workspace.sandbox.levels import PROGRAMS, find_sandbox
from deskmate.workspace.sandbox.mount_placeholders import Placeholders
from deskmate.workspace.sandbox.mounts import Level
from deskmate.workspace.sandbox.protected_paths import Guard
from tests.workspace.escapes.test_escapes import NOBODY, as_root, run_as

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("level", "user"),
    [
        pytest.param(Level.BUBBLEWRAP, [], id="bubblewrap"),
        pytest.param(Level.BUBBLEWRAP, [NOBODY], id="bubblewrap, an ordinary user", marks=[as_root, pytest.mark.soak]),
        pytest.param(Level.LANDLOCK, [], id="landlock", marks=pytest.mark.soak),
        pytest.param(Level.NONE, [], id="none", marks=pytest.mark.soak),
    ],
)
def test_hundreds_at_once_all_come_to_their_end_though_few_files_may_be_open(
    parent: Path, tmp_path: Path, user: list[str], level: Level
) -> None:
    found = find_sandbox(tmp_path, programs=[] if level is Level.LANDLOCK else PROGRAMS, environ=os.environ)
    if level is not Level.NONE and found.level is not level:
        pytest.skip(found.reason)
    assert run_as(parent, "crowd_run", level, user) == {
        "ends": {
            "glob: ['src/a.py']": 500,
            "grep: src/a.py:1:a = 1\n": 100,
            "bash: hello\n": 100,
            "long: over\n": 20,
        },
        "left": [],
    }


LIMITED = """
import json, os, resource, subprocess, sys
import anyio
from pathlib import Path
from deskmate.workspace.descriptors import raise_open_files
from deskmate.workspace.sandbox.levels import PROGRAMS, find_sandbox
from deskmate.workspace.local_workspace import LocalWorkspace

resource.setrlimit(resource.RLIMIT_NOFILE, (300, 2000))
raise_open_files(os.environ)
place, level = Path(sys.argv[1]), sys.argv[2]
programs = [] if level == "landlock" else PROGRAMS
sandbox = None if level == "none" else find_sandbox(place / "state", environ=os.environ, programs=programs)
(place / "ws").mkdir()
workspace = LocalWorkspace(place / "ws", "main", "lead", environ=os.environ, sandbox=sandbox)

async def main():
    return await workspace.run("ulimit -Sn; ulimit -Hn", timeout_seconds=60, blob="lead-1-0.txt")

own = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
# A teammate is such a process, too: it has been started with the higher limit.
again = (
    "import os, resource; from deskmate.workspace.descriptors import give_back, raise_open_files; "
    "raise_open_files(os.environ); give_back(0); print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
)
teammate = subprocess.run([sys.executable, "-c", again], capture_output=True, text=True, check=True).stdout
print(json.dumps([own, anyio.run(main).output, teammate, None if sandbox is None else sandbox.level]))
"""


@pytest.mark.parametrize("level", [Level.BUBBLEWRAP, Level.LANDLOCK, Level.NONE])
def test_deskmate_may_open_more_files_than_it_was_given_and_its_commands_may_not(parent: Path, level: Level) -> None:
    words = [sys.executable, "-c", LIMITED, str(parent), level]
    # A command of ours that ran in this process before has noted the limit of this one.
    environ = {name: value for name, value in os.environ.items() if name != "DESKMATE_OPEN_FILES"}
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=environ)
    assert ran.returncode == 0, ran.stderr
    own, inside, teammate, found = json.loads(ran.stdout)
    if found not in (level, None):
        pytest.skip("this machine cannot have that level")
    assert (own, inside, teammate) == (2000, "300\n2000\n", "300\n")


@contextlib.contextmanager
def open_files(most: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_who_waits_too_long_for_room_is_told_and_commands_of_a_day_are_counted_apart() -> None:
    async def is_refused() -> None:
        with pytest.raises(ToolError, match=r"1 commands are running, as many as the limit of open files allows"):
            async with room_to_run(0.01):
                pass

    # One of each kind fits.
    with open_files(280):
        async with room_to_run(86_400), room_to_run(60), anyio.create_task_group() as group:
            group.start_soon(is_refused)
        async with room_to_run(0.01):
            pass


def take_all(taken: list[int]) -> None:
    """Open files until no more can be."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError):
        taken.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(most))
    with pytest.raises(OSError, match="Too many open files"):
        os.open(os.devnull, os.O_RDONLY)


def test_placeholders_go_though_no_file_can_be_opened_for_a_moment(tmp_path: Path) -> None:
    place, taken = tmp_path / "ws", list[int]()
    place.mkdir()
    guards = [Guard(str(place / ".mcp.json")), Guard(str(place / "commondir"), b".\n")]

    def give_back_all() -> None:
        while taken:
            os.close(taken.pop())

    # Above what this process has open already, from tests before this one.
    with open_files(max(map(int, os.listdir("/dev/fd"))) + 100):
        with Placeholders(tmp_path / "state").standing(guards):
            assert sorted(os.listdir(place)) == [".mcp.json", "commondir"]
            take_all(taken)
            later = threading.Timer(0.3, give_back_all)
            later.start()
        later.join()
    assert list(place.iterdir()) == []
