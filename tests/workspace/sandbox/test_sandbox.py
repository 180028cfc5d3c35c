"""The sandbox lets through what work needs, hides what it must, and leaves a workspace as it was."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from deskmate.errors import ToolError
from deskmate.ports import Ran
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import PROGRAMS, find_sandbox
from deskmate.workspace.sandbox.mounts import Level, Mount, Sandbox, Way
from deskmate.workspace.sandbox.resource_limits import ResourceLimits
from tests.workspace.conftest import open_folder
from tests.workspace.escapes.escape_ground import Ground, ground

pytestmark = pytest.mark.anyio

LONG = 60
# What a temporary folder shows: nothing, unless this Python itself is installed there.
IN_TMP = f"{Path(sys.prefix).parts[2]}\n" if sys.prefix.startswith("/tmp/") else ""


@pytest.fixture
def on() -> Iterator[Ground]:
    """A ground outside the temporary folders."""
    with open_folder() as parent, ground(parent) as laid:
        yield laid


@pytest.fixture
def confined(on: Ground, bubblewrap: Sandbox) -> LocalWorkspace:
    sandbox = replace(bubblewrap, state=on.state)
    return LocalWorkspace(on.workspace, "main", "lead", environ=on.environ(), sandbox=sandbox, grace_seconds=0.3)


async def run(workspace: LocalWorkspace, command: str, timeout_seconds: float = LONG) -> Ran:
    with anyio.fail_after(2 * LONG):
        return await workspace.run(command, timeout_seconds=timeout_seconds, blob="lead-1-0.txt")


def entries(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


IDENTITY = "-c user.name=a -c user.email=a@example.org"


@pytest.mark.parametrize("folder", ["ws", "other"])
async def test_git_works_inside_in_a_repository_and_in_a_worktree(on: Ground, bubblewrap: Sandbox, folder: str) -> None:
    root = on.top / folder
    sandbox = replace(bubblewrap, state=on.state)
    workspace = LocalWorkspace(root, "main", "lead", environ=on.environ(), sandbox=sandbox)
    steps = [
        "echo b > b.py",
        "git add b.py",
        f"git {IDENTITY} commit -qm inside",
        "git switch -qc topic",
        "git stash list",
    ]
    assert await run(workspace, " && ".join([*steps, "git status --porcelain -uno"])) == Ran(0, "")
    log = subprocess.run(
        ["git", "log", "-1", "--format=%s", "topic"], cwd=root, capture_output=True, text=True, check=True
    )
    assert log.stdout == "inside\n"


@pytest.mark.parametrize("folder", ["ws", "other"])
async def test_in_a_worktree_too_hooks_and_settings_stay_as_they_are(
    on: Ground, bubblewrap: Sandbox, folder: str
) -> None:
    sandbox = replace(bubblewrap, state=on.state)
    workspace = LocalWorkspace(on.top / folder, "main", "lead", environ=on.environ(), sandbox=sandbox)
    git, own = on.workspace / ".git", on.workspace / ".git/worktrees/other"
    places = [git / name for name in ("config", "hooks/x", "config.worktree", "commondir", "worktrees/other/commondir")]
    before = {path: path.read_bytes() if path.exists() else None for path in [*places, own / "gitdir"]}
    for path in before:
        await run(workspace, f"echo pwned > {path}; mv {path} /tmp; rm -f {path}")
    assert {path: path.read_bytes() if path.exists() else None for path in before} == before


async def test_a_file_that_says_it_is_a_worktree_opens_nothing(on: Ground, bubblewrap: Sandbox) -> None:
    thief = on.top / "thief"
    thief.mkdir()
    shutil.copy(on.top / "other/.git", thief / ".git")
    sandbox = replace(bubblewrap, state=on.state)
    workspace = LocalWorkspace(thief, "main", "lead", environ=on.environ(), sandbox=sandbox)
    await run(
        workspace, f"echo pwned > {on.workspace}/.git/worktrees/other/HEAD; echo pwned > {on.workspace}/.git/HEAD"
    )
    assert "pwned" not in on.text("ws/.git/HEAD") + on.text("ws/.git/worktrees/other/HEAD")


async def test_a_command_leaves_nothing_in_the_workspace_but_what_it_wrote(
    on: Ground, confined: LocalWorkspace
) -> None:
    await run(confined, "true")
    before = entries(on.workspace)
    await run(confined, "echo x > src/new; ls -a; mkdir -p .deskmate/x")
    assert entries(on.workspace) - before == {"src/new"}
    assert before - entries(on.workspace) == set()


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("echo $HOME; cat ~/.bashrc", "<home>\n# mine\n"),
        ("cat ~/.netrc && ls -A ~/.ssh && wc -c < ~/.bash_history", "0\n"),
        ("ls -A /run /tmp /var/tmp .teams .tasks | grep -v -e : -e '^$'", IN_TMP),
        (
            "echo x > /tmp/x && echo y > /var/tmp/y && cat /tmp/x /var/tmp/y && echo z > /dev/shm/z && cat /dev/shm/z",
            "x\ny\nz\n",
        ),
        ("cat /tmp/x 2>/dev/null", ""),
        ("echo $TMPDIR; ls -A .mcp.json", "\n"),
        ("grep -c . /proc/net/dev; grep -c lo: /proc/net/dev", "3\n1\n"),
        (
            "grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status",
            "CapEff:\t0000000000000000\nNoNewPrivs:\t1\n",
        ),
        ("printf 'all:\\n\\t@echo made\\n' > Makefile; make", "made\n"),
        ("python3 -c 'import tempfile; print(tempfile.gettempdir())'", "/tmp\n"),
    ],
)
async def test_what_a_confined_command_sees(on: Ground, confined: LocalWorkspace, command: str, output: str) -> None:
    if "make" in command and not shutil.which("make"):
        pytest.skip("make is not installed")
    assert (await run(confined, command)).output == on.fill(output)


async def test_the_network_is_there_where_it_is_allowed(
    on: Ground, confined: LocalWorkspace, bubblewrap: Sandbox
) -> None:
    call = f"exec 3<>/dev/tcp/127.0.0.1/{on.told['port']} && echo hello >&3 && cat <&3"
    assert (await run(confined, call)).exit != 0
    online = replace(bubblewrap, state=on.state, network=True)
    workspace = LocalWorkspace(on.workspace, "main", "lead", environ=on.environ(), sandbox=online)
    assert (await run(workspace, call)).exit == 0
    assert on.heard == ["hello\n"]


async def test_a_guard_holds_for_one_command_while_others_come_and_go(
    on: Ground, confined: LocalWorkspace, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    tries = "rmdir .deskmate .mcp.json; mkdir .deskmate/x; echo pwned > .mcp.json"
    async with anyio.create_task_group() as group:
        group.start_soon(run, confined, f"touch began; until [ -e go ]; do {tries}; sleep 0.001; done 2>/dev/null")
        await to_thread.run_sync(eventually, (on.workspace / "began").exists)
        for _ in range(5):
            await run(confined, "true")
            assert {".deskmate", ".mcp.json", ".vscode"} <= {path.name for path in on.workspace.iterdir()}
        (on.workspace / "go").touch()
    assert sorted(path.name for path in on.workspace.glob(".[dm]*")) == []


async def test_folders_that_the_user_named_are_shown_and_hidden(on: Ground, bubblewrap: Sandbox) -> None:
    (on.home / "cache").mkdir()
    (on.home / "private").mkdir()
    (on.home / "private/key").write_text("secret")
    sandbox = replace(bubblewrap, state=on.state, writable=(on.home / "cache",), hidden=(on.home / "private",))
    workspace = LocalWorkspace(on.workspace, "main", "lead", environ=on.environ(), sandbox=sandbox)
    assert (await run(workspace, "echo x > ~/cache/x && ls ~/private")) == Ran(0, "")
    assert (on.home / "cache/x").read_text() == "x\n"


async def test_a_link_in_the_place_of_what_is_guarded_is_refused(on: Ground, confined: LocalWorkspace) -> None:
    (on.workspace / ".mcp.json").symlink_to("src/servers.json")
    with pytest.raises(ToolError, match=r"\.mcp\.json is a link, and a sandbox cannot guard a link"):
        await run(confined, "true")


async def test_a_guarded_file_that_is_replaced_outside_meanwhile_is_told(
    on: Ground,
    confined: LocalWorkspace,
    caplog: pytest.LogCaptureFixture,
    eventually: Callable[[Callable[[], bool]], None],
) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(run, confined, "touch began; while [ ! -e go ]; do sleep 0.01; done")
        await to_thread.run_sync(eventually, (on.workspace / "began").exists)
        on.git("ws", "config", "user.name", "somebody")
        (on.workspace / "go").touch()
    (record,) = caplog.records
    assert f"{on.workspace}/.git/config was replaced while a command ran" in record.getMessage()


async def test_a_command_is_ended_when_a_guarded_file_is_replaced_outside(
    on: Ground, confined: LocalWorkspace, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    found = list[Ran]()

    async def keep() -> None:
        found.append(await run(confined, "touch began; while :; do sleep 0.01; done"))

    async with anyio.create_task_group() as group:
        group.start_soon(keep)
        await to_thread.run_sync(eventually, (on.workspace / "began").exists)
        on.git("ws", "config", "user.name", "somebody")
    assert found[0].ended.startswith("ended because of a change in ")
    assert f"{on.workspace}/.git/config was replaced" in found[0].ended


@pytest.mark.parametrize("made", ["mkdir .vscode", "ln -s src .vscode", "touch .vscode"])
async def test_a_link_to_settings_of_an_editor_that_a_command_replaced_is_told(
    on: Ground, confined: LocalWorkspace, made: str
) -> None:
    (on.workspace / "conf").mkdir()
    (on.workspace / ".vscode").symlink_to("conf")
    ran = await run(confined, f"rm .vscode; {made}")
    assert ran.ended.startswith(f"{on.workspace}/.vscode was replaced while a command ran")


async def test_what_a_variable_names_in_the_workspace_is_shown(on: Ground, bubblewrap: Sandbox) -> None:
    for folder in (on.workspace, on.outside):
        (folder / "key").write_text("a key\n")
    named = (on.workspace / "key", on.outside / "key")
    sandbox = replace(bubblewrap, state=on.state, named=named)
    workspace = LocalWorkspace(on.workspace, "main", "lead", environ=on.environ(), sandbox=sandbox)
    assert (await run(workspace, f"cat key; cat {on.outside}/key")).output == "a key\n"


@pytest.mark.parametrize(
    "program", [("/bin/false",), ("/usr/bin/bwrap", "--no-such-option"), ("/usr/bin/bwrap", "--bind", "/x", "/y")]
)
async def test_a_sandbox_that_cannot_be_set_up_runs_nothing_and_is_told(
    on: Ground, bubblewrap: Sandbox, program: tuple[str, ...]
) -> None:
    sandbox = replace(bubblewrap, state=on.state, program=program)
    workspace = LocalWorkspace(on.workspace, "main", "lead", environ=on.environ(), sandbox=sandbox)
    for look in (
        lambda: run(workspace, "touch ran"),
        lambda: workspace.find("*"),
        lambda: workspace.search("a", ".", ""),
    ):
        with pytest.raises(ToolError, match="The command was not run: the sandbox could not be set up"):
            await look()
    assert not (on.workspace / "ran").exists()


class Unbindable(ResourceLimits):
    """Limits that the kernel refuses, once the first process is there."""

    @contextmanager
    def binding(self, pid: int, *, apart: bool = False) -> Iterator[None]:
        raise PermissionError(errno.EPERM, "not permitted")
        yield


async def test_of_a_sandbox_that_fails_half_way_no_process_is_left(on: Ground, bubblewrap: Sandbox) -> None:
    sandbox = replace(bubblewrap, state=on.state, limits=Unbindable())
    workspace = LocalWorkspace(on.workspace, "main", "lead", environ=on.environ(), sandbox=sandbox)
    for _ in range(10):
        with pytest.raises(ToolError, match="The command was not run"):
            await run(workspace, "true")
    listing = subprocess.run(["ps", "-axww", "-o", "stat=,args="], capture_output=True, text=True, check=True)
    left = [line for line in listing.stdout.splitlines() if str(on.workspace) in line and not line.startswith("Z")]
    assert left == []


async def test_a_sandbox_of_no_level_is_none(on: Ground) -> None:
    workspace = LocalWorkspace(on.workspace, "main", "lead", environ=on.environ(), sandbox=Sandbox(Level.NONE))
    assert (await run(workspace, f"cat {on.outside}/secret")).exit == 0


# -- what the machine can -------------------------------------------------------------------------


def test_a_machine_without_bubblewrap_is_told_so(tmp_path: Path) -> None:
    found = find_sandbox(tmp_path, programs=["/no/bwrap"], landlock=False, environ=os.environ)
    assert found == Sandbox(Level.NONE, "bubblewrap is not installed", "Install the package bubblewrap.")


def test_a_machine_that_forbids_it_is_told_why(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    fake.chmod(0o755)
    found = find_sandbox(tmp_path, programs=[str(fake)], landlock=False, environ=os.environ)
    reason = "bubblewrap does not work here: setting up uid map: Permission denied"
    assert found == Sandbox(Level.NONE, reason, f"Allow user namespaces for {fake}.")


def bubblewrap_that(tmp_path: Path, condition: str) -> str:
    """Return a bubblewrap that fails first where a condition of the shell holds."""
    fake, real = tmp_path / "bwrap", next(path for path in PROGRAMS if os.access(path, os.X_OK))
    fake.write_text(f'#!/bin/sh\nif {condition}; then exit 1; fi\nexec {real} "$@"\n')
    fake.chmod(0o755)
    return str(fake)


@pytest.mark.usefixtures("bubblewrap")
def test_an_older_bubblewrap_is_used_without_what_it_does_not_know(tmp_path: Path) -> None:
    fake = bubblewrap_that(tmp_path, 'case "$*" in *--disable-userns*) true;; *) false;; esac')
    found = find_sandbox(tmp_path, programs=[fake], environ=os.environ)
    assert found.level is Level.BUBBLEWRAP
    assert "--disable-userns" not in found.program
    assert "commands can create namespaces" in found.reason


@pytest.mark.usefixtures("bubblewrap")
def test_a_machine_where_mounts_cannot_be_made_private_has_a_sandbox_that_says_so(tmp_path: Path) -> None:
    mounts = os.readlink("/proc/self/ns/mnt")
    fake = bubblewrap_that(tmp_path, f'[ "$(readlink /proc/self/ns/mnt)" != "{mounts}" ]')
    found = find_sandbox(tmp_path, programs=[fake], environ=os.environ)
    assert (found.level, found.program[0]) == (Level.BUBBLEWRAP, fake)
    assert "a command can write to a disk that you mount while it runs" in found.reason


def test_without_a_place_for_its_list_there_is_no_sandbox(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = find_sandbox(tmp_path / "file/state", programs=["/bin/true"], landlock=False, environ=os.environ)
    assert found.level is Level.NONE
    assert found.reason.endswith("file/state: Not a directory")


def test_a_workspace_that_holds_a_home_is_not_confined(bubblewrap: Sandbox) -> None:
    home = Path(os.path.expanduser("~"))
    assert [bubblewrap.confines(place) for place in (home, home.parent, home / "project")] == [False, False, True]
    assert not Sandbox(Level.NONE).confines(home / "project")


def test_what_lies_deeper_is_laid_over_what_lies_above_and_the_last_word_counts() -> None:
    mounts = [Mount("/a/b/c", Way.READ), Mount("/a/b", Way.WRITE), Mount("/a", Way.EMPTY), Mount("/a/b/c", Way.BLANK)]
    words = Sandbox(Level.BUBBLEWRAP, program=("bwrap",), state=Path("/s")).words(mounts)
    assert words[words.index("/proc") + 1 :] == [
        *("--perms", "0555", "--size", "4096", "--tmpfs", "/a"),
        *("--bind", "/a/b", "/a/b"),
        *("--ro-bind", "/s/blank", "/a/b/c"),
    ]


async def test_a_virtual_environment_in_a_temporary_folder_is_there_to_read(on: Ground, bubblewrap: Sandbox) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        made = Path(folder, "env")
        (made / "bin").mkdir(parents=True)
        (made / "pyvenv.cfg").touch()
        (made / "bin/tool").write_text("#!/bin/sh\necho found\n")
        (made / "bin/tool").chmod(0o755)
        Path(folder, "other").write_text("mine")
        environ = {**on.environ(), "PATH": f"{made}/bin:{on.environ()['PATH']}"}
        sandbox = replace(bubblewrap, state=on.state)
        workspace = LocalWorkspace(on.workspace, "main", "lead", environ=environ, sandbox=sandbox)
        told = await run(workspace, f"tool; ls -A {folder} {made}; touch {made}/x 2>/dev/null || echo no")
        assert told == Ran(0, f"found\n{folder}:\nenv\n\n{made}:\nbin\npyvenv.cfg\nno\n")
