"""A process that keeps the schedules of a team while virtual time passes: `FOLDER`.

All processes of a folder share one clock: its reading is the size of a file, in minutes. Each process lets a minute
pass, then looks. So the clock never stands still, and two processes see nearly the same time.
"""

import os
import sys
from pathlib import Path

import anyio
import anyio.lowlevel

from deskmate.runtime.schedules.schedule_keeper import ScheduleKeeper
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock
from deskmate.stores.jsonl_store import JsonlStore

# 2026-10-24 22:00 UTC: clocks in Berlin go back three hours later.
BEGUN = 1_792_879_200.0
CLOCK = "minutes"


class SharedClock(SystemClock):
    """Time that passes when a process says so."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def timestamp(self) -> float:
        """Return the shared time."""
        return BEGUN + 60.0 * self._file.stat().st_size

    def pass_minute(self) -> None:
        """Let a minute pass for all processes."""
        with self._file.open("ab") as file:
            file.write(b".")


class KeptTeam:
    """What a keeper needs of a team."""

    def __init__(self, store: JsonlStore, clock: SharedClock) -> None:
        self.writer = LogWriter(store, clock)
        self.roster = Roster(self.writer)
        self.board = Board(self.writer, self.roster)


async def keep(folder: Path, minutes: int) -> None:
    """Keep the schedules of a team until so many minutes have passed."""
    clock, store = SharedClock(folder / CLOCK), JsonlStore.open(folder, "main")
    try:
        keeper = ScheduleKeeper(KeptTeam(store, clock))  # type: ignore[arg-type]
        while (clock.timestamp() - BEGUN) / 60.0 < minutes:
            clock.pass_minute()
            await keeper.act()
            await anyio.lowlevel.checkpoint()
    finally:
        store.close()


if __name__ == "__main__":
    os.nice(5)
    anyio.run(keep, Path(sys.argv[1]), int(sys.argv[2]))
