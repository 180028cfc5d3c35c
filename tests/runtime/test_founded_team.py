"""A lead that works in a team it founded: both its mailboxes are heard, and everybody in the process goes along."""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import pytest

from deskmate.core.agent.entries import Started
from deskmate.core.log.names import LEAD, ROSTER, SPEND, USER, mail
from deskmate.core.prompt.prompts import Prompt, Reply
from deskmate.core.team.caps import Caps
from deskmate.core.team.members import RosterState
from deskmate.core.team.messages import Interrupt, Message, Plain
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.status import Idle, status_detail
from deskmate.core.team.task_fields import NewTask
from deskmate.models.scripted import Script, Step
from deskmate.ports import Store
from deskmate.runtime.dismissal import dismiss
from deskmate.runtime.events import Arrived
from deskmate.runtime.perform.mail_watch import MailWatch
from deskmate.runtime.streams import roster as live
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.task_groups import PlayTasks, task_group
from deskmate.runtime.team_players import TeamPlayers
from deskmate.stores.joint_store import JointStore
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import FakeClock, Say
from tests.runtime.agent_harness import AgentHarness, turns, uses
from tests.runtime.team_process import SOON, FaultyStore, contents, envelopes, until
from tests.runtime.teammate_harness import InlineLauncher

pytestmark = pytest.mark.anyio


@dataclass
class Trip:
    """A process whose lead goes from its home, `team`, to `web` and back."""

    harness: AgentHarness
    joint: JointStore
    web: Store = field(default_factory=MemoryStore)

    @classmethod
    async def begun(cls, script: Script = (), home: Store | None = None) -> "Trip":
        joint = JointStore(home or MemoryStore(), "team")
        return cls(await AgentHarness.opened(script, store=joint), joint)

    async def go(self, *teammates: str) -> None:
        """Let the lead found `web` and go there."""
        roster = live.Roster(LogWriter(self.web, self.harness.clock))
        await roster.found("web", home="team")
        for name in teammates:
            await roster.join(Joined(name=name, prompt="begin", at=0.0))
        self._turn_to(roster.state, lambda: self.joint.enter(self.web))

    async def come_back(self) -> None:
        """Let it go home; the next `web` is another one."""
        roster = await live.Roster(LogWriter(self.joint.home, self.harness.clock)).refresh()
        self._turn_to(roster, self.joint.leave)
        self.web = MemoryStore()

    def _turn_to(self, roster: RosterState, move: Callable[[], None]) -> None:
        team_state = self.harness.team_state
        move()
        team_state.roster.begin_again(roster)
        team_state.board.begin_again()
        team_state.budget.begin_again(team_state.budget.state)

    async def say(self, store: Store, sender: str, message: Message) -> None:
        """Send something to the lead, in one of its teams."""
        writer = LogWriter(store, self.harness.clock)
        await Mailbox(sender, writer, live.Roster(writer)).send(LEAD, message)

    @property
    def mailbox(self) -> Mailbox:
        return Mailbox(LEAD, self.harness.team_state.writer, self.harness.team_state.roster)


async def transcript_of(trip: Trip) -> Transcript:
    transcript = await Transcript.load(trip.harness.team_state.writer, LEAD)
    await transcript.record(Started(name=LEAD))
    return transcript


# -- hearing ----------------------------------------------------------------------------------------


@pytest.mark.behaviour("team-create")
async def test_a_lead_hears_both_mailboxes_away_and_each_message_once() -> None:
    trip = await Trip.begun()
    lead, home = await transcript_of(trip), trip.joint.home
    await trip.say(home, USER, Plain(content="one"))
    heard = await trip.mailbox.hear(lead)
    assert heard
    assert (heard.box, contents(envelopes(heard))) == ("mail/lead", ["one"])
    await trip.go("bob")
    await trip.say(trip.web, "bob", Plain(content="two"))
    await trip.say(home, USER, Plain(content="three"))
    assert await all_heard(trip, lead) == [("mail/lead", ["three"]), ("mail/lead@web", ["two"])]
    await trip.come_back()
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
    bob = Mailbox("bob", trip.harness.team_state.writer, trip.harness.team_state.roster)
    assert bob.boxes == {"mail/bob": "mail/bob"}


