"""What does a server cost? The same work on files, on PostgreSQL, and on one and three NATS servers, in one run.

Each server is on this machine with its default settings for safety: every record is on disk before an append returns.
"""

import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import anyio

from benchmarks import makespan
from benchmarks.measure import Gate, Size, alone, percentile, side_by_side
from benchmarks.report import Answer, Column, Table, none_of
from deskmate.core.log.names import mail
from deskmate.core.log.records import Record
from deskmate.core.policy.tool_table import AgentKind, AgentType
from deskmate.core.team.members import Member
from deskmate.core.team.status import Idle
from deskmate.core.team.task_fields import NewTask
from deskmate.ports import Store
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock
from deskmate.stores.engines.engine_table import engine_of
from deskmate.testing.servers.nats_servers import nats_program
from deskmate.testing.servers.postgres_server import postgres_programs
from deskmate.testing.servers.storm_place import StormServer, new_server

TEAM, WORDS = "bench", "x" * 200
_IN_FLIGHT = 20
_SPEED = (0.02, 0.05)
_HANDS = 8
_spaces = count(1)


@dataclass(frozen=True)
class Figures:
    """What one store came to. Times in milliseconds, but for the makespan in seconds."""

    name: str
    append: tuple[float, float]
    together: float
    claims: float
    twice: int
    wake: tuple[float, float]
    makespan: float


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure every store whose server is installed."""
    kinds = ["files"]
    kinds += ["postgres"] if postgres_programs() else []
    kinds += ["nats", "nats-cluster"] if nats_program() else []
    figures = []
    with ExitStack() as running:
        servers = {kind: running.enter_context(new_server(None if kind == "files" else kind)) for kind in kinds}
        for kind, server in servers.items():
            say(f"stores: {kind}")
            figures.append(_figures(folder, kind, server, size))
    return Answer([_table(figures, size)], [none_of("tasks given twice on a server", sum(f.twice for f in figures))])


def _figures(folder: Path, kind: str, server: StormServer | None, size: Size) -> Figures:
    def place() -> tuple[Path, str | None]:
        """Return a new folder and a new space."""
        number = next(_spaces)
        home = folder / f"{kind}-{number}"
        home.mkdir()
        return home, f"{server.url}{'&' if '?' in server.url else '?'}space={number}" if server else None

    took, together = alone(partial(anyio.run, _append, *place(), size.samples))
    rates, twice = zip(*(_claims(*place(), size) for _ in range(size.rounds)), strict=True)
    wakes = _wakes(*place(), size.wakes)
    tasks = makespan.graph(size.graph, _SPEED, seed=size.graph)
    home, url = place()
    seconds, _ = alone(partial(anyio.run, makespan.play, home, tasks, _HANDS, url))
    return Figures(
        kind,
        (percentile(took, 0.5), percentile(took, 0.99)),
        together,
        statistics.median(rates),
        sum(twice),
        (percentile(wakes, 0.5), percentile(wakes, 0.99)),
        seconds,
    )


@asynccontextmanager
async def _opened(home: Path, url: str | None) -> AsyncIterator[Store]:
    with closing(engine_of(url, home)) as engine, closing(engine.open(TEAM, create=True)) as store:
        yield store


def _record(number: int, run: str = "bench") -> dict[str, Any]:
    return {"type": "test", "text": WORDS, "at": time.perf_counter_ns(), "run": run, "ord": number}


async def _append(home: Path, url: str | None, samples: int) -> tuple[list[int], float]:
    """Return how long each append took, and how many per second came through with several at once."""
    async with _opened(home, url) as store:
        took = list[int]()
        await store.append(mail("bob"), _record(0))
        for number in range(1, samples + 1):
            began = time.perf_counter_ns()
            await store.append(mail("bob"), _record(number))
            took.append(time.perf_counter_ns() - began)
        began = time.perf_counter_ns()
        async with anyio.create_task_group() as tasks:
            for writer in range(_IN_FLIGHT):
                tasks.start_soon(_many, store, f"m{writer}", samples // 4)
        return took, _IN_FLIGHT * (samples // 4) * 1e9 / (time.perf_counter_ns() - began)


async def _many(store: Store, member: str, samples: int) -> None:
    for number in range(samples):
        await store.append(mail(member), _record(number, member))


def _claims(home: Path, url: str | None, size: Size) -> tuple[float, int]:
    """Return the claims per second of several processes, and how many tasks were given twice."""
    alone(partial(anyio.run, _add, home, url, size.tasks))
    gate = Gate(parties=size.workers, writers=size.workers)
    workers = [partial(anyio.run, _work, home, url, f"w{number}", gate) for number in range(size.workers)]
    results: list[tuple[int, int, list[int]]] = side_by_side(workers)
    given = Counter(task for _, _, tasks in results for task in tasks)
    seconds = (max(ended for _, ended, _ in results) - results[0][0]) / 1e9
    return len(given) / seconds, sum(times > 1 for times in given.values())


async def _add(home: Path, url: str | None, tasks: int) -> None:
    async with _opened(home, url) as store:
        board = _board(store)
        for task in range(tasks):
            await board.create("lead", NewTask(f"task {task}"))


async def _work(home: Path, url: str | None, worker: str, gate: Gate) -> tuple[int, int, list[int]]:
    async with _opened(home, url) as store:
        board, tasks = _board(store), list[int]()
        await board.refresh()
        began = ended = gate.begin()
        for number in count():
            member = Member(f"{worker}-{number}", AgentKind.TEAMMATE, AgentType.GENERAL, "", "", None, Idle())
            if (task := await board.claim_next(member)) is None:
                return began, ended, tasks
            tasks.append(task.id)
            ended = time.perf_counter_ns()
    raise AssertionError("the count does not end")


def _board(store: Store) -> Board:
    writer = LogWriter(store, SystemClock())
    return Board(writer, Roster(writer))


def _wakes(home: Path, url: str | None, wakes: int) -> list[int]:
    """Return how long it took from before an append until another process had read it."""
    gate = Gate(parties=2, writers=1)
    jobs = [partial(anyio.run, _write, home, url, wakes, gate), partial(anyio.run, _listen, home, url, wakes, gate)]
    took: list[int] = side_by_side(jobs)[1]
    return took


async def _write(home: Path, url: str | None, wakes: int, gate: Gate) -> None:
    async with _opened(home, url) as store:
        await store.append(mail("bob"), _record(0))
        gate.begin()
        for number in range(1, wakes + 1):
            # So that the reader waits again.
            await store.changed({mail("alice"): number - 1})
            await store.append(mail("bob"), _record(number))


async def _listen(home: Path, url: str | None, wakes: int, gate: Gate) -> list[int]:
    async with _opened(home, url) as store:
        last, took = 0, list[int]()
        gate.begin()
        for number in range(wakes + 1):
            await store.changed({mail("bob"): last})
            [item] = await store.read(mail("bob"), last)
            last = item.number
            if number and isinstance(item, Record):
                took.append(time.perf_counter_ns() - int(str(item.body["at"])))
            await store.append(mail("alice"), _record(number, "alice"))
        return took


def _table(figures: list[Figures], size: Size) -> Table:
    columns = [
        Column("store"),
        Column("append p50 ms", "{:.2f}"),
        Column("p99", "{:.2f}"),
        Column(f"append/s, {_IN_FLIGHT} at once", "{:,.0f}"),
        Column(f"claims/s, {size.workers} processes", "{:,.0f}"),
        Column("given twice", "{:,}"),
        Column("wake p50 ms", "{:.2f}"),
        Column("p99", "{:.2f}"),
        Column("makespan s", "{:.2f}"),
    ]
    rows = [(one.name, *one.append, one.together, one.claims, one.twice, *one.wake, one.makespan) for one in figures]
    notes = (
        f"{size.samples} appends, median of {size.rounds} round(s) of {size.tasks} claims, {size.wakes} wakes.",
        f"Makespan: {size.graph} tasks by {_HANDS} teammates whose models take {_SPEED[0]} to {_SPEED[1]} s a call.",
        "All servers run on this machine, in the folder for temporary files.",
    )
    return Table("Stores: the same work on files and on servers", columns, rows, notes)
