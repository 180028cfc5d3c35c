"""What a record's body says, by kind; what is unknown or malformed is kept and never raises."""

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from deskmate.core.agent import entries
from deskmate.core.log.facts import Fact, Foreign, reader
from deskmate.core.team import messages, roster_records, tasks
from deskmate.errors import BadInput, BadName
from tests.core.log.test_records import keys, values


class Seated(Fact):
    type: Literal["seated"] = "seated"
    name: str
    row: int = 1
    window: str | None = None


class Stood(Fact):
    type: Literal["stood"] = "stood"
    name: str


read = reader(Seated, Stood)
READERS = {
    "mail": (messages.read_envelope, messages.KINDS),
    "roster": (roster_records.read_event, roster_records.KINDS),
    "board": (tasks.read_event, tasks.KINDS),
    "transcript": (entries.read_entry, entries.KINDS),
}


def test_each_kind_is_told_by_its_type() -> None:
    assert read({"type": "seated", "name": "bob", "row": 2}) == Seated(name="bob", row=2)
    assert read({"type": "stood", "name": "bob"}) == Stood(name="bob")


def test_a_body_names_its_kind_and_leaves_out_what_is_not_set() -> None:
    assert Seated(name="bob").body() == {"type": "seated", "name": "bob", "row": 1}
    assert Seated(name="bob", window="left").body() == {"type": "seated", "name": "bob", "row": 1, "window": "left"}


def test_a_fact_cannot_be_changed() -> None:
    fact = Seated(name="bob")
    with pytest.raises(ValidationError, match="frozen"):
        fact.name = "alice"  # type: ignore[misc]


def test_a_fact_without_its_shape_cannot_be_made() -> None:
    with pytest.raises(BadInput) as flaw:
        Seated(name="bob", row="first")  # type: ignore[arg-type]
    assert str(flaw.value).startswith("a malformed Seated: row: Input should be a valid integer")
    with pytest.raises(BadInput, match="a malformed Stood: name: Field required"):
        Stood()  # type: ignore[call-arg]


def test_a_field_may_bear_any_name() -> None:
    body = {"type": "stood", "name": "bob", "self": 1, "fields": 2, "not a name": 3}
    found = read(body)
    assert isinstance(found, Stood)
    assert found.body() == body


def test_a_fact_with_a_bad_name_says_so_when_made_and_is_foreign_when_read() -> None:
    with pytest.raises(BadName) as flaw:
        roster_records.Joined(name="../x", at=0)
    words = str(flaw.value)
    assert words.startswith("'../x' is not a valid member name. ")
    body = {"type": "member_joined", "name": "../x", "at": 0}
    assert roster_records.read_event(body) == Foreign(body, f"a malformed Joined: {words}")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"type": "flown", "name": "bob"}, "unknown kind 'flown'"),
        ({"name": "bob"}, "unknown kind 'None'"),
        ({}, "unknown kind 'None'"),
        ({"type": "SEATED", "name": "bob"}, "unknown kind 'SEATED'"),
        ({"type": 5}, "unknown kind '5'"),
        ({"type": True}, "unknown kind 'True'"),
        ({"type": ["seated"]}, "unknown kind \"['seated']\""),
        ({"type": {"seated": 1}}, "unknown kind \"{'seated': 1}\""),
        ({"type": "x" * 1000}, f"unknown kind '{'x' * 40}'"),
        ({"type": "seated"}, "a malformed Seated: name: Field required"),
        ({"type": "seated", "name": None}, "a malformed Seated: name: Input should be a valid string"),
    ],
    ids=lambda value: None if isinstance(value, str) else str(value)[:30],
)
def test_what_is_not_understood_is_kept_as_it_stands_with_the_reason(body: dict[str, Any], reason: str) -> None:
    assert read(body) == Foreign(body, reason)


@pytest.mark.behaviour("S4")
@given(st.dictionaries(keys.filter(lambda key: key not in Seated.model_fields), values, max_size=4))
def test_unknown_fields_are_kept_and_written_again(unknown: dict[str, Any]) -> None:
    body = {"type": "seated", "name": "bob", "row": 1, **unknown}
    fact = read(body)
    assert isinstance(fact, Seated)
    assert fact.body() == body
    assert read(fact.body()) == fact


def test_every_stream_has_one_class_for_each_kind() -> None:
    names = {stream: [kind.model_fields["type"].default for kind in kinds] for stream, (_, kinds) in READERS.items()}
    assert {stream: len(set(kinds)) for stream, kinds in names.items()} == {
        "mail": 13,
        "roster": 13,
        "board": 11,
        "transcript": 20,
    }
    assert all(len(set(kinds)) == len(kinds) for kinds in names.values())


@pytest.mark.parametrize("stream", READERS)
@given(data=st.data())
def test_any_json_object_is_a_fact_or_foreign_in_every_stream(stream: str, data: st.DataObject) -> None:
    read_one, kinds = READERS[stream]
    kind = data.draw(st.sampled_from(kinds))
    some_fields = st.dictionaries(
        st.sampled_from([*kind.model_fields, "id", "sender", "recipient", "timestamp"]), values
    )
    named = data.draw(st.just({"type": kind.model_fields["type"].default}) | st.just({}))
    body = {**data.draw(some_fields), **data.draw(st.dictionaries(keys, values, max_size=2)), **named}
    found = read_one(body)
    if isinstance(found, Foreign):
        assert found.raw == body
        assert found.reason
    else:
        assert read_one(found.body()) == found
