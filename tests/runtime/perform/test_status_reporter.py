"""What a member is seen doing: told once at each change, with what came of its turn and how much it had heard."""

import anyio
import pytest

from deskmate.core.agent.entries import Began, Call, Did, Entry, Heard, Said, Started
from deskmate.core.log.names import LEAD, ROSTER, USER, mail
from deskmate.core.log.records import Record
from deskmate.core.prompt.prompts import Prompt
from deskmate.core.team.messages import Envelope, Interrupt, Plain
from deskmate.core.team.roster_records import (
    Joined,
    MemberIdle,
    MemberParked,
    MemberWaiting,
    MemberWorking,
    RestRecord,
    read_event,
)
from deskmate.core.team.status import Idle, Parked, Resting, Waiting, Working
from deskmate.models.scripted import Step
from deskmate.ports import Ran
from deskmate.runtime.events import Changed
from deskmate.runtime.perform.status_reporter import StatusReporter
from deskmate.runtime.streams.transcript import Transcript
from tests.runtime.agent_harness import AgentHarness, last_told, turns, uses
from tests.runtime.team_process import until

pytestmark = pytest.mark.anyio


class Alice:
    """A teammate with a transcript and a presence."""

    def __init__(self, harness: AgentHarness, transcript: Transcript) -> None:
        self.harness, self.transcript = harness, transcript
        self.presence = StatusReporter(harness.team_state, transcript, "alice")

    async def record(self, *entries: Entry) -> None:
        for entry in entries:
            await self.transcript.record(entry)

    async def shown(self) -> list[object]:
        """Return what the roster was told of her, without what the pen adds."""
        items = [item for item in await self.harness.store.read(ROSTER) if isinstance(item, Record)]
        bodies = [{key: value for key, value in item.body.items() if key not in ("run", "ord")} for item in items]
        return [
            event
            for event in map(read_event, bodies)
            if isinstance(event, MemberWorking | MemberIdle | MemberWaiting | MemberParked)
        ]


@pytest.fixture
async def alice() -> Alice:
    harness = await AgentHarness.opened([])
    await harness.team_state.roster.join(Joined(name="alice", at=0.0))
    transcript = await Transcript.load(harness.team_state.writer, "alice")
    await transcript.record(Started(name="alice", prompt="begin"))
    return Alice(harness, transcript)


SENDS = Call(tool="SendMessage", arguments={"recipient": "bob", "content": "the schema is final"})


@pytest.mark.behaviour("sender")
async def test_idle_she_shows_her_last_words_and_how_much_she_had_heard(alice: Alice) -> None:
    await alice.record(Heard(box=mail("alice"), after=0, upto=3), Said(text="It is done."))
    await alice.presence.show(Idle())
    at = alice.harness.clock.timestamp()
    assert await alice.shown() == [MemberIdle(name="alice", words="It is done.", only_words=True, heard=3, at=at)]


@pytest.mark.behaviour("sender")
async def test_idle_she_shows_a_line_for_each_message_she_sent(alice: Alice) -> None:
    call = "alice:3.0"
    await alice.record(Heard(box=mail("alice"), after=0, upto=3), Said(calls=(SENDS,)))
    await alice.record(Began(calls=(call,)), Did(call=call, text="sent"), Said(text="I told bob."))
    await alice.presence.show(Idle())
    at = alice.harness.clock.timestamp()
    peers = ("to bob: the schema is final",)
    assert await alice.shown() == [MemberIdle(name="alice", words="I told bob.", peers=peers, heard=3, at=at)]


@pytest.mark.behaviour("sender", "urgent")
async def test_whom_the_user_cut_short_wakes_nobody_with_the_words_of_a_turn_before(alice: Alice) -> None:
    await alice.record(Said(text="It is done."))
    cut = Envelope("user:1", USER, "alice", 0.0, Interrupt()).body()
    await alice.record(Heard(box=mail("alice"), after=0, upto=1, mail=(cut,)))
    await alice.presence.show(Idle())
    at = alice.harness.clock.timestamp()
    assert await alice.shown() == [MemberIdle(name="alice", words="It is done.", held=True, heard=1, at=at)]


@pytest.mark.behaviour("sender")
async def test_words_that_come_while_the_lead_is_at_work_cut_nothing_and_wake_it_afterwards(alice: Alice) -> None:
    goes_on = anyio.Event()
    parts: list[Step] = [uses("bash", command="report"), "I read on.", "I see."]

    async def step(prompt: Prompt) -> Step:
        if len(parts) == 2:
            await goes_on.wait()
        return parts.pop(0)

    async def report() -> Ran:
        await harness.team_state.roster.status(MemberIdle(name="alice", words="It is done.", only_words=True, at=0.0))
        return Ran(0, "")

    harness = alice.harness.restarted(step)
    harness.bench.commands["report"] = report
    async with harness.playing("go") as agent:
        await until(lambda: len(harness.scripted.prompts) == 2)
        await turns()
        harness.clock.advance(10.0)
        await turns()
        goes_on.set()
        await until(lambda: agent.transcript.last_words == "I see.")
    assert len(harness.scripted.prompts) == 3
    assert 'alice is idle: "It is done."' in last_told(harness.scripted.prompts[2])[-1]


async def test_last_words_are_bounded_and_say_that_they_were_cut(alice: Alice) -> None:
    await alice.record(Said(text="x" * 100_000))
    await alice.presence.show(Idle())
    ((shown,),) = [await alice.shown()]
    assert isinstance(shown, MemberIdle)
    assert shown.words == f"{'x' * 2_000}… (cut here, 98,000 more characters)"


