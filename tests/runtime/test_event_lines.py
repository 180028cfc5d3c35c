"""Happenings as lines: each survives the way out and in again, and no line can do harm."""

import json
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from deskmate.core.agent.entries import KINDS, Did, Said
from deskmate.core.prompt.prompts import CallDelta, Delta, RetryDelta, TextDelta, ThinkingDelta
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.status import Idle, Left, Parked, Status, Waiting, WaitsOn, Working
from deskmate.runtime.event_lines import from_line, to_line
from deskmate.runtime.events import Arrived, Changed, Printed, Recorded, Streamed, TeamEvent, TeamStarted

# Words of any kind, lone surrogates aside: no stream holds them.
WORDS = st.text(max_size=20)
NUMBERS = st.integers(0, 2**53)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)


def held_by(declared: Any) -> st.SearchStrategy[Any]:
    """Return what a field may hold, by how it is declared."""
    origin, parts = get_origin(declared), get_args(declared)
    if declared in PLAIN:
        return PLAIN[declared]
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is tuple:
        return st.lists(held_by(parts[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(*map(held_by, parts), max_size=3)
    if parts:
        return st.one_of(*map(held_by, parts))
    assert issubclass(declared, BaseModel), declared
    return st.builds(declared, **{name: held_by(field.annotation) for name, field in declared.model_fields.items()})


PLAIN: dict[object, st.SearchStrategy[Any]] = {
    str: WORDS,
    int: NUMBERS,
    bool: st.booleans(),
    type(None): st.none(),
    Any: VALUES,
    Shake: st.sampled_from(Shake),
}
ENTRIES = st.one_of(*map(held_by, KINDS))
DELTAS: st.SearchStrategy[Delta] = st.one_of(
    st.builds(TextDelta, WORDS),
    st.builds(ThinkingDelta, WORDS),
    st.builds(CallDelta, WORDS),
    st.builds(RetryDelta, st.floats(0, 1000), WORDS, WORDS),
)
STATUSES: st.SearchStrategy[Status] = st.one_of(
    st.just(Working()),
    st.just(Idle()),
    st.sampled_from(get_args(WaitsOn)).map(Waiting),
    st.builds(Parked, WORDS),
    st.builds(Left, WORDS, st.booleans()),
)
HAPPENINGS: st.SearchStrategy[TeamEvent] = st.one_of(
    st.builds(Streamed, WORDS, DELTAS),
    st.builds(Recorded, WORDS, NUMBERS, ENTRIES),
    st.builds(Printed, WORDS, WORDS, WORDS),
    st.builds(Changed, WORDS, STATUSES),
    st.builds(Arrived, WORDS, WORDS, WORDS),
    st.builds(TeamStarted, WORDS),
)


@given(HAPPENINGS)
def test_every_happening_survives_the_way_out_and_in_again(event: TeamEvent) -> None:
    line = to_line(event)
    assert (line.isascii(), "\n" in line) == (True, False)
    assert from_line(line) == event
    assert from_line(line.encode()) == event


@given(HAPPENINGS, st.dictionaries(WORDS.map("x-{}".format), VALUES, max_size=3))
def test_keys_of_a_later_version_are_passed_over(event: TeamEvent, more: dict[str, Any]) -> None:
    assert from_line(json.dumps({**json.loads(to_line(event)), **more})) == event


@given(HAPPENINGS, st.data())
def test_a_line_that_was_changed_anyhow_tells_something_or_nothing(event: TeamEvent, data: st.DataObject) -> None:
    fields = json.loads(to_line(event))
    key = data.draw(st.sampled_from(sorted(fields)))
    changed = from_line(json.dumps({**fields, key: data.draw(VALUES)}))
    assert changed is None or isinstance(changed, Streamed | Recorded | Changed | Arrived | Printed | TeamStarted)


@given(st.binary(max_size=50) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_what_is_no_happening_tells_nothing(line: bytes) -> None:
    assert from_line(line) is None


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"type": "beat"}',
        b'{"type": "streamed", "member": "a", "delta": {"type": "song", "text": "la"}}',
        b'{"type": "streamed", "member": "a", "delta": {"type": "text"}}',
        b'{"type": "recorded", "member": "a", "number": 1, "entry": {"type": "danced"}}',
        b'{"type": "recorded", "member": "a", "number": 1, "entry": {"type": "nudged", "task": "one"}}',
        b'{"type": "recorded", "member": "a", "number": ' + b"1" * 5000 + b', "entry": {}}',
    ],
)
def test_a_line_without_a_sense_tells_nothing(line: bytes) -> None:
    assert from_line(line) is None


def test_what_an_odd_tool_printed_can_be_told() -> None:
    for entry in (Did(call="a:1.0", text="\ud800"), Said(text="\udfff")):
        line = to_line(Recorded("a", 1, entry))
        assert from_line(line) == Recorded("a", 1, entry)
