"""Commands: whatever they do, they end, and nothing of them is left."""

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from anyio import to_thread

from deskmate.core.prompt.live_output import LiveOutput
from deskmate.errors import ToolError
from deskmate.ports import Ran
from deskmate.workspace.command_output import MAX_BLOB
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from tests.fact_loop import wait_for

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["none", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox | None:
    """Whatever is promised here holds with a sandbox and without."""
    return None if request.param == "none" else request.getfixturevalue("bubblewrap")


BLOB = "lead-1-0.txt"
PYTHON = shlex.quote(sys.executable)
PATH = f".teams/main/blobs/{BLOB}"
LONG = 60

# Two forks and a session of its own: nobody's child, in nobody's group.
DAEMON = """
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
if 'close' in sys.argv:
    null = os.open('/dev/null', os.O_RDWR)
    for fd in (0, 1, 2): os.dup2(null, fd)
open(sys.argv[1], 'w').close()
time.sleep(600)
"""

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="daemons are found by /proc")


class Census:
    """Processes that carry a word nobody else does among their own words."""

    def __init__(self) -> None:
        self.word = f"census{uuid.uuid4().hex}"

    async def finds_one(self) -> None:
        while not self.living():  # noqa: ASYNC110 - no event tells that a process of others has begun
            await anyio.sleep(0.02)

    def living(self) -> list[int]:
        listing = subprocess.run(["ps", "-axww", "-o", "pid=,stat=,args="], capture_output=True, text=True, check=True)
        lines = [line.split(maxsplit=2) for line in listing.stdout.splitlines()]
        return [int(pid) for pid, state, *args in lines if not state.startswith("Z") and self.word in "".join(args)]


@pytest.fixture
def census() -> Iterator[Census]:
    census = Census()
    yield census
    left = census.living()
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def sleeper(census: Census) -> str:
    """Return a command that sleeps for long, to be found by the census."""
    return f"{PYTHON} -c 'import time; time.sleep(600)' {census.word}"


def done(sandbox: Sandbox | None) -> str:
    """Return what is printed where something was left: in a sandbox it goes with the command, uncounted."""
    return "done\n" if sandbox else "done\n[1 left running in the background, now stopped]"


async def run(workspace: LocalWorkspace, command: str, timeout_seconds: float = LONG) -> Ran:
    with anyio.fail_after(LONG):
        return await workspace.run(command, timeout_seconds=timeout_seconds, blob=BLOB)


@pytest.mark.behaviour("tools-base")
@pytest.mark.parametrize(
    ("command", "ran"),
    [
        ("echo out; echo err >&2", Ran(0, "out\nerr\n")),
        ("true", Ran(0, "")),
        ("exit 7", Ran(7, "")),
        ("no-such-command-here 2>/dev/null", Ran(127, "")),
        ("cat", Ran(0, "")),
        (r"printf '\xff\x00\x1b[31mx\n'", Ran(0, "�x\n")),
        ("yes | head -n 2", Ran(0, "y\ny\n")),
        ("printf 'no newline'", Ran(0, "no newline")),
    ],
)
async def test_a_command_tells_what_it_printed_and_how_it_ended(
    workspace: LocalWorkspace, command: str, ran: Ran
) -> None:
    assert await run(workspace, command) == ran


@pytest.mark.parametrize(("signal_", "ended"), [("KILL", "9 (SIGKILL)"), ("TERM", "15 (SIGTERM)")])
async def test_a_command_that_is_killed_tells_by_which_signal(
    workspace: LocalWorkspace, sandbox: Sandbox | None, signal_: str, ended: str
) -> None:
    # In a sandbox the shell around it tells, as shells do, and there is a limit that it may have met.
    status = 128 + int(ended.split()[0])
    known = Ran(status, "", sandbox.limits.met(status, "")) if sandbox else Ran(None, "", f"killed by signal {ended}")
    assert await run(workspace, f"kill -{signal_} $$") == known


async def test_a_command_is_in_a_session_of_its_own(workspace: LocalWorkspace) -> None:
    group, session = (await run(workspace, "ps -o pgid=,sess= -p $$")).output.split()
    assert group == session
    assert int(session) != os.getsid(0)


async def test_a_command_starts_in_the_root(root: Path, workspace: LocalWorkspace) -> None:
    assert (await run(workspace, "pwd")).output == f"{root}\n"


@pytest.mark.behaviour("tools-base")
@pytest.mark.parametrize(
    "command", ["SLEEP", "trap '' TERM; SLEEP & wait", "(trap '' TERM; SLEEP) & SLEEP", "SLEEP | cat"]
)
async def test_a_command_that_does_not_end_is_ended_in_time(
    workspace: LocalWorkspace, census: Census, command: str
) -> None:
    ran = await run(workspace, f"echo begun; {command.replace('SLEEP', sleeper(census))}", timeout_seconds=0.5)
    assert ran == Ran(None, "begun\n", "timed out after 0.5 s")
    assert census.living() == []


