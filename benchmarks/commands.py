"""What does starting cost? `deskmate run` from the start of its process: until it asks its model, and in memory."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.installed import installed
from benchmarks.measure import RunFailed, Size, percentile, times
from benchmarks.peers import claude_code
from benchmarks.report import Answer, Column, Table, Target, at_most, below
from benchmarks.stub import CONTENT, FILE, Stub, environment, stub

# Of the time that Claude Code takes from its start to its first request.
SHARE = 0.7
# Where it cannot be measured: it takes 365 ms on a machine that starts bare Python in 10 ms.
START_MS = SHARE * 365
PEAK_MB = 60.0
SECONDS = 60.0
NOTHING = ("-c", "pass")
# `-C .`: a folder in a repository would otherwise stand for the whole of it.
ASK = ("-m", "deskmate", "-C", ".", "run", "hi")
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
    """A folder to run commands in, with a home nobody has configured, and the Python that Deskmate is installed for."""

    place: Path
    at: Stub
    python: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a command finds there."""
        return environment(
            HOME=str(self.place),
            PYTHONPATH="",
            XDG_CONFIG_HOME="",
            DESKMATE_MODEL="",
            ANTHROPIC_API_KEY="none",
            ANTHROPIC_BASE_URL=self.at.url,
            STUB_PORT=str(self.at.port),
        )

    def run_python(self, words: Sequence[str]) -> str:
        """Run Python to its end; return what it printed. Raises RunFailed."""
        return self.run([str(self.python), *words], self.environment)

    def run(self, command: Sequence[str], environ: Mapping[str, str]) -> str:
        """Run a command to its end; return what it printed. Raises RunFailed."""
        done = subprocess.run(
            command,
            cwd=self.place,
            env=environ,
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
    place = folder / "place"
    place.mkdir()
    (place / FILE).write_text(CONTENT)
    return Room(place, at, installed(folder))


# -- start ----------------------------------------------------------------------------------------


def ask_start(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure the start of the command, of Claude Code, of a bare request and of Python alone, in turns."""
    say("start: installing the wheel")
    with stub() as at:
        room = _room(folder, at)
        starts = _starts(room, size, say)
        taken: dict[str, list[int]] = {name: [] for name in starts}
        say(f"start: {size.starts} times each")
        for number in range(-1, size.starts):
            for name, start in starts.items():
                began = time.monotonic_ns()
                start()
                ended = time.monotonic_ns()
                nanoseconds = (at.arrival() or ended) - began
                # The first of all fills the caches of the disk.
                taken[name] += [nanoseconds] if number >= 0 else []
    p50 = {name: percentile(found, 0.5) for name, found in taken.items()}
    rival = p50.get(claude_code.NAME, 0.0)
    columns = [
        Column("process"),
        Column("p50 ms", "{:.1f}"),
        Column("p99 ms", "{:.1f}"),
        Column("x bare request", "{:.2f}"),
        Column(f"x {claude_code.NAME}", "{:.2f}"),
    ]
    rows = [
        (name, p50[name], percentile(found, 0.99), times(p50[name], p50["one bare request"]), times(p50[name], rival))
        for name, found in taken.items()
    ]
    notes = (
        "From the start of the process to the first byte of its request, or to its end where it sends none. Deskmate",
        "is installed from its wheel, without the packages that only developers need.",
    )
    table = Table("Start: from nothing to the first request", columns, rows, notes)
    return Answer([table], [_start_target(p50["deskmate run"], rival)])


def _start_target(ours: float, rival: float) -> Target:
    if rival:
        return at_most("start to first request, p50: of Claude Code's", ours / rival, SHARE, "x")
    return below("start to first request, p50", ours, START_MS, "ms")


def _starts(room: Room, size: Size, say: Callable[[str], None]) -> dict[str, Callable[[], object]]:
    """Return what is started, by name."""
    starts: dict[str, Callable[[], object]] = {
        "deskmate run": lambda: room.run_python(ASK),
        "one bare request": lambda: room.run_python(("-c", POST)),
        "python -c pass": lambda: room.run_python(NOTHING),
    }
    if command := claude_code.claude_code(say, installs=size.installs):
        environ = claude_code.claude_environment(room.at, room.place)
        starts[claude_code.NAME] = lambda: room.run(command, environ)
    return starts


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


def _peak(room: Room, words: Sequence[str]) -> float:
    """Return the peak of the resident set of a Python process in megabytes."""
    code, kilobytes = map(int, room.run_python(("-I", "-S", "-c", SPAWN, str(room.python), *words)).split())
    if code:
        raise RunFailed(f"{' '.join(words[:4])} ended with status {code}")
    return kilobytes * 1024 / 1e6
