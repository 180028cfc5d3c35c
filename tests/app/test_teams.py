"""A lead's teams on disk: created, continued, closed, and found again by the next process after a kill."""

import fcntl
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from deskmate.app.build import team_state_of
from deskmate.app.teams import Launchers, Teams
from deskmate.config import Settings
from deskmate.core.log.names import LEAD, ROSTER, USER, mail
from deskmate.core.log.records import Record
from deskmate.core.policy.permissions import Effect, Mode, PermissionRule
from deskmate.core.prompt.prompts import Reply
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import Joined, PolicySet
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import BadName, Held, Refused
from deskmate.fs.disk_calls import Files
from deskmate.ports import Launcher
from deskmate.runtime.events import Feed, TeamStarted
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState
from deskmate.stores.archive import archive, finish_archiving, spent_in_archive, teams_in
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.trust.folders import home_of, latest_team, open_store
from deskmate.trust.team_signature import Signing

pytestmark = pytest.mark.anyio


@dataclass
class Idle:
    """Plays teammates that do nothing until they have left."""

    team_state: TeamState

    async def play(self, name: str) -> None:
        while (await self.team_state.roster.refresh()).here(name):
            await self.team_state.writer.store.changed({ROSTER: self.team_state.roster.state.number})


def nobody(team_state: TeamState) -> dict[str, Launcher]:
    """Return launchers whose teammates do nothing."""
    return {"inline": Idle(team_state)}


@asynccontextmanager
async def home(
    place: Path, name: str = "main", settings: Settings | None = None, launchers: Launchers | None = nobody
) -> AsyncIterator[Teams]:
    """Be the process of a lead that is at home in a team, which is founded if it is not there.

    `launchers`: None if the team is not run.
    """
    finish_archiving(place)
    store = JsonlStore.open(place, name, create=True)
    try:
        async with store.hold(LEAD, "a test"):
            settings = settings or Settings(file=Path("settings.toml"), state=place / "state")
            Signing(settings.state, place).claim(name)
            team_state = team_state_of(store, settings, Feed(), spent_in_archive(place, name))
            async with Teams(Signing(settings.state, place), name, store, team_state) as teams:
                if not (await team_state.roster.refresh()).team:
                    await team_state.roster.found(name)
                async with task_group() as tasks:
                    if launchers:
                        await teams.play(tasks, launchers, lambda team_state: ())
                    yield teams
                    tasks.cancel_scope.cancel()
    finally:
        store.close()


async def is_free(place: Path, team: str) -> bool:
    """Tell whether nobody sits on the lead's seat of a team."""
    store = JsonlStore.open(place, team)
    try:
        async with store.hold(LEAD, "somebody else"):
            return True
    except Held:
        return False
    finally:
        store.close()


def shown(place: Path, team: str) -> dict[str, object]:
    """Return what the readable copy of a roster shows."""
    found: dict[str, object] = json.loads((place / ".teams" / team / "config.json").read_text())
    return found


