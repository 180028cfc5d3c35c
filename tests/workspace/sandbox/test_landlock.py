"""Behind a fence of landlock work goes on, the rest of the machine is out of reach, and what is not is told."""

import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from deskmate.ports import Ran
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.landlock import LandlockRule, Right, restrict, version
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from deskmate.workspace.sandbox.resource_limits import ResourceLimits
from deskmate.workspace.sandbox.seccomp import ALLOW_ALL
from tests.workspace.conftest import open_folder
from tests.workspace.escapes.escape_ground import Ground, ground

pytestmark = pytest.mark.anyio

IDENTITY = "-c user.name=a -c user.email=a@example.org"


@pytest.fixture
def on() -> Iterator[Ground]:
    """A ground outside the temporary folders."""
    with open_folder() as parent, ground(parent) as laid:
        yield laid


def workspace(on: Ground, sandbox: Sandbox, folder: str = "ws") -> LocalWorkspace:
    return LocalWorkspace(on.top / folder, "main", "lead", environ=on.environ(), sandbox=sandbox, grace_seconds=0.3)


async def run(workspace: LocalWorkspace, command: str) -> Ran:
    with anyio.fail_after(120):
        return await workspace.run(command, timeout_seconds=60, blob="lead-1-0.txt")


@pytest.mark.parametrize("folder", ["ws", "other"])
async def test_git_works_in_a_repository_and_in_a_worktree(on: Ground, landlock: Sandbox, folder: str) -> None:
    steps = f"echo b > b.py && git add b.py && git {IDENTITY} commit -qm inside && git switch -qc topic"
    assert await run(workspace(on, landlock, folder), f"{steps} && git status --porcelain -uno") == Ran(0, "")
    words = ["git", "log", "-1", "--format=%s", "topic"]
    log = subprocess.run(words, cwd=on.workspace, capture_output=True, text=True, check=True)
    assert log.stdout == "inside\n"


async def test_from_a_worktree_the_settings_of_its_repository_are_out_of_reach(on: Ground, landlock: Sandbox) -> None:
    git = on.workspace / ".git"
    for name in ("config", "hooks/pre-commit", "config.worktree"):
        assert (await run(workspace(on, landlock, "other"), f"echo pwned > {git}/{name}")).exit == 1


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat ~/.bashrc", "# mine\n"),
        ("cat ~/.ssh/id_ed25519 ~/.netrc 2>/dev/null; ls -A ~/.ssh", "authorized_keys\nid_ed25519\n"),
        ("ls /tmp > /dev/null && mv src/a.py . && mkdir -p x/y && mv a.py x/y && ls x/y", "a.py\n"),
        ("cat <(echo one)", "one\n"),
        ("for name in null ptmx; do (: < /dev/$name) 2>/dev/null && echo $name; done", "null\n"),
        (
            "grep -e CapEff -e NoNewPrivs /proc/self/status",
            "CapEff:\t0000000000000000\nNoNewPrivs:\t1\n",
        ),
        ("sleep 60 & kill $! && wait $!; echo $?", "143\n"),
    ],
)
async def test_what_a_fenced_command_sees(on: Ground, landlock: Sandbox, command: str, output: str) -> None:
    assert (await run(workspace(on, landlock), command)).output == output


async def test_temporary_files_have_a_place_of_their_own_that_goes_with_the_command(
    on: Ground, landlock: Sandbox
) -> None:
    deep = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')"
    ran = await run(workspace(on, landlock), on.fill(f'cd $TMPDIR; <python> -c "{deep}"; echo $TMPDIR'))
    place = Path(ran.output.strip())
    assert (ran.exit, place.name[:9], place.exists()) == (0, "deskmate-", False)


@pytest.mark.parametrize(
    ("family", "answer"),
    [
        ("AF_INET", ""),
        ("AF_INET6", ""),
        ("AF_NETLINK", ""),
        # Nothing else keeps a command from the sockets of Docker, of the desktop, of an SSH agent.
        ("AF_UNIX", "Address family not supported"),
    ],
)
async def test_no_socket_can_be_made_unless_the_network_is_on(
    on: Ground, landlock: Sandbox, family: str, answer: str
) -> None:
    command = f"<python> -c 'import socket; socket.socketpair(); socket.socket(socket.{family}, socket.SOCK_DGRAM)'"
    assert "Operation not permitted" in (await run(workspace(on, landlock), on.fill(command))).output
    online = replace(landlock, network=True)
    ran = await run(workspace(on, online), on.fill(command))
    assert (ran.exit == 0, answer in ran.output) == (not answer, True)


async def test_a_folder_that_the_user_named_can_be_written_and_a_hidden_one_not_be_read(
    on: Ground, landlock: Sandbox
) -> None:
    for name in ("cache", "private"):
        (on.home / name).mkdir()
    (on.home / "private/key").write_text("secret")
    sandbox = replace(landlock, writable=(on.home / "cache",), hidden=(on.home / "private",))
    assert (await run(workspace(on, sandbox), "echo x > ~/cache/x; cat ~/private/key")).exit == 1
    assert (on.home / "cache/x").read_text() == "x\n"


async def test_a_link_to_what_is_hidden_leads_nowhere(on: Ground, landlock: Sandbox) -> None:
    (on.home / "keys").symlink_to(on.home / ".ssh")
    ran = await run(workspace(on, landlock), "cat ~/keys/id_ed25519; ln -s ~/.ssh here; cat here/id_ed25519")
    assert (ran.exit, ran.output.count("Permission denied")) == (1, 2)


async def test_a_fenced_command_has_limits(on: Ground, landlock: Sandbox) -> None:
    bounded = replace(landlock, limits=ResourceLimits(file_bytes=1 << 20))
    await run(workspace(on, bounded), "cat /dev/zero > big")
    assert (on.workspace / "big").stat().st_size == 1 << 20


async def test_what_we_search_with_is_fenced_too(on: Ground, landlock: Sandbox) -> None:
    found = workspace(on, landlock)
    assert await found.find("**/*.py") == ["src/a.py"]
    assert (await found.search("a = 1", ".", "")).output == "src/a.py:1:a = 1\n"


def test_a_fence_is_no_confinement_and_says_what_it_lacks(landlock: Sandbox) -> None:
    assert not landlock.confines(Path(os.path.expanduser("~/project")))
    assert "They can still change the team's records and git's settings" in landlock.reason
    assert "bubblewrap" in landlock.hint


def test_where_bubblewrap_fails_there_is_a_fence(tmp_path: Path, landlock: Sandbox) -> None:
    found = find_sandbox(tmp_path, programs=["/bin/false"], environ=os.environ)
    assert found.level is landlock.level is Level.LANDLOCK


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 6, 7])
def test_an_older_landlock_holds_as_far_as_it_goes(tmp_path: Path, most: int) -> None:
    if most > version():
        pytest.skip(f"this kernel has landlock {version()}")
    (tmp_path / "in").mkdir()
    rules = [
        LandlockRule("/", Right.READ),
        LandlockRule(str(tmp_path / "in"), Right.WRITE),
        LandlockRule("/no/such/place", Right.READ),
    ]
    told: list[str] = []

    def work() -> None:
        restrict(rules, ALLOW_ALL, most)
        command = "mkdir in/d; echo x > in/x; mv in/x in/y; echo x > out; ls in; ls; kill -0 $PPID && echo signalled"
        run = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
        told.append(run.stdout)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert told == ["d\ny\nin\n" if most >= 6 else "d\ny\nin\nsignalled\n"]
