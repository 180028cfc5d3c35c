"""What a transcript holds: every kind of entry comes back whole, and what must outlive a power loss is said."""

from copy import deepcopy
from typing import Any

import pytest
from pydantic import ValidationError

from deskmate.core.agent.entries import (
    KINDS,
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
    Hooked,
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
from deskmate.core.agent.open_calls import OpenCall, synced
from deskmate.core.log.facts import Foreign, slimmed
from deskmate.core.log.records import decode, encode
from deskmate.core.team.handshakes import Shake

CALLS = (
    Call(tool="bash", arguments={"command": "ls\u2028", "n": None, "deep": [{"a": []}]}, flaw="no JSON"),
    Call(tool="SendMessage", arguments={}),
)
OPENED = Opened(request_id="alice:2.0", shake=Shake.PLAN, asked="lead")
MAIL: tuple[dict[str, Any], ...] = ({"type": "message", "sender": "bob", "unknown": None}, {"type": "telegram"})

# Entry, whether it must outlive a power loss before anything follows from it.
TABLE: list[tuple[Entry, bool]] = [
    (Started(name="alice", prompt="begin", planning=True, made_of={"members": ["lead"], "agents_md": None}), False),
    (Heard(box="mail/alice", after=5, upto=7, mail=MAIL, damage=("record 6: torn",)), False),
    (Said(text="look", calls=CALLS, blocks=({"type": "thinking"},), usage={"in": 5}, unfinished=True), False),
    (Began(calls=("alice:2.0", "alice:2.1"), fixed={"alice:2.1": ["bob", "carol"]}), True),
    (Did(call="alice:2.0", text="done", ok=False, opened=OPENED, background="b0000aa", tasks={1: 2, 3: None}), False),
    (Did(call="alice:2.1", text="", answered=Answered(request_id="lead:9.0", approve=False)), False),
    (PermissionAsked(call="alice:2.0", request_id="alice:2.0"), True),
    (Took(task=1, epoch=2, text="#1 parse"), True),
    (Noticed(text="bob left", roster=8, board=9, tasks=(1, 2)), False),
    (Nudged(task=1, epoch=2, text="#1 is still yours"), False),
    (Reported(task=1, epoch=2), False),
    (Agreed(request_id="lead:9.0"), False),
    (AgentParked(reason="budget", caps="5 USD"), False),
    (Ended(background="b0000aa", status="exit 0", text="ok", blob="blobs/b0000aa.txt"), False),
    (Compacted(upto=5, summary="so far"), False),
    (Cleared(upto=5), False),
    (SummaryRequested(focus="the schema"), False),
    (SummaryDropped(), False),
    (Overflowed(), False),
    (PicturesRefused(names=("shot.png",)), False),
    (Hooked(event="PostToolUse", about="alice:2.0", decision="deny", reason="too long", shown=("look",)), False),
]
ENTRIES = [entry for entry, _ in TABLE]


def test_the_table_has_every_kind() -> None:
    assert {type(entry) for entry in ENTRIES} == set(KINDS)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
def test_every_kind_of_entry_comes_back_whole_from_its_line(entry: Entry) -> None:
    stamped = {**entry.body(), "run": "r", "ord": 1}
    body = decode(encode(stamped))
    assert body == stamped
    del body["run"], body["ord"]
    assert read_entry(body) == entry


@pytest.mark.parametrize("more", [{}, {"later": {"a": [1, None]}, "none": None}], ids=["", "unknown fields"])
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
def test_a_slimmed_entry_is_the_same_entry(entry: Entry, more: dict[str, Any]) -> None:
    whole = read_entry({**entry.body(), **more})
    assert not isinstance(whole, Foreign)
    slim = slimmed(whole)
    assert (slim, repr(slim), slim.body(), type(slim)) == (whole, repr(whole), whole.body(), type(whole))
    assert deepcopy(slim) == whole
    assert slim.model_copy(update={"type": "other"}) == whole.model_copy(update={"type": "other"})
    assert slimmed(slim) == whole
    with pytest.raises(ValidationError):
        slim.type = "other"  # type: ignore[misc, assignment]


@pytest.mark.parametrize(("entry", "must"), TABLE, ids=lambda value: type(value).__name__)
def test_only_what_the_outside_sees_or_must_never_run_twice_is_synced_at_once(entry: Entry, must: bool) -> None:
    assert synced(entry, {call: OpenCall(call, "bash", {}) for call in ("alice:2.0", "alice:2.1")}) is must


@pytest.mark.parametrize(
    ("tools", "must"),
    [
        (["read_file"], False),
        (["read_file", "grep"], False),
        (["read_file", "write_file"], True),
        (["TaskCreate"], True),
        (["TaskList", "Skill", "TaskOutput"], False),
        # What a server or a host does is not known, so it must be known whether the call began.
        (["mcp__files__read"], True),
        (["McpCall"], True),
        (["McpSearch"], True),
        (["web_fetch"], True),
        (["read_file", "web_fetch"], True),
        (["a_tool_of_the_user"], True),
        ([], True),
    ],
)
def test_the_beginning_of_calls_is_synced_at_once_unless_all_of_them_are_known_to_only_read(
    tools: list[str], must: bool
) -> None:
    calls = {f"alice:2.{index}": OpenCall(f"alice:2.{index}", tool, {}) for index, tool in enumerate(tools)}
    assert synced(Began(calls=tuple(calls) or ("alice:2.0",)), calls) is must


@pytest.mark.behaviour("S4")
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
def test_unknown_fields_of_an_entry_are_written_again(entry: Entry) -> None:
    body = {**entry.body(), "later": {"a": [1, None]}, "none": None}
    again = read_entry(body)
    assert not isinstance(again, Foreign)
    assert again.body() == body


@pytest.mark.behaviour("S4")
def test_unknown_fields_inside_an_entry_are_written_again() -> None:
    call = {"tool": "bash", "arguments": {}, "flaw": "", "cached": True}
    said = {**Said().body(), "calls": [call]}
    opened = {"request_id": "a", "shake": "plan", "asked": "lead", "since": 5}
    did = {**Did(call="alice:2.0", text="").body(), "opened": opened}
    for body in (said, did):
        entry = read_entry(body)
        assert not isinstance(entry, Foreign)
        assert entry.body() == body


@pytest.mark.parametrize(
    "body",
    [
        {"type": "dreamt", "text": "of sheep"},
        {"type": "heard", "box": "mail/alice"},
        {"type": "heard", "box": "mail/alice", "upto": "soon"},
        {"type": "heard", "box": "mail/alice", "upto": 1, "mail": [5]},
        {"type": "said", "calls": [{"tool": "bash"}]},
        {"type": "did", "call": "alice:2.0", "text": "", "tasks": {"x": 1}},
        {"type": "did", "call": "alice:2.0", "text": "", "opened": {"request_id": "a", "shake": "duel", "asked": "b"}},
        {"type": "began"},
        {"type": []},
        {},
    ],
)
def test_an_entry_that_is_not_understood_is_kept_as_it_stands(body: dict[str, Any]) -> None:
    found = read_entry(body)
    assert isinstance(found, Foreign)
    assert found.raw is body
