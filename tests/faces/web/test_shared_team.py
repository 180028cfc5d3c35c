"""Several pages of one team: it is read once, and each is told everything once."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from deskmate.config import load
from deskmate.core.team.messages import Broadcast, Plain
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import Refused
from deskmate.faces.web.live.shared_team import SharedTeam, SharedTeams
from deskmate.faces.web.live.team_changes import TeamChanges
from deskmate.faces.web.live.versioned import GONE_KEPT, Versioned
from deskmate.runtime.streams.transcript import Transcript
from tests.faces.disk_teams import hands

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("web")]

SOON = 20


@pytest.fixture
def teams(place: Path) -> SharedTeams:
    return SharedTeams(place, load({"HOME": str(place)}))


async def subjects_until(team: SharedTeam, wanted: str) -> list[str]:
    """Return the subjects of tasks as a page is told them, up to a task."""
    changes, found = TeamChanges(team, "lead", 0), list[str]()
    while True:
        _, change = await changes.next()
        found += [task["subject"] for task in change.get("tasks", {}).values()]
        if wanted in found:
            return found
        await changes.wait()


async def test_all_pages_of_a_team_share_it_until_the_last_one_closes(teams: SharedTeams) -> None:
    async with teams.opened("main") as one:
        async with teams.opened("main") as other:
            assert one is other
        async with teams.opened("main") as again:
            assert again is one
    async with teams.opened("main") as later:
        assert later is not one


async def test_each_page_is_told_each_task_once(teams: SharedTeams, place: Path) -> None:
    told: list[list[str]] = []

    async def look() -> None:
        async with teams.opened("main") as team:
            told.append(await subjects_until(team, "the last"))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as pages, hands(place) as team:
            for _ in range(5):
                pages.start_soon(look)
            for number in range(10):
                await team.board.create("lead", NewTask(f"task {number}"))
            await team.board.create("lead", NewTask("the last"))
    assert [sorted(one) for one in told] == [sorted({*told[0]})] * 5
    assert {f"task {number}" for number in range(10)} < {*told[0]}


async def test_a_page_that_closes_while_it_waits_leaves_the_waiting_to_others(teams: SharedTeams, place: Path) -> None:
    with anyio.fail_after(SOON):
        async with teams.opened("main") as shared, hands(place) as team, anyio.create_task_group() as pages:
            first = anyio.CancelScope()

            async def wait() -> None:
                with first:
                    await shared.wait(shared.version)

            pages.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            changes = TeamChanges(shared, "lead", 0)
            await changes.next()
            pages.start_soon(changes.wait)
            first.cancel()
            await team.mailbox("bob").send("alice", Plain(content="still there?"))
            await changes.wait()
            found: dict[str, Any] = (await changes.next())[1]
            while "letters" not in found:
                await changes.wait()
                found = (await changes.next())[1]
            assert [letter["summary"] for letter in found["letters"].values()] == ["still there?"]


async def test_a_message_of_the_user_waits_until_its_reader_has_heard_it(teams: SharedTeams, place: Path) -> None:
    with anyio.fail_after(SOON):
        async with teams.opened("main") as team, hands(place) as opened:
            mailbox = opened.mailbox("user")
            await mailbox.broadcast(("alice", "bob"), Broadcast(content="stop"), id_="user:1.0")
            changes, waiting = TeamChanges(team, "lead", 0), dict[str, list[str]]()
            while not waiting:
                waiting = {one["summary"]: one["unread"] for one in await new_letters(changes) if one["unread"]}
            assert waiting == {"stop": ["alice", "bob"]}
            assert {name: one["unread"] for name, one in team.since(0)["members"].items()} == {
                "lead": 0,
                "alice": 1,
                "bob": 1,
            }
            await opened.mailbox("alice").hear(await Transcript.load(opened.writer, "alice"))
            while waiting["stop"] != ["bob"]:
                waiting = {one["summary"]: one["unread"] for one in await new_letters(changes)} or waiting
            assert team.since(0)["members"]["alice"]["unread"] == 0


async def new_letters(changes: TeamChanges) -> list[dict[str, Any]]:
    """Return the letters that have changed since a page was last told."""
    _, change = await changes.next()
    await changes.wait()
    return [*change.get("letters", {}).values()]


async def test_a_team_that_does_not_exist_is_refused_and_forgotten(teams: SharedTeams) -> None:
    for _ in range(2):
        with pytest.raises(Refused):
            async with teams.opened("nobody"):
                raise AssertionError("there is no such team")


def test_a_page_that_missed_too_much_is_told_everything() -> None:
    values = Versioned()
    values.put(1, "tasks", {str(number): {"id": number} for number in range(GONE_KEPT + 1)})
    values.put(2, "tasks", {"1": {"id": 1}})
    assert values.since(2) == {}
    values.put(3, "tasks", {})
    assert values.since(2) == {"tasks": {"1": None}}
    assert values.since(1) == {"whole": True}
