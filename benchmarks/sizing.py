"""How many teammates does a store carry? One team over several processes, on files and on servers.

Each teammate has one task: its model completes it, writes to a colleague, then says so. The models are simulated and
take a second for each answer, so what is measured is the store and Deskmate. The processes stand for hosts.
"""

import json
import re
import time
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.to_thread

from benchmarks.desk import TEAM
from benchmarks.mates import COUNTED, Noting, resident, until
from benchmarks.measure import Gate, Size, alone, side_by_side
from benchmarks.report import Answer, Column, Table
from benchmarks.stub import TALKS
from deskmate.app.build import team_parts_of
from deskmate.app.parts.asked_models import client_of
from deskmate.config import load
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.prompt.prompts import CallBlock, Prompt, Reply, ResultBlock, TextBlock
from deskmate.core.team.caps import Caps
from deskmate.core.team.roster_records import Joined, PolicySet
from deskmate.core.team.status import Idle
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import BoardState, TaskStatus
from deskmate.ports import Launcher
from deskmate.runtime.events import Feed
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_players import TeamPlayers
from deskmate.runtime.team_state import TeamState
from deskmate.stores.engines.engine_table import engine_of
from deskmate.testing.servers.nats_servers import NatsServers, nats_program
from deskmate.testing.servers.postgres_server import PostgresServer, postgres_programs
from deskmate.testing.servers.storm_place import StormServer, new_server
from deskmate.workspace.sandbox.mounts import Level, Sandbox

THINKS_SECONDS = 1.0
Row: TypeAlias = tuple[str | int | float | None, ...]
_TASK = re.compile(r"#(\d+)")


@dataclass(frozen=True)
class Host:
    """What one process of a team came to. `done`: the tasks it saw completed."""

    gathering: float
    took: float
    done: int
    megabytes: float
    cpu: float


