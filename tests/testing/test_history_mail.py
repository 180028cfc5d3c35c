"""Mail that was lost, doubled, inverted or invented is counted; mail that kept its promises is clean."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.testing.run_history import Heard, MailVerdict, MalformedHistory, Sent, check_mail, sends
from tests.testing import call

FIRST: Sent = ("alice", 1, "m1", "bob")
SECOND: Sent = ("alice", 2, "m2", "bob")
THIRD: Sent = ("alice", 3, "m3", "bob")


def hear(*messages: Sent) -> list[Heard]:
    return [(message_id, sender, ordinal) for sender, ordinal, message_id, _ in messages]


@pytest.mark.parametrize(
    ("heard", "doubtful", "verdict"),
    [
        pytest.param([FIRST, SECOND], [], MailVerdict(2), id="all heard"),
        pytest.param([FIRST, SECOND, THIRD], [THIRD], MailVerdict(2), id="in doubt, heard"),
        pytest.param([FIRST, SECOND], [THIRD], MailVerdict(2), id="in doubt, not heard"),
        pytest.param([FIRST, SECOND], [SECOND], MailVerdict(2), id="in doubt, sent again, acknowledged"),
        pytest.param(
            [SECOND],
            [],
            MailVerdict(2, lost=1, examples=("lost: 'alice' to 'bob', ordinal 1, id 'm1'",)),
            id="lost",
        ),
        pytest.param(
            [FIRST],
            [SECOND],
            MailVerdict(2, lost=1, examples=("lost: 'alice' to 'bob', ordinal 2, id 'm2'",)),
            id="acknowledged after being in doubt, then lost",
        ),
        pytest.param(
            [FIRST, SECOND, FIRST],
            [],
            MailVerdict(2, doubled=1, examples=("doubled: 'alice' to 'bob', ordinal 1, id 'm1'",)),
            id="doubled",
        ),
        pytest.param(
            [FIRST, SECOND, THIRD, THIRD],
            [THIRD],
            MailVerdict(2, doubled=1, examples=("doubled: 'alice' to 'bob', ordinal 3, id 'm3'",)),
            id="in doubt, heard twice",
        ),
        pytest.param(
            [SECOND, FIRST],
            [],
            MailVerdict(2, inverted=1, examples=("inverted: 'alice' to 'bob', ordinal 1, id 'm1'",)),
            id="inverted",
        ),
        pytest.param(
            [FIRST, THIRD, SECOND],
            [THIRD],
            MailVerdict(2, inverted=1, examples=("inverted: 'alice' to 'bob', ordinal 2, id 'm2'",)),
            id="overtaken by one in doubt",
        ),
        pytest.param(
            [THIRD, FIRST, SECOND],
            [THIRD],
            MailVerdict(
                2,
                inverted=2,
                examples=(
                    "inverted: 'alice' to 'bob', ordinal 1, id 'm1'",
                    "inverted: 'alice' to 'bob', ordinal 2, id 'm2'",
                ),
            ),
            id="both overtaken",
        ),
        pytest.param(
            [FIRST, SECOND, THIRD],
            [],
            MailVerdict(2, invented=1, examples=("invented: 'alice' to 'bob', ordinal 3, id 'm3'",)),
            id="invented",
        ),
        pytest.param(
            [FIRST, ("carol", 2, "m2", "bob")],
            [],
            MailVerdict(
                2,
                lost=1,
                invented=1,
                examples=(
                    "lost: 'alice' to 'bob', ordinal 2, id 'm2'",
                    "invented: 'carol' to 'bob', ordinal 2, id 'm2'",
                ),
            ),
            id="heard from the wrong sender",
        ),
    ],
)
def test_two_acknowledged_messages_are_checked_against_what_was_heard(
    heard: list[Sent], doubtful: list[Sent], verdict: MailVerdict
) -> None:
    found = check_mail([FIRST, SECOND], {"bob": hear(*heard)}, doubtful)
    assert found == verdict
    assert found.clean == (not verdict.examples)


def test_mail_heard_by_the_wrong_recipient_is_lost_and_invented() -> None:
    assert check_mail([FIRST], {"carol": hear(FIRST)}, []) == MailVerdict(
        1,
        lost=1,
        invented=1,
        examples=(
            "lost: 'alice' to 'bob', ordinal 1, id 'm1'",
            "invented: 'alice' to 'carol', ordinal 1, id 'm1'",
        ),
    )


def test_a_verdict_counts_all_and_shows_ten_of_each_kind() -> None:
    many: list[Sent] = [("alice", ordinal, f"m{ordinal}", "bob") for ordinal in range(30)]
    strangers: list[Sent] = [("eve", ordinal, f"x{ordinal}", "bob") for ordinal in range(25)]
    verdict = check_mail(many, {"bob": hear(*strangers)}, [])
    assert (verdict.lost, verdict.invented, len(verdict.examples)) == (30, 25, 20)


@pytest.mark.parametrize(
    ("heard", "doubtful"),
    [
        pytest.param({}, [], id="no mail at all"),
        pytest.param({"bob": hear(FIRST)}, [FIRST], id="only in doubt"),
    ],
)
def test_mail_without_an_acknowledged_send_proves_nothing(heard: dict[str, list[Heard]], doubtful: list[Sent]) -> None:
    verdict = check_mail([], heard, doubtful)
    assert verdict == MailVerdict(0)
    assert (verdict.empty, verdict.clean) == (True, False)


@pytest.mark.parametrize(
    "twin", [pytest.param(("alice", 9, "m1", "bob"), id="id"), pytest.param(("alice", 1, "m9", "bob"), id="ordinal")]
)
def test_two_messages_that_cannot_be_told_apart_are_refused(twin: Sent) -> None:
    with pytest.raises(MalformedHistory):
        check_mail([FIRST, twin], {"bob": hear(FIRST, twin)}, [])


@st.composite
def mailings(draw: st.DrawFn) -> tuple[list[Sent], dict[str, list[Sent]], list[Sent]]:
    """Draw acknowledged sends, what each recipient heard in some order that keeps senders' order, and doubts."""
    sent: list[Sent] = [("alice", 0, "first", "bob")]
    doubtful: list[Sent] = []
    arrivals: list[tuple[int, Sent]] = [(0, sent[0])]
    clock: dict[tuple[str, str], int] = {}
    people = st.sampled_from(["alice", "bob", "carol"])
    for ordinal in range(1, draw(st.integers(1, 25))):
        pair = draw(people), draw(people)
        message = (pair[0], ordinal, f"m{ordinal}", pair[1])
        clock[pair] = clock.get(pair, 0) + draw(st.integers(1, 9))
        fate = draw(st.sampled_from(["acknowledged", "acknowledged", "heard in doubt", "gone in doubt"]))
        (sent if fate == "acknowledged" else doubtful).append(message)
        if fate != "gone in doubt":
            arrivals.append((clock[pair], message))
    heard: dict[str, list[Sent]] = {}
    for _, message in sorted(arrivals, key=lambda arrival: arrival[0]):
        heard.setdefault(message[3], []).append(message)
    return sent, heard, doubtful


