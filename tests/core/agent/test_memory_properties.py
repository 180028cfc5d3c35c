"""What holds of every memory, whatever an agent heard, said and did, and wherever it was cut off."""

import json
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.agent.entries import (
    AgentParked,
    Agreed,
    Answered,
    Began,
    Call,
    Cleared,
    Compacted,
    Did,
    Ended,
    Entry,
    Heard,
    Noticed,
    Nudged,
    Opened,
    Overflowed,
    PermissionAsked,
    PicturesRefused,
    Reported,
    Said,
    Started,
    SummaryDropped,
    SummaryRequested,
    Took,
    read_entry,
)
from deskmate.core.agent.memory import EMPTY, Memory, remember
from deskmate.core.log.facts import Fact, Foreign
from deskmate.core.log.records import decode, encode
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.messages import (
    Broadcast,
    Envelope,
    Interrupt,
    Message,
    PermissionRequest,
    PermissionResponse,
    Plain,
    PlanRequest,
    PlanResponse,
    Scheduled,
    ShutdownRequest,
    ShutdownResponse,
    Undeliverable,
    read_envelope,
)

Numbered = tuple[int, Entry]

CHIEFS = ("lead", "user")
SENDERS = ("lead", "user", "user", "bob", "mallory")
# Stand for whatever is open when an entry is made.
OPEN = ("<0>", "<1>", "<2>")
NEAR = ("<0>", "<0>", "<1>")
YES_NO = (True, False)

MESSAGES: list[Fact] = [
    *(Plain(content="hi"), Broadcast(content="all")) * 3,
    *(Interrupt(),) * 5,
    Undeliverable(reason="left", original={}),
    Scheduled(schedule=1, content="look", due="now"),
    *(PlanRequest(request_id=id_, content="p") for id_ in OPEN[:1]),
    *(PermissionRequest(request_id=id_, tool="bash", arguments={}) for id_ in OPEN[:1]),
    *(ShutdownRequest(request_id=id_) for id_ in ("lead:9.0", "user:1")),
    *(PlanResponse(request_id=id_, approve=word) for id_ in OPEN * 2 for word in YES_NO),
    *(ShutdownResponse(request_id=id_, approve=word) for id_ in OPEN for word in YES_NO),
    *(PermissionResponse(request_id=id_, approve=word, content="why") for id_ in NEAR * 2 for word in YES_NO),
]
OPENINGS: list[Entry] = [
    *(PermissionAsked(call=id_, request_id=id_) for id_ in NEAR * 3),
    *(
        Did(call=id_, text="", opened=Opened(request_id=id_, shake=shake, asked=asked))
        for id_ in OPEN
        for shake, asked in ((Shake.PLAN, "lead"), (Shake.SHUTDOWN, "bob"))
    ),
]
TASKS: tuple[dict[int, int | None], ...] = ({1: 2}, {1: None, 2: 1}, {3: 1})
OTHERS: list[Entry] = [
    *(Began(calls=calls) for calls in (OPEN[:1], OPEN[1:2], OPEN[:2])),
    *(Did(call=id_, text="", background="b1") for id_ in OPEN),
    *(Did(call=OPEN[0], text="", tasks=tasks) for tasks in TASKS),
    *(
        Did(call=OPEN[0], text="", answered=Answered(request_id=id_, approve=word))
        for id_ in ("lead:9.0", "user:1")
        for word in YES_NO
    ),
    *(Took(task=task, epoch=1, text="") for task in (1, 2)),
    *(Noticed(text="", roster=roster, board=4 - roster, tasks=(roster,)) for roster in (1, 3)),
    Nudged(task=1, epoch=2),
    Reported(task=1, epoch=2),
    Agreed(request_id="lead:9.0"),
    AgentParked(reason="budget", caps="5"),
    Ended(background="b1", status="exit 0"),
    Compacted(upto=2, summary=""),
    Cleared(upto=2),
    SummaryRequested(focus="the schema"),
    SummaryDropped(),
    Overflowed(),
    PicturesRefused(names=("shot.png",)),
]

