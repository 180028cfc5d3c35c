"""When entries were written: known from themselves, or from what the same process wrote before and after them."""

import time
from pathlib import Path
from typing import Any

import pytest

from deskmate.core.agent.entries import Began, Call, Did, Said, Started
from deskmate.core.log.records import Record
from deskmate.core.team.roster_records import MemberIdle, MemberWorking
from deskmate.faces.web.live.entry_times import EntryTimes
from deskmate.faces.web.live.transcripts import ITEMS_AT_ONCE
from deskmate.runtime.streams.transcript import Transcript
from deskmate.testing import FakeClock
from tests.faces.disk_teams import hands
from tests.faces.web.page_server import PageServer, page_server

pytestmark = pytest.mark.behaviour("web-past")


def record(number: int, run: object, ordinal: object, kind: str = "said") -> Record:
    return Record(number, {"type": kind, "run": run, "ord": ordinal})


def times_of(known: list[tuple[str, int, float]], *entries: Record) -> dict[int, float]:
    times = EntryTimes()
    for run, ordinal, at in known:
        times.note(record(1, run, ordinal), at)
    return times.of(entries)


def test_an_entry_is_as_old_as_what_its_process_wrote_before_it() -> None:
    known = [("b", 4, 70.0), ("a", 10, 30.0), ("a", 2, 20.0)]
    assert times_of(known, record(1, "a", 3), record(2, "a", 11), record(3, "b", 5)) == {1: 20.0, 2: 30.0, 3: 70.0}


def test_the_end_of_a_call_is_as_late_as_what_came_next() -> None:
    known = [("a", 2, 20.0), ("a", 10, 600.0)]
    entries = (record(1, "a", 3, "began"), record(2, "a", 4, "did"), record(3, "a", 11, "did"))
    assert times_of(known, *entries) == {1: 20.0, 2: 600.0, 3: 600.0}


def test_times_never_go_back_and_unknown_ones_are_those_before() -> None:
    known = [("a", 2, 20.0), ("b", 2, 10.0)]
    entries = (record(1, "c", 1), record(2, "a", 1), record(3, "b", 3), record(4, None, None), record(5, "a", "x"))
    assert times_of(known, *entries) == {1: 0.0, 2: 20.0, 3: 20.0, 4: 20.0, 5: 20.0}


def test_an_entry_that_says_its_time_is_believed() -> None:
    timed = Record(2, {"type": "did", "run": "a", "ord": 4, "at": 25.5})
    odd = Record(3, {"type": "said", "run": "a", "ord": 5, "at": float("inf")})
    assert times_of([("a", 2, 20.0), ("a", 10, 600.0)], record(1, "a", 3), timed, odd) == {1: 20.0, 2: 25.5, 3: 25.5}


async def worked_for_long(place: Path) -> float:
    """Let bob run a command between two status records. Return the time in between."""
    began = time.time()
    clock = FakeClock(began)
    async with hands(place, clock=clock) as team:
        transcript = await Transcript.load(team.writer, "bob")
        await team.roster.status(MemberWorking(name="bob", at=began))
        await transcript.record(Started(name="bob", prompt="You run things."))
        said = await transcript.record(
            Said(text="I run it.", calls=(Call(tool="bash", arguments={"command": "make"}),))
        )
        await transcript.record(Began(calls=(f"bob:{said}.0",)))
        clock.advance(600)
        await transcript.record(Did(call=f"bob:{said}.0", text="it is made"))
        await team.roster.status(MemberIdle(name="bob", words="done", at=began + 600))
        await transcript.record(Said(text="It is made."))
        return began


async def around(server: PageServer, at: float) -> dict[str, Any]:
    answer = await server.client.get(f"/api/teams/main/transcript?member=bob&at={at:.6f}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.anyio
async def test_a_conversation_is_told_with_the_time_of_each_item(place: Path) -> None:
    began = await worked_for_long(place)
    async with page_server(place) as server:
        found = await around(server, began + 60)
    times = [(one["kind"], round(one["since"] - began), round(one["changed"] - began)) for one in found["items"]]
    assert times == [("notice", 0, 0), ("words", 0, 0), ("call", 0, 600), ("words", 600, 600)]
    assert (found["from"], found["until"]) == (None, None)


@pytest.mark.anyio
async def test_of_a_long_conversation_only_the_part_around_the_time_is_told(place: Path) -> None:
    began, words = time.time(), 3 * ITEMS_AT_ONCE
    clock = FakeClock(began)
    async with hands(place, clock=clock) as team:
        transcript = await Transcript.load(team.writer, "bob")
        for number in range(words):
            await team.roster.status((MemberWorking if number % 2 else MemberIdle)(name="bob", at=began + number))
            await transcript.record(Said(text=f"sentence {number}"))
            clock.advance(1)
    async with page_server(place) as server:
        found = await around(server, began + words // 2 + 0.5)
        last = await around(server, began + words)
    assert len(found["items"]) == 2 * ITEMS_AT_ONCE
    assert round(found["from"] - began) == words // 2 + 1 - ITEMS_AT_ONCE // 2
    assert round(found["until"] - began) == words // 2 + ITEMS_AT_ONCE
    assert (len(last["items"]), last["until"]) == (ITEMS_AT_ONCE, None)


@pytest.mark.anyio
@pytest.mark.parametrize("at", ["", "-1", "x", "nan", "1e5", "1" * 16])
async def test_what_is_no_time_is_refused(place: Path, at: str) -> None:
    async with page_server(place) as server:
        answer = await server.client.get(f"/api/teams/main/transcript?member=bob&at={at}")
    assert answer.status_code == 400
