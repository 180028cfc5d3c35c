"""A lead that works in a team it founded: both its mailboxes are heard, and everybody in the process goes along."""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace

import anyio
import pytest

from deskmate.core.agent.entries import Ended, Noticed, Started
from deskmate.core.log.names import LEAD, USER, mail
from deskmate.core.prompt.prompts import Prompt, Reply
from deskmate.core.team.caps import Caps
from deskmate.core.team.messages import Interrupt, Message, Plain
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.status import Idle, status_detail
from deskmate.core.team.task_fields import NewTask
from deskmate.models.scripted import Script, Step
from deskmate.ports import Ran, Store
from deskmate.runtime.agent import Agent
from deskmate.runtime.dismissal import dismiss
from deskmate.runtime.events import Arrived
from deskmate.runtime.perform.mail_watch import MailWatch
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.task_groups import PlayTasks, task_group
from deskmate.runtime.team_players import TeamPlayers
from deskmate.runtime.team_state import TeamState
from deskmate.stores.memory_store import MemoryStore
from deskmate.stores.named_team_store import NamedTeamStore
from deskmate.testing import FakeClock, Say
from tests.runtime.agent_harness import AgentHarness, turns, uses
from tests.runtime.team_process import SOON, contents, envelopes, until
from tests.runtime.teammate_harness import InlineLauncher

pytestmark = pytest.mark.anyio


@dataclass
class Trip:
    """A process whose lead goes from its home, `team`, to `web` and back. `here`: the team it works in."""

    harness: AgentHarness
    home: Store
    web: Store = field(default_factory=MemoryStore)
    here: AgentHarness = field(init=False)

    def __post_init__(self) -> None:
        self.here = self.harness

    @classmethod
    async def begun(cls, script: Script = (), home: Store | None = None) -> "Trip":
        home = home or MemoryStore()
        return cls(await AgentHarness.opened(script, store=home), home)

    async def go(self, *teammates: str) -> None:
        """Let the lead found `web` and go there."""
        self.here = copy(self.harness)
        self.here.team_state = self.harness.team_state.beside(NamedTeamStore(self.home, "team", self.web))
        await self.here.team_state.roster.found("web", home="team")
        for name in teammates:
            await self.here.team_state.roster.join(Joined(name=name, prompt="begin", at=0.0))

    def come_back(self) -> None:
        """Let it go home; the next `web` is another one."""
        self.here, self.web = self.harness, MemoryStore()

    async def say(self, store: Store, sender: str, message: Message) -> None:
        """Send something to the lead, in one of its teams."""
        writer = LogWriter(store, self.harness.clock)
        await Mailbox(sender, writer, Roster(writer)).send(LEAD, message)

    @property
    def mailbox(self) -> Mailbox:
        return Mailbox(LEAD, self.here.team_state.writer, self.here.team_state.roster)


async def transcript_of(trip: Trip) -> Transcript:
    transcript = await Transcript.load(trip.harness.team_state.writer, LEAD)
    await transcript.record(Started(name=LEAD))
    return transcript


# -- hearing ----------------------------------------------------------------------------------------


@pytest.mark.behaviour("team-create")
async def test_a_lead_hears_both_mailboxes_away_and_each_message_once() -> None:
    trip = await Trip.begun()
    lead, home = await transcript_of(trip), trip.home
    await trip.say(home, USER, Plain(content="one"))
    heard = await trip.mailbox.hear(lead)
    assert heard
    assert (heard.box, contents(envelopes(heard))) == ("mail/lead", ["one"])
    await trip.go("bob")
    await trip.say(trip.web, "bob", Plain(content="two"))
    await trip.say(home, USER, Plain(content="three"))
    assert await all_heard(trip, lead) == []
    await lead.record(Noticed(text="", away="web"))
    assert await all_heard(trip, lead) == [("mail/lead", ["three"]), ("mail/lead@web", ["two"])]
    trip.come_back()
    await lead.record(Noticed(text="", away=""))
    await trip.say(home, USER, Plain(content="four"))
    assert await all_heard(trip, lead) == [("mail/lead", ["four"])]


async def all_heard(trip: Trip, lead: Transcript) -> list[tuple[str, list[str]]]:
    """Let the lead hear all there is; return from which mailbox what came."""
    found = []
    while heard := await trip.mailbox.hear(lead):
        found.append((heard.box, contents(envelopes(heard))))
    return found


async def test_a_teammate_of_a_named_team_hears_its_own_mailbox_alone() -> None:
    trip = await Trip.begun()
    await trip.go("bob")
    bob = Mailbox("bob", trip.here.team_state.writer, trip.here.team_state.roster)
    assert bob.boxes == {"mail/bob": "mail/bob"}


