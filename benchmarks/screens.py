"""What does the screen cost while everybody rests, and how soon is a key seen while everybody talks?

The program runs at a terminal of its own. Its processor time is read from the system, its output from the terminal.
"""

import asyncio
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.measure import RunFailed, Size, percentile
from benchmarks.report import Answer, Column, Table, below
from benchmarks.stub import environment
from deskmate.core.log.names import LEAD
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.provider_faults import Fault, Slow
from deskmate.testing.team_scripts import member_of

T = TypeVar("T")
MATES = 8
COLUMNS, ROWS = 160, 40
IDLE_PERCENT, KEY_MILLISECONDS = 0.5, 50.0
# Nothing else on the screen has this letter.
KEY = "§".encode()
# Alt-2 watches the first teammate, F7 six conversations.
MATE, GRID = b"\x1b2", b"\x1b[18~"
_REPORT = "# Report\n\nSome **bold** words and `code`.\n\n- one item\n- another item\n\n```python\nx = 1\n```\n\n"
_START_SECONDS, _SETTLE_SECONDS, _PATIENCE_SECONDS = 30.0, 5.0, 5.0
_PAUSE_SECONDS = 0.07


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure a screen with teammates that rest, and one with teammates that talk."""
    say(f"screen: {MATES} teammates that rest, {size.idle_seconds * 4:.0f} s")
    idle, written = asyncio.run(_measure(folder / "idle", _rests, None, lambda at: _rest(at, size.idle_seconds * 4)))
    say(f"screen: {MATES} teammates that talk, {size.wakes} keys")
    one, percent = asyncio.run(_measure(folder / "one", _talks, _slowly, lambda at: _type(at, MATE, size.wakes)))
    six, more = asyncio.run(_measure(folder / "six", _talks, _slowly, lambda at: _type(at, GRID, size.wakes)))
    p99 = percentile(one, 0.99)
    rows = [
        (f"{MATES} rest", idle, written, None, None),
        (f"{MATES} talk, one of them watched", percent, None, percentile(one, 0.5), p99),
        (f"{MATES} talk, six of them watched", more, None, percentile(six, 0.5), percentile(six, 0.99)),
    ]
    columns = [
        Column("teammates"),
        Column("% of a core", "{:.2f}"),
        Column("bytes drawn", "{:,}"),
        Column("key p50 ms", "{:.1f}"),
        Column("key p99 ms", "{:.1f}"),
    ]
    notes = (f"At {COLUMNS}x{ROWS}. A key: from its press until its letter is on the screen.",)
    targets = [
        below(f"screen: {MATES} teammates that rest", idle, IDLE_PERCENT, "% of a core"),
        below(f"screen: a key while {MATES} talk, p99", p99, KEY_MILLISECONDS, "ms"),
    ]
    return Answer([Table("Screen: what it costs, and how soon it answers", columns, rows, notes)], targets)


def _rests(asked: Asked) -> Say:
    return _gathers(asked) if member_of(asked) == LEAD else Say("Ready.")


def _talks(asked: Asked) -> Say:
    return _gathers(asked) if member_of(asked) == LEAD else Say(_REPORT * 200)


def _gathers(asked: Asked) -> Say:
    if len(asked.prompt.passages) > 1:
        return Say("Ready.")
    return Say("They come.", [Use("Task", {"name": f"mate{number}", "prompt": "go"}) for number in range(MATES)])


def _slowly(_: int, asked: Asked) -> Fault | None:
    return None if member_of(asked) == LEAD else Slow(5000, 0.02)


async def _measure(
    folder: Path,
    model: Callable[[Asked], Say],
    faults: Callable[[int, Asked], Fault | None] | None,
    scene: Callable[["Terminal"], T],
) -> T:
    async with FakeProvider(model, faults=faults or {}) as provider:
        return await asyncio.to_thread(_watch, folder, provider.url, scene)


def _watch(folder: Path, url: str, scene: Callable[["Terminal"], T]) -> T:
    folder.mkdir(parents=True)
    with _program(folder, url) as terminal:
        terminal.sees(f"mate{MATES - 1}".encode())
        terminal.read(_SETTLE_SECONDS)
        return scene(terminal)


def _rest(terminal: "Terminal", seconds: float) -> tuple[float, int]:
    """Return how much of a processor a screen takes, and how many bytes it draws."""
    before, start = terminal.processor_seconds, time.monotonic()
    drawn = terminal.read(seconds)
    return 100 * (terminal.processor_seconds - before) / (time.monotonic() - start), drawn


def _type(terminal: "Terminal", watch: bytes, count: int) -> tuple[list[int], float]:
    """Watch by a key, then type. Return the nanoseconds until each letter was seen, and the percentage of a core."""
    terminal.press(watch)
    terminal.read(1.0)
    before, start, found = terminal.processor_seconds, time.monotonic(), []
    for _ in range(count):
        terminal.read(_PAUSE_SECONDS)
        pressed = time.monotonic_ns()
        terminal.press(KEY)
        terminal.sees(KEY)
        found.append(time.monotonic_ns() - pressed)
        # Backspace.
        terminal.press(b"\x7f")
    return found, 100 * (terminal.processor_seconds - before) / (time.monotonic() - start)


@dataclass(frozen=True)
class Terminal:
    """A terminal at which the program runs."""

    process: subprocess.Popen[bytes]
    end: int

    @property
    def processor_seconds(self) -> float:
        """How much processor time the program has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def press(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.end, keys)

    def read(self, seconds: float) -> int:
        """Take in what is drawn for some time; return how many bytes."""
        return sum(map(len, self._drawn(time.monotonic() + seconds)))

    def sees(self, sought: bytes) -> None:
        """Return once something was drawn. Raises RunFailed if it never is."""
        seen = b""
        for drawn in self._drawn(time.monotonic() + _START_SECONDS):
            seen = seen[-len(sought) :] + drawn
            if sought in seen:
                return
        raise RunFailed(f"the screen never showed {sought.decode()}")

    def _drawn(self, deadline: float) -> Iterator[bytes]:
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self.end], [], [], left)[0]:
                yield os.read(self.end, 65536)


@contextmanager
def _program(folder: Path, url: str) -> Iterator[Terminal]:
    """Run the program at a terminal. Its folder is its home too."""
    end, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    settings = {"ANTHROPIC_API_KEY": "sk-bench", "ANTHROPIC_BASE_URL": url, "DESKMATE_MODEL": "anthropic:claude-bench"}
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "TERM": "xterm-256color"}
    process = subprocess.Popen(
        [sys.executable, "-m", "deskmate", "-C", ".", "--no-sandbox", "Gather the team."],
        cwd=folder,
        env=environment(**settings, **home),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    terminal = Terminal(process, end)
    try:
        yield terminal
    finally:
        process.terminate()
        # What it draws at its end must be read, or it would wait for that.
        with suppress(OSError):
            while process.poll() is None:
                terminal.read(_PAUSE_SECONDS)
        process.wait(_PATIENCE_SECONDS)
        os.close(end)
