"""What is known of the code of a team."""

from typing import Any

import pytest

from deskmate.core.log.facts import Foreign
from deskmate.core.log.records import Damaged, Item, Record
from deskmate.core.travel.code_records import (
    EMPTY,
    BranchAt,
    BundleSent,
    CodeEvent,
    CodeReady,
    CodeRefused,
    CodeState,
    CodeWanted,
    Payload,
    fold,
    read_code_event,
)

A, B = "a" * 40, "b" * 40
SENT = BundleSent(tip=A, payload=Payload(sha256="0" * 64, size=3), at=1.0)


def after(*events: CodeEvent) -> CodeState:
    return fold(EMPTY, [Record(number, event.body()) for number, event in enumerate(events, 1)])


def test_the_branch_is_where_it_was_said_to_be_last() -> None:
    ready = CodeReady(member="ann", wanted=1, tip=A, at=1.0)
    assert after(SENT, ready).tip == A
    assert after(SENT, ready, BranchAt(tip=B, at=2.0)).tip == B
    assert after(SENT).bundles == (SENT,)


def test_an_answer_is_for_one_wish_of_one_member() -> None:
    ready, refused = (
        CodeReady(member="ann", wanted=3, tip=A, at=1.0),
        CodeRefused(member="bob", wanted=1, reason="too large", at=2.0),
    )
    state = after(ready, refused)
    assert state.answer("ann", 3) == ready
    assert state.answer("bob", 1) == refused
    assert state.answer("ann", 4) is None
    assert state.answer("carol", 3) is None


def test_the_last_wish_counts() -> None:
    first, second = CodeWanted(has=(A,), at=1.0), CodeWanted(has=(B,), at=2.0)
    assert (after(first, second).wanted, after(first, second).wish) == (2, second)


def test_what_cannot_be_understood_has_no_effect_but_its_number() -> None:
    items: list[Item] = [
        Damaged(1, "lost", "x", "y"),
        Record(2, {"type": "telegram"}),
        Record(3, {"type": "code_ready", "member": "../x", "wanted": 1, "tip": A, "at": 1.0}),
    ]
    state = fold(EMPTY, items)
    assert (state.number, state.bundles, dict(state.answers)) == (3, (), {})


@pytest.mark.parametrize(
    "field",
    [
        {"tip": "--upload-pack=touch x"},
        {"tip": "HEAD"},
        {"tip": f"{A}\n"},
        {"tip": A.upper()},
        {"needs": ["refs/heads/trunk"]},
        {"needs": [A] * 65},
        {"payload": {"sha256": "../../x", "size": 1}},
        {"payload": {"sha256": "0" * 64, "size": 0}},
        {"payload": {"sha256": "0" * 64, "size": "9"}},
    ],
    ids=repr,
)
def test_a_record_that_names_no_commit_or_no_hash_is_not_read(field: dict[str, Any]) -> None:
    assert not isinstance(read_code_event(SENT.body()), Foreign)
    assert isinstance(read_code_event({**SENT.body(), **field}), Foreign)