async def test_whatever_else_she_does_shows_how_much_she_had_heard(alice: Alice) -> None:
    await alice.record(Heard(box=mail("alice"), after=0, upto=3))
    await alice.presence.show(Waiting("plan"))
    await alice.presence.show(Parked("budget"))
    at = alice.harness.clock.timestamp()
    assert await alice.shown() == [
        MemberWaiting(name="alice", on="plan", heard=3, at=at),
        MemberParked(name="alice", reason="budget", heard=3, at=at),
    ]


async def test_what_is_shown_already_is_not_shown_again(alice: Alice) -> None:
    for status in (Idle(), Idle(), Working(), Working(), Idle()):
        await alice.presence.show(status)
    assert await alice.harness.statuses() == ["idle", "working", "idle"]
    changes = [told for told in alice.harness.told if isinstance(told, Changed)]
    assert changes == [Changed("alice", Idle()), Changed("alice", Working()), Changed("alice", Idle())]


@pytest.mark.parametrize(
    ("status", "again"),
    [
        (Idle(), MemberIdle(name="alice", words="I told bob.", heard=4, at=0.0)),
        (Waiting("plan"), MemberWaiting(name="alice", on="plan", heard=4, at=0.0)),
        (Parked("budget"), MemberParked(name="alice", reason="budget", heard=4, at=0.0)),
    ],
)
@pytest.mark.behaviour("sender")
async def test_who_hears_something_at_rest_shows_that_she_did_and_tells_nothing_twice(
    alice: Alice, status: Resting, again: RestRecord
) -> None:
    call = "alice:3.0"
    await alice.record(Heard(box=mail("alice"), after=0, upto=3), Said(calls=(SENDS,)))
    await alice.record(Began(calls=(call,)), Did(call=call, text="sent"), Said(text="I told bob."))
    await alice.presence.show(status)
    await alice.record(Heard(box=mail("alice"), after=3, upto=4))
    for _ in range(2):
        await alice.presence.show(status)
    _, *rest = await alice.shown()
    assert rest == [again.model_copy(update={"at": alice.harness.clock.timestamp()})]
    changes = [told for told in alice.harness.told if isinstance(told, Changed)]
    assert changes == [Changed("alice", status)]


@pytest.mark.behaviour("sender")
async def test_a_report_is_one_however_often_she_shows_that_she_rests(alice: Alice) -> None:
    await alice.record(Said(text="It is done."))
    await alice.presence.show(Idle())
    await alice.record(Heard(box=mail("alice"), after=0, upto=1))
    await alice.presence.show(Idle())
    member = (await alice.harness.team_state.roster.refresh()).members["alice"]
    assert ([words for _, words in member.reports], member.words) == (["It is done."], "It is done.")


@pytest.mark.behaviour("urgent")
async def test_who_goes_on_after_an_interrupt_is_no_longer_held(alice: Alice) -> None:
    cut = Envelope("user:1", USER, "alice", 0.0, Interrupt()).body()
    word = Envelope("lead:1", LEAD, "alice", 0.0, Plain(content="go on")).body()
    held = []
    for number, letter in enumerate((cut, word)):
        await alice.record(Heard(box=mail("alice"), after=number, upto=number + 1, mail=(letter,)))
        await alice.presence.show(Working())
        await alice.presence.show(Idle())
        held.append((await alice.harness.team_state.roster.refresh()).members["alice"].held)
    assert held == [True, False]


@pytest.mark.parametrize(("heard", "statuses"), [(1, ["idle", "idle"]), (0, ["idle"])])
async def test_what_she_heard_while_nobody_played_her_is_shown_by_who_does_next(
    alice: Alice, heard: int, statuses: list[str]
) -> None:
    await alice.record(Said(text="Ready."))
    await alice.presence.show(Idle())
    again = alice.harness.restarted([])
    await again.team_state.roster.refresh()
    later = Alice(again, await Transcript.load(again.team_state.writer, "alice"))
    if heard:
        await later.record(Heard(box=mail("alice"), after=0, upto=heard))
    await later.presence.show(Idle())
    assert await again.statuses() == statuses


async def test_the_lead_shows_nothing_again_for_what_it_heard(alice: Alice) -> None:
    transcript = await Transcript.load(alice.harness.team_state.writer, LEAD)
    await transcript.record(Started(name=LEAD, prompt="begin"))
    presence = StatusReporter(alice.harness.team_state, transcript, LEAD)
    await presence.show(Working())
    await presence.show(Idle())
    await transcript.record(Heard(box=mail(LEAD), after=0, upto=1))
    await presence.show(Idle())
    assert await alice.harness.statuses() == ["working", "idle"]


async def test_what_a_process_before_showed_still_stands_and_the_feed_of_this_one_is_told(alice: Alice) -> None:
    await alice.record(Said(text="Ready."))
    await alice.presence.show(Idle())
    again = alice.harness.restarted([])
    await again.team_state.roster.refresh()
    later = Alice(again, await Transcript.load(again.team_state.writer, "alice"))
    await later.presence.show(Idle())
    assert await again.statuses() == ["idle"]
    assert [told for told in again.told if isinstance(told, Changed)] == [Changed("alice", Idle())]
    await later.presence.show(Parked("budget"))
    assert await again.statuses() == ["idle", "parked"]


async def test_who_is_not_on_the_roster_is_on_the_feed_alone(alice: Alice) -> None:
    nobody = StatusReporter(alice.harness.team_state, alice.transcript, None)
    await nobody.show(Working())
    assert await alice.shown() == []
    assert [told for told in alice.harness.told if isinstance(told, Changed)] == [Changed("alice", Working())]