async def test_what_the_user_says_at_home_cuts_what_runs_away_and_faces_are_told_of_both() -> None:
    trip = await Trip.begun()
    cuts: list[tuple[str, int]] = []
    arrived: list[str] = []
    trip.harness.team_state.feed.listen(lambda told: arrived.append(told.sender) if isinstance(told, Arrived) else None)
    with anyio.fail_after(SOON):
        tasks = PlayTasks()
        async with tasks.open():
            seen: Mapping[str, int] = {}
            for _ in range(2):
                await trip.go("bob")
                watch = MailWatch(trip.here.team_state, trip.mailbox, lambda *cut: cuts.append(cut), tasks)
                tasks.start_soon(watch.keep, seen)
                await trip.say(trip.web, "bob", Plain(content="done"))
                await trip.say(trip.home, USER, Interrupt())
                await trip.say(trip.web, USER, Interrupt())
                await until(lambda: len(arrived) % 3 == 0 and arrived)
                seen = {"mail/lead": watch.end()["mail/lead"]}
                trip.come_back()
                await turns()
    assert sorted(cuts) == [("mail/lead", 1), ("mail/lead", 2), ("mail/lead@web", 2), ("mail/lead@web", 2)]
    assert sorted(arrived) == ["bob", "bob", "user", "user", "user", "user"]


# -- going and coming back --------------------------------------------------------------------------


@dataclass
class TwoTeams:
    """The teams of a lead that goes to `web` and back. Implements `LeadTeams`."""

    trip: Trip

    @property
    def current(self) -> TeamState:
        return self.trip.here.team_state

    @property
    def first(self) -> TeamState:
        return self.trip.harness.team_state

    async def found(self, name: str, description: str) -> None:
        await self.trip.go()

    async def close(self) -> str:
        self.trip.come_back()
        return "archive"


@pytest.mark.behaviour("team-create", "team-delete", "background")
async def test_a_lead_works_in_the_team_it_created_and_takes_along_what_runs_in_the_background() -> None:
    release = anyio.Event()

    async def build() -> Ran:
        await release.wait()
        return Ran(0, "built")

    def lead(prompt: Prompt) -> Step:
        return steps.pop(0)

    steps: list[Step] = [
        uses("bash", command="make", run_in_background=True),
        uses("TeamCreate", team_name="web"),
        uses("TaskCreate", subject="away"),
        "Away.",
        uses("TeamDelete"),
        uses("TaskCreate", subject="home"),
        "Home.",
        "Built.",
    ]
    trip = await Trip.begun(lead)
    trip.harness.bench.commands["make"] = build
    parts = replace(trip.harness.team_parts, teams=TwoTeams(trip))
    with anyio.fail_after(SOON):
        agent = await Agent.seat(trip.harness.team_state, parts.started(), parts.lead)
        async with task_group() as tasks:
            await trip.say(trip.home, USER, Plain(content="go"))
            tasks.start_soon(agent.play)
            await until(lambda: agent.transcript.last_words == "Away.")
            web = trip.here.team_state
            assert [task.subject for task in (await web.board.refresh()).current] == ["away"]
            assert (await web.budget.refresh()).team.calls == 4
            # The user speaks in the first team, which the lead still hears.
            await trip.say(trip.home, USER, Plain(content="come home"))
            await until(lambda: agent.transcript.last_words == "Home.")
            assert [task.subject for task in (await trip.harness.team_state.board.refresh()).current] == ["home"]
            release.set()
            await until(lambda: agent.transcript.last_words == "Built.")
            tasks.cancel_scope.cancel()
    assert [entry.text for _, entry in agent.transcript.entries if isinstance(entry, Ended)] == ["built"]


@pytest.mark.behaviour("budget")
async def test_a_cap_counts_what_the_leads_other_teams_have_spent() -> None:
    writer = LogWriter(MemoryStore(), FakeClock())
    first = Budget(writer, Caps())
    await first.spend(LEAD, Reply((), model="m", cost=1.0))
    there = Budget(LogWriter(MemoryStore(), FakeClock()), Caps(cost=1.5, member_cost=1.2), await first.refresh())
    assert there.over("bob", steps=0) is None
    await there.spend(LEAD, Reply((), model="m", cost=0.25))
    assert "'lead' has spent $1.25" in str(there.over(LEAD, steps=0))
    assert there.over("bob", steps=0) is None
    await there.spend("bob", Reply((), model="m", cost=0.25))
    assert "$1.50 of $1.50 is spent" in str(there.over("bob", steps=0))