messages = st.sampled_from(MESSAGES)
bodies = st.builds(
    lambda id_, sender, message: Envelope(f"m{id_}", sender, "alice", 1.0, message).body(),
    st.integers(0, 99),
    st.sampled_from(SENDERS),
    messages,
)
hearing = st.builds(
    lambda box, after, upto, mail, damage: Heard(box=box, after=after, upto=upto, mail=tuple(mail), damage=damage),
    st.sampled_from(["mail/alice", "mail/lead"]),
    st.integers(0, 40),
    st.integers(0, 40),
    st.lists(bodies | st.just({"type": "odd"}), min_size=1, max_size=5),
    st.sampled_from([(), (), ("record 3: torn",)]),
)
calling = st.sampled_from([Said(calls=(Call(tool="bash", arguments={"a": None}),) * count) for count in (2, 1, 2, 0)])
KINDS: dict[str, st.SearchStrategy[Entry]] = {
    "hear": hearing,
    "hear more": hearing,
    "say": calling,
    "ask": st.sampled_from(OPENINGS),
    "other": st.sampled_from(OTHERS),
}


def about(memory: Memory, entry: Entry) -> Entry:
    """Return an entry with the ids of what is open in place of what stands for them."""
    text = json.dumps(entry.body())
    calls, requests = [*memory.calls, "alice:99.0"], [*memory.requests, *memory.calls, "alice:99.0"]
    for stand_in, id_ in zip(OPEN, (calls[0], requests[0], calls[-2:][0]), strict=True):
        text = text.replace(stand_in, id_)
    named = read_entry(json.loads(text))
    assert not isinstance(named, Foreign)
    return named


@st.composite
def transcripts(draw: st.DrawFn) -> list[Numbered]:
    """Entries of alice, most about what is open just then; numbers grow and may skip what was damaged."""
    skips = draw(st.sampled_from([(1,), (1, 2), (3, 1, 1)]))
    entries: list[Numbered] = [(1, Started(name="alice", planning=draw(st.booleans())))]
    memory = remember(EMPTY, *entries[0])
    for index, kind in enumerate(draw(st.lists(st.sampled_from(list(KINDS)), min_size=8, max_size=24))):
        entry = about(memory, draw(KINDS[kind]))
        entries.append((memory.number + skips[index % len(skips)], entry))
        memory = remember(memory, *entries[-1])
    return entries


def recall(entries: list[Numbered], memory: Memory = EMPTY) -> Memory:
    for number, entry in entries:
        memory = remember(memory, number, entry)
    return memory


def steps(entries: list[Numbered]) -> Iterator[tuple[Memory, Entry, Memory]]:
    """Yield each entry with the memory before and after it."""
    before = EMPTY
    for number, entry in entries:
        after = remember(before, number, entry)
        yield before, entry, after
        before = after


def mail_in(entry: Entry) -> list[Envelope]:
    found = [read_envelope(body) for body in entry.mail] if isinstance(entry, Heard) else []
    return [envelope for envelope in found if isinstance(envelope, Envelope)]


def from_disk(numbered: Numbered) -> Numbered:
    """Return an entry as it is after it was written and read."""
    number, entry = numbered
    body = decode(encode({**entry.body(), "run": "r", "ord": number}))
    del body["run"], body["ord"]
    again = read_entry(body)
    assert not isinstance(again, Foreign)
    return number, again


@given(transcripts())
def test_an_agent_cut_off_anywhere_and_started_again_knows_the_same(entries: list[Numbered]) -> None:
    whole = recall(entries)
    written = [from_disk(entry) for entry in entries]
    assert written == entries
    for cut in range(len(entries) + 1):
        assert recall(entries[cut:], memory=recall(written[:cut])) == whole


@pytest.mark.behaviour("M2")
@given(transcripts(), st.builds(Random, st.integers(0, 1000)))
def test_mail_that_comes_again_and_again_has_its_effect_once(entries: list[Numbered], random: Random) -> None:
    known: list[dict[str, Any]] = []
    once = often = EMPTY
    for number, entry in entries:
        again = entry
        if isinstance(entry, Heard):
            known.extend(entry.mail)
            again = entry.model_copy(update={"mail": (*entry.mail, *random.sample(known, k=min(9, len(known))))})
        once, often = remember(once, number, entry), remember(often, number, again)
        assert often == once


