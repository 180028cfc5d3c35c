"""Placeholders exist while a command needs them, and are removed afterwards, whichever process is killed."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from deskmate.errors import ToolError
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mount_placeholders import Placeholders
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.sandbox.protected_paths import Guard

Eventually = Callable[[Callable[[], bool]], None]

KILLED = """
import anyio, os, sys
from pathlib import Path
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.local_workspace import LocalWorkspace

sandbox = find_sandbox(Path(sys.argv[2]), environ=os.environ)
workspace = LocalWorkspace(Path(sys.argv[1]), 'main', 'lead', environ=os.environ, sandbox=sandbox)
anyio.run(lambda: workspace.run(sys.argv[3], timeout_seconds=600, blob='lead-1-0.txt'))
"""
# Killed while the sandbox is being set up: before it is bounded, before its command may begin, or at once when it may.
KILLED_EARLY = """
import anyio, os, signal, sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.resource_limits import ResourceLimits
from deskmate.workspace.local_workspace import LocalWorkspace

armed = False

def die(event, args):
    if armed and event == 'open' and str(args[0]).endswith('/status') == (sys.argv[4] == 'between'):
        os.kill(os.getpid(), signal.SIGKILL)

class Fatal(ResourceLimits):
    @contextmanager
    def binding(self, pid):
        global armed
        if sys.argv[4] == 'before':
            os.kill(os.getpid(), signal.SIGKILL)
        with super().binding(pid):
            armed = True
            yield

sandbox = replace(find_sandbox(Path(sys.argv[2]), environ=os.environ), limits=Fatal())
sys.addaudithook(die)
workspace = LocalWorkspace(Path(sys.argv[1]), 'main', 'lead', environ=os.environ, sandbox=sandbox)
anyio.run(lambda: workspace.run(sys.argv[3], timeout_seconds=600, blob='lead-1-0.txt'))
"""
HOLDER = """
import sys
from deskmate.workspace.sandbox.protected_paths import Guard
from deskmate.workspace.sandbox.mount_placeholders import Placeholders
from pathlib import Path

with Placeholders(Path(sys.argv[1])).standing([Guard(sys.argv[2])]):
    print('standing', flush=True)
    sys.stdin.read()
