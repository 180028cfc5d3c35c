"""The team of a file: started as a whole or not at all, and never twice, wherever its start was cut."""

import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from deskmate.app import Feed, Outcome, RunRequest, run
from deskmate.app.runner import reopened
from deskmate.app.team_files.team_file_places import list_team_files, with_team_file
from deskmate.app.team_files.team_set_up import task_key
from deskmate.core.log.names import LEAD, USER
from deskmate.core.team import board_fold, roster_fold
from deskmate.core.team.members import EMPTY, RosterState
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import EMPTY as NO_TASKS
from deskmate.errors import BadInput, Refused
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing import Asked, FakeClock, Say
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.team_scripts import complete_task, given_task
from deskmate.trust.approvals import survey
from tests.agent_files import COMMA_LISTS
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("team-files")]

TEAM = """
words = "Build the page."
[budget]
max_cost = 2
[[members]]
name = "ann"
mode = "bypass"
[[members]]
name = "tess"
type = "test-runner"
[[tasks]]
id = "server"
subject = "Write the server"
owner = "ann"
[[tasks]]
subject = "Test it"
blocked_by = ["server"]
role = "test-runner"
"""


def play(asked: Asked) -> Say:
    task = given_task(asked)
    return Say(calls=[complete_task(task)]) if task and not asked.results else Say("Done.")


def written(harness: AppHarness, text: str = TEAM) -> Path:
    file = harness.place / ".deskmate/teams/web.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    shutil.copytree(COMMA_LISTS, harness.home / ".claude/agents", dirs_exist_ok=True)
    return file


def request(harness: AppHarness, provider: FakeProvider, *, trusts: bool = True) -> RunRequest:
    wanted = harness.wanted(provider, "anthropic", None)
    found = survey(harness.place, wanted.settings.state, reads=trusts)
    return replace(wanted.with_consent(found.whole if trusts else found.consent), team_file="web")


async def roster_of(place: Path, team: str = "web") -> RosterState:
    with closing(JsonlStore.open(place, team)) as store:
        return roster_fold.fold(EMPTY, await store.read("roster"))


async def subjects(place: Path, team: str = "web") -> list[str]:
    with closing(JsonlStore.open(place, team)) as store:
        return [task.subject for task in board_fold.fold(NO_TASKS, await store.read("board")).tasks.values()]


async def words_to_lead(place: Path, team: str = "web") -> list[str]:
    with closing(JsonlStore.open(place, team)) as store:
        items = await store.read(f"mail/{LEAD}")
    bodies = [item.body for item in items if hasattr(item, "body")]
    return [str(body.get("content")) for body in bodies if body.get("sender") == USER]


async def started(harness: AppHarness, *, trusts: bool = True) -> Outcome:
    async with FakeProvider(play) as provider:
        return await run(with_team_file(request(harness, provider, trusts=trusts)), Feed())


async def test_a_team_file_starts_its_members_with_their_tasks_and_first_words(harness: AppHarness) -> None:
    written(harness)
    outcome = await started(harness)
    assert (outcome.team, outcome.end) == ("web", "answered")
    assert [task.status for task in outcome.tasks] == ["completed"] * 2
    roster = await roster_of(harness.place)
    assert [(one.name, one.role) for one in roster.teammates] == [("ann", ""), ("tess", "test-runner")]
    assert roster.modes.get("ann") is None
    assert roster.members["tess"].base_tools == ("bash", "read_file", "edit_file")
    assert await words_to_lead(harness.place) == ["Build the page."]


@pytest.mark.behaviour("resume")
@pytest.mark.parametrize("cut", range(4))
async def test_a_start_that_was_cut_goes_on_without_doubling_anything(harness: AppHarness, cut: int) -> None:
    written(harness)
    with closing(JsonlStore.open(harness.place, "web", create=True)) as store:
        writer = LogWriter(store, FakeClock())
        roster = Roster(writer)
        await roster.found("web")
        await roster.describe(".deskmate/teams/web.toml", TEAM, "Build the page.")
        if cut > 0:
            await roster.join(Joined(name="ann", at=1.0, cause=f"{LEAD}:set-up.ann"))
        if cut > 1:
            joined = Joined(name="tess", role="test-runner", at=1.0, cause=f"{LEAD}:set-up.tess")
            await roster.join(joined)
        if cut > 2:
            task = NewTask("Write the server", owner="ann")
            await Board(writer, roster).create(USER, task, cause=f"{USER}:set-up.{task_key(task)}.0")
    harness.sign("web")
    async with FakeProvider(play) as provider:
        for _ in range(2):
            again = replace(harness.wanted(provider, "anthropic", None), team="web", continues=True)
            await run(again, Feed())
    assert [one.name for one in (await roster_of(harness.place)).teammates] == ["ann", "tess"]
    assert await subjects(harness.place) == ["Write the server", "Test it"]
    assert (await words_to_lead(harness.place)).count("Build the page.") == 1