Mailing = tuple[list[Sent], dict[str, list[Sent]], list[Sent]]


def judge(sent: list[Sent], heard: dict[str, list[Sent]], doubtful: list[Sent]) -> MailVerdict:
    return check_mail(sent, {name: hear(*messages) for name, messages in heard.items()}, doubtful)


@given(mailings())
def test_mail_that_kept_every_promise_is_clean(mailing: Mailing) -> None:
    assert judge(*mailing) == MailVerdict(len(mailing[0]))


def drop(heard: list[Sent], at: int) -> None:
    del heard[at]


def double(heard: list[Sent], at: int) -> None:
    heard.append(heard[at])


def invent(heard: list[Sent], at: int) -> None:
    heard.insert(at, ("eve", 1, "forged", "bob"))


@pytest.mark.parametrize(("spoil", "kind"), [(drop, "lost"), (double, "doubled"), (invent, "invented")])
@given(mailing=mailings())
def test_mail_spoiled_in_one_place_has_one_finding(
    spoil: Callable[[list[Sent], int], None], kind: str, mailing: Mailing
) -> None:
    sent, heard, doubtful = mailing
    spoil(heard["bob"], heard["bob"].index(sent[0]))
    (example,) = judge(sent, heard, doubtful).examples
    assert example.startswith(f"{kind}: ")


@given(mailings())
def test_a_message_heard_after_a_later_one_of_its_sender_is_found(mailing: Mailing) -> None:
    sent, heard, doubtful = mailing
    late: Sent = ("alice", -1, "late", "bob")
    heard["bob"].append(late)
    verdict = judge([*sent, late], heard, doubtful)
    assert verdict == MailVerdict(
        len(sent) + 1, inverted=1, examples=("inverted: 'alice' to 'bob', ordinal -1, id 'late'",)
    )


def test_sends_of_a_history_are_those_acknowledged_and_those_in_doubt() -> None:
    history = [
        *call((0, 5), "send", ["alice", 1, "m1"], ("ok", None), key="bob"),
        *call((10, 15), "send", ["alice", 2, "m2"], ("fail", "bob left"), key="bob"),
        *call((20, 20), "send", ["alice", 3, "m3"], None, key="bob"),
        *call((30, 35), "claim", "alice", ("ok", 1)),
    ]
    assert sends(history) == ([FIRST], [THIRD])
