"""Limits: whatever a confined command takes, it comes to an end that is told, and the machine goes on."""

import errno
import os
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from deskmate.ports import Ran
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.sandbox.resource_limits import ResourceLimits, counts_processes, sweep_cgroups
from deskmate.workspace.sandbox.seccomp import call_filter

pytestmark = pytest.mark.anyio

SMALL = ResourceLimits(processes=40, memory_bytes=300 << 20, file_bytes=1 << 20, scratch_bytes=2 << 20)
BOMB = "f() { f | f & f; }; f"
HOG = "python3 -c 'x = bytearray(1 << 30)'"
FORKS = (
    "import os, time\n"
    "made = 0\n"
    "try:\n"
    "    while made < 500:\n"
    "        if not os.fork(): time.sleep(60)\n"
    "        made += 1\n"
    "except BlockingIOError: print(made < 50, flush=True)\n"
)


@pytest.fixture
def bounded(root: Path, bubblewrap: Sandbox) -> LocalWorkspace:
    return LocalWorkspace(
        root, "main", "lead", sandbox=replace(bubblewrap, limits=SMALL), grace_seconds=0.3, environ=os.environ
    )


async def run(workspace: LocalWorkspace, command: str, timeout_seconds: float = 30) -> Ran:
    with anyio.fail_after(60):
        return await workspace.run(command, timeout_seconds=timeout_seconds, blob="lead-1-0.txt")


counted = pytest.mark.skipif(not counts_processes(), reason="for root, processes are bounded by a cgroup only")


@counted
async def test_a_command_has_no_more_processes_than_it_may(root: Path, bounded: LocalWorkspace) -> None:
    (root / "forks.py").write_text(FORKS)
    assert await run(bounded, "python3 forks.py") == Ran(0, "True\n")


@counted
async def test_a_fork_bomb_is_ended_in_time_and_nothing_of_it_is_left(bounded: LocalWorkspace) -> None:
    ran = await run(bounded, BOMB, timeout_seconds=1)
    assert ran.ended.endswith("a command may have 40 processes and threads")
    assert await run(bounded, "echo next") == Ran(0, "next\n")


async def test_a_file_does_not_grow_beyond_its_limit(root: Path, bounded: LocalWorkspace) -> None:
    ran = await run(bounded, "cat /dev/zero > big")
    assert ran.exit == 128 + 25
    assert (root / "big").stat().st_size == SMALL.file_bytes


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
async def test_temporary_files_do_not_fill_the_memory(bounded: LocalWorkspace, folder: str) -> None:
    ran = await run(bounded, f"for i in 1 2 3 4; do head -c 900000 /dev/zero > {folder}/$i; done")
    assert "No space left on device" in ran.output


@pytest.mark.parametrize("folder", ["/run", "/dev", ".teams", "/"])
async def test_no_other_folder_takes_anything(bounded: LocalWorkspace, folder: str) -> None:
    assert (await run(bounded, f"echo x > {folder}/x")).exit == 1


async def test_a_process_that_wants_too_much_memory_is_told(bounded: LocalWorkspace) -> None:
    ran = await run(bounded, HOG)
    assert ran.exit == 1
    assert "MemoryError" in ran.output


async def test_processes_that_together_want_too_much_memory_are_ended_and_that_is_told(
    bounded: LocalWorkspace,
) -> None:
    if "/deskmate-" not in (await run(bounded, "grep -e :memory: -e ^0:: /proc/self/cgroup")).output:
        pytest.skip("there is no cgroup to count the memory of several processes")
    hog = "python3 -c 'x = bytearray(120 << 20); import time; time.sleep(60)'"
    ran = await run(bounded, f"for i in 1 2 3 4; do {hog} & done; wait -n; exit $?")
    assert (ran.exit, ran.ended) == (137, "the kernel probably ended it for lack of memory: a command may use 300 MiB")


@pytest.mark.parametrize(
    ("status", "output", "words"),
    [
        (0, "MemoryError", ""),
        (1, "no such file", ""),
        (None, "fork: Resource temporarily unavailable", "a command may have 40 processes and threads"),
        (-25, "", "a file may not be larger than 1 MiB"),
        (1, "cp: File too large", "a file may not be larger than 1 MiB"),
        (-9, "", "the kernel probably ended it for lack of memory: a command may use 300 MiB"),
        (
            1,
            "std::bad_alloc; can't start new thread",
            "a process may use 300 MiB of memory; a command may have 40 processes and threads",
        ),
    ],
)
def test_limits_that_were_met_are_told(status: int | None, output: str, words: str) -> None:
    assert SMALL.met(status, output) == words


async def test_where_memory_ends_a_command_goes_first(bounded: LocalWorkspace) -> None:
    assert await run(bounded, "cat /proc/self/oom_score_adj") == Ran(0, "1000\n")


async def test_a_command_cannot_take_its_own_limits_away(bounded: LocalWorkspace) -> None:
    ran = await run(bounded, "ulimit -f unlimited || echo $(ulimit -f)")
    assert ran.output.endswith("1024\n")


BOUND = """
import subprocess, sys
from deskmate.workspace.sandbox.resource_limits import ResourceLimits

with ResourceLimits().binding(int(sys.argv[1])):
    print('bound', flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes cgroups")
def test_the_cgroups_of_one_that_was_killed_are_removed_at_the_next_start() -> None:
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        words = [sys.executable, "-c", BOUND, str(sleeper.pid)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout
            assert holder.stdout.readline() == b"bound\n"
            holder.kill()
        mark = f"deskmate-{holder.pid}-"
        left = [path for path in Path("/sys/fs/cgroup").rglob("deskmate-*") if path.name.startswith(mark)]
        sleeper.kill()
    if not left:
        pytest.skip("no cgroup can be made here")
    sweep_cgroups()
    assert [path for path in left if path.exists()] == []


def test_system_calls_are_filtered_on_the_machines_that_are_known() -> None:
    assert call_filter("riscv64") is None
    for machine in ("x86_64", "aarch64"):
        program = call_filter(machine)
        assert program
        assert len(program) % 8 == 0


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of this machine")
@pytest.mark.parametrize(
    ("number", "name"),
    [
        (248, "add_key"),
        (249, "request_key"),
        (250, "keyctl"),
        (298, "perf_event_open"),
        (321, "bpf"),
        (323, "userfaultfd"),
    ],
)
async def test_calls_that_nobody_needs_are_closed(bounded: LocalWorkspace, number: int, name: str) -> None:
    call = f"import ctypes; c = ctypes.CDLL(None, use_errno=True); print(c.syscall({number}, 0), ctypes.get_errno())"
    assert await run(bounded, f"python3 -c '{call}'") == Ran(0, f"-1 {errno.EPERM}\n"), name


async def test_modes_that_lend_no_rights_may_be_set(root: Path, bounded: LocalWorkspace) -> None:
    assert (await run(bounded, "umask 0; touch a; chmod 1777 a; mkdir -m 755 d; cp a b; chmod +x b")).exit == 0
    assert (root / "a").stat().st_mode & 0o7777 == 0o1777
    assert os.access(root / "b", os.X_OK)