@pytest.mark.behaviour("resume")
async def test_a_start_that_was_cut_before_anybody_joined_goes_on_if_no_team_is_named(harness: AppHarness) -> None:
    written(harness)
    with closing(JsonlStore.open(harness.place, "web", create=True)) as store:
        roster = Roster(LogWriter(store, FakeClock()))
        await roster.found("web")
        await roster.describe(".deskmate/teams/web.toml", TEAM, "Build the page.")
    harness.sign("web")
    async with FakeProvider(play) as provider:
        outcome = await run(replace(harness.wanted(provider, "anthropic", None), continues=True), Feed())
    assert (outcome.team, [task.status for task in outcome.tasks]) == ("web", ["completed"] * 2)


@pytest.mark.behaviour("resume")
async def test_a_resumed_team_has_the_limits_of_its_file_unless_the_user_sets_them(harness: AppHarness) -> None:
    written(harness, f"check = 'make test'\n{TEAM}".replace("max_cost = 2", "max_cost = 2\nmax_steps = 50"))
    await started(harness)
    (harness.place / ".deskmate/teams/web.toml").unlink()
    async with FakeProvider(play) as provider:
        again = replace(harness.wanted(provider, "anthropic", None), team="web", continues=True)
        raised = replace(again, settings=again.settings.model_copy(update={"max_cost": 9.0}))
        for request_, cost in ((again, 2), (raised, 9)):
            async with reopened(request_, Feed(), attended=False) as (parts, _):
                assert (parts.team_state.budget.caps.cost, parts.team_state.budget.caps.steps) == (cost, 50)
                assert parts.settings.check == "make test"


@pytest.mark.behaviour("trust")
async def test_a_file_that_nobody_trusts_starts_nothing(harness: AppHarness) -> None:
    written(harness)
    with pytest.raises(Refused, match="have not trusted"):
        await started(harness, trusts=False)
    assert not (harness.place / ".teams").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("words = 'x'\n[[members]]\nname = 'ann'\ntype = 'nobody'", "member ann: 'nobody' is not an agent type"),
        ("words = 'x'\n[[members]]\nname = 'ann'\nisolation = 'own'", "isolation"),
        ("words = 'x'\n[budget]\nmax_members = 0\n[[members]]\nname = 'ann'", "has 1 members"),
        ("[[members]]\nname = 'ann'", "no first words"),
    ],
)
async def test_what_cannot_be_had_here_is_refused_before_anything_is_created(
    harness: AppHarness, text: str, told: str
) -> None:
    written(harness, text)
    with pytest.raises(BadInput, match=told):
        await started(harness)
    assert not (harness.place / ".teams").exists()


async def test_a_path_in_the_workspace_counts_only_in_the_folder_of_team_files(harness: AppHarness) -> None:
    file = harness.place / "team.toml"
    file.write_text(TEAM)
    outside = harness.home / "team.toml"
    outside.parent.mkdir(exist_ok=True)
    outside.write_text("words = 'x'")
    async with FakeProvider(play) as provider:
        wanted = request(harness, provider)
        with pytest.raises(Refused):
            with_team_file(replace(wanted, team_file=str(file)))
        with pytest.raises(Refused):
            with_team_file(replace(wanted, team_file="../../nowhere/team.toml"))
        with pytest.raises(Refused):
            with_team_file(replace(wanted, team_file="nowhere"))
        assert with_team_file(replace(wanted, team_file=str(outside))).goal == "x"


async def test_team_files_are_listed_with_what_is_wrong_and_what_is_not_trusted(harness: AppHarness) -> None:
    written(harness)
    own = harness.home / ".config/deskmate/teams"
    own.mkdir(parents=True)
    (own / "mine.toml").write_text("words = 'x'")
    (own / "bad.toml").write_text("x = 1")
    (own / "link.toml").symlink_to("/dev/zero")
    async with FakeProvider(play) as provider:
        settings = harness.settings(provider, "anthropic")
    listed = list_team_files(harness.place, settings)
    assert [Path(one.file).name for one in listed.usable] == ["mine.toml"]
    assert [file for file, _ in listed.untrusted] == [".deskmate/teams/web.toml"]
    assert len(listed.problems) == 2
