"""What is left by the dead, or in a list that cannot be read, keeps nobody from working, and is told in words."""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from deskmate.errors import ToolError, UnsafeFolder
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import PROGRAMS, find_sandbox
from deskmate.workspace.sandbox.mount_placeholders import Placeholders
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from deskmate.workspace.sandbox.protected_paths import Guard

DAMAGED = [
    b'{"made": {"/x',
    b"[]",
    b"{}",
    b"\xff\xfe",
    b'{"made": [], "needed": {}}',
    b'{"made": {}, "needed": {"x": 1}}',
    b'{"made": {}, "needed": {}, "git": {"/x": {"y": 1}}}',
]
HOLDER = """
import sys
from deskmate.workspace.sandbox.protected_paths import Guard
from deskmate.workspace.sandbox.mount_placeholders import Placeholders
from pathlib import Path

with Placeholders(Path(sys.argv[1])).standing([Guard(sys.argv[2])]):
    print('standing', flush=True)
    sys.stdin.read()
"""
# No file may be longer than the list is now, as on a disk that is full.
FULL = """
import resource, sys
from deskmate.errors import ToolError
from deskmate.workspace.sandbox.protected_paths import Guard
from deskmate.workspace.sandbox.mount_placeholders import Placeholders
from pathlib import Path

size = Path(sys.argv[1], 'placeholders.json').stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try:
    with Placeholders(Path(sys.argv[1])).standing([Guard(sys.argv[2])]):
        print('standing')
except ToolError as error:
    print(error)
"""
# As an ordinary user: root may read everything.
UNREADABLE = """
import os, sys
from deskmate.workspace.sandbox.bubblewrap import CommandSandbox
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from pathlib import Path

top = Path(sys.argv[1])
if os.getuid() == 0:
    os.setresuid(65534, 65534, 65534)
(top / 'ws/.deskmate').mkdir(parents=True)
(top / 'ws/.deskmate').chmod(0o300)
with CommandSandbox(Sandbox(Level.BUBBLEWRAP, state=top / 'state'), top / 'ws', {}).around({}) as (words, _):
    at = words.index(str(top / 'ws/.deskmate'))
    print(words[at - 1])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


def test_who_was_killed_and_is_not_collected_yet_needs_nothing(folder: Path, state: Path) -> None:
    words = [sys.executable, "-c", HOLDER, str(state), str(folder / "a")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "standing\n"
        process.kill()
        # Dead, and until somebody waits for it still in the kernel's table.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        Placeholders(state).sweep()
        assert os.listdir(folder) == []


def test_a_list_that_an_earlier_version_left_is_read(folder: Path, state: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/config").touch()
    made = {str(folder / ".git"): None, str(folder / ".git/config"): ""}
    (state / "placeholders.json").write_text(json.dumps({"made": made, "needed": {"x": [1, "long ago", [*made]]}}))
    Placeholders(state).sweep()
    assert os.listdir(folder) == []


@pytest.mark.parametrize("damaged", DAMAGED)
@pytest.mark.anyio
async def test_a_damaged_list_is_a_sentence_that_names_it(folder: Path, bubblewrap: Sandbox, damaged: bytes) -> None:
    file = bubblewrap.state / "placeholders.json"
    file.write_bytes(damaged)
    workspace = LocalWorkspace(folder, "main", "lead", sandbox=bubblewrap, environ=os.environ)
    with pytest.raises(ToolError, match=f"cannot guard {file}: it is damaged.*Delete it"):
        await workspace.run("true", timeout_seconds=60, blob="lead-1-0.txt")
    with pytest.raises(UnsafeFolder, match=f"it is damaged.*{file}.*Delete it"):
        await workspace.sweep()
    found = find_sandbox(bubblewrap.state, landlock=False, environ=os.environ)
    assert found.level is Level.NONE
    assert (f"{file}: it is damaged" in found.reason, found.hint[:9]) == (True, "Delete it")
    assert file.read_bytes() == damaged


def test_a_full_disk_leaves_the_list_as_it_was(folder: Path, state: Path) -> None:
    with ExitStack() as stack:
        stack.enter_context(Placeholders(state).standing([Guard(str(folder / "a"))]))
        before = (state / "placeholders.json").read_bytes()
        words = [sys.executable, "-c", FULL, str(state), str(folder / "b")]
        told = subprocess.run(words, capture_output=True, text=True, check=True)
        assert "the sandbox cannot guard" in told.stdout
        assert json.loads((state / "placeholders.json").read_bytes()) == json.loads(before)
        assert sorted(os.listdir(state)) == ["placeholders.json", "placeholders.lock"]
    assert os.listdir(folder) == []


def test_a_list_that_breaks_while_a_command_runs_does_not_take_its_result(
    folder: Path, state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Placeholders(state).standing([Guard(str(folder / "a"))]):
        (state / "placeholders.json").write_text("nonsense")
    assert f"{state / 'placeholders.json'} cannot be used, so empty files or folders may be left" in caplog.text


def test_a_folder_that_cannot_be_read_is_guarded_as_it_is(parent: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", UNREADABLE, str(parent)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (told.stdout, told.stderr) == ("--ro-bind\n", "")


def test_temporary_files_of_a_killed_one_are_removed_at_the_next_start(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as gone:
        pass
    with ExitStack() as stack:
        made = []
        for pid in (gone.pid, os.getpid()):
            lent = stack.enter_context(
                tempfile.TemporaryDirectory(prefix=f"deskmate-fenced-{pid}-", ignore_cleanup_errors=True)
            )
            (Path(lent) / "x").touch()
            made.append(Path(lent))
        find_sandbox(tmp_path / "state", environ=os.environ)
        assert [path.exists() for path in made] == [False, True]


def test_a_bubblewrap_that_leaves_namespaces_open_is_said_to(tmp_path: Path, bubblewrap: Sandbox) -> None:
    real = next(path for path in PROGRAMS if os.access(path, os.X_OK))
    old = tmp_path / "bwrap"
    old.write_text(f'#!/bin/sh\ncase "$*" in *--disable-userns*) exit 1;; esac\nexec {real} "$@"\n')
    old.chmod(0o755)
    found = find_sandbox(bubblewrap.state, programs=[str(old)], environ=os.environ)
    assert found.level is Level.BUBBLEWRAP
    assert "commands can create namespaces" in found.reason