"""
# A session of its own and nothing in its environment: no mark to find it by.
FORGOTTEN = "env -i setsid sh -c 'touch began; exec sleep SECONDS' & env -i setsid sleep SECONDS & wait"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


@pytest.fixture
def placeholders(tmp_path: Path) -> Placeholders:
    return Placeholders(tmp_path / "state")


def guards(folder: Path) -> list[Guard]:
    return [Guard(str(folder / "a")), Guard(str(folder / "b"), b""), Guard(str(folder / "c"), b".\n")]


def holding(state: Path, path: Path) -> "subprocess.Popen[str]":
    """Start a process that needs a placeholder until it is told to end."""
    words = [sys.executable, "-c", HOLDER, str(state), str(path)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "standing\n"
    return process


def test_what_is_missing_stands_meanwhile_and_is_gone_afterwards(folder: Path, placeholders: Placeholders) -> None:
    with placeholders.standing(guards(folder)):
        assert (folder / "a").is_dir()
        assert [(folder / name).read_bytes() for name in "bc"] == [b"", b".\n"]
    assert os.listdir(folder) == []


def test_what_is_there_already_is_left_as_it_is(folder: Path, placeholders: Placeholders) -> None:
    (folder / "a").mkdir()
    (folder / "c").write_text("mine")
    with placeholders.standing(guards(folder)):
        pass
    assert sorted(os.listdir(folder)) == ["a", "c"]
    assert (folder / "c").read_text() == "mine"


def test_what_someone_made_of_it_meanwhile_is_kept(folder: Path, placeholders: Placeholders) -> None:
    with placeholders.standing(guards(folder)):
        (folder / "a/mine").touch()
        (folder / "b").write_text("mine")
        (folder / "c").unlink()
        (folder / "c").mkdir()
    assert sorted(os.listdir(folder)) == ["a", "b", "c"]


def test_it_stands_until_the_last_who_needs_it_is_done(folder: Path, placeholders: Placeholders) -> None:
    with ExitStack() as last:
        with placeholders.standing(guards(folder)):
            last.enter_context(placeholders.standing(guards(folder)))
        assert sorted(os.listdir(folder)) == ["a", "b", "c"]
    assert os.listdir(folder) == []


def test_another_process_that_needs_it_keeps_it_standing(
    tmp_path: Path, folder: Path, placeholders: Placeholders
) -> None:
    with placeholders.standing(guards(folder)):
        other = holding(tmp_path / "state", folder / "a")
    assert os.listdir(folder) == ["a"]
    other.communicate()
    assert os.listdir(folder) == []


def test_what_a_killed_process_needed_is_removed_by_the_next(
    tmp_path: Path, folder: Path, placeholders: Placeholders
) -> None:
    other = holding(tmp_path / "state", folder / "a")
    other.kill()
    other.communicate()
    assert os.listdir(folder) == ["a"]
    placeholders.sweep()
    assert os.listdir(folder) == []


def test_a_kill_between_listing_and_making_or_in_the_middle_of_it_leaves_nothing(
    tmp_path: Path, folder: Path, placeholders: Placeholders
) -> None:
    listed = {
        "made": {str(folder / "a"): None, str(folder / "c"): ".\n"},
        "needed": {"x": [1, "long ago", [str(folder / "a")]]},
    }
    (tmp_path / "state").mkdir()
    # The rest of an older, longer list stands behind it.
    (tmp_path / "state/placeholders.json").write_text(json.dumps(listed) + '": {}}')
    (folder / "c").touch()
    placeholders.sweep()
    assert os.listdir(folder) == []
    assert json.loads((tmp_path / "state/placeholders.json").read_text()) == {"made": {}, "needed": {}, "git": {}}


def test_where_nothing_can_be_made_no_command_runs(folder: Path, placeholders: Placeholders) -> None:
    standing = placeholders.standing([*guards(folder), Guard(str(folder / "none/x"))])
    with pytest.raises(ToolError, match=r"the sandbox cannot guard .*: No such file or directory"), standing:
        pytest.fail("nothing guards it")
    assert os.listdir(folder) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.anyio
async def test_of_a_killed_deskmate_no_command_and_after_the_sweep_no_placeholder_is_left(
    tmp_path: Path, folder: Path, bubblewrap: Sandbox, eventually: Eventually, number: signal.Signals
) -> None:
    seconds = f"600.{random.randrange(10**9)}"
    command = FORGOTTEN.replace("SECONDS", seconds)
    words = [sys.executable, "-c", KILLED, str(folder), str(bubblewrap.state), command]
    with subprocess.Popen(words) as deskmate:
        eventually((folder / "began").exists)
        assert {".git", ".deskmate", ".mcp.json"} <= set(os.listdir(folder))
        deskmate.send_signal(number)
    eventually(lambda: subprocess.run(["pgrep", "-f", seconds], capture_output=True, check=False).returncode == 1)
    assert await LocalWorkspace(folder, "main", "lead", sandbox=bubblewrap, environ=os.environ).sweep() == 0
    assert sorted(os.listdir(folder)) == [".tasks", ".teams", "began"]


@pytest.mark.parametrize("moment", ["before", "between", "after"])
@pytest.mark.anyio
async def test_a_command_whose_deskmate_is_killed_as_it_begins_does_not_go_on_though_nobody_sweeps(
    folder: Path, bubblewrap: Sandbox, eventually: Eventually, moment: str
) -> None:
    mark = f"600.{random.randrange(10**9)}"
    command = f"sleep 0.5; touch ran; exec sleep {mark}"
    words = [sys.executable, "-c", KILLED_EARLY, str(folder), str(bubblewrap.state), command, moment]
    for _ in range(4):
        assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    # A bubblewrap that lost its other half as it began may stay, and does nothing.
    eventually(lambda: not _runs(f"^[^ ]*(sleep|bash|sh) .*{mark}"))
    await LocalWorkspace(folder, "main", "lead", sandbox=bubblewrap, grace_seconds=0.1, environ=os.environ).sweep()
    assert sorted(os.listdir(folder)) == [".tasks", ".teams"]
    eventually(lambda: not _runs(mark))


def _runs(words: str) -> bool:
    """Tell whether a process has these words."""
    return subprocess.run(["pgrep", "-f", "--", words], stdout=subprocess.DEVNULL, check=False).returncode == 0
