"""What does a checkpoint cost, and a rewind? A thousand changed files, beside plain git that does the same."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from benchmarks.measure import RunFailed, Size, percentile
from benchmarks.report import Answer, Column, Table
from deskmate.app.rewind.rewinding import Rewinder, rewinder_of
from deskmate.config import load
from deskmate.core.policy.redaction import SHAPES
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.workspace.sandbox.levels import find_sandbox

FILES, LINES = 1000, 60
_WHO = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure a checkpoint and a rewind of files that all changed, in git and outside of it, and git alone."""
    times = max(1, size.samples // 40)
    say(f"rewind: {FILES:,} changed files, {times} times")
    taken = anyio.run(_measure, folder, times)
    p50 = {name: percentile(found, 0.5) for name, found in taken.items()}
    rows = [(name, ms, ms / p50[f"git, {name.split()[-1]}"]) for name, ms in p50.items()]
    columns = [Column("what"), Column("p50 ms", "{:.0f}"), Column("of git's", "{:.2f}")]
    notes = (
        "git, checkpoint: git add -A; git write-tree. git, rewind: the same, then git checkout TREE -- .",
        "Deskmate looks for secrets in each changed file, runs git in the sandbox, and compares the files afterwards.",
    )
    return Answer([Table(f"Rewind: {FILES:,} changed files of {LINES} lines", columns, rows, notes)])


async def _measure(folder: Path, times: int) -> dict[str, list[int]]:
    plain, own, copied = (folder / name for name in ("plain-git", "own-git", "copies"))
    for place in (plain, own, copied):
        _fill(place, "first")
        if place is not copied:
            _git(place, "init", "-q")
            _git(place, "add", "-A")
            _git(place, *_WHO, "commit", "-qm", "first")
    rewinders = {
        "Deskmate in git": await _rewinder(folder, own),
        "Deskmate outside git": await _rewinder(folder, copied),
    }
    taken: dict[str, list[int]] = {}

    def note(name: str, began: int) -> None:
        taken.setdefault(name, []).append(time.monotonic_ns() - began)

    for number in range(times):
        for place in (plain, own, copied):
            _fill(place, f"before {number}")
        began = time.monotonic_ns()
        tree = _saved(plain)
        note("git, checkpoint", began)
        points = dict[str, int]()
        for name, rewinder in rewinders.items():
            began = time.monotonic_ns()
            points[name] = rewinder.checkpoints.add(await rewinder.checkpoints.save()).number
            note(f"{name}, checkpoint", began)
        for place in (plain, own, copied):
            _fill(place, f"after {number}")
        began = time.monotonic_ns()
        _saved(plain)
        _git(plain, "checkout", "-q", tree, "--", ".")
        note("git, rewind", began)
        for name, rewinder in rewinders.items():
            began = time.monotonic_ns()
            restored = await rewinder.restore(points[name])
            note(f"{name}, rewind", began)
            if len(restored.written) != FILES:
                raise RunFailed(f"{name} restored {len(restored.written)} files")
    return taken


async def _rewinder(folder: Path, place: Path) -> Rewinder:
    store = JsonlStore.open(place, "main", create=True)
    await Roster(LogWriter(store, SystemClock(), SHAPES)).found("main")
    store.close()
    settings = load({**os.environ, "XDG_STATE_HOME": str(folder / "state")})
    return rewinder_of(place, "main", settings, find_sandbox(folder / "state", environ=os.environ), SHAPES)


def _fill(place: Path, words: str) -> None:
    for number in range(FILES):
        file = place / f"part{number % 20}" / f"file{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"value_{line} = compute({line}, {number})  # {words}\n" for line in range(LINES)))


def _saved(place: Path) -> str:
    _git(place, "add", "-A")
    return _git(place, "write-tree")


def _git(place: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunFailed(f"git {words[0]} failed:\n{done.stderr}")
    return done.stdout.strip()
