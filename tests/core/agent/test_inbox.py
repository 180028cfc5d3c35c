"""What a mailbox asks of its owner, however its mail is cut into pieces."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.agent.inbox import EMPTY, Inbox, fold
from deskmate.core.log.names import LEAD, USER
from deskmate.core.log.records import Damaged, Item, Record
from deskmate.core.team.messages import (
    Broadcast,
    Envelope,
    Interrupt,
    Message,
    Plain,
    ShutdownRequest,
    ShutdownResponse,
)

STOP = ShutdownRequest(request_id="lead:9.0")
NO, YES = (ShutdownResponse(request_id="lead:9.0", approve=approve) for approve in (False, True))


def mail(*letters: tuple[str, Message]) -> list[Item]:
    return [
        Record(number, Envelope(f"m{number}", sender, "alice", 0.0, message).body())
        for number, (sender, message) in enumerate(letters, 1)
    ]


def test_the_last_message_that_asks_for_something_counts_and_by_whom() -> None:
    items = mail((LEAD, Plain(content="a")), ("bob", Broadcast(content="b")), (USER, Interrupt()), ("bob", YES))
    assert fold(EMPTY, items) == Inbox(number=4, asks=2, asks_by={LEAD: 1, "bob": 2})


def test_shutdown_requests_count_from_those_who_may_ask() -> None:
    other = ShutdownRequest(request_id="user:1")
    inbox = fold(EMPTY, mail((LEAD, STOP), ("bob", ShutdownRequest(request_id="bob:1")), (USER, other)))
    assert inbox.stops == {"lead:9.0": LEAD, "user:1": USER}


def test_a_refusal_is_known_with_who_refused() -> None:
    assert fold(EMPTY, mail(("bob", NO), ("alice", YES))).refusals == {("bob", "lead:9.0")}


def test_damaged_and_unknown_mail_asks_for_nothing_and_is_passed() -> None:
    items: list[Item] = [Damaged(1, "lost", "line 1", "not a record"), Record(2, {"type": "telegram"})]
    assert fold(EMPTY, items) == Inbox(number=2)


letters = st.tuples(
    st.sampled_from((USER, LEAD, "bob")), st.sampled_from((Plain(content="x"), STOP, NO, YES, Interrupt()))
)


@given(st.lists(letters, max_size=12), st.integers(0, 12))
def test_mail_read_in_two_parts_asks_the_same(sent: Sequence[tuple[str, Message]], cut: int) -> None:
    items = mail(*sent)
    assert fold(fold(EMPTY, items[:cut]), items[cut:]) == fold(EMPTY, items)