@pytest.mark.behaviour("budget", "two-teams")
async def test_two_teams_that_run_count_what_both_spend_until_one_is_closed() -> None:
    home = Budget(LogWriter(MemoryStore(), FakeClock()), Caps(cost=1.5))
    writer = LogWriter(MemoryStore(), FakeClock())
    web = home.beside(writer, Roster(writer))
    home.count(web)
    await home.spend("alice", Reply((), model="m", cost=1.0))
    assert (await web.refresh()).team.cost == 1.0
    await web.spend("bob", Reply((), model="m", cost=0.5))
    await home.refresh()
    assert "$1.50 of $1.50 is spent" in str(home.over("alice", steps=0))
    assert "$1.50 of $1.50 is spent" in str(web.over("bob", steps=0))
    home.count(None)
    assert home.over("alice", steps=0) is None


# -- everyone else ----------------------------------------------------------------------------------


def parts(bob: Callable[[Prompt], Step]) -> Script:
    return lambda prompt: bob(prompt) if "You are bob," in prompt.system else "Yes?"


async def test_the_members_of_each_team_are_played_also_those_with_a_name_that_was_used_before() -> None:
    trip = await Trip.begun(parts(lambda prompt: "Ready."))
    with anyio.fail_after(SOON):
        for _ in range(2):
            await trip.go("bob")
            team_state = trip.here.team_state
            async with task_group() as tasks:
                tasks.start_soon(TeamPlayers(team_state, {"inline": InlineLauncher(trip.here)}, tasks).keep)
                await until(lambda: isinstance(trip.here.team_state.roster.state.members["bob"].status, Idle))
                await dismiss(team_state, trip.mailbox, "lead:1.0")
                tasks.cancel_scope.cancel()
            trip.come_back()


@pytest.mark.behaviour("team-delete", "shutdown")
async def test_who_is_dismissed_cannot_refuse_and_leaves_within_its_deadline() -> None:
    said: list[str] = []

    def bob(prompt: Prompt) -> Step:
        said.append(str(prompt.passages[-1]))
        no = uses("SendMessage", type="shutdown_response", request_id="lead:1.0/bob", approve=False, content="No.")
        # It owns a task, so that its own word is needed.
        claim = uses("TaskUpdate", taskId=1, status="in_progress")
        steps: list[Step] = [claim, "Busy.", no, "No, I said."]
        return steps[len(said) - 1] if len(said) <= 4 else Say("No.")

    trip = await Trip.begun(parts(bob))
    await trip.go("bob")
    harness, roster = trip.here, trip.here.team_state.roster
    await harness.team_state.board.create(LEAD, NewTask("parse"))
    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            tasks.start_soon(TeamPlayers(harness.team_state, {"inline": InlineLauncher(harness)}, tasks).keep)
            await until(lambda: len(said) >= 2)
            tasks.start_soon(dismiss, harness.team_state, trip.mailbox, "lead:1.0")
            await harness.passing_until(lambda: not roster.state.here("bob"))
            tasks.cancel_scope.cancel()
    assert any("Request 'lead:1.0/bob' cannot be refused" in told for told in said)
    assert status_detail(roster.state.members["bob"].status) == "forced: no answer to a shutdown request within 30 s"


@dataclass
class Slow:
    """Plays a teammate that takes its time after it has left, as one with mail to give back does."""

    harness: AgentHarness
    done: list[str] = field(default_factory=list)

    async def play(self, name: str) -> None:
        team_state = self.harness.team_state
        async with team_state.writer.store.hold(name, "a test"):
            await team_state.writer.store.changed({mail(name): 0})
            await team_state.roster.leave(name, "asked to", heard=0)
            await turns(500)
            self.done.append(name)


async def test_who_has_left_is_waited_for_until_nobody_plays_it() -> None:
    trip = await Trip.begun()
    await trip.go("bob", "carol")
    slow = Slow(trip.here)
    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            tasks.start_soon(TeamPlayers(trip.here.team_state, {"inline": slow}, tasks).keep)
            await dismiss(trip.here.team_state, trip.mailbox, "lead:1.0")
            assert sorted(slow.done) == ["bob", "carol"]
            tasks.cancel_scope.cancel()


@dataclass
class Sweeping(Slow):
    """Plays a teammate as a launcher does that has something to clear away when nobody sits there any more."""

    async def play(self, name: str) -> None:
        await super().play(name)
        self.done.remove(name)
        await turns(500)
        self.done.append(name)


async def test_who_has_somebody_played_can_wait_until_nothing_of_anybody_runs() -> None:
    trip = await Trip.begun()
    await trip.go("bob", "carol")
    sweeping = Sweeping(trip.here)
    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            team = TeamPlayers(trip.here.team_state, {"inline": sweeping}, tasks)
            await team.gone()
            tasks.start_soon(team.keep)
            await dismiss(trip.here.team_state, trip.mailbox, "lead:1.0")
            await team.gone()
            assert sorted(sweeping.done) == ["bob", "carol"]
            tasks.cancel_scope.cancel()
