"""What does a teammate cost? Mail to one that rests, its leaving, its coming, its memory, and what rest takes."""

import gc
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from benchmarks.desk import TEAM
from benchmarks.mates import Mates, Noting, at_once, mates, resident, until, write
from benchmarks.measure import Size, alone, percentile
from benchmarks.report import Answer, Column, Table, below
from benchmarks.stub import Stub, stub
from deskmate.core.team.members import RosterState
from deskmate.core.team.messages import Plain, ShutdownRequest
from deskmate.core.team.status import Idle
from deskmate.runtime.team_state import TeamState

INLINE, PROCESS = "inline", "process"
DELIVERY_MS = {INLINE: 5.0, PROCESS: 50.0}
LEAVING_MS = 100.0
SPAWN_MS = {INLINE: 30.0, PROCESS: 500.0}
INLINE_KB, PROCESS_MB = 300.0, 60.0
IDLE_PERCENT = 1.0
SETTLE_SECONDS = 2.5
# A thousand take a while on a busy machine.
GATHER_SECONDS = 300.0
MATE = "mate"


@dataclass(frozen=True)
class Figures:
    """How long something took, in milliseconds: between whom, and among how many teammates."""

    where: str
    teammates: int
    p50: float
    p99: float


def _figures(where: str, teammates: int, nanoseconds: Sequence[int]) -> Figures:
    return Figures(where, teammates, percentile(nanoseconds, 0.5), percentile(nanoseconds, 0.99))


def _table(title: str, figures: Sequence[Figures], notes: Sequence[str]) -> Table:
    columns = [Column("teammate"), Column("of", "{:,}"), Column("p50 ms", "{:.2f}"), Column("p99 ms", "{:.2f}")]
    return Table(title, columns, [(one.where, one.teammates, one.p50, one.p99) for one in figures], notes)


def _names(count: int) -> list[str]:
    return [f"{MATE}-{number}" for number in range(1, count + 1)]


async def _settle(team: Mates, count: int, *, launcher: str = INLINE) -> None:
    """Have teammates join until there are so many, and return once all of them rest."""
    there = (await team.team_state.roster.refresh()).members
    for name in _names(count):
        if name not in there:
            await team.join(name, launcher=launcher)
    await team.rested(_names(count))


def _room(folder: Path) -> Path:
    folder.mkdir()
    return folder


# -- delivery -------------------------------------------------------------------------------------


