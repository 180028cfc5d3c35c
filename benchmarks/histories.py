"""How much memory does a long history take? All that a lead's process reads when it goes on with a team.

python -m benchmarks.histories FOLDER      read the team there, and end
"""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio

from benchmarks.commands import SPAWN
from benchmarks.faces import FILL_SECONDS, SECONDS, fill
from benchmarks.measure import RunFailed, Size, alone
from benchmarks.ours import open_store
from benchmarks.report import Answer, Column, Table, below
from deskmate.core.log.names import SPEND
from deskmate.core.team import spending
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import Folded, LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.system_clock import SystemClock

BYTES_A_BYTE = 4.0
SMALL = (10, 200)


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure the largest resident set of who reads a small and a large team; the difference is the records'."""
    rows, found = [], []
    for name, (tasks, records) in (("small", SMALL), ("large", size.large_team)):
        place = folder / name
        place.mkdir()
        say(f"records: a team of {tasks:,} tasks and {records:,} records")
        alone(partial(anyio.run, fill, place, tasks, records), FILL_SECONDS)
        megabytes = sum(file.stat().st_size for file in place.glob(".t*/*/*.jsonl")) / 1e6
        found.append((megabytes, _peak(place)))
        rows.append((name, *found[-1]))
    (less, low), (more, high) = found
    ratio = (high - low) / (more - less)
    columns = [Column("team"), Column("records MB", "{:.1f}"), Column("peak MB", "{:.1f}")]
    notes = (f"{ratio:.2f} bytes of memory for each byte of records: roster, board, spending and every transcript.",)
    table = Table("Records: the largest resident set of a process that has read a team", columns, rows, notes)
    return Answer([table], [below("memory for each byte of records", ratio, BYTES_A_BYTE, "bytes")])


def _peak(place: Path) -> float:
    command = [sys.executable, "-I", "-S", "-c", SPAWN, sys.executable, "-m", "benchmarks.histories", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    code, kilobytes = map(int, done.stdout.split())
    if code:
        raise RunFailed(f"reading {place} failed:\n{done.stderr}")
    return kilobytes * 1024 / 1e6


async def _read(place: Path) -> list[Transcript]:
    store = open_store(place)
    writer = LogWriter(store, SystemClock())
    roster = Roster(writer)
    members = (await roster.refresh()).members
    await Board(writer, roster).refresh()
    await Folded(store, SPEND, spending.EMPTY, spending.fold).refresh()
    transcripts = [await Transcript.load(writer, name) for name in members]
    store.close()
    return transcripts


if __name__ == "__main__":
    anyio.run(_read, Path(sys.argv[1]))
