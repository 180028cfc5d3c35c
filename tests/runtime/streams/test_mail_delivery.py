"""Hearing: everything once, in order, whatever stands in the mailbox and whenever the hearer dies."""

from pathlib import Path

import anyio
import pytest

from deskmate.core.agent.entries import Call, Heard, PermissionAsked, Said, Started
from deskmate.core.agent.open_calls import OpenCall
from deskmate.core.log.records import encode
from deskmate.core.team.messages import BODY_CAP, Envelope, PermissionResponse, Plain
from deskmate.errors import TooLarge
from tests.runtime.team_process import Killed, Moment, TeamProcess, contents, die, envelopes

pytestmark = pytest.mark.anyio


async def send(process: TeamProcess, *texts: str, by: str = "alice") -> list[Envelope]:
    return [await process.mailbox(by).send("bob", Plain(content=text)) for text in texts]


async def batches(process: TeamProcess) -> list[Heard]:
    """Return what bob, started just now, hears, entry by entry."""
    transcript = await process.transcript("bob")
    found = []
    while heard := await process.mailbox("bob").hear(transcript):
        found.append(heard)
    return found


# -- once -----------------------------------------------------------------------------------------


@pytest.mark.behaviour("deliver", "M2")
async def test_what_is_returned_is_what_was_recorded_although_more_came_meanwhile(team: TeamProcess) -> None:
    await send(team, "first")
    hearer, wire = team.meddled()
    transcript = await hearer.transcript("bob")
    wire.at("after read", "mail/bob", lambda: send(team, "between reading and recording"))
    wire.at("before append", "log/bob", lambda: send(team, "while recording"))
    heard = await hearer.mailbox("bob").hear(transcript)
    assert heard is not None
    assert contents(envelopes(heard)) == ["first"]
    entries = [entry for _, entry in (await team.transcript("bob")).entries if isinstance(entry, Heard)]
    assert [envelopes(entry) for entry in entries] == [envelopes(heard)]
    assert contents(await team.hear("bob")) == ["between reading and recording", "while recording"]


@pytest.mark.behaviour("deliver", "M1", "M2")
@pytest.mark.parametrize(
    ("moment", "stream"),
    [
        ("before read", "mail/bob"),
        ("after read", "mail/bob"),
        ("before append", "log/bob"),
        ("after append", "log/bob"),
    ],
)
async def test_a_hearer_killed_at_any_step_loses_nothing_and_hears_nothing_twice(
    team: TeamProcess, moment: Moment, stream: str
) -> None:
    sent = await send(team, "one", "two")
    dying, wire = team.meddled()
    transcript = await dying.transcript("bob")
    wire.at(moment, stream, die)
    with pytest.raises(Killed):
        await dying.mailbox("bob").hear(transcript)
    again = team.another()
    await again.hear("bob")
    sent += await send(team, "three")
    await again.hear("bob")
    entries = [entry for _, entry in (await again.transcript("bob")).entries if isinstance(entry, Heard)]
    assert [envelope for entry in entries for envelope in envelopes(entry)] == sent


async def test_nothing_new_is_nothing_to_record(team: TeamProcess) -> None:
    transcript = await team.transcript("bob")
    assert await team.mailbox("bob").hear(transcript) is None
    await send(team, "one")
    assert await team.mailbox("bob").hear(transcript) is not None
    assert await team.mailbox("bob").hear(transcript) is None
    assert len(transcript.entries) == 1


@pytest.mark.behaviour("deliver", "M2")
async def test_a_message_sent_again_under_its_id_is_heard_once(team: TeamProcess) -> None:
    async def send_again(text: str) -> None:
        await team.another().mailbox("alice").send("bob", Plain(content=text), id_="alice:1.0")

    await send_again("once")
    await send_again("once, in the same entry")
    (heard,) = await batches(team)
    assert contents(envelopes(heard)) == ["once"]
    await send_again("once, in another entry")
    await send(team, "next")
    assert contents(await team.another().hear("bob")) == ["next"]


@pytest.mark.behaviour("deliver", "M2")
async def test_of_two_who_hear_at_once_one_records_what_is_new(team: TeamProcess) -> None:
    sent = await send(team, "once")
    transcript = await team.transcript("bob")
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(team.mailbox("bob").hear, transcript)
    heard = [entry for _, entry in transcript.entries if isinstance(entry, Heard)]
    assert [envelopes(entry) for entry in heard] == [sent]


