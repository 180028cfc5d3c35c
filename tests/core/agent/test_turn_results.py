"""What came of a turn, as its transcript tells it: whom it wrote to, and whether there is anything but words."""

import pytest

from deskmate.core.agent.entries import Began, Call, Did, Entry, Heard, Nudged, Reported, Said, Took
from deskmate.core.agent.turn_results import Turn, last_turn

HEARD = Heard(box="mail/alice", after=0, upto=1)
MAIL = Call(tool="SendMessage", arguments={"recipient": "bob", "content": "the schema is final"})
LINE = "to bob: the schema is final"
READ = Call(tool="read_file", arguments={"path": "a"})
PLAN = Call(tool="ExitPlanMode", arguments={"plan": "first this, then that"})


def update(status: str) -> Call:
    return Call(tool="TaskUpdate", arguments={"taskId": 1, "status": status})


def turn(*entries: Entry) -> Turn:
    """Return what is told of alice's last turn, her entries numbered from 1."""
    return last_turn("alice", list(enumerate(entries, 1)))


def step(number: int, *calls: Call, ok: bool = True) -> list[Entry]:
    """Return a step that was recorded at a number: what was asked for, and a result for each."""
    ids = tuple(f"alice:{number}.{index}" for index in range(len(calls)))
    return [Said(calls=calls), Began(calls=ids), *(Did(call=id_, text="", ok=ok) for id_ in ids)]


def test_words_alone_are_all_there_is() -> None:
    assert turn(HEARD, Said(text="It is done.")) == Turn(only_words=True)
    assert turn(HEARD, *step(2, READ), Said(text="I read it.")) == Turn(only_words=True)


def test_who_has_not_spoken_has_no_turn() -> None:
    assert turn() == Turn()
    assert turn(HEARD) == Turn()


@pytest.mark.parametrize(
    ("call", "peers"),
    [(MAIL, (LINE,)), (PLAN, ()), (update("completed"), ())],
    ids=["sent a message", "submitted a plan", "completed a task"],
)
def test_a_turn_that_came_to_something_is_not_words_alone(call: Call, peers: tuple[str, ...]) -> None:
    assert turn(HEARD, *step(2, call), Said(text="There.")) == Turn(peers)
    # What was refused came to nothing.
    assert turn(HEARD, *step(2, call, ok=False), Said(text="There.")) == Turn(only_words=True)
    # Nor did what was cut off before it had a result.
    assert turn(HEARD, Said(calls=(call,)), Began(calls=("alice:2.0",))) == Turn(only_words=True)


@pytest.mark.parametrize("status", ["in_progress", "pending", "deleted"])
def test_only_completing_a_task_speaks_for_itself(status: str) -> None:
    assert turn(HEARD, *step(2, update(status)), Said(text="There.")) == Turn(only_words=True)


def test_a_turn_after_which_the_lead_was_told_of_the_task_is_not_words_alone() -> None:
    nudged: list[Entry] = [
        Took(task=1, epoch=1, text=""),
        Said(text="Hm."),
        Nudged(task=1, epoch=1),
        Said(text="I cannot."),
    ]
    assert turn(*nudged) == Turn(only_words=True)
    assert turn(*nudged, Reported(task=1, epoch=1)) == Turn()


def test_only_the_last_turn_counts() -> None:
    first: list[Entry] = [HEARD, *step(2, MAIL), Said(text="Sent.")]
    assert turn(*first) == Turn((LINE,))
    assert turn(*first, HEARD, Said(text="Yes.")) == Turn(only_words=True)


def test_a_turn_that_is_not_over_is_told_as_far_as_it_is() -> None:
    first: list[Entry] = [HEARD, Said(text="Ready.")]
    assert turn(*first, HEARD, *step(4, MAIL)) == Turn((LINE,))
    assert turn(*first, HEARD, *step(4, MAIL), *step(7, READ)) == Turn((LINE,))


def test_an_answer_cut_for_length_does_not_end_its_turn() -> None:
    entries = [HEARD, *step(2, MAIL), Said(text="So", unfinished=True), Said(text=" far.")]
    assert turn(*entries) == Turn((LINE,))


def test_there_is_a_line_for_each_message_in_the_order_sent() -> None:
    calls = (
        Call(tool="SendMessage", arguments={"recipient": "bob", "content": "long words", "summary": "in short"}),
        Call(tool="SendMessage", arguments={"type": "broadcast", "content": "to\nall of you"}),
    )
    answer = {"type": "shutdown_response", "request_id": "lead:9.0", "approve": False, "content": "not yet"}
    entries = [HEARD, *step(2, *calls), *step(6, Call(tool="SendMessage", arguments=answer)), Said(text="Sent.")]
    assert turn(*entries) == Turn(("to bob: in short", "to all: to all of you", "shutdown_response: not yet"))


def test_a_line_on_a_handshake_names_its_kind_and_whom_it_went_to() -> None:
    request = Call(tool="SendMessage", arguments={"type": "shutdown_request", "recipient": "bob"})
    assert turn(HEARD, *step(2, request), Said(text="Asked.")) == Turn(("shutdown_request to bob",))


def test_lines_are_bounded_whatever_the_model_wrote() -> None:
    wild = {"type": "x" * 1_000, "recipient": "y" * 1_000, "content": ["z" * 1_000], "summary": 7}
    calls = [Call(tool="SendMessage", arguments=wild)] * 30
    peers = turn(HEARD, *step(2, *calls), Said(text="Sent.")).peers
    assert len(peers) == 10
    assert max(map(len, peers)) < 260
