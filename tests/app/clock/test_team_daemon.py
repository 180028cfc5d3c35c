"""The daemon starts teams when something is due, and only then. It is the team that does what is due, once."""

import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from deskmate.app.clock.schedule_actions import look_at_schedules
from deskmate.app.clock.team_daemon import AGAIN_SECONDS, TeamDaemon
from deskmate.app.detached.lead_process import LeadOrder, start
from deskmate.core.log.names import LEAD, SCHEDULE, USER, log
from deskmate.core.log.records import Record
from deskmate.core.schedule.schedules import ScheduleCreated, ScheduleDone, ScheduleDue, ScheduleEvent
from deskmate.core.team.messages import Scheduled
from deskmate.errors import Refused
from deskmate.models.scripted import Say
from deskmate.queries.stream_reader import Reading
from deskmate.queries.team_results import look_at_result
from deskmate.queries.team_view import look_at_teams
from deskmate.testing import Asked, FakeClock, Scenario
from tests.faces.disk_teams import OpenTeam, founded, hands, in_team
from tests.faces.mcp.team_client import lead_processes, no_leads_left
from tests.runtime.team_process import until

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("schedules")]

BEGUN = 1_700_000_000.0
CREATED = ScheduleCreated(schedule=1, by="user", at=BEGUN, every=600.0, zone="UTC", content="Look.")
DUE = ScheduleDue(schedule=1, due=BEGUN + 600, at=BEGUN + 600)


def scheduled(folder: Path, *events: ScheduleEvent, team: str = "main") -> Path:
    """Found a team with these records of schedules; return its workspace."""

    async def append(opened: OpenTeam) -> None:
        for event in events:
            await opened.writer.append(SCHEDULE, event.body())

    founded(folder, team)
    in_team(folder, append, team)
    return folder


class Started:
    """A daemon on a clock that a test moves, and which teams it started."""

    def __init__(self, folder: Path, *, own: bool = True, refuses: str = "") -> None:
        self.clock, self.teams, self.told = FakeClock(BEGUN), list[str](), list[str]()
        self._refuses = refuses
        self.daemon = TeamDaemon(folder, lambda team: own, self._start, self.told.append, self.clock)

    async def _start(self, team: str) -> None:
        self.teams.append(team)
        if self._refuses:
            raise Refused(self._refuses)


def test_it_starts_a_team_when_something_is_due_and_waits_until_then(tmp_path: Path) -> None:
    started = Started(scheduled(tmp_path, CREATED))
    assert anyio.run(started.daemon.look) == 600.0
    started.clock.advance(599)
    assert (anyio.run(started.daemon.look), started.teams) == (1.0, [])
    started.clock.advance(1)
    anyio.run(started.daemon.look)
    assert started.teams == ["main"]


@pytest.mark.parametrize(
    ("events", "own"),
    [([], True), ([CREATED], False), ([CREATED, DUE, ScheduleDone(schedule=1, times=1, at=BEGUN + 600)], True)],
)
def test_it_starts_no_team_without_schedules_of_somebody_else_or_with_nothing_to_do(
    events: list[ScheduleEvent], own: bool, tmp_path: Path
) -> None:
    started = Started(scheduled(tmp_path, *events), own=own)
    started.clock.advance(600)
    anyio.run(started.daemon.look)
    assert started.teams == []


def test_it_starts_a_team_that_was_killed_before_it_did_what_was_due(tmp_path: Path) -> None:
    started = Started(scheduled(tmp_path, CREATED, DUE))
    started.clock.advance(601)
    anyio.run(started.daemon.look)
    assert started.teams == ["main"]


def test_it_starts_a_team_whose_lead_was_killed_before_it_read_what_it_was_told(tmp_path: Path) -> None:
    scheduled(tmp_path, CREATED, DUE, ScheduleDone(schedule=1, times=1, at=BEGUN + 600))

    async def tell(opened: OpenTeam) -> None:
        message = Scheduled(schedule=1, content="Look.", due="now")
        await opened.mailbox(USER).send(LEAD, message, id_="schedule/1/1")

    in_team(tmp_path, tell)
    started = Started(tmp_path)
    started.clock.advance(601)
    anyio.run(started.daemon.look)
    assert started.teams == ["main"]


def test_a_team_that_cannot_be_started_is_tried_again_after_a_while_and_it_says_why(tmp_path: Path) -> None:
    started = Started(scheduled(tmp_path, CREATED), refuses="no key")
    started.clock.advance(600)
    for _ in range(3):
        anyio.run(started.daemon.look)
    assert (started.teams, ["no key" in line for line in started.told]) == (["main"], [True])
    started.clock.advance(AGAIN_SECONDS)
    anyio.run(started.daemon.look)
    assert len(started.teams) == 2


def test_a_team_that_runs_is_left_alone(tmp_path: Path) -> None:
    started = Started(scheduled(tmp_path, CREATED))
    started.clock.advance(600)

    async def hold(opened: OpenTeam) -> None:
        async with opened.writer.store.hold(LEAD, "a process"):
            await started.daemon.look()

    in_team(tmp_path, hold)
    assert started.teams == []


async def test_two_daemons_have_a_team_do_what_is_due_once_also_if_its_lead_is_killed(tmp_path: Path) -> None:
    """Real processes. The schedule was made an hour ago, so it is due as soon as somebody looks."""
    killed = list[int]()

    def answers(asked: Asked) -> Say:
        if "Look." in asked.texts[-1] and not killed:
            killed.extend(lead_processes(team.workspace))
            os.kill(killed[0], signal.SIGKILL)
        return Say("I looked." if "Look." in asked.texts[-1] else "Hello.")

    async with Scenario(tmp_path, answers) as team:
        place = team.workspace
        with no_leads_left(place):
            await start(place, LeadOrder(goal="Hello?", settings=OWN))
            await until(_stopped(place))
            await in_own_team(place, _made_an_hour_ago)

            async def begin(name: str) -> None:
                await start(place, LeadOrder(team=name, continues=True, by_clock=True, settings=OWN))

            told = list[str]()
            daemons = [TeamDaemon(place, lambda name: True, begin, told.append) for _ in range(2)]
            for _ in range(3):
                async with anyio.create_task_group() as tasks:
                    for daemon in daemons:
                        tasks.start_soon(daemon.look)
                await until(_stopped(place))
            (one,) = (await look_at_schedules(place, None, all_=True)).schedules
    assert (one.schedule.times, one.schedule.open, len(killed)) == (1, None, 1)
    assert look_at_result(place, "main").answer == "I looked."
    assert sum(line.startswith("started team main") for line in told) >= 2
    said = [item.body for item in Reading(place, "main").items(log(LEAD)) if isinstance(item, Record)]
    assert sum(body.get("text") == "I looked." for body in said) == 1


OWN = {"sandbox": False}


def _stopped(place: Path) -> Callable[[], bool]:
    return lambda: not any(one.live for one in look_at_teams(place))


async def in_own_team(place: Path, deed: Callable[[OpenTeam], Awaitable[None]]) -> None:
    async with hands(place) as opened:
        await deed(opened)


async def _made_an_hour_ago(opened: OpenTeam) -> None:
    at = opened.writer.clock.timestamp() - 3600
    created = CREATED.model_copy(update={"at": at, "every": 3000.0, "repeats": False})
    await opened.writer.append(SCHEDULE, created.body())