# -- in order -------------------------------------------------------------------------------------


@pytest.mark.behaviour("deliver", "M1", "M3")
async def test_messages_of_each_sender_are_heard_in_the_order_they_were_sent(team: TeamProcess) -> None:
    async def talk(name: str) -> None:
        process = team.another()
        for index in range(20):
            await send(process, f"{name} {index}", by=name)

    async with anyio.create_task_group() as tasks:
        for name in ("alice", "lead", "user"):
            tasks.start_soon(talk, name)
    heard = contents(await team.hear("bob"))
    for name in ("alice", "lead", "user"):
        assert [text for text in heard if text.startswith(name)] == [f"{name} {index}" for index in range(20)]
    assert len(heard) == 60


@pytest.mark.behaviour("deliver", "M1", "M3")
async def test_more_than_fits_into_one_record_is_heard_over_several_in_order(team: TeamProcess) -> None:
    texts = [f"{index} " + "ü" * (index % 3 * 45_000) for index in range(12)]
    await send(team, *texts)
    heard = await batches(team)
    assert len(heard) > 1
    assert [text for batch in heard for text in contents(envelopes(batch))] == texts
    assert [batch.upto for batch in heard] == sorted({batch.upto for batch in heard})


@pytest.mark.behaviour("send")
async def test_a_message_of_256_kib_is_heard_and_one_byte_more_is_refused(team: TeamProcess) -> None:
    bare = Envelope("alice:1.0", "alice", "bob", team.clock.timestamp(), Plain(content=""))
    room = BODY_CAP - len(encode({**bare.body(), "run": "-", "ord": 0}))
    with pytest.raises(TooLarge):
        await team.mailbox("alice").send("bob", Plain(content="x" * (room + 1)), id_="alice:1.0")
    assert await team.store.read("mail/bob") == []
    sent = await team.mailbox("alice").send("bob", Plain(content="x" * room), id_="alice:1.0")
    assert await team.hear("bob") == [sent]


# -- what is no mail ------------------------------------------------------------------------------


@pytest.mark.behaviour("deliver")
async def test_what_is_no_mail_for_the_hearer_is_told_and_the_rest_is_heard(team: TeamProcess) -> None:
    await send(team, "before")
    strange = Envelope("x:1.0", "alice", "carol", 0.0, Plain(content="for carol"))
    nameless = {**strange.body(), "recipient": "bob", "sender": "Bob the Builder"}
    for body in ({"type": "hologram", "id": "h"}, strange.body(), {"type": "message", "id": "y"}, nameless):
        await team.writer.append("mail/bob", body)
    await send(team, "after")
    (heard,) = await batches(team)
    assert contents(envelopes(heard)) == ["before", "after"]
    rule = "Use 1 to 64 letters, digits, '_' and '-', starting with a letter or digit."
    assert heard.damage == (
        "record 2: unknown kind 'hologram'",
        "record 3: mail for 'carol' in the mailbox of 'bob'",
        "record 4: a malformed Plain: content: Field required",
        f"record 5: 'Bob the Builder' is not a valid member name. {rule}",
    )


@pytest.mark.behaviour("deliver")
async def test_a_message_too_large_to_be_heard_is_told_and_those_behind_it_are_heard(team: TeamProcess) -> None:
    await send(team, "before")
    whole = Envelope(
        "alice:1.0", "alice", "bob", 0.0, Plain.model_validate({"content": "", "of_a_later_version": "x" * 500_000})
    )
    await team.writer.append("mail/bob", whole.body())
    await send(team, "after")
    heard = await batches(team)
    assert [text for batch in heard for text in contents(envelopes(batch))] == ["before", "after"]
    assert [len(batch.damage) for batch in heard if batch.damage] == [1]


@pytest.mark.behaviour("deliver")
async def test_a_message_nested_too_deep_to_be_heard_is_told_and_those_behind_it_are_heard(team: TeamProcess) -> None:
    deep: object = "bottom"
    for _ in range(62):
        deep = [deep]
    whole = Envelope(
        "alice:1.0", "alice", "bob", 0.0, Plain.model_validate({"content": "", "of_a_later_version": deep})
    )
    await team.writer.append("mail/bob", whole.body())
    await send(team, "after")
    (heard,) = await batches(team)
    assert (contents(envelopes(heard)), len(heard.damage)) == (["after"], 1)


# -- damage ---------------------------------------------------------------------------------------


