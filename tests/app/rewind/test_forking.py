"""A fork has the conversation up to a point. The old team stays as it is."""

from pathlib import Path

import pytest

from deskmate.app.rewind.forking import Forked, fork
from deskmate.core.agent.entries import Noticed
from deskmate.errors import Refused
from deskmate.queries.member_view import look_at_transcript
from deskmate.queries.team_results import look_at_result
from deskmate.queries.team_view import look_at_board
from deskmate.testing import Asked, Say
from deskmate.testing.team_scripts import add_task, in_turn, member_of, spawn
from deskmate.trust.team_signature import Signing
from tests.app.rewind.rewind_story import begin, go_on, paint, rewinder, settings

pytestmark = pytest.mark.anyio


async def test_a_fork_goes_on_from_before_a_message_and_the_old_team_stays(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=True) as team:
        await team.run("paint red")
        await go_on(team, "main", "paint blue")
        records = {file.name: file.read_bytes() for file in (team.workspace / ".teams/main").glob("*.jsonl")}
        made = await fork(rewinder(team, "main"), 2, settings())
        assert made == Forked("main-2", "main", "paint blue")
        assert Signing(settings().state, team.workspace).signed("main-2")
        assert (await go_on(team, "main-2", "paint green")).text == "Painted red, green."
        assert {file.name: file.read_bytes() for file in (team.workspace / ".teams/main").glob("*.jsonl")} == records
        assert (await go_on(team, "main", "paint grey")).text == "Painted red, blue, grey."
        entries = look_at_transcript(team.workspace, "main-2", "lead").entries
        [notice] = [entry for _, entry in entries if isinstance(entry, Noticed) and entry.away == ""]
        assert "'main-2'" in notice.text
        assert "'main'" in notice.text


async def test_a_fork_that_is_opened_without_a_message_asks_no_model(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=False) as team:
        await team.run("paint red")
        await go_on(team, "main", "paint blue")
        asked = len(team.provider.requests)
        await fork(rewinder(team, "main"), 2, settings(), "again")
        outcome = await team.resume()
        assert (outcome.outcome.team, outcome.outcome.text) == ("again", "Painted red.")
        assert len(team.provider.requests) == asked


async def test_a_fork_of_a_team_with_teammates_and_tasks_begins_without_them(tmp_path: Path) -> None:
    def lead(asked: Asked) -> Say:
        return in_turn(Say(calls=[spawn("alice"), add_task("sweep", owner="lead")]), Say("Hired."))(asked)

    def play(asked: Asked) -> Say:
        if member_of(asked) == "alice":
            return Say("Here.")
        return paint(asked) if "paint" in str(asked.prompt.passages) else lead(asked)

    async with begin(tmp_path, in_git=True, script=play) as team:
        await team.run("hire")
        await go_on(team, "main", "paint blue")
        await fork(rewinder(team, "main"), 3, settings())
        outcome = await go_on(team, "main-2", "paint green")
        board, streams = look_at_board(team.workspace, "main-2").board, await team.streams("main-2")
    assert (outcome.text, outcome.tasks, board.tasks) == ("Painted green.", (), {})
    assert list(streams.roster.members) == ["lead"]


async def test_results_of_a_fork_are_its_own_work(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=True) as team:
        await team.run("paint red")
        await go_on(team, "main", "paint blue")
        await fork(rewinder(team, "main"), 2, settings(), "other")
        await go_on(team, "other", "paint green")
        results = [look_at_result(team.workspace, name) for name in ("main", "other")]
    assert [(one.files, one.spent.calls, one.answer) for one in results] == [
        (("blue.txt", "red.txt"), 4, "Painted red, blue."),
        (("green.txt",), 2, "Painted red, green."),
    ]


async def test_a_point_without_a_message_and_a_taken_name_are_refused(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=True) as team:
        await team.run("paint red")
        await rewinder(team).restore(1, force=True)
        with pytest.raises(Refused):
            await fork(rewinder(team), 2, settings())
        with pytest.raises(Refused):
            await fork(rewinder(team), 1, settings(), "main")


async def test_a_name_that_cannot_be_used_is_refused_with_the_reason(tmp_path: Path) -> None:
    async with begin(tmp_path, in_git=False) as team:
        await team.run("paint red")
        with pytest.raises(Refused, match="There is already a team 'main'"):
            await fork(rewinder(team, "main"), 1, settings(), "main")
        (team.workspace / ".teams/odd").mkdir()
        (team.workspace / ".teams/odd/notes.txt").write_text("mine\n")
        with pytest.raises(Refused, match=r"contains notes\.txt"):
            await fork(rewinder(team, "main"), 1, settings(), "odd")
