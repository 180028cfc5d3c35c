"""What does a command cost that only tells something? From the start of its process to its end, beside Python alone."""

import compileall
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import anyio

import deskmate
from benchmarks.measure import RunFailed, Size, alone, percentile, times
from benchmarks.ours import TEAM, Unsynced, open_store
from benchmarks.report import Answer, Column, Table, below
from benchmarks.stub import environment
from deskmate.core.agent.entries import Began, Call, Did, Said, Started
from deskmate.core.log.names import LEAD, SPEND
from deskmate.core.team.members import Member
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import Joined, MemberIdle, MemberWorking
from deskmate.core.team.spending import Spent
from deskmate.core.team.task_fields import NewTask
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.system_clock import SystemClock

NOTHING = "python -c pass"
# By what is typed: the most milliseconds it may take, None for what is only told.
COMMANDS: dict[str, float | None] = {
    "--version": 100.0,
    "--help": 150.0,
    "board": 500.0,
    "teams": None,
    "cost": None,
    "inbox mate-1": None,
    "tail mate-1": None,
}
MATES = 10
RECORDS_A_STEP = 4
SECONDS = 60.0
# Filling a team takes a minute on a busy machine.
FILL_SECONDS = 600.0
STREAMS = {
    "the board": "board",
    "the roster": "roster",
    "transcripts": "*_transcript",
    "mail": "*_inbox",
    "spend": SPEND,
}


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure each command on one large team, and Python alone, in turns."""
    tasks, records = size.large_team
    say(f"faces: a team of {tasks:,} tasks and {records:,} records")
    held = alone(partial(anyio.run, fill, folder, tasks, records), FILL_SECONDS)
    for place in map(Path, deskmate.__path__):
        compileall.compile_dir(place, quiet=1)
    say(f"faces: {size.starts} times each")
    taken: dict[str, list[int]] = {name: [] for name in (NOTHING, *COMMANDS)}
    for number in range(-1, size.starts):
        for name, found in taken.items():
            nanoseconds = _time(folder, _command(name))
            # The first of all fills the caches of the disk.
            found += [nanoseconds] if number >= 0 else []
    p50 = {name: percentile(found, 0.5) for name, found in taken.items()}
    targets = [below(f"{_typed(name)}, p50", p50[name], most, "ms") for name, most in COMMANDS.items() if most]
    return Answer([_table(p50, taken, held)], targets)


def _table(p50: dict[str, float], taken: dict[str, list[int]], held: str) -> Table:
    columns = [
        Column("process"),
        Column("p50 ms", "{:.1f}"),
        Column("p99 ms", "{:.1f}"),
        Column("x python", "{:.2f}"),
    ]
    rows = [
        (_typed(name), p50[name], percentile(found, 0.99), times(p50[name], p50[NOTHING]))
        for name, found in taken.items()
    ]
    notes = ("From the start of the process to its end, its output in a pipe.", f"The team's records: {held}.")
    return Table("Faces: commands that tell something", columns, rows, notes)


def _typed(name: str) -> str:
    return name if name == NOTHING else f"deskmate {name}"


def _command(name: str) -> list[str]:
    if name == NOTHING:
        return [sys.executable, "-c", "pass"]
    # `-C .`: a folder in a repository would otherwise stand for the whole of it, and its teams.
    place = [] if name.startswith("--") else ["-C", "."]
    return [sys.executable, "-m", "deskmate", *place, *name.split()]


def _time(folder: Path, command: Sequence[str]) -> int:
    began = time.monotonic_ns()
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(HOME=str(folder), XDG_CONFIG_HOME="", XDG_STATE_HOME=""),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    took = time.monotonic_ns() - began
    if done.returncode:
        raise RunFailed(f"{' '.join(command[1:])} failed:\n{done.stderr}")
    return took


# -- the team -------------------------------------------------------------------------------------


async def fill(folder: Path, tasks: int, records: int, mates: int = MATES) -> str:
    """Let so many teammates work until there are so many records, and a tenth of the tasks open.

    Return what the records are, in words.
    """
    store = open_store(folder)
    team = _Team(LogWriter(Unsynced(store), SystemClock()))
    await team.gather(mates)
    for before in range(tasks):
        # Chains of ten, each blocked by the one before it.
        await team.board.create(
            LEAD, NewTask(f"port endpoint {before + 1}", blocked_by=[before] if before % 10 else [])
        )
    done = tasks - tasks // 10
    # Beside steps: the task is claimed and done, its owner works and rests, a message goes there and back, both heard.
    steps = math.ceil((records - tasks - done * 8) / (done * RECORDS_A_STEP))
    for number in range(done):
        await team.work(f"mate-{number % mates + 1}", steps)
    store.close()
    counts = {stream: _lines(folder, pattern) for stream, pattern in STREAMS.items()}
    return ", ".join(f"{count:,} in {stream}" for stream, count in counts.items())


def _lines(folder: Path, pattern: str) -> int:
    return sum(file.read_bytes().count(b"\n") for file in folder.glob(f".t*/{TEAM}/{pattern}.jsonl"))


class _Team:
    """A lead and teammates, whose work is written down as it would be if they had models."""

    def __init__(self, writer: LogWriter) -> None:
        self.writer, self.roster = writer, Roster(writer)
        self.board = Board(writer, self.roster)
        self._transcripts: dict[str, Transcript] = {}

    async def gather(self, mates: int) -> None:
        """Found the team and have everybody join."""
        await self.roster.found(TEAM)
        names = [f"mate-{number}" for number in range(1, mates + 1)]
        for name in names:
            await self.roster.join(Joined(name=name, role="dev", at=self._now()))
        for name in (LEAD, *names):
            self._transcripts[name] = await Transcript.load(self.writer, name)
            await self._transcripts[name].record(Started(name=name, prompt="You port endpoints."))

    async def work(self, name: str, steps: int) -> None:
        """Let a teammate do the next task there is."""
        await self._write(LEAD, name, "take what is next")
        await self.roster.status(MemberWorking(name=name, at=self._now()))
        task = await self.board.claim_next(self._member(name))
        assert task, "a task is free"
        for step in range(steps):
            await self._step(name, step)
        await self.board.complete(name, task.id, task.epoch)
        await self._write(name, LEAD, f"#{task.id} is done, its tests pass")
        await self.roster.status(MemberIdle(name=name, at=self._now(), heard=0))

    async def _step(self, name: str, step: int) -> None:
        transcript = self._transcripts[name]
        call = Call(tool="bash", arguments={"command": f"python -m pytest tests/test_{step}.py"})
        said = await transcript.record(Said(text="I run its tests, then I see.", calls=(call,)))
        await transcript.record(Began(calls=(f"{name}:{said}.0",)))
        await transcript.record(Did(call=f"{name}:{said}.0", text="12 passed in 0.31s\n" * 10))
        spent = Spent(member=name, model="anthropic:claude", input=4000, output=90, cost=0.004, at=self._now())
        await self.writer.append(SPEND, spent.body())

    async def _write(self, sender: str, recipient: str, words: str) -> None:
        await Mailbox(sender, self.writer, self.roster).send(recipient, Plain(content=words))
        await Mailbox(recipient, self.writer, self.roster).hear(self._transcripts[recipient])

    def _member(self, name: str) -> Member:
        return self.roster.state.members[name]

    def _now(self) -> float:
        return self.writer.clock.timestamp()
