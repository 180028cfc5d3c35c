"""What holds of every memory, whatever an agent heard, said and did, and wherever it was cut off."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.entries import (
    Agreed,
    Answered,
    Asked,
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
    Parked,
    Reported,
    Said,
    Started,
    Took,
    read_entry,
)
from deskmate.core.facts import Fact, Foreign
from deskmate.core.handshakes import Shake
from deskmate.core.memory import EMPTY, Memory, remember
from deskmate.core.messages import (
    Broadcast,
    Envelope,
    Interrupt,
    PermissionRequest,
    PermissionResponse,
    Plain,
    PlanRequest,
    PlanResponse,
    ShutdownRequest,
    ShutdownResponse,
    Undeliverable,
    read_envelope,
)
from deskmate.core.records import decode, encode

Numbered = tuple[int, Entry]

CHIEFS = ("lead", "user")
few = st.integers(1, 3)
# Stand for whatever is open when an entry is made.
OPEN = ("<0>", "<1>", "<2>")
ids = st.sampled_from(OPEN)
messages: st.SearchStrategy[Fact] = st.one_of(
    st.builds(Plain, content=st.just("hi")),
    st.builds(Broadcast, content=st.just("all")),
    st.builds(Interrupt),
    st.builds(PlanRequest, request_id=ids, content=st.just("p")),
    st.builds(PlanResponse, request_id=ids, approve=st.booleans()),
    st.builds(ShutdownRequest, request_id=ids),
    st.builds(ShutdownResponse, request_id=ids, approve=st.booleans()),
    st.builds(PermissionRequest, request_id=ids, tool=st.just("bash"), arguments=st.just({})),
    st.builds(PermissionResponse, request_id=ids, approve=st.booleans(), content=st.just("why")),
    st.builds(Undeliverable, reason=st.just("left"), original=st.just({})),
)
envelopes = st.builds(
    Envelope,
    st.integers(0, 99).map("m{}".format),
    st.sampled_from(["lead", "user", "user", "bob", "mallory"]),
    st.just("alice"),
    st.just(1.0),
    messages,
)
hearing: st.SearchStrategy[Entry] = st.builds(
    Heard,
    box=st.sampled_from(["mail/alice", "mail/lead"]),
    upto=st.integers(0, 40),
    mail=st.lists(envelopes.map(lambda one: one.body()) | st.just({"type": "odd"}), max_size=4).map(tuple),
    damage=st.sampled_from([(), (), ("record 3: torn",)]),
)
calling: st.SearchStrategy[Entry] = st.sampled_from(
    [Said(calls=(Call(tool="bash", arguments={"a": None}),) * count) for count in (1, 1, 2, 0)]
)
asking: st.SearchStrategy[Entry] = ids.map(lambda id_: Asked(call=id_, request_id=id_)) | st.builds(
    lambda id_, shake, asked: Did(call=id_, text="", opened=Opened(request_id=id_, shake=shake, asked=asked)),
    ids,
    st.sampled_from([Shake.PLAN, Shake.SHUTDOWN]),
    st.sampled_from(["lead", "bob"]),
)
going_on: st.SearchStrategy[Entry] = st.one_of(
    st.builds(Began, calls=st.lists(ids, max_size=2).map(tuple)),
    st.builds(
        Did,
        call=ids,
        text=st.just(""),
        answered=st.none() | st.builds(Answered, request_id=ids, approve=st.booleans()),
        background=st.none() | st.just("b1"),
        tasks=st.dictionaries(few, st.none() | few, max_size=2),
    ),
    st.builds(Took, task=few, epoch=few, text=st.just("")),
    st.builds(Noticed, text=st.just(""), roster=few, board=few, tasks=st.lists(few, max_size=2).map(tuple)),
    st.builds(Nudged, task=few, epoch=few),
    st.builds(Reported, task=few, epoch=few),
    st.builds(Agreed, request_id=ids),
    st.builds(Parked, reason=st.just("budget"), caps=st.just("5")),
    st.builds(Ended, background=st.just("b1"), status=st.just("exit 0")),
    st.builds(Compacted, upto=few, summary=st.just("")),
    st.builds(Cleared, upto=few),
)


def about(memory: Memory, entry: Entry) -> Entry:
    """Return an entry with the ids of what is open in place of what stands for them."""
    text = json.dumps(entry.body())
    open_ = [*memory.calls, *memory.requests, *memory.demands, "lead:9.0"]
    for index, stand_in in enumerate(OPEN):
        text = text.replace(stand_in, open_[index % len(open_)])
    named = read_entry(json.loads(text))
    assert not isinstance(named, Foreign)
    return named


@st.composite
def transcripts(draw: st.DrawFn) -> list[Numbered]:
    """Entries of alice, most about what is open just then; numbers grow and may skip what was damaged."""
    drawn = draw(st.lists(st.one_of(hearing, calling, asking, hearing, going_on), min_size=5, max_size=20))
    skips = draw(st.sampled_from([(1,), (1, 2), (3, 1, 1)]))
    entries: list[Numbered] = [(1, Started(name="alice", planning=draw(st.booleans())))]
    memory = remember(EMPTY, *entries[0])
    for index, entry in enumerate(drawn):
        entries.append((memory.number + skips[index % len(skips)], about(memory, entry)))
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
@given(transcripts(), st.randoms(use_true_random=False))
def test_mail_that_comes_again_and_again_has_its_effect_once(entries: list[Numbered], random: Any) -> None:
    repeated, known = [], list[dict[str, Any]]()
    for number, entry in entries:
        if isinstance(entry, Heard):
            known.extend(entry.mail)
            again = random.sample(known, k=min(3, len(known)))
            entry = entry.model_copy(update={"mail": (*entry.mail, *again, *entry.mail)})
        repeated.append((number, entry))
    assert recall(repeated) == recall(entries)


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
def test_planning_ends_only_by_a_yes_of_lead_or_user_to_a_plan_that_was_handed_in(entries: list[Numbered]) -> None:
    yes, plans = set[str](), set[str]()
    for before, entry, after in steps(entries):
        for envelope in mail_in(entry):
            if isinstance(envelope.message, PlanResponse) and envelope.message.approve and envelope.sender in CHIEFS:
                yes.add(envelope.message.request_id)
        if isinstance(entry, Did) and entry.opened and entry.opened.shake is Shake.PLAN:
            plans.add(entry.opened.request_id)
        assert after.planning == before.planning or isinstance(entry, Started) or yes & plans


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
def test_nothing_a_teammate_writes_commands_an_agent(entries: list[Numbered], written: list[Fact]) -> None:
    before = recall(entries)
    mail = tuple(
        Envelope(f"t{index}", "mallory", "alice", 1.0, message).body() for index, message in enumerate(written)
    )
    heard = about(before, Heard(box="mail/alice", upto=50, mail=mail))
    after = remember(before, before.number + 1, heard)
    # Words wake. All else that mail could change, it does not; what came early is not believed before it is checked.
    harmless = ("number", "cursors", "ids", "owed", "early")
    assert after == replace(before, **{name: getattr(after, name) for name in harmless})
