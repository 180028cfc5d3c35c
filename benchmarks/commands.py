"""What does starting cost? `deskmate run` from the start of its process: until it asks its model, and in memory."""

import compileall
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import deskmate
from benchmarks.measure import RunFailed, Size, percentile, times
from benchmarks.report import Answer, Column, Table, below
from benchmarks.stub import CONTENT, FILE, Stub, environment, stub

# Nine tenths of the 440 ms that Claude Code takes from its start to its first request on a machine of this class.
START_MS = 0.9 * 440
PEAK_MB = 60.0
SECONDS = 60.0
# What only the tests need is no part of an installation, and what finds it there imports it.
HIDDEN, TEST_ONLY = "hidden", ("trio", "watchfiles")
NOTHING = (sys.executable, "-c", "pass")
# `-C .`: a folder in a repository would otherwise stand for the whole of it.
ASK = (sys.executable, "-m", "deskmate", "-C", ".", "run", "hi")
POST = """
import asyncio, os, socket
async def post():
    reader, writer = await asyncio.open_connection("127.0.0.1", int(os.environ["STUB_PORT"]))
    body = b'{"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}'
    writer.write(b"POST /v1/chat/completions HTTP/1.1\\r\\ncontent-length: %d\\r\\n\\r\\n%b" % (len(body), body))
    await reader.read(1)
asyncio.run(post())
"""
# The kernel counts the memory of whoever spawns a process as its peak until it runs its own program; so a small one
# spawns it, smaller than anything measured here.
SPAWN = """
import os, sys
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
_, status, usage = os.wait4(process, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


@dataclass(frozen=True)
class Room:
    """A folder to run commands in, with a home nobody has configured and all modules compiled."""

    place: Path
    at: Stub

    @property
    def environment(self) -> dict[str, str]:
        """What a command finds there."""
        return environment(
            HOME=str(self.place),
            PYTHONPATH=str(self.place / HIDDEN),
            XDG_CONFIG_HOME="",
            DESKMATE_MODEL="",
            ANTHROPIC_API_KEY="none",
            ANTHROPIC_BASE_URL=self.at.url,
            STUB_PORT=str(self.at.port),
        )

    def run(self, command: Sequence[str]) -> str:
        """Run a command to its end; return what it printed. Raises RunFailed."""
        done = subprocess.run(
            command,
            cwd=self.place,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode:
            raise RunFailed(f"{' '.join(command[:4])} failed:\n{done.stderr}")
        return done.stdout


def _room(folder: Path, at: Stub) -> Room:
    for place in map(Path, deskmate.__path__):
        compileall.compile_dir(place, quiet=1)
    (folder / HIDDEN).mkdir()
    for name in TEST_ONLY:
        (folder / HIDDEN / f"{name}.py").write_text("raise ImportError('hidden: only the tests need it')\n")
    (folder / FILE).write_text(CONTENT)
    return Room(folder, at)


# -- start ----------------------------------------------------------------------------------------


def ask_start(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure the start of the command, of a bare request and of Python alone, in turns."""
    taken: dict[str, list[int]] = {"deskmate run": [], "one bare request": [], "python -c pass": []}
    say(f"start: {size.starts} times each")
    with stub() as at:
        room = _room(folder, at)
        for number in range(-1, size.starts):
            found = (_until_asked(room, ASK), _until_asked(room, (sys.executable, "-c", POST)), _until_ended(room))
            # The first of all fills the caches of the disk.
            for name, nanoseconds in zip(taken, found, strict=True):
                taken[name] += [nanoseconds] if number >= 0 else []
    p50 = {name: percentile(found, 0.5) for name, found in taken.items()}
    columns = [
        Column("process"),
        Column("p50 ms", "{:.1f}"),
        Column("p99 ms", "{:.1f}"),
        Column("x bare request", "{:.2f}"),
    ]
    rows = [
        (name, p50[name], percentile(found, 0.99), times(p50[name], p50["one bare request"]))
        for name, found in taken.items()
    ]
    notes = ("From the start of the process to the first byte of its request, or to its end where it sends none.",)
    table = Table("Start: from nothing to the first request", columns, rows, notes)
    return Answer([table], [below("start to first request, p50", p50["deskmate run"], START_MS, "ms")])


def _until_asked(room: Room, command: Sequence[str]) -> int:
    began = time.monotonic_ns()
    room.run(command)
    return room.at.arrival() - began


def _until_ended(room: Room) -> int:
    began = time.monotonic_ns()
    room.run(NOTHING)
    return time.monotonic_ns() - began


# -- memory ---------------------------------------------------------------------------------------


def ask_memory(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure the most memory that a run of two steps takes, beside Python alone."""
    say("memory")
    with stub() as at:
        room = _room(folder, at)
        peaks = {"deskmate run": _peak(room, ASK), "python -c pass": _peak(room, NOTHING)}
    columns = [Column("process"), Column("peak MB", "{:.1f}"), Column("x python", "{:.2f}")]
    rows = [(name, peak, times(peak, peaks["python -c pass"])) for name, peak in peaks.items()]
    table = Table("Memory: the largest resident set, run of two steps and one call", columns, rows)
    return Answer([table], [below("peak memory of deskmate run", peaks["deskmate run"], PEAK_MB, "MB")])


def _peak(room: Room, command: Sequence[str]) -> float:
    """Return the peak of a command's resident set in megabytes."""
    code, kilobytes = map(int, room.run((sys.executable, "-I", "-S", "-c", SPAWN, *command)).split())
    if code:
        raise RunFailed(f"{' '.join(command[:4])} ended with status {code}")
    return kilobytes * 1024 / 1e6