async def test_what_is_stopped_is_ended_too(workspace: LocalWorkspace, census: Census) -> None:
    ran = await run(workspace, f"{sleeper(census)} & kill -STOP $!; wait", timeout_seconds=0.5)
    assert ran == Ran(None, "", "timed out after 0.5 s")
    assert census.living() == []


async def test_last_words_on_being_ended_are_heard(workspace: LocalWorkspace) -> None:
    command = "trap 'seq 20000; echo bye; exit' TERM; while :; do sleep 0.01; done"
    ran = await run(workspace, command, timeout_seconds=0.3)
    assert ran.output.endswith("20000\nbye\n")


@pytest.mark.behaviour("tools-base")
@pytest.mark.parametrize("command", ["SLEEP & echo done", "SLEEP >/dev/null 2>&1 & echo done", "(SLEEP &) ; echo done"])
async def test_what_is_left_in_the_background_is_ended(
    workspace: LocalWorkspace, sandbox: Sandbox | None, census: Census, command: str
) -> None:
    ran = await run(workspace, command.replace("SLEEP", sleeper(census)))
    assert ran == Ran(0, done(sandbox))
    assert census.living() == []


@on_linux
@pytest.mark.parametrize("pipe", ["close", "open"])
async def test_a_daemon_is_found_and_ended(
    root: Path, workspace: LocalWorkspace, sandbox: Sandbox | None, census: Census, pipe: str
) -> None:
    (root / "daemon.py").write_text(DAEMON)
    start = f"{PYTHON} daemon.py ready {pipe} {census.word}"
    ran = await run(workspace, f"{start}; while [ ! -e ready ]; do sleep 0.01; done; echo done")
    assert ran == Ran(0, done(sandbox))
    assert census.living() == []


@on_linux
async def test_a_daemon_that_ignores_being_asked_is_killed_on_timeout(
    root: Path, workspace: LocalWorkspace, census: Census
) -> None:
    (root / "daemon.py").write_text("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + DAEMON)
    ran = await run(workspace, f"{PYTHON} daemon.py ready open {census.word}; sleep 600", timeout_seconds=1)
    assert ran == Ran(None, "", "timed out after 1 s")
    assert (root / "ready").exists()
    assert census.living() == []


@on_linux
async def test_what_another_call_runs_is_left_alone(root: Path, workspace: LocalWorkspace, census: Census) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(run, workspace, f"touch ready; {sleeper(census)}", LONG)
        with anyio.fail_after(LONG):
            await census.finds_one()
        with anyio.fail_after(LONG):
            await workspace.run("sleep 600 &", timeout_seconds=LONG, blob="lead-1-1.txt")
        assert len(census.living()) >= 1
        group.cancel_scope.cancel()
    assert census.living() == []


@pytest.mark.behaviour("tools-base")
@pytest.mark.parametrize("command", ["SLEEP", "setsid SLEEP & SLEEP", "trap '' TERM; SLEEP & wait"])
async def test_a_cancelled_command_is_over_before_the_caller_hears(
    root: Path, workspace: LocalWorkspace, census: Census, command: str
) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(run, workspace, command.replace("SLEEP", sleeper(census)))
        with anyio.fail_after(LONG):
            await census.finds_one()
        group.cancel_scope.cancel()
    assert census.living() == []
    assert (root / ".teams/main/lead.groups").read_text() == ""


async def test_what_a_command_has_printed_is_seen_while_it_runs_and_after_it_is_cancelled(
    workspace: LocalWorkspace,
) -> None:
    printed = LiveOutput()
    script = "echo tick; sleep 60"
    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(workspace.run, script, timeout_seconds=60, blob=BLOB, printed=printed))
            await wait_for(lambda: "tick" in printed.look()[0])
            tasks.cancel_scope.cancel()
    assert printed.look() == ("tick\n", None)


async def test_of_a_command_that_has_printed_much_the_blob_is_told_while_it_runs(
    root: Path, workspace: LocalWorkspace
) -> None:
    printed = LiveOutput()
    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as tasks:
            command = "seq 20000; sleep 60"
            tasks.start_soon(partial(workspace.run, command, timeout_seconds=60, blob=BLOB, printed=printed))
            await wait_for(lambda: "20000" in printed.look()[0])
            text, blob = printed.look()
            assert blob is not None
            assert (root / blob).read_text().splitlines()[-1] == "20000"
            tasks.cancel_scope.cancel()
    assert "bytes left out" in text


async def test_a_task_cancelled_by_other_means_leaves_nothing_either(workspace: LocalWorkspace, census: Census) -> None:
    task = asyncio.ensure_future(run(workspace, sleeper(census)))
    with anyio.fail_after(LONG):
        await census.finds_one()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert census.living() == []


async def test_a_command_cancelled_before_it_begins_never_does(root: Path, workspace: LocalWorkspace) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await run(workspace, "touch begun")
    assert not (root / "begun").exists()


async def test_a_command_can_be_cancelled_at_any_moment(workspace: LocalWorkspace, census: Census) -> None:
    for moment in range(20):
        with anyio.move_on_after(moment / 500):
            await run(workspace, sleeper(census))
        assert census.living() == []