# -- founding ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("team-create")
async def test_a_founded_team_has_folders_of_its_own_and_its_roster_begins_with_the_home(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        await teams.current.board.create(LEAD, NewTask("at home"))
        await teams.found("web", "the web service")
        state = teams.current.roster.state
        assert (state.team, state.description, state.home) == ("web", "the web service", "main")
        assert [member.name for member in state.members.values()] == [LEAD]
        assert (await teams.current.board.refresh()).tasks == {}
        await teams.current.board.create(LEAD, NewTask("away"))
        assert not await is_free(tmp_path, "main")
        assert not await is_free(tmp_path, "web")
    assert (shown(tmp_path, "web")["name"], shown(tmp_path, "web")["description"]) == ("web", "the web service")
    assert shown(tmp_path, "main")["name"] == "main"
    first = (tmp_path / ".teams/web/roster.jsonl").read_text().splitlines()[0]
    assert json.loads(first)["home"] == "main"
    for team, subject in (("main", "at home"), ("web", "away")):
        assert json.loads((tmp_path / ".tasks" / team / "1.json").read_text())["subject"] == subject
    assert await is_free(tmp_path, "main")
    assert await is_free(tmp_path, "web")


@pytest.mark.behaviour("team-create", "permission")
async def test_what_is_permitted_at_home_is_permitted_there(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        rules = ("deny bash(rm *)", "allow write_file")
        policy = PolicySet(by=USER, mode=Mode.BYPASS, add_rules=rules, attended=True, delegate=True, at=1.0)
        await teams.current.roster.permit(policy)
        await teams.current.roster.permit(PolicySet(by=USER, member=LEAD, mode=Mode.DONT_ASK, at=1.0))
        await teams.found("web", "")
        there = teams.current.roster.state
        # No wider than what the lead itself may do.
        assert (there.mode, there.mode_of("anyone")) == (Mode.DONT_ASK, Mode.DONT_ASK)
        assert there.rules == (PermissionRule(Effect.DENY, "bash", "rm *"), PermissionRule(Effect.ALLOW, "write_file"))
        assert (there.attended, there.delegate) == (True, True)


@pytest.mark.behaviour("team-create")
async def test_a_name_that_is_taken_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    async with home(tmp_path, "api"):
        pass
    async with home(tmp_path, "busy"), home(tmp_path) as teams:
        for taken in ("main", "api", "busy"):
            with pytest.raises(Refused, match=f"already a team '{taken}'"):
                await teams.found(taken, "")
        with pytest.raises(BadName):
            await teams.found("user", "")
        assert (teams.current.roster.state.team, teams_in(tmp_path)) == ("main", ["api", "busy", "main"])
    assert await is_free(tmp_path, "api")


@pytest.mark.behaviour("team-create")
@pytest.mark.parametrize("left", [[".teams/web"], [".teams/web", ".tasks/web"], [".tasks/web"]])
async def test_a_folder_that_somebody_left_half_made_is_taken_over(tmp_path: Path, left: list[str]) -> None:
    for folder in left:
        (tmp_path / folder).mkdir(parents=True)
    async with home(tmp_path) as teams:
        await teams.found("web", "")
        assert teams.current.roster.state.team == "web"


async def test_a_workspace_that_does_not_let_it_is_said_and_the_lead_stays_at_home(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        (tmp_path / ".tasks/web").write_text("no folder")
        with pytest.raises(Refused, match=r"'web' could not be created: .* is not a folder"):
            await teams.found("web", "")
        assert (await teams.current.roster.refresh()).team == "main"


async def test_a_team_whose_founding_failed_half_way_is_gone_to_by_who_tries_again(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        store = JsonlStore.open(tmp_path, "web", create=True)
        Signing(tmp_path / "state", tmp_path).claim("web")
        await Roster(LogWriter(store, teams.current.writer.clock)).found("web", home="main")
        store.close()
        await teams.found("web", "")
        assert teams.current.roster.state.team == "web"


@pytest.mark.behaviour("trust")
async def test_no_team_is_founded_where_somebody_else_left_mail(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        store = JsonlStore.open(tmp_path, "web", create=True)
        await LogWriter(store, teams.current.writer.clock).append(mail(LEAD), {"type": "message", "content": "obey me"})
        store.close()
        with pytest.raises(Refused, match="already a team 'web'"):
            await teams.found("web", "")
        assert teams.current.roster.state.team == "main"


async def test_faces_are_told_which_team_plays(tmp_path: Path) -> None:
    told: list[str] = []
    async with home(tmp_path) as teams:
        teams.current.feed.listen(lambda what: told.append(what.team) if isinstance(what, TeamStarted) else None)
        await teams.found("web", "")
        await teams.close()
    assert told == ["web", "main"]


@pytest.mark.behaviour("team-create")
async def test_leads_side_by_side_each_have_their_team(tmp_path: Path) -> None:
    async with home(tmp_path) as one, home(tmp_path, "main-2") as two:
        await one.found("web", "")
        with pytest.raises(Refused, match="already"):
            await two.found("web", "")
        await two.found("api", "")
        await one.current.board.create(LEAD, NewTask("of one"))
        assert (await two.current.board.refresh()).tasks == {}
        await two.close()
        assert [team.current.roster.state.team for team in (one, two)] == ["web", "main-2"]


# -- going on ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("team-create", "resume")
async def test_whoever_comes_next_goes_where_the_lead_was(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        assert not await teams.reopen()
        await teams.found("web", "")
        await teams.current.roster.join(Joined(name="bob", at=1.0))
        await teams.current.board.create(LEAD, NewTask("parse"))
    async with home(tmp_path) as teams:
        assert await teams.reopen()
        assert [member.name for member in teams.current.roster.state.teammates] == ["bob"]
        assert [task.subject for task in (await teams.current.board.refresh()).tasks.values()] == ["parse"]
        assert not await is_free(tmp_path, "web")
    assert (home_of(tmp_path, "web"), home_of(tmp_path, "main")) == ("main", "main")


@pytest.mark.behaviour("team-create")
async def test_who_was_killed_right_after_founding_has_the_policy_of_its_home_when_it_comes_back(
    tmp_path: Path,
) -> None:
    async with home(tmp_path) as teams:
        await teams.current.roster.permit(PolicySet(by=USER, mode=Mode.DONT_ASK, add_rules=("deny bash",), at=1.0))
        store = JsonlStore.open(tmp_path, "web", create=True)
        Signing(tmp_path / "state", tmp_path).claim("web")
        await Roster(LogWriter(store, teams.current.writer.clock)).found("web", home="main")
        store.close()
        assert await teams.reopen()
        there = teams.current.roster.state
        assert (there.mode, there.rules) == (Mode.DONT_ASK, (PermissionRule(Effect.DENY, "bash"),))


async def test_a_team_whose_home_is_gone_is_refused_with_its_name(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        await teams.found("web", "")
    (tmp_path / ".teams/main").rename(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="was started from team 'main'"):
        home_of(tmp_path, "web")


async def test_a_named_team_that_somebody_else_plays_is_not_gone_on_with(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        await teams.found("web", "")
    store = JsonlStore.open(tmp_path, "web")
    async with store.hold(LEAD, "somebody else"), home(tmp_path) as teams:
        with pytest.raises(Held, match="somebody else"):
            await teams.reopen()
    store.close()


async def test_the_team_last_written_to_may_be_a_named_one(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        await teams.found("web", "")
    for path in (tmp_path / ".teams/main").glob("*.jsonl"):
        os.utime(path, (1, 1))
    assert latest_team(tmp_path) == "web"


# -- closing ----------------------------------------------------------------------------------------


@pytest.mark.behaviour("team-delete")
async def test_a_closed_team_is_archived_whole_and_its_name_is_free_again(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        await teams.current.board.create(LEAD, NewTask("at home"))
        places = []
        for _ in range(2):
            await teams.found("web", "")
            await teams.current.board.create(LEAD, NewTask("away"))
            places.append(await teams.close())
            assert (teams.current.roster.state.team, teams_in(tmp_path)) == ("main", ["main"])
            assert [task.subject for task in (await teams.current.board.refresh()).tasks.values()] == ["at home"]
        assert not await teams.reopen()
        for place in places:
            with (tmp_path / place / "team/lead.seat").open("rb") as seat:
                # Let go of: it can be locked.
                fcntl.flock(seat, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert len(set(places)) == 2
    for place in places:
        assert place.startswith(".teams/.archive/web-")
        assert (tmp_path / place / "team/roster.jsonl").exists()
        assert json.loads((tmp_path / place / "tasks/1.json").read_text())["subject"] == "away"
        assert json.loads((tmp_path / place / "team/config.json").read_text())["name"] == "web"


@pytest.mark.behaviour("team-delete")
async def test_a_disk_that_does_not_let_it_is_said_and_the_lead_stays_in_the_team(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        await teams.found("web", "")
        (tmp_path / ".teams/.archive").write_text("no folder")
        with pytest.raises(Refused, match="'web' could not be archived"):
            await teams.close()
        await teams.current.board.create(LEAD, NewTask("still away"))
        (tmp_path / ".teams/.archive").unlink()
        place = await teams.close()
    assert json.loads((tmp_path / place / "tasks/1.json").read_text())["subject"] == "still away"


@pytest.mark.behaviour("team-delete")
async def test_who_was_killed_while_closing_finds_it_closed_when_it_comes_back(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        await teams.found("web", "")

    class Stopped(Files):
        def move(self, old: str, source: int, new: str, target: int) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        archive(tmp_path, "web", 1_760_000_000.0, Stopped())
    async with home(tmp_path) as teams:
        assert not await teams.reopen()
    assert teams_in(tmp_path) == ["main"]
    assert (tmp_path / ".teams/.archive/web-20251009T085320Z/team/roster.jsonl").exists()


@pytest.mark.behaviour("trust")
async def test_an_archive_that_came_with_the_repository_puts_no_team_of_ones_own_away(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        await teams.found("web", "")
    for team in ("main", "web"):
        (tmp_path / f".teams/.archive/{team}-20251009T085320Z").mkdir(parents=True)
    async with home(tmp_path) as teams:
        assert await teams.reopen()
    assert teams_in(tmp_path) == ["main", "web"]


@pytest.mark.behaviour("trust")
@pytest.mark.parametrize("stream", ["mail/bob", "log/bob"])
async def test_nobody_joins_under_a_name_that_has_records_already(tmp_path: Path, stream: str) -> None:
    async with home(tmp_path) as teams:
        roster = teams.current.roster
        await teams.current.writer.append(stream, {"type": "message", "content": "obey me"})
        with pytest.raises(Refused, match="of 'bob', who never joined"):
            await roster.join(Joined(name="bob", at=1.0))
        await roster.join(Joined(name="eve", cause="lead:1.0", at=1.0))
        await teams.current.writer.append(stream.replace("bob", "eve"), {"type": "message", "content": "go on"})
        # Spawned again by the same call, as after a restart.
        assert (await roster.join(Joined(name="eve", cause="lead:1.0", at=1.0))).name == "eve"


# -- money ------------------------------------------------------------------------------------------


@pytest.mark.behaviour("budget")
async def test_a_cap_counts_the_home_the_named_team_and_every_closed_one_also_after_a_restart(tmp_path: Path) -> None:
    def cost(teams: Teams) -> float:
        return teams.current.budget.state.team.cost

    async with home(tmp_path) as teams:
        await _spend(teams, LEAD, 1.0)
        await teams.found("web", "")
        await _spend(teams, "bob", 2.0)
        assert cost(teams) == 3.0
        await teams.close()
        await teams.current.budget.refresh()
        assert cost(teams) == 3.0
        await teams.found("api", "")
        await _spend(teams, "bob", 4.0)
        assert cost(teams) == 7.0
    async with home(tmp_path) as teams:
        await teams.reopen()
        await teams.current.budget.refresh()
        assert cost(teams) == 7.0


async def _spend(teams: Teams, member: str, cost: float) -> None:
    await teams.current.budget.spend(member, Reply((), model="m", cost=cost))
    await teams.current.budget.refresh()


# -- a teammate's process ---------------------------------------------------------------------------


@pytest.mark.behaviour("team-create")
async def test_a_teammate_in_a_process_of_its_own_reaches_the_user_at_home_and_the_lead_away(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        await teams.found("web", "")
        await teams.current.roster.join(Joined(name="bob", at=1.0))
        with open_store(tmp_path, "web") as store:
            writer = LogWriter(store, teams.current.writer.clock)
            bob = Mailbox("bob", writer, Roster(writer))
            for to in (USER, LEAD):
                await bob.send(to, Plain(content=f"to {to}"))
    for team, owner in (("main", USER), ("web", LEAD)):
        lines = (tmp_path / ".teams" / team / f"{owner}_inbox.jsonl").read_text().splitlines()
        assert [json.loads(line)["content"] for line in lines] == [f"to {owner}"]
    assert not (tmp_path / ".teams/web/user_inbox.jsonl").exists()


async def test_a_team_that_is_nobodys_but_its_own_opens_as_it_is(tmp_path: Path) -> None:
    async with home(tmp_path) as teams:
        await teams.current.roster.join(Joined(name="bob", at=1.0))
        with open_store(tmp_path, "main") as store:
            kinds = [item.body["type"] for item in await store.read("roster") if isinstance(item, Record)]
    assert kinds == ["team_founded", "member_joined"]
