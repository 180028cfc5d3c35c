"""What does the sandbox cost? One command, confined and not, in turns."""

import os
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from benchmarks.measure import RunFailed, Size, percentile
from benchmarks.report import Answer, Column, Table, below
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level, Sandbox

COST_MS = 10.0
BLOB = "lead-1-0.txt"


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure `true` as a bash call with and without a sandbox, and as a bare process."""
    sandbox = find_sandbox(folder / "state", environ=os.environ)
    if sandbox.level is Level.NONE:
        say(f"sandbox: {sandbox.reason}")
        return Answer([])
    say(f"sandbox: {size.samples} commands each")
    taken = anyio.run(_measure, folder, sandbox, size.samples)
    p50 = {name: percentile(found, 0.5) for name, found in taken.items()}
    added = {"bash, confined": p50["bash, confined"] - p50["bash"], "bubblewrap": p50["bubblewrap"] - p50["process"]}
    columns = [Column("`true`"), Column("p50 ms", "{:.2f}"), Column("p99 ms", "{:.2f}"), Column("added ms", "{:.2f}")]
    rows = [(name, p50[name], percentile(found, 0.99), added.get(name)) for name, found in taken.items()]
    who = "root, whose processes are counted by a cgroup" if os.geteuid() == 0 else "an ordinary user"
    notes = (
        f"As {who}. bubblewrap: the same mounts, without what Deskmate does around them.",
        "Added is net: only without a sandbox is /proc searched afterwards for what a command left running.",
    )
    table = Table("Sandbox: what one command costs", columns, rows, notes)
    return Answer([table], [below("sandbox, added to a command, p50", added["bash, confined"], COST_MS, "ms")])


async def _measure(folder: Path, sandbox: Sandbox, samples: int) -> dict[str, list[int]]:
    free, confined = (
        LocalWorkspace(folder, "bench", "lead", environ=os.environ, sandbox=one) for one in (None, sandbox)
    )
    before = sandbox.words(sandbox.machine(os.environ))
    ways: dict[str, Callable[[], Awaitable[None]]] = {
        "process": lambda: _bare(["true"]),
        "bubblewrap": lambda: _bare([*before, "--", "true"]),
        "bash": lambda: _bash(free),
        "bash, confined": lambda: _bash(confined),
    }
    taken: dict[str, list[int]] = {name: [] for name in ways}
    for _ in range(samples):
        for name, way in ways.items():
            began = time.monotonic_ns()
            await way()
            taken[name].append(time.monotonic_ns() - began)
    return taken


async def _bare(words: list[str]) -> None:
    done = await anyio.run_process(words, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise RunFailed(f"{words[0]} failed:\n{done.stderr.decode()}")


async def _bash(workspace: LocalWorkspace) -> None:
    ran = await workspace.run("true", timeout_seconds=60, blob=BLOB)
    if ran.exit != 0:
        raise RunFailed(f"true failed: {ran}")