@pytest.mark.behaviour("large-output", "S3")
@pytest.mark.parametrize(
    "command", ["yes a line as long as those of a build", "head -c 2000000000 /dev/zero", "cat /dev/urandom"]
)
async def test_a_command_that_prints_for_ever_is_ended_at_the_cap(
    root: Path, workspace: LocalWorkspace, command: str
) -> None:
    ran = await run(workspace, command)
    assert (ran.exit, ran.ended, ran.blob) == (None, "stopped after 64 MB of output", PATH)
    assert f"[63,970,000 bytes left out. All of it is in {PATH}]" in ran.output
    assert len(ran.output) < 31_000
    assert (root / PATH).stat().st_size == MAX_BLOB


@pytest.mark.behaviour("tools-base", "large-output")
async def test_much_output_is_shown_in_part_and_kept_whole(root: Path, workspace: LocalWorkspace) -> None:
    ran = await run(workspace, "seq 100000")
    whole = "".join(f"{number}\n" for number in range(1, 100_001))
    gap = f"\n[{len(whole) - 30_000:,} bytes left out. All of it is in {PATH}]\n"
    assert ran == Ran(0, whole[:15_000] + gap + whole[-15_000:], "", PATH, lines=100_000)
    assert await workspace.blob(PATH) == whole.encode()
    assert (root / PATH).stat().st_mode & 0o777 == 0o600


MEASURE = """
import anyio, os, resource, sys
from functools import partial
from pathlib import Path
from deskmate.workspace.local_workspace import LocalWorkspace

async def main():
    workspace = LocalWorkspace(Path(sys.argv[1]), 'main', 'lead', environ=os.environ, grace_seconds=0.3)
    await workspace.run('true', timeout_seconds=60, blob='lead-1-0.txt')
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await workspace.run(sys.argv[2], timeout_seconds=60, blob='lead-1-0.txt')
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print((after - before) * (1 if sys.platform == 'darwin' else 1024))

anyio.run(main)
"""


@pytest.mark.behaviour("S3")
@pytest.mark.parametrize("command", ["head -c 10000000000 /dev/zero", "trap '' TERM; cat /dev/zero; cat /dev/zero"])
def test_memory_stays_flat_however_much_is_printed(root: Path, command: str) -> None:
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, root, command], capture_output=True, text=True, check=True, timeout=100
    )
    assert int(measured.stdout) < 50_000_000


@pytest.mark.parametrize("command", ["a\0b", "\ud800"])
async def test_what_cannot_be_started_is_told(workspace: LocalWorkspace, command: str) -> None:
    with pytest.raises(ToolError, match="a NUL or an invalid character"):
        await run(workspace, command)


async def test_a_command_may_be_longer_than_any_word_of_a_process(workspace: LocalWorkspace) -> None:
    assert await run(workspace, f"cat <<'END' | wc -c\n{'x' * 3_000_000}\nEND") == Ran(0, "3000001\n")


async def test_a_command_in_a_folder_that_is_gone_is_told(root: Path, workspace: LocalWorkspace) -> None:
    shutil.rmtree(root)
    with pytest.raises(ToolError, match=r"is gone: somebody deleted it\. Tell the user\.$"):
        await run(workspace, "true")


async def test_a_command_knows_nothing_secret(make: Callable[..., LocalWorkspace]) -> None:
    secrets = {
        f"{name}_{index}": f"canary{index}" for index, name in enumerate(["API_KEY", "TOKEN", "AWS", "PWD2"] * 8)
    }
    kept = {"PATH": os.environ["PATH"], "HOME": "/home/x", "LC_ALL": "C", "TZ": "UTC", "VIRTUAL_ENV": "/v"}
    ran = await run(make(environ={**secrets, **kept, "TERM": "xterm"}), "env; cat /proc/self/environ | tr '\\0' '\\n'")
    assert "canary" not in ran.output
    lines = ran.output.splitlines()
    assert {f"{key}={value}" for key, value in kept.items()} <= set(lines)
    assert "TERM=dumb" in lines


async def test_the_event_loop_is_free_while_a_command_floods(workspace: LocalWorkspace) -> None:
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as group:
        group.start_soon(turn)
        await run(workspace, "yes | head -c 4000000")
        group.cancel_scope.cancel()
    assert turns > 100


async def test_more_commands_run_at_once_than_there_are_threads_for_files(
    root: Path, workspace: LocalWorkspace, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    ran: dict[int, Ran] = {}
    many, groups = 50, root / ".teams/main/lead.groups"

    async def one(number: int) -> None:
        command = f"while [ ! -e gate ]; do sleep 0.05; done; echo {number}"
        ran[number] = await workspace.run(command, timeout_seconds=LONG, blob=f"lead-1-{number}")

    async with anyio.create_task_group() as group:
        for number in range(many):
            group.start_soon(one, number)
        await to_thread.run_sync(eventually, lambda: groups.exists() and len(groups.read_text().splitlines()) == many)
        assert await workspace.locate("gate") == ("gate", True)
        (root / "gate").touch()
    assert ran == {number: Ran(0, f"{number}\n") for number in range(many)}
