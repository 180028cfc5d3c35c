"""A question as it is shown line by line: all that would be done can be seen."""

import pytest

from deskmate.core.team.handshakes import Shake
from deskmate.core.team.open_questions import Question
from deskmate.faces.common.chat.question_text import question_lines, subject_line
from deskmate.faces.common.items.question_items import question_item


def asked(shake: Shake = Shake.PERMISSION, **fields: object) -> Question:
    return Question("bob:1.0", "bob", 0.0, shake, **fields)  # type: ignore[arg-type]


def shown(question: Question) -> list[str]:
    return ["".join(cell.text for cell in line) for line in question_lines(1, question, {"bob": "cyan"})]


@pytest.mark.behaviour("repl")
@pytest.mark.parametrize(
    ("command", "seen"),
    [
        ("ls \x1b]0;$(rm -rf ~)\x07", "ls \\x1b]0;$(rm -rf ~)\\x07"),
        ("ls\rrm -rf ~", "ls\\x0drm -rf ~"),
        ("cat a\u202etxt.sh", "cat a\\u202etxt.sh"),
        ("rm\u00a0-rf", "rm\\xa0-rf"),
        ("echo\tx", "echo    x"),
    ],
)
def test_nothing_in_a_command_can_hide(command: str, seen: str) -> None:
    question = asked(tool="bash", arguments={"command": command})
    assert f"    command: {seen}" in shown(question)
    everything = "".join([*shown(question), subject_line(question_item(question))])
    assert not any(character in everything for character in "\x1b\r\u202e")


@pytest.mark.behaviour("repl")
def test_a_plan_and_long_arguments_are_shown_whole_with_the_rule_that_always_would_add() -> None:
    lines = shown(asked(tool="write_file", arguments={"path": "a", "content": "one\n\ntwo"}, rule="allow write_file"))
    assert lines == [
        "question 1: bob asks: may I use write_file?",
        "    path: a",
        "    + one",
        "    +",
        "    + two",
        "answer with y 1, a 1 (adds the rule: allow write_file) or n 1 WORDS",
    ]
    assert shown(asked(Shake.PLAN, plan="First.\nThen."))[1:3] == ["    First.", "    Then."]
