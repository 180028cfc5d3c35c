"""The past of a team: its steps, one after the other, make the team as it is now."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskmate.app.attach.team_on_disk import watched
from deskmate.config import load
from deskmate.core.log.names import BOARD
from deskmate.core.log.records import Item
from deskmate.core.team.messages import Broadcast, Plain
from deskmate.core.team.roster_records import MemberIdle, MemberWorking
from deskmate.core.team.task_fields import NewTask, TaskChange
from deskmate.errors import TaskRefused
from deskmate.faces.web.live.shared_team import SharedTeams
from deskmate.faces.web.live.team_replay import TeamPast
from deskmate.faces.web.page_files import page_files, single_file
from deskmate.faces.web.team_export import team_export
from tests.faces.disk_teams import OpenTeam, founded, in_team
from tests.faces.web.page_server import page_server

pytestmark = pytest.mark.behaviour("web-past")

PARTS = ("members", "tasks", "letters")


def team_replay(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the steps of a team, oldest first."""

    async def read() -> list[dict[str, Any]]:
        async with SharedTeams(folder, load({"HOME": str(folder)})).opened(name) as team:
            await team.past.refresh(team.disk)
            return team.past.steps

    return anyio.run(read)


def played_back(steps: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what a page has after all steps."""
    state: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    for step in steps:
        for part in PARTS:
            for key, value in step.get(part, {}).items():
                if value is None:
                    del state[part][key]
                else:
                    state[part][key] = value
    return state


def without_now(members: dict[str, Any]) -> dict[str, Any]:
    """Return members without what only live pages show: what they do now, how full their context is, unread mail."""
    now = ("doing", "context", "unread")
    return {name: {key: value for key, value in one.items() if key not in now} for name, one in members.items()}


async def live(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what the same page has that looks at the team now."""
    async with page_server(folder) as server:
        async for _, change in server.changes("main"):
            found = {part: change.get(part, {}) for part in PARTS}
            return {**found, "members": without_now(found["members"])}
    raise AssertionError("the stream ended")


def check(folder: Path) -> None:
    steps = team_replay(folder, "main")
    times = [step["at"] for step in steps]
    assert times == sorted(times)
    state = played_back(steps)
    state["members"] = without_now(state["members"])
    assert state == anyio.run(live, folder)


def test_all_steps_of_a_team_make_the_team_as_it_is_now(place: Path) -> None:
    check(place)


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["task", "edit", "claim", "release", "complete", "delete", "mail", "all", "work", "idle"]),
        st.integers(1, 6),
    ),
    max_size=30,
)


async def act(team: OpenTeam, actions: list[tuple[str, int]]) -> None:
    names = ("alice", "bob")
    for action, number in actions:
        name = names[number % 2]
        board = await team.board.refresh()
        member = (await team.roster.refresh()).members[name]
        task = board.tasks.get(number)
        try:
            match action:
                case "task":
                    blockers = [number] if number in board.tasks else []
                    await team.board.create("lead", NewTask(f"task {number}", blocked_by=blockers))
                case "edit":
                    await team.board.edit("user", number, TaskChange(subject=f"new {number}"))
                case "claim":
                    await team.board.claim(member, number)
                case "release" | "complete" if task:
                    change = team.board.release if action == "release" else team.board.complete
                    await change(task.owner or name, number, task.epoch)
                case "delete":
                    await team.board.delete("lead", number)
                case "mail":
                    await team.mailbox("lead").send(name, Plain(content=f"words {number}"))
                case "all":
                    await team.mailbox("lead").broadcast(
                        names, Broadcast(content="all"), id_=f"lead:{len(board.tasks)}.{number}"
                    )
                case "work":
                    await team.roster.status(MemberWorking(name=name, at=1.0))
                case "idle":
                    await team.roster.status(MemberIdle(name=name, words="done", at=2.0))
        except TaskRefused:
            pass


@settings(max_examples=25, deadline=None)
@given(ACTIONS)
def test_any_history_played_back_makes_the_present(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, int]]
) -> None:
    folder = founded(tmp_path_factory.mktemp("team"), "main", "alice", "bob")
    in_team(folder, lambda team: act(team, actions))
    check(folder)


def test_a_checker_that_forgets_a_deleted_task_is_noticed(place: Path) -> None:
    async def delete(team: OpenTeam) -> None:
        await team.roster.refresh()
        await team.board.delete("lead", 3)

    in_team(place, delete)
    steps = team_replay(place, "main")
    assert any(value is None for step in steps for value in step.get("tasks", {}).values())
    kept = [{**step, "tasks": {key: value for key, value in step.get("tasks", {}).items() if value}} for step in steps]
    assert played_back(kept)["tasks"] != played_back(steps)["tasks"]


# -- one file ---------------------------------------------------------------------------------------


def test_a_saved_page_has_everything_in_it_and_loads_nothing(place: Path) -> None:
    name, page = team_export(place, None)
    assert name == "main"
    assert 'src="http' not in page
    assert 'src="./' not in page
    assert page.count("<script") == 3
    assert "connect-src" not in page
    assert "default-src 'none'" in page
    for file in page_files():
        assert f'"./{file}"' not in page


def test_no_text_of_an_agent_ends_the_data_of_a_saved_page() -> None:
    text = "</script><script>alert(1)</script><!-- \u2028 ]]>"
    page = single_file(text, {"name": text})
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 3
    data = page.partition('id="saved">')[2].partition("</script>")[0]
    assert json.loads(data) == {"name": text}


async def records_of(folder: Path, team: str) -> dict[str, Sequence[Item]]:
    """Return the records of the board of a team."""
    async with watched(folder, team, load({"HOME": str(folder)})) as opened:
        return {BOARD: await opened.records(BOARD)}


def calls_to_replay(folder: Path, count: int) -> int:
    """Return how many calls the replay of a team with so many tasks takes."""

    async def work(opened: OpenTeam) -> None:
        for number in range(count):
            await opened.board.create("lead", NewTask(f"task {number}", blocked_by=[number] if number else []))

    in_team(founded(folder, f"team-{count}"), work, f"team-{count}")
    made = 0

    def note(_: object, event: str, __: object) -> None:
        nonlocal made
        made += event == "call"

    past, news = TeamPast(), anyio.run(records_of, folder, f"team-{count}")
    sys.setprofile(note)
    try:
        past.take(news)
    finally:
        sys.setprofile(None)
    return made


def test_the_replay_of_twice_as_many_tasks_takes_about_twice_as_many_calls(tmp_path: Path) -> None:
    calls_to_replay(tmp_path, 5)
    assert calls_to_replay(tmp_path, 80) < 2.6 * calls_to_replay(tmp_path, 40)