async def test_what_the_user_says_at_home_cuts_what_runs_away_and_faces_are_told_of_both() -> None:
    trip = await Trip.begun()
    cuts: list[tuple[str, int]] = []
    arrived: list[str] = []
    trip.harness.team_state.feed.listen(lambda told: arrived.append(told.sender) if isinstance(told, Arrived) else None)
    with anyio.fail_after(SOON):
        tasks = PlayTasks()
        async with tasks.open():
            watch = MailWatch(
                trip.harness.team_state, trip.mailbox, lambda box, number: cuts.append((box, number)), tasks
            )
            tasks.start_soon(watch.keep, {})
            for _ in range(2):
                await trip.go("bob")
                await trip.say(trip.web, "bob", Plain(content="done"))
                await trip.say(trip.joint.home, USER, Interrupt())
                await trip.say(trip.web, USER, Interrupt())
                await until(lambda: len(arrived) % 3 == 0 and arrived)
                await trip.come_back()
                await turns()
    assert sorted(cuts) == [("mail/lead", 1), ("mail/lead", 2), ("mail/lead@web", 2), ("mail/lead@web", 2)]
    assert sorted(arrived) == ["bob", "bob", "user", "user", "user", "user"]


# -- folds ------------------------------------------------------------------------------------------


async def test_whoever_looked_at_the_roster_just_when_the_lead_went_does_not_bring_the_old_one_along() -> None:
    home = FaultyStore(MemoryStore())
    trip = await Trip.begun(home=home)
    other = live.Roster(LogWriter(home, trip.harness.clock))
    for name in ("alice", "carol"):
        await other.join(Joined(name=name, at=0.0))
    home.at("after read", ROSTER, trip.go)
    await trip.harness.team_state.roster.refresh()
    assert (trip.harness.team_state.roster.state.team, trip.harness.team_state.roster.state.teammates) == ("web", [])


async def test_what_was_appended_at_home_just_when_the_lead_went_counts_there() -> None:
    home = FaultyStore(MemoryStore())
    trip = await Trip.begun(home=home)
    home.at("after append", SPEND, trip.go)
    await trip.harness.team_state.budget.spend(LEAD, Reply((), model="m", cost=1.0))
    assert trip.harness.team_state.budget.state.number == 0
    assert len(await home.read(SPEND)) == 1
    assert await trip.web.read(SPEND) == []


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


# -- everyone else ----------------------------------------------------------------------------------


def parts(bob: Callable[[Prompt], Step]) -> Script:
    return lambda prompt: bob(prompt) if "You are bob," in prompt.system else "Yes?"


async def test_the_members_of_each_team_are_played_also_those_who_bear_a_name_again() -> None:
    trip = await Trip.begun(parts(lambda prompt: "Ready."))
    roster = trip.harness.team_state.roster
    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            tasks.start_soon(TeamPlayers(trip.harness.team_state, {"inline": InlineLauncher(trip.harness)}, tasks).keep)
            for _ in range(2):
                await trip.go("bob")
                await until(lambda: isinstance(roster.state.members["bob"].status, Idle))
                await dismiss(trip.harness.team_state, trip.mailbox, "lead:1.0")
                await trip.come_back()
                await turns()
            tasks.cancel_scope.cancel()


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
    harness, roster = trip.harness, trip.harness.team_state.roster
    await trip.go("bob")
    await harness.team_state.board.create(LEAD, NewTask("parse"))
    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            tasks.start_soon(TeamPlayers(harness.team_state, {"inline": InlineLauncher(harness)}, tasks).keep)
            await until(lambda: len(said) >= 2)
            tasks.start_soon(dismiss, harness.team_state, trip.mailbox, "lead:1.0")
            await harness.passing_until(lambda: not roster.state.here("bob"))
            tasks.cancel_scope.cancel()
    assert any("Request 'lead:1.0/bob' cannot be refused" in told for told in said)
    assert status_detail(roster.state.members["bob"].status) == "forced: no answer to a shutdown request in 30 s"


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
    slow = Slow(trip.harness)
    await trip.go("bob", "carol")
    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            tasks.start_soon(TeamPlayers(trip.harness.team_state, {"inline": slow}, tasks).keep)
            await dismiss(trip.harness.team_state, trip.mailbox, "lead:1.0")
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
    sweeping = Sweeping(trip.harness)
    await trip.go("bob", "carol")
    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            team = TeamPlayers(trip.harness.team_state, {"inline": sweeping}, tasks)
            await team.gone()
            tasks.start_soon(team.keep)
            await dismiss(trip.harness.team_state, trip.mailbox, "lead:1.0")
            await team.gone()
            assert sorted(sweeping.done) == ["bob", "carol"]
            tasks.cancel_scope.cancel()
