"""Sending: to whom, by whom, and what comes back from those who left."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from deskmate.core.log.names import mail
from deskmate.core.log.records import Record, encode
from deskmate.core.team.messages import (
    BODY_CAP,
    Broadcast,
    Envelope,
    Interrupt,
    PermissionResponse,
    Plain,
    PlanResponse,
    ShutdownRequest,
    Undeliverable,
)
from deskmate.errors import Refused, TooLarge, UnknownRecipient
from deskmate.runtime.streams.log_writer import RETRY_SECONDS
from deskmate.runtime.streams.mailbox import Delivery
from tests.runtime.team_process import Killed, Moment, TeamProcess, contents, die, fail, passing

pytestmark = pytest.mark.anyio
TRIES = len(RETRY_SECONDS) + 1


def returned(envelope: Envelope, to: str, *, at: float = 1_700_000_000.0) -> Envelope:
    message = Undeliverable(reason=f"'{envelope.recipient}' left before reading it", original=envelope.body())
    return Envelope(f"undeliverable/{envelope.id}", envelope.recipient, to, at, message)


# -- to whom --------------------------------------------------------------------------------------


@pytest.mark.behaviour("send", "sender")
async def test_a_message_is_heard_as_it_was_sent_stamped_with_its_sender(team: TeamProcess) -> None:
    sent = await team.mailbox("alice").send("bob", Plain(content="schema is final", summary="schema"))
    assert (sent.sender, sent.recipient, sent.timestamp) == ("alice", "bob", team.clock.timestamp())
    assert await team.another().hear("bob") == [sent]


@pytest.mark.behaviour("sender")
async def test_no_field_of_a_message_can_pose_as_its_sender(team: TeamProcess) -> None:
    forged = Plain.model_validate({"content": "stop", "sender": "lead", "recipient": "carol", "id": "x"})
    sent = await team.mailbox("alice").send("bob", forged, id_="alice:1.0")
    heard = [(envelope.id, envelope.sender, envelope.recipient) for envelope in await team.hear("bob")]
    assert heard == [(sent.id, "alice", "bob")] == [("alice:1.0", "alice", "bob")]


@pytest.mark.behaviour("send", "M6")
@pytest.mark.parametrize("name", ["nobody", "B0b", "bob ", "bob@other", "bob@team@x", "", "../bob", "all", "b" * 99])
async def test_a_message_to_nobody_is_refused_naming_who_is_here(team: TeamProcess, name: str) -> None:
    with pytest.raises(UnknownRecipient) as refused:
        await team.mailbox("alice").send(name, Plain(content="hello?"))
    assert str(refused.value) == f"'{name[:80]}' is not on this team. On the team: lead, alice, bob, user."


@pytest.mark.behaviour("send")
@pytest.mark.parametrize("name", ["Bob", "BOB", "ｂob"])
async def test_a_member_is_reached_whatever_the_case_its_name_is_written_in(team: TeamProcess, name: str) -> None:
    sent = await team.mailbox("alice").send(name, Plain(content="hello"))
    assert sent.recipient == "bob"
    assert await team.hear("bob") == [sent]


@pytest.mark.behaviour("send", "M6")
async def test_a_message_to_someone_who_left_is_refused_naming_who_is_here(team: TeamProcess) -> None:
    other = team.another()
    await other.roster.refresh()
    await team.leave("bob")
    with pytest.raises(UnknownRecipient) as refused:
        await other.mailbox("alice").send("bob", Plain(content="too late"))
    assert str(refused.value) == "'bob' has left. On the team: lead, alice, user."


async def test_someone_who_joined_a_moment_ago_in_another_process_can_be_written_to(team: TeamProcess) -> None:
    other = team.another()
    await other.roster.refresh()
    await team.join("carol")
    sent = await other.mailbox("alice").send("carol", Plain(content="welcome"))
    assert await team.hear("carol") == [sent]


@pytest.mark.behaviour("M6")
async def test_a_refused_message_leaves_no_mailbox_behind(team_on_disk: TeamProcess, folder: Path) -> None:
    alice = team_on_disk.mailbox("alice")
    await team_on_disk.leave("bob")
    before = sorted(path.name for path in folder.iterdir())
    for name in ("nobody", "bob", "Bob", "bob@other", "../bob"):
        with pytest.raises(UnknownRecipient):
            await alice.send(name, Plain(content="hello?"))
    assert await alice.broadcast(["nobody", "bob"], Broadcast(content="all"), id_="alice:1.0") == Delivery(
        reached=(), missed=("nobody", "bob")
    )
    assert sorted(path.name for path in folder.iterdir()) == before


async def test_the_user_and_the_lead_have_a_mailbox_from_the_start(team: TeamProcess) -> None:
    sent = [await team.mailbox("alice").send(name, Plain(content="done")) for name in ("lead", "user")]
    boxes = [await team.store.read(f"mail/{name}") for name in ("lead", "user")]
    found = [{**item.body, "run": "", "ord": 0} for box in boxes for item in box if isinstance(item, Record)]
    assert found == [{**envelope.body(), "run": "", "ord": 0} for envelope in sent]


# -- coming back ----------------------------------------------------------------------------------


@pytest.mark.behaviour("bounce", "M6")
async def test_unheard_mail_comes_back_from_who_left_and_heard_mail_does_not(team: TeamProcess) -> None:
    alice = team.mailbox("alice")
    await alice.send("bob", Plain(content="heard"))
    await team.hear("bob")
    unheard = [await alice.send("bob", Plain(content=text)) for text in ("unheard", "unheard too")]
    assert await team.another().leave_and_give_back("bob") == 2
    assert await team.hear("alice") == [returned(envelope, "alice") for envelope in unheard]
    assert await team.hear("lead") == []


@pytest.mark.behaviour("bounce", "M6")
@pytest.mark.parametrize("moment", ["before append", "after append"])
async def test_mail_that_crosses_with_a_leaving_comes_back_once(team: TeamProcess, moment: Moment) -> None:
    """Written between `Left` and giving back, both sides return it; written after it, its sender does."""
    sender, wire = team.meddled()
    wire.at(moment, "mail/bob", lambda: team.leave_and_give_back("bob"))
    sent = await sender.mailbox("alice").send("bob", Plain(content="crossing"))
    assert await team.hear("alice") == [returned(sent, "alice")]
    assert await team.mailbox("bob").give_back() == 1
    assert await team.hear("alice") == []


@pytest.mark.behaviour("bounce")
async def test_giving_back_again_after_a_crash_doubles_nothing(team: TeamProcess) -> None:
    alice = team.mailbox("alice")
    sent = [await alice.send("bob", Plain(content=str(index))) for index in range(4)]
    dying, wire = team.meddled()
    wire.at("after append", "mail/alice", die)
    with pytest.raises(Killed):
        await dying.leave_and_give_back("bob")
    first = await team.hear("alice")
    assert [await team.another().mailbox("bob").give_back() for _ in range(2)] == [4, 4]
    assert [*first, *await team.hear("alice")] == [returned(envelope, "alice") for envelope in sent]


@pytest.mark.behaviour("bounce", "M6")
async def test_mail_of_a_sender_who_left_comes_back_to_the_lead(team: TeamProcess) -> None:
    sent = await team.mailbox("alice").send("bob", Plain(content="anyone?"))
    await team.leave_and_give_back("alice")
    await team.leave_and_give_back("bob")
    assert await team.hear("lead") == [returned(sent, "lead")]


async def test_mail_to_oneself_comes_back_to_the_lead(team: TeamProcess) -> None:
    sent = await team.mailbox("bob").send("bob", Plain(content="note to self"))
    await team.leave_and_give_back("bob")
    assert await team.hear("lead") == [returned(sent, "lead")]


@pytest.mark.behaviour("bounce", "M6")
async def test_what_came_back_to_someone_who_then_left_goes_to_the_lead(team: TeamProcess) -> None:
    sent = await team.mailbox("alice").send("bob", Plain(content="anyone?"))
    await team.leave_and_give_back("bob")
    await team.leave_and_give_back("alice")
    assert await team.mailbox("bob").give_back() == 1
    assert await team.hear("lead") == [returned(sent, "lead")]


@pytest.mark.behaviour("bounce", "M6")
async def test_what_came_back_and_was_heard_does_not_come_back_again_to_the_lead(team: TeamProcess) -> None:
    sent = await team.mailbox("alice").send("bob", Plain(content="anyone?"))
    await team.leave_and_give_back("bob")
    assert await team.hear("alice") == [returned(sent, "alice")]
    await team.leave_and_give_back("alice")
    await team.mailbox("bob").give_back()
    assert await team.hear("lead") == []


@pytest.mark.behaviour("bounce", "M6")
async def test_what_comes_back_while_its_sender_is_leaving_reaches_the_lead(team: TeamProcess) -> None:
    sent = await team.mailbox("alice").send("bob", Plain(content="anyone?"))
    leaver, wire = team.meddled()
    wire.at("before append", "mail/alice", lambda: team.leave_and_give_back("alice"))
    await leaver.leave_and_give_back("bob")
    assert await team.hear("lead") == [returned(sent, "lead")]


@pytest.mark.behaviour("bounce", "M6")
async def test_what_came_back_too_late_from_one_who_died_doing_it_reaches_the_lead(team: TeamProcess) -> None:
    sent = await team.mailbox("alice").send("bob", Plain(content="anyone?"))
    dying, wire = team.meddled()
    wire.at("before append", "mail/alice", lambda: team.leave_and_give_back("alice"))
    wire.at("after append", "mail/alice", die)
    with pytest.raises(Killed):
        await dying.leave_and_give_back("bob")
    assert await team.hear("lead") == []
    await team.mailbox("bob").give_back()
    assert await team.hear("lead") == [returned(sent, "lead")]


@pytest.mark.behaviour("bounce", "M2")
async def test_what_was_heard_and_sent_again_in_doubt_does_not_come_back(team: TeamProcess) -> None:
    """Its sender was killed before it knew; its hearer leaves between the second try and hearing that."""
    await team.mailbox("alice").send("bob", Plain(content="once"), id_="alice:1.0")
    assert contents(await team.hear("bob")) == ["once"]
    sender, wire = team.another().meddled()
    wire.at("after append", "mail/bob", lambda: team.leave_and_give_back("bob"))
    await sender.mailbox("alice").send("bob", Plain(content="once"), id_="alice:1.0")
    assert await team.hear("alice") == []


async def test_what_was_sent_twice_in_doubt_is_counted_once_when_it_comes_back(team: TeamProcess) -> None:
    for _ in range(2):
        await team.mailbox("alice").send("bob", Plain(content="once"), id_="alice:1.0")
    assert await team.leave_and_give_back("bob") == 1
    assert len(await team.hear("alice")) == 1


@pytest.mark.behaviour("bounce")
async def test_what_lost_its_point_with_the_leaving_does_not_come_back(team: TeamProcess) -> None:
    lead, user = team.mailbox("lead"), team.mailbox("user")
    await lead.send("bob", ShutdownRequest(request_id="r1"))
    await user.send("bob", Interrupt())
    await user.send("bob", PermissionResponse(request_id="r2", approve=True))
    plan = await lead.send("bob", PlanResponse(request_id="r3", approve=True))
    assert await team.leave_and_give_back("bob") == 1
    assert await team.hear("lead") == [returned(plan, "lead")]
    assert await team.store.read("mail/user") == []


@pytest.mark.behaviour("bounce")
async def test_the_largest_message_comes_back_whole(team: TeamProcess) -> None:
    sent = await team.mailbox("alice").send("bob", Plain(content="x" * (BODY_CAP - 500)))
    await team.leave_and_give_back("bob")
    assert await team.hear("alice") == [returned(sent, "alice")]


async def test_what_cannot_be_read_of_unheard_mail_is_told_to_the_lead_once(
    team_on_disk: TeamProcess, folder: Path
) -> None:
    sent = [await team_on_disk.mailbox("alice").send("bob", Plain(content=text)) for text in ("one", "two", "three")]
    inbox = folder / "bob_inbox.jsonl"
    inbox.write_bytes(inbox.read_bytes().replace(b"two", b"TWO"))
    process = team_on_disk.another()
    assert [await process.leave_and_give_back("bob"), await process.mailbox("bob").give_back()] == [2, 2]
    assert await process.hear("alice") == [returned(envelope, "alice") for envelope in (sent[0], sent[2])]
    reason = f"some mail that 'bob' had not read is damaged: {inbox}:2: not a record, or its checksum is wrong"
    told = Envelope(
        "undeliverable/mail/bob", "bob", "lead", process.clock.timestamp(), Undeliverable(reason=reason, original={})
    )
    assert await process.hear("lead") == [told]


async def test_what_could_not_be_read_is_not_told_again_once_its_hearer_was_told(
    team_on_disk: TeamProcess, folder: Path
) -> None:
    await team_on_disk.mailbox("alice").send("bob", Plain(content="two"))
    inbox = folder / "bob_inbox.jsonl"
    inbox.write_bytes(inbox.read_bytes().replace(b"two", b"TWO"))
    process = team_on_disk.another()
    await process.hear("bob")
    assert await process.leave_and_give_back("bob") == 0
    assert await process.hear("lead") == []


# -- to all ---------------------------------------------------------------------------------------

ALL = ("lead", "bob", "carol", "dave", "erin")


async def broadcast(process: TeamProcess, names: Sequence[str] = ALL, content: str = "freeze") -> Delivery:
    return await process.mailbox("alice").broadcast(names, Broadcast(content=content), id_="alice:7.0")


async def heard_by_all(process: TeamProcess) -> dict[str, list[str]]:
    return {name: contents(await process.hear(name)) for name in ALL}


@pytest.mark.behaviour("broadcast", "M8")
async def test_a_broadcast_reaches_those_it_was_meant_for_when_it_was_sent(team: TeamProcess) -> None:
    await team.join("carol", "dave", "erin")
    dying, wire = team.meddled()
    wire.at("before append", "mail/carol", lambda: team.join("frank"))
    assert await broadcast(dying) == Delivery(reached=ALL, missed=())
    assert await heard_by_all(team) == {name: ["freeze"] for name in ALL}
    assert [await team.hear(name) for name in ("alice", "frank")] == [[], []]


@pytest.mark.behaviour("broadcast", "M8")
@pytest.mark.parametrize("how", ["killed before", "killed after", "cancelled"])
@pytest.mark.parametrize("reached", range(len(ALL)))
async def test_a_broadcast_cut_off_half_way_and_sent_again_is_heard_once_by_all(
    team: TeamProcess, how: str, reached: int
) -> None:
    await team.join("carol", "dave", "erin")
    dying, wire = team.meddled()
    with anyio.CancelScope() as scope:

        async def cancel() -> None:
            scope.cancel()
            await anyio.lowlevel.checkpoint()

        moment: Moment = "after append" if how == "killed after" else "before append"
        wire.at(moment, f"mail/{ALL[reached]}", cancel if how == "cancelled" else die)
        with suppress(Killed):
            await broadcast(dying)
    assert [name for name in ALL if await team.store.read(f"mail/{name}")] == list(
        ALL[: reached + (how == "killed after")]
    )
    early = contents(await team.hear(ALL[0]))
    assert await broadcast(team.another()) == Delivery(reached=ALL, missed=())
    heard = await heard_by_all(team)
    assert {**heard, ALL[0]: early + heard[ALL[0]]} == {name: ["freeze"] for name in ALL}


@pytest.mark.behaviour("broadcast", "M8")
async def test_a_broadcast_names_whom_the_store_did_not_let_it_reach(team: TeamProcess) -> None:
    await team.join("carol", "dave", "erin")
    await team.leave("dave")
    sender, wire = team.meddled()
    wire.at("before append", "mail/bob", *[fail] * TRIES)
    async with passing(team.clock):
        assert await broadcast(sender) == Delivery(reached=("lead", "carol", "erin"), missed=("bob", "dave"))
    heard = {name: contents(await team.hear(name)) for name in ALL}
    assert heard == {"lead": ["freeze"], "bob": [], "carol": ["freeze"], "dave": [], "erin": ["freeze"]}


@pytest.mark.behaviour("broadcast")
async def test_one_mailbox_beyond_repair_does_not_keep_a_broadcast_from_the_rest(
    team_on_disk: TeamProcess, folder: Path
) -> None:
    await team_on_disk.join("carol", "dave", "erin")
    (folder / "bob_inbox.jsonl").mkdir()
    delivery = await broadcast(team_on_disk)
    assert delivery == Delivery(reached=("lead", "carol", "dave", "erin"), missed=("bob",))


@pytest.mark.behaviour("broadcast", "M8")
async def test_a_broadcast_too_large_for_one_address_is_sent_to_nobody(team: TeamProcess) -> None:
    await team.join("carol-of-the-long-name")
    bare = Envelope("alice:7.0/bob", "alice", "bob", team.clock.timestamp(), Broadcast(content=""))
    fits_bob = "x" * (BODY_CAP - len(encode({**bare.body(), "run": "-", "ord": 0})))
    with pytest.raises(TooLarge):
        await broadcast(team, ["bob", "carol-of-the-long-name"], fits_bob)
    assert await team.store.read("mail/bob") == []
    assert await broadcast(team, ["bob"], fits_bob) == Delivery(reached=("bob",), missed=())


# -- answering ------------------------------------------------------------------------------------


async def test_of_answers_given_at_once_by_two_processes_one_counts_and_the_others_are_refused(
    team: TeamProcess,
) -> None:
    refused = list[Exception]()

    async def answer(approve: bool) -> None:
        try:
            yes = PermissionResponse(request_id="bob:1.0", approve=approve)
            await team.another().mailbox("user").answer("bob", yes)
        except Refused as error:
            refused.append(error)

    async with anyio.create_task_group() as tasks:
        for approve in (True, False, True):
            tasks.start_soon(answer, approve)
    assert len(refused) == 2
    assert all("request 'bob:1.0'. The first answer counts." in str(error) for error in refused)
    assert len(await team.hear("bob")) == 1


async def test_a_plan_that_the_lead_answered_is_not_answered_again_by_the_user(team: TeamProcess) -> None:
    await team.mailbox("lead").send("bob", PlanResponse(request_id="bob:2.0", approve=False, content="no"))
    with pytest.raises(Refused, match=r"lead has already refused plan 'bob:2.0'"):
        await team.mailbox("user").answer("bob", PlanResponse(request_id="bob:2.0", approve=True))
    # A word that looks like an answer and is none of theirs does not keep the user from answering.
    await team.mailbox("alice").send("bob", PlanResponse(request_id="bob:3.0", approve=True))
    await team.mailbox("user").answer("bob", PlanResponse(request_id="bob:3.0", approve=False, content="no"))
    assert len(await team.store.read(mail("bob"))) == 3