@pytest.mark.behaviour("M2")
@given(transcripts())
def test_cursors_never_fall_and_no_id_is_forgotten(entries: list[Numbered]) -> None:
    heard: set[str] = set()
    for before, entry, after in steps(entries):
        assert all(after.cursors[box] >= upto for box, upto in before.cursors.items())
        heard |= {envelope.id for envelope in mail_in(entry)}
        assert len(after.ids) == len(heard)
        assert all(id_ in after.ids for id_ in heard)


@pytest.mark.behaviour("urgent")
@given(transcripts())
def test_an_interrupted_agent_goes_on_only_by_a_word_of_user_or_lead(entries: list[Numbered]) -> None:
    for before, entry, after in steps(entries):
        words = [envelope for envelope in mail_in(entry) if envelope.sender in CHIEFS]
        if before.interrupted and not after.interrupted:
            # An early answer to a plan may be the word, if the plan was noted only now.
            assert any(not isinstance(one.message, Interrupt) for one in words) or before.early
        if after.interrupted and not before.interrupted:
            assert any(isinstance(one.message, Interrupt) and one.sender == "user" for one in words)


@pytest.mark.behaviour("permission")
@given(transcripts())
def test_a_call_is_allowed_once_and_only_by_the_users_answer_to_its_own_request(entries: list[Numbered]) -> None:
    answers: set[tuple[str, bool]] = set()
    for before, entry, after in steps(entries):
        for envelope in mail_in(entry):
            if isinstance(envelope.message, PermissionResponse) and envelope.sender == "user":
                answers.add((envelope.message.request_id, envelope.message.approve))
        for id_, call in after.calls.items():
            earlier = before.calls.get(id_)
            if earlier and earlier.allowed is not None and not isinstance(entry, Said):
                assert call.allowed is earlier.allowed
            elif call.allowed is not None:
                assert (call.request, call.allowed) in answers
                assert call.request not in after.requests


@pytest.mark.behaviour("plan")
@given(transcripts())
def test_planning_ends_only_by_a_yes_of_lead_or_user_to_a_plan_that_was_submitted(entries: list[Numbered]) -> None:
    yes, plans = set[str](), set[str]()
    for before, entry, after in steps(entries):
        for envelope in mail_in(entry):
            if isinstance(envelope.message, PlanResponse) and envelope.message.approve and envelope.sender in CHIEFS:
                yes.add(envelope.message.request_id)
        if isinstance(entry, Did) and entry.opened and entry.opened.shake is Shake.PLAN:
            plans.add(entry.opened.request_id)
        assert after.owes_plan == before.owes_plan or isinstance(entry, Started) or yes & plans


@pytest.mark.behaviour("shutdown")
@given(transcripts())
def test_an_agent_stops_only_on_a_demand_of_lead_or_user_that_it_agreed_to(entries: list[Numbered]) -> None:
    demands: set[str] = set()
    for before, entry, after in steps(entries):
        demands |= {
            one.message.request_id
            for one in mail_in(entry)
            if isinstance(one.message, ShutdownRequest) and one.sender in CHIEFS
        }
        assert after.demands.keys() <= demands
        assert set(after.demands.values()) <= set(CHIEFS)
        if after.stopping != before.stopping:
            assert isinstance(entry, Agreed) or (isinstance(entry, Did) and entry.answered and entry.answered.approve)
            assert isinstance(entry, Agreed) or after.stopping in demands


@pytest.mark.behaviour("plan", "permission", "shutdown", "urgent")
@given(transcripts(), st.lists(messages, min_size=1, max_size=4))
def test_nothing_a_teammate_writes_commands_an_agent(entries: list[Numbered], written: list[Message]) -> None:
    before = recall(entries)
    mail = tuple(
        Envelope(f"t{index}", "mallory", "alice", 1.0, message).body() for index, message in enumerate(written)
    )
    heard = about(before, Heard(box="mail/alice", after=0, upto=50, mail=mail))
    after = remember(before, before.number + 1, heard)
    # Words wake. All else that mail could change, it does not; what came early is not believed before it is checked.
    harmless = ("number", "cursors", "ids", "owed", "early", "plans")
    assert after == replace(before, **{name: getattr(after, name) for name in harmless})
