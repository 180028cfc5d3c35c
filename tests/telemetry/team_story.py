"""A whole team at work, and its streams as they could have been read: in the order in which they were written."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from deskmate.core.log.names import ROSTER
from deskmate.core.log.records import Item, Record
from deskmate.core.telemetry.projection import Projection, closing, identity_of, project
from deskmate.core.telemetry.span_values import FinishedSpan
from deskmate.models.scripted.script_prompts import name_in
from deskmate.ports import Store
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import Asked, Say, Scenario, Use
from deskmate.testing.team_scripts import add_task, complete_task, given_task, in_turn, send_mail, spawn

GOAL = "Build the parser, please."
WORDS = "Both parts are done."
TASKS = [add_task("parse", role="reader"), add_task("print", role="writer", blockedBy=[1])]
TEAM = [spawn("alice", role="reader"), spawn("bob", role="writer")]
LOOK = Use("Task", {"prompt": "Look around.", "subagent_type": "Explore", "description": "look"})
LEAD = in_turn(Say(calls=[*TASKS, LOOK]), Say(calls=TEAM), Say("I wait."), then=Say(WORDS))


def mate(asked: Asked) -> Say:
    """Complete the task, and write to the lead about it."""
    if number := given_task(asked):
        return Say(calls=[complete_task(number), send_mail("lead", f"#{number} is done.")])
    return Say("I wait for a task.")


def answer(asked: Asked) -> Say:
    """Answer as a teammate, the subagent or the lead."""
    name = name_in(asked.prompt)
    if not name:
        return Say("There is a parser.")
    return LEAD(asked) if name == "lead" else mate(asked)


async def play(folder: Path, goal: str = GOAL, **settings: object) -> Scenario:
    """Run the story to its end, and return the closed scenario."""
    async with Scenario(folder, answer, **settings) as team:  # type: ignore[arg-type]
        await team.run(goal)
    return team


Written = tuple[str, Record]


async def streams_in(store: Store) -> dict[str, Sequence[Item]]:
    """Return all streams of a team that have spans or count for metrics."""
    roster = await store.read(ROSTER)
    projection, _ = project(Projection(identity_of(roster, ())), ROSTER, roster)
    found: dict[str, Sequence[Item]] = {ROSTER: roster}
    while new := [stream for stream in projection.streams if stream not in found]:
        for stream in new:
            found[stream] = await store.read(stream)
            projection, _ = project(projection, stream, found[stream])
    return found


def in_order(streams: Mapping[str, Sequence[Item]]) -> list[Written]:
    """Return all records in the order of their times, those of the roster first."""
    records = [(stream, item) for stream, items in streams.items() for item in items if isinstance(item, Record)]
    return sorted(records, key=lambda one: (_time(one[1]), one[0] != ROSTER, one[0], one[1].number))


def _time(record: Record) -> float:
    return float(str(record.body.get("at", record.body.get("timestamp", 0))))


def taken(projection: Projection, written: Sequence[Written]) -> tuple[Projection, list[FinishedSpan]]:
    """Return a projection after these records, read as a reader reads them, and the spans that ended."""
    streams: dict[str, list[Record]] = {ROSTER: []}
    for stream, record in written:
        streams.setdefault(stream, []).append(record)
    spans: list[FinishedSpan] = []
    for stream, records in streams.items():
        projection, ended = project(projection, stream, records)
        spans += ended
    return projection, spans


def whole(written: Sequence[Written]) -> tuple[Projection, dict[int, FinishedSpan]]:
    """Return the projection of a finished team, and its spans by id. Raises AssertionError if an id came twice."""
    first = [record for stream, record in written if stream == ROSTER]
    projection, spans = taken(Projection(identity_of(first, ())), written)
    return projection, by_id([*spans, *closing(projection, unfinished=True)])


def by_id(spans: Sequence[FinishedSpan]) -> dict[int, FinishedSpan]:
    """Return spans by their ids. Raises AssertionError if an id came twice."""
    found = {span.span_id: span for span in spans}
    assert len(found) == len(spans), "two spans have one id"
    return found


async def stored(written: Sequence[Written]) -> MemoryStore:
    """Return a store with these records."""
    store = MemoryStore()
    for stream, record in written:
        [number] = await store.append(stream, record.body)
        assert number == record.number
    return store
