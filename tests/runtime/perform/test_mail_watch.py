"""What an agent learns of its mail while something of its own runs: that it came, and the little that cuts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from deskmate.core.log.names import LEAD, USER, mail
from deskmate.core.team.messages import Interrupt, Message, Plain, ShutdownRequest
from deskmate.core.team.roster_records import Joined
from deskmate.runtime.events import Arrived
from deskmate.runtime.perform.mail_watch import MailWatch
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.task_groups import PlayTasks
from tests.runtime.agent_harness import AgentHarness, turns
from tests.runtime.team_process import SOON, until

pytestmark = pytest.mark.anyio

STOP = ShutdownRequest(request_id="lead:9.0")


@pytest.fixture
async def harness() -> AgentHarness:
    harness = await AgentHarness.opened([])
    await harness.team_state.roster.join(Joined(name="alice", at=0.0))
    await harness.team_state.roster.join(Joined(name="bob", at=0.0))
    return harness


@asynccontextmanager
async def watched(harness: AgentHarness, seen: int = 0) -> AsyncIterator[list[int]]:
    """Watch alice's mailbox beside the test; lend the numbers of what was to cut."""
    cuts: list[int] = []
    mailbox = Mailbox("alice", harness.team_state.writer, harness.team_state.roster)

    def cut(box: str, number: int) -> None:
        assert box == mail("alice")
        cuts.append(number)

    with anyio.fail_after(SOON):
        tasks = PlayTasks()
        async with tasks.open():
            tasks.start_soon(MailWatch(harness.team_state, mailbox, cut, tasks).keep, {mail("alice"): seen})
            yield cuts


async def send(harness: AgentHarness, message: Message, sender: str = USER) -> None:
    """Send to alice, and return once that was looked at."""
    arrived = len(arrivals(harness))
    await harness.send(message, sender=sender, to="alice")
    await until(lambda: len(arrivals(harness)) > arrived)
    await turns()


def arrivals(harness: AgentHarness) -> list[Arrived]:
    return [told for told in harness.told if isinstance(told, Arrived)]


@pytest.mark.behaviour("deliver")
async def test_whatever_comes_is_told_with_its_sender_and_kind(harness: AgentHarness) -> None:
    async with watched(harness) as cuts:
        await send(harness, Plain(content="hello"), "bob")
        await send(harness, STOP, LEAD)
        await send(harness, Interrupt(), USER)
    assert arrivals(harness) == [
        Arrived("alice", "bob", "message"),
        Arrived("alice", LEAD, "shutdown_request"),
        Arrived("alice", USER, "interrupt"),
    ]
    assert cuts == [3]


async def test_what_was_heard_before_is_not_told_again(harness: AgentHarness) -> None:
    await harness.send(Interrupt(), to="alice")
    async with watched(harness, seen=1) as cuts:
        await send(harness, Plain(content="hello"))
    assert (arrivals(harness), cuts) == ([Arrived("alice", USER, "message")], [])


async def test_what_came_while_nobody_watched_is_looked_at_first(harness: AgentHarness) -> None:
    await harness.send(Interrupt(), to="alice")
    async with watched(harness) as cuts:
        await until(lambda: cuts)
    assert cuts == [1]


@pytest.mark.behaviour("urgent")
async def test_only_the_user_interrupts(harness: AgentHarness) -> None:
    async with watched(harness) as cuts:
        await send(harness, Interrupt(), LEAD)
        await send(harness, Interrupt(), "bob")
        await send(harness, Plain(content="stop!"), USER)
        assert cuts == []
        await send(harness, Interrupt(), USER)
        assert cuts == [4]


@pytest.mark.behaviour("shutdown")
@pytest.mark.parametrize("sender", [USER, LEAD])
async def test_a_shutdown_request_cuts_once_it_has_lain_150_seconds(harness: AgentHarness, sender: str) -> None:
    async with watched(harness) as cuts:
        await send(harness, STOP, sender)
        harness.clock.advance(149.9)
        await turns()
        assert cuts == []
        harness.clock.advance(0.1)
        await until(lambda: cuts)
    assert cuts == [1]


async def test_a_request_of_who_may_not_ask_cuts_nothing(harness: AgentHarness) -> None:
    async with watched(harness) as cuts:
        await send(harness, STOP, "bob")
        harness.clock.advance(1_000.0)
        await turns()
    assert cuts == []


async def test_what_is_no_mail_is_passed_over(harness: AgentHarness) -> None:
    async with watched(harness) as cuts:
        await harness.team_state.writer.append(mail("alice"), {"type": "telegram", "sender": USER})
        await send(harness, Interrupt())
    assert (arrivals(harness), cuts) == ([Arrived("alice", USER, "interrupt")], [2])
