"""The answer of a turn and of a run: whole, once, and without the words in between."""

import pytest

from deskmate.core.agent.answer import answer, asked_at, last_answer
from deskmate.core.agent.entries import Began, Call, Did, Entry, Heard, Noticed, Said, Started
from deskmate.core.log.names import USER, mail
from deskmate.core.team.messages import Envelope, Interrupt, Message, Plain

READ = Call(tool="read_file", arguments={"path": "a"})
NEWS = Noticed(text="bob is left")


def numbered(*entries: Entry) -> list[tuple[int, Entry]]:
    return list(enumerate(entries, 1))


def step(words: str = "") -> list[Entry]:
    """Return words said with a call, and its result. The number of the call does not matter here."""
    return [Said(text=words, calls=(READ,)), Began(calls=("lead:1.0",)), Did(call="lead:1.0", text="")]


def heard(sender: str, message: Message) -> Heard:
    return Heard(box=mail("lead"), after=0, upto=1, mail=(Envelope("1", sender, "lead", 0.0, message).body(),))


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        ([Said(text="Done.")], "Done."),
        ([*step("I look."), Said(text="Done.")], "Done."),
        ([Said(text="One, two, thr", unfinished=True), Said(text="ee.")], "One, two, three."),
        ([*step("I look."), Said(text="One,", unfinished=True), Said(text=" two.")], "One, two."),
        ([*step("I look."), *step("All is well."), Said()], "All is well."),
        ([*step("I look."), Said(text="All is", unfinished=True), *step(" well."), Said(text="\n")], "All is well."),
        ([*step("I look."), *step(), Said()], ""),
        ([*step("I look."), *step()], ""),
        ([*step("I look.")], "I look."),
        ([*step("I look."), Said(text="One,", unfinished=True)], "One,"),
        ([Said(unfinished=True), Said(text="Shorter.")], "Shorter."),
        ([], ""),
    ],
    ids=[
        "words",
        "words after calls",
        "pieces",
        "pieces after calls",
        "an empty end",
        "an empty end after pieces",
        "an empty end after silent calls",
        "not over, silent calls",
        "not over",
        "not over, a piece",
        "a piece without words",
        "nothing said",
    ],
)
def test_the_answer_of_a_turn(turn: list[Entry], words: str) -> None:
    assert last_answer(numbered(NEWS, *turn)) == words
    assert last_answer(numbered(Said(text="Before."), NEWS, *turn)) == (words if turn else "Before.")
    assert answer(numbered(NEWS, *turn)) == words


def test_the_answer_of_a_run_is_that_of_all_its_turns() -> None:
    turns: list[Entry] = [Said(text="FINAL REPORT"), NEWS, *step("I look."), Said(text="All have left."), NEWS, Said()]
    assert answer(numbered(*turns)) == "FINAL REPORT\n\nAll have left."


def test_what_is_said_twice_is_told_once_at_its_last_place() -> None:
    turns: list[Entry] = [Said(text="REPORT"), NEWS, Said(text="I wait."), NEWS, Said(text="REPORT\n")]
    assert answer(numbered(*turns)) == "I wait.\n\nREPORT"


def test_an_answer_begins_after_the_record_that_is_named() -> None:
    assert answer(numbered(Said(text="Before."), NEWS, Said(text="Now.")), after=2) == "Now."


def test_only_words_of_the_user_ask() -> None:
    words = heard(USER, Plain(content="go"))
    others: list[Entry] = [heard("bob", Plain(content="hello")), heard(USER, Interrupt()), NEWS, Said(text="Yes.")]
    assert asked_at(numbered(words, words, *others)) == 2
    assert asked_at(numbered(*others)) == 0
    assert asked_at(numbered(Started(name="lead:4.0", prompt="count"), *others)) == 1