def ask_delivery(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure the time from a send to the request it leads to, within a process and across two."""
    figures = []
    for count in size.resting:
        say(f"delivery: to one of {count:,} that rest in this process")
        home = _room(folder / f"{INLINE}-{count}")
        figures.append(_figures(INLINE, count, alone(partial(anyio.run, _deliver, home, count, size.deliveries))))
    say("delivery: to one that rests in a process of its own")
    with stub() as at:
        across = alone(partial(anyio.run, _deliver_across, _room(folder / PROCESS), at, size.deliveries))
    figures.append(_figures(PROCESS, 1, across))
    notes = (
        "From the start of a synced send by the user to the request of the teammate's model, to its first byte where",
        "that is another process. The others of the team rest as well.",
    )
    table = _table("Delivery: a message to a teammate that rests", figures, notes)
    targets = [
        below(f"delivery, {one.where}, {one.teammates:,}: p99", one.p99, DELIVERY_MS[one.where], "ms")
        for one in figures
        if one.teammates == 1
    ]
    return Answer([table], targets)


async def _deliver(home: Path, count: int, times: int) -> list[int]:
    model = Noting(at_once)
    async with mates(home, model=model) as team:
        await _settle(team, count)
        written = _write_each(team.team_state, random.Random(count).choices(_names(count), k=times))
        return [model.asked[-1] - began async for began in written]


async def _deliver_across(home: Path, at: Stub, times: int) -> list[int]:
    async with mates(home, at=at) as team:
        await _settle(team, 1, launcher=PROCESS)
        at.arrival()
        return [at.arrival() - began async for began in _write_each(team.team_state, _names(1) * times)]


async def _write_each(team_state: TeamState, names: Sequence[str]) -> AsyncIterator[int]:
    """Write to one after the other; yield when each writing began, once that one has heard it and rests again."""
    rng, heard = random.Random(len(names)), Counter[str]()
    for name in names:
        await anyio.sleep(rng.uniform(0.005, 0.02))
        began = await write(team_state, name, Plain(content="Are you there?"))
        heard[name] += 1
        await _rested(team_state, name, heard[name])
        yield began


async def _rested(team_state: TeamState, name: str, heard: int) -> None:
    """Return once someone has heard so much mail and rests again."""

    def rests(roster: RosterState) -> bool:
        member = roster.members[name]
        return isinstance(member.status, Idle) and member.heard >= heard

    await until(team_state, rests)


# -- leaving --------------------------------------------------------------------------------------


def ask_leaving(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure the time from a shutdown request to the record that a resting teammate has left."""
    figures = []
    with stub() as at:
        for launcher, count in ((INLINE, size.leavers), (PROCESS, size.processes)):
            say(f"leaving: {count} teammates, {launcher}")
            taken = alone(partial(anyio.run, _leave, _room(folder / launcher), at, launcher, count))
            figures.append(_figures(launcher, count, taken))
    notes = ("From the start of a synced request by the user to the leaving, as read from the roster.",)
    targets = [below(f"leaving, {one.where}: p99", one.p99, LEAVING_MS, "ms") for one in figures]
    return Answer([_table("Leaving: a teammate that rests is asked to stop", figures, notes)], targets)


async def _leave(home: Path, at: Stub, launcher: str, count: int) -> list[int]:
    async with mates(home, at=at) as team:
        await _settle(team, count, launcher=launcher)
        taken = []
        for name in _names(count):
            await anyio.sleep(0.01)
            began = await write(team.team_state, name, ShutdownRequest(request_id=f"{TEAM}/{name}"))
            await team.left(name)
            taken.append(time.monotonic_ns() - began)
    return taken


# -- spawn ----------------------------------------------------------------------------------------


def ask_spawn(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure the time from a joining to the first byte of the teammate's first request."""
    figures = []
    with stub() as at:
        for launcher, count in ((INLINE, size.spawns), (PROCESS, size.processes)):
            say(f"spawn: {count} teammates, {launcher}")
            taken = alone(partial(anyio.run, _spawn, _room(folder / launcher), at, launcher, count))
            figures.append(_figures(launcher, count, taken))
    notes = ("From the start of the record on the roster to the first byte of the first request.",)
    targets = [
        below(f"spawn to first request, {one.where}: p50", one.p50, SPAWN_MS[one.where], "ms") for one in figures
    ]
    return Answer([_table("Spawn: until a new teammate asks its model", figures, notes)], targets)


async def _spawn(home: Path, at: Stub, launcher: str, count: int) -> list[int]:
    """Have so many join, one after the other; return how long each took to ask."""
    taken = []
    async with mates(home, at=at) as team:
        # The first of all imports what nobody needed before, and opens the connection.
        await team.join("first", launcher=launcher)
        await team.rested(["first"])
        at.arrival()
        for name in _names(count):
            began = time.monotonic_ns()
            await team.join(name, launcher=launcher)
            await team.rested([name])
            taken.append(at.arrival() - began)
    return taken


# -- crowd ----------------------------------------------------------------------------------------


def ask_crowd(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure what teammates that only rest take: memory, and the processor."""
    few, many = size.crowd
    say(f"crowd: {few:,}, then {many:,} teammates in one process")
    gather = partial(anyio.run, _gather, _room(folder / INLINE), size)
    (_, less, idle), (seconds, more, most) = alone(gather, GATHER_SECONDS)
    say(f"crowd: {size.processes} teammates, each in its own process")
    with stub() as at:
        sizes = alone(partial(anyio.run, _gather_processes, _room(folder / PROCESS), at, size.processes))
    each = (more - less) / (many - few) * 1000
    largest = max(sizes)
    columns = [
        Column("teammates"),
        Column("of", "{:,}"),
        Column("resident MB", "{:.1f}"),
        Column("each kB", "{:.0f}"),
        Column("idle, % of a core", "{:.2f}"),
    ]
    rows = [
        (INLINE, few, less, None, idle),
        (INLINE, many, more, each, most),
        (PROCESS, len(sizes), sum(sizes), sum(sizes) / len(sizes) * 1000, None),
    ]
    notes = (
        f"All rest, having answered once; the last {many - few:,} joined and came to that in {seconds:.1f} s.",
        "Each: what one more takes.",
        "The memory of a process counts all that it has mapped, what it shares with the others included.",
    )
    targets = [
        below(f"memory of one more of {many:,} inline", each, INLINE_KB, "kB"),
        below("memory of a teammate's process", largest, PROCESS_MB, "MB"),
        below(f"idle: {few:,} teammates", idle, IDLE_PERCENT, "% of a core"),
    ]
    return Answer([Table("Crowd: teammates that only rest", columns, rows, notes)], targets)


async def _gather(home: Path, size: Size) -> list[tuple[float, float, float]]:
    """Return for each size of a crowd how long its gathering took, its memory, and what its rest takes."""
    found = []
    async with mates(home, model=Noting(at_once)) as team:
        for count in size.crowd:
            began = time.monotonic()
            await _settle(team, count)
            gathered = time.monotonic() - began
            await anyio.sleep(SETTLE_SECONDS)
            gc.collect()
            found.append((gathered, resident(), await _idle(size.idle_seconds)))
    return found


async def _gather_processes(home: Path, at: Stub, count: int) -> list[float]:
    """Return the memory of each process of so many teammates that rest."""
    async with mates(home, at=at) as team:
        await _settle(team, count, launcher=PROCESS)
        await anyio.sleep(SETTLE_SECONDS)
        return [resident(team.process_of(name)) for name in _names(count)]


async def _idle(seconds: float) -> float:
    """Return in percent of a core what this process does meanwhile."""
    worked = time.process_time()
    await anyio.sleep(seconds)
    return 100 * (time.process_time() - worked) / seconds