def put_into(file: Path, line: int, data: bytes) -> None:
    """Put lines into a file by hand, in front of one."""
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[: line - 1], data, *lines[line - 1 :]]))


def flip(file: Path, old: bytes, bit: int) -> None:
    """Flip one bit of the first byte of `old`."""
    data = bytearray(file.read_bytes())
    data[data.index(old)] ^= bit
    file.write_bytes(data)


@pytest.mark.behaviour("deliver", "M1", "M2")
@pytest.mark.parametrize("bit", [0x01, 0x10, 0x80])
async def test_a_flipped_bit_costs_one_message_and_is_told_once(
    team_on_disk: TeamProcess, folder: Path, bit: int
) -> None:
    await send(team_on_disk, "one", "two", "three")
    inbox = folder / "bob_inbox.jsonl"
    flip(inbox, b"two", bit)
    (heard,) = await batches(team_on_disk.another())
    assert contents(envelopes(heard)) == ["one", "three"]
    assert heard.damage == (f"{inbox}:2: not a record, or its checksum is wrong",)
    assert await batches(team_on_disk.another()) == []
    await send(team_on_disk.another(), "four")
    assert contents(await team_on_disk.another().hear("bob")) == ["four"]


@pytest.mark.behaviour("deliver", "M1")
async def test_a_line_end_that_damage_made_takes_no_whole_message_with_it(
    team_on_disk: TeamProcess, folder: Path
) -> None:
    """A message broken in two takes the number of the whole one behind it, which no longer fits into the entry."""
    large = "x" * 200_000
    await send(team_on_disk, large, large, "*", large)
    flip(folder / "bob_inbox.jsonl", b"*", 0x20)
    heard = await batches(team_on_disk.another())
    assert [text for batch in heard for text in contents(envelopes(batch))] == [large, large, large]
    assert sum(len(batch.damage) for batch in heard) == 2


@pytest.mark.behaviour("deliver", "M1")
async def test_a_mailbox_full_of_rubbish_is_told_in_few_words_and_its_mail_is_heard(
    team_on_disk: TeamProcess, folder: Path
) -> None:
    await send(team_on_disk, "one", "two", "three")
    put_into(folder / "bob_inbox.jsonl", 2, b"rubbish\n" * 20_000)
    heard = await batches(team_on_disk.another())
    assert [text for batch in heard for text in contents(envelopes(batch))] == ["one", "two", "three"]
    (told,) = [batch.damage for batch in heard if batch.damage]
    assert told[-1] == f"and {20_001 - len(told)} more places that cannot be read"
    assert len(told) <= 11


@pytest.mark.behaviour("deliver", "M1")
async def test_a_message_torn_by_a_dying_sender_is_told_and_no_other_is_lost(
    team_on_disk: TeamProcess, folder: Path
) -> None:
    await send(team_on_disk, "one")
    inbox = folder / "bob_inbox.jsonl"
    with inbox.open("ab") as file:
        file.write(b'{"type":"message","sender":"ali')
    await send(team_on_disk.another(), "two")
    (heard,) = await batches(team_on_disk.another())
    assert contents(envelopes(heard)) == ["one", "two"]
    assert heard.damage == (f"{inbox}:2: an append that never finished, fenced by the next writer",)


# -- answers --------------------------------------------------------------------------------------


@pytest.mark.behaviour("P3")
async def test_of_several_answers_the_first_from_who_was_asked_counts_also_after_a_restart(team: TeamProcess) -> None:
    transcript = await team.transcript("bob")
    await transcript.record(Started(name="bob"))
    await transcript.record(Said(calls=(Call(tool="bash", arguments={"command": "ls"}),)))
    await transcript.record(PermissionAsked(call="bob:2.0", request_id="bob:2.0"))
    answers = [
        ("alice", True, "bob:2.0"),
        ("user", True, "bob:1.0"),
        ("user", False, "bob:2.0"),
        ("user", True, "bob:2.0"),
    ]
    for name, approve, request_id in answers:
        await team.mailbox(name).send("bob", PermissionResponse(request_id=request_id, approve=approve, content=name))
    await team.mailbox("bob").hear(transcript)
    settled = OpenCall("bob:2.0", "bash", {"command": "ls"}, request="bob:2.0", allowed=False, why="user")
    assert (transcript.memory.calls, transcript.memory.requests) == ({"bob:2.0": settled}, {})
    assert (await team.another().transcript("bob")).memory == transcript.memory