@dataclass(frozen=True)
class Stored:
    """What a store has at the end. Queries: of PostgreSQL, since it began."""

    records: int
    size: int
    queries: int | None = None


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Let teams of several sizes work on every store whose server is installed."""
    kinds = ["files"]
    kinds += ["postgres"] if postgres_programs() else []
    kinds += ["nats"] if nats_program() else []
    rows = []
    for kind in kinds:
        for teammates in size.hundreds:
            say(f"sizing: {teammates:,} teammates in {size.hosts} processes on {kind}")
            rows.append(_row(folder, kind, teammates, size))
    return Answer([_table(rows, size)], [])


def _row(folder: Path, kind: str, teammates: int, size: Size) -> Row:
    home = folder / f"{kind}-{teammates}"
    home.mkdir()
    with new_server(None if kind == "files" else kind) as server:
        gate = Gate(parties=size.hosts, writers=size.hosts)
        url = server.url if server else None
        join = alone(partial(anyio.run, _found, home, url, teammates, size.hosts), 3 * size.crowd_seconds)
        jobs = [partial(anyio.run, _host, home, url, host, teammates, size, gate) for host in range(size.hosts)]
        hosts: list[Host] = side_by_side(jobs, 60 + 4 * size.crowd_seconds)
        stored = _stored(home, server)
    took, done = max(host.took for host in hosts), max(host.done for host in hosts)
    return (
        kind,
        teammates,
        join * 1000,
        max(host.gathering for host in hosts),
        done,
        took,
        stored.records / teammates,
        stored.size / teammates,
        stored.queries / teammates if stored.queries is not None else None,
        sum(host.megabytes for host in hosts),
        sum(host.cpu for host in hosts) / teammates * 1000,
    )


def _table(rows: list[Row], size: Size) -> Table:
    columns = [
        Column("store"),
        Column("teammates", "{:,}"),
        Column("join ms", "{:.1f}"),
        Column("start s", "{:.1f}"),
        Column("tasks done", "{:,}"),
        Column("work s", "{:.1f}"),
        Column("records each", "{:,.0f}"),
        Column("bytes each", "{:,.0f}"),
        Column("queries each", "{:,.0f}"),
        Column("resident MB", "{:,.0f}"),
        Column("CPU ms each", "{:,.0f}"),
    ]
    seconds = f"{THINKS_SECONDS:.0f} s"
    notes = (
        f"One team in {size.hosts} processes, one task for each teammate. A task takes two calls of {seconds} each,",
        f"and is completed after the first: work takes {seconds} at least. It is cut after {size.crowd_seconds:.0f} s.",
        "Join: one teammate and its task are recorded. Start: all begin, answer once and rest.",
        "CPU: of the processes, without that of the server.",
    )
    return Table("Sizing: one team of many teammates", columns, rows, notes)


# -- one process ----------------------------------------------------------------------------------


class _Elsewhere:
    """Plays nobody: another process plays this teammate."""

    async def play(self, name: str) -> None:
        await anyio.sleep_forever()


async def _host(home: Path, url: str | None, number: int, teammates: int, size: Size, gate: Gate) -> Host:
    """Play the teammates of one process until all tasks are done, or the time is up."""
    began, worked = time.monotonic(), time.process_time()
    async with _team(home, url, number, teammates) as (state, launchers), task_group() as tasks:
        await anyio.to_thread.run_sync(gate.begin)
        tasks.start_soon(TeamPlayers(state, launchers, tasks).keep)
        with anyio.move_on_after(size.crowd_seconds):
            await until(state, lambda roster: all(isinstance(one.status, Idle) for one in roster.teammates))
        gathering, start = time.monotonic() - began, time.monotonic()
        if number == 0:
            await state.board.complete(LEAD, 1, (await state.board.refresh()).tasks[1].epoch)
        with anyio.move_on_after(size.crowd_seconds):
            while _done(board := await state.board.refresh()) <= teammates:
                await state.writer.store.changed({"board": board.number})
        took, done = time.monotonic() - start, _done(state.board.state) - 1
        found = Host(gathering, took, done, resident(), time.process_time() - worked)
        # Otherwise the others see its teammates leave, and its share of the memory is gone.
        await anyio.to_thread.run_sync(gate.begin)
        tasks.cancel_scope.cancel()
    return found


def _done(board: BoardState) -> int:
    return sum(task.status is TaskStatus.COMPLETED for task in board.tasks.values())


@asynccontextmanager
async def _team(
    home: Path, url: str | None, number: int, teammates: int
) -> AsyncIterator[tuple[TeamState, dict[str, Launcher]]]:
    """Lend the team in one process, with launchers that play only the teammates of this process."""
    settings = load({"HOME": str(home), "OPENAI_API_KEY": "none"}).model_copy(update={"model": f"openai:{TALKS}"})
    with closing(engine_of(url, home)) as engine, closing(engine.open(TEAM, create=True)) as store:
        writer = LogWriter(store, SystemClock())
        roster = Roster(writer)
        state = TeamState(writer, roster, Board(writer, roster), Budget(writer, Caps(steps=99)), Feed())
        async with client_of(settings) as client:
            parts = team_parts_of(home, TEAM, settings, state, client, Sandbox(Level.NONE))
            model = Noting(partial(_answer, teammates))
            ours: Launcher = replace(parts, models=lambda _: model)
            yield state, {"inline": _Elsewhere(), f"host{number}": ours}


async def _found(home: Path, url: str | None, teammates: int, hosts: int) -> float:
    """Make the team, its teammates and their tasks. Return how long the joining of one took."""
    async with _team(home, url, 0, teammates) as (state, _):
        began = time.monotonic()
        await _join_all(state, teammates, hosts)
        return (time.monotonic() - began) / teammates


async def _join_all(state: TeamState, teammates: int, hosts: int) -> None:
    await state.roster.found(TEAM)
    await state.roster.permit(PolicySet(by=LEAD, mode=Mode.DONT_ASK, attended=False, at=state.writer.clock.timestamp()))
    for one in range(teammates):
        at = state.writer.clock.timestamp()
        await state.roster.join(
            Joined(name=f"m{one}", role="hand", prompt="Wait.", launcher=f"host{one % hosts}", at=at)
        )
    await state.board.create(LEAD, NewTask("begin", owner=LEAD))
    for one in range(teammates):
        await state.board.create(LEAD, NewTask(f"part {one}", blocked_by=frozenset({1})))


async def _answer(teammates: int, prompt: Prompt) -> Reply:
    """Complete the task and write to a colleague, then say so. The first prompt and mail are answered at once."""
    blocks = prompt.passages[-1].blocks
    found = _TASK.search("\n".join(block.text for block in blocks if isinstance(block, TextBlock)))
    if any(isinstance(block, ResultBlock) for block in blocks):
        await anyio.sleep(THINKS_SECONDS)
        return Reply((TextBlock("Done."),), usage=COUNTED)
    if found is None:
        return Reply((TextBlock("Noted."),), usage=COUNTED)
    await anyio.sleep(THINKS_SECONDS)
    task = int(found[1])
    done = {"taskId": str(task), "status": TaskStatus.COMPLETED}
    mail = {"recipient": f"m{task * 7 % teammates}", "content": "My part is done.", "summary": "part done"}
    calls = CallBlock(f"done_{task}", "TaskUpdate", done), CallBlock(f"mail_{task}", "SendMessage", mail)
    return Reply(calls, usage=COUNTED)


# -- what is stored -------------------------------------------------------------------------------


def _stored(home: Path, server: StormServer | None) -> Stored:
    """Return what a store has, as it counts itself."""
    if isinstance(server, PostgresServer):
        # Statistics are written a second after the last query.
        time.sleep(1.5)
        numbers = server.sql(
            "SELECT sum(last) FROM deskmate.stream",
            "SELECT pg_total_relation_size('deskmate.record')",
            "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()",
        ).split()
        return Stored(*map(int, numbers))
    if isinstance(server, NatsServers):
        monitor = server.url.partition("monitor=")[2].split(",")[0]
        with urllib.request.urlopen(f"{monitor}/jsz", timeout=10) as answer:
            found = json.load(answer)
        return Stored(found["messages"], found["bytes"])
    files = [path for top in (".teams", ".tasks") for path in (home / top).rglob("*.jsonl")]
    contents = [path.read_bytes() for path in files]
    return Stored(sum(text.count(b"\n") for text in contents), sum(map(len, contents)))
