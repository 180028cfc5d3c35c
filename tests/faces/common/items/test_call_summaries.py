"""The line that says why a call failed."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.faces.common.items.call_summaries import call_label, reason

CHAINED = """
def read():
    try:
        {}["port"]
    except KeyError as error:
        raise ValueError("no port is set") from error
read()
"""
GROUP = "raise ExceptionGroup('two', [ValueError('first'), OSError('disk full')])"


def output_of(*command: str) -> str:
    """Return what a command printed and how it ended, as `bash` tells a model."""
    ended = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    return f"{ended.stdout}{ended.stderr}exit status {ended.returncode}"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero (exit status 1)"),
        (CHAINED, "ValueError: no port is set (exit status 1)"),
        ("raise StopIteration", "StopIteration (exit status 1)"),
        (f"{CHAINED.replace('no port is set', 'a' + chr(92) + 'nb')}", "ValueError: a (exit status 1)"),
    ],
)
def test_of_a_traceback_it_is_the_error(code: str, why: str) -> None:
    assert reason(output_of("-c", code)) == why


def test_of_a_group_of_exceptions_it_is_one_of_them() -> None:
    assert "Traceback" not in reason(output_of("-c", GROUP))


def test_of_pytest_it_is_the_summary_and_the_first_that_failed(tmp_path: Path) -> None:
    (tmp_path / "test_sum.py").write_text("def test_sum():\n    assert 1 + 1 == 3\n\ndef test_fine():\n    pass\n")
    for options in ([], ["-q"]):
        told = reason(
            output_of("-m", "pytest", *options, "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path))
        )
        assert told.startswith("1 failed, 1 passed in ")
        assert "test_sum.py::test_sum" in told
        assert told.endswith("(exit status 1)")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", ""),
        ("nope.py is not there; look for it with glob", "nope.py is not there; look for it with glob"),
        ("exit status 3", "exit status 3"),
        (
            "cc -c a.c\na.c:3: error: x undeclared\nmake: *** [a.o] Error 1\nexit status 2",
            "make: *** [a.o] Error 1 (exit status 2)",
        ),
        ("first\nsecond\nthird", "first … third"),
        ("0 failed nothing\nfine", "0 failed nothing"),
        ("Traceback (most recent call last):", "Traceback (most recent call last):"),
        ("\x1b[31mfatal: not a repository\x1b[0m\nexit status 128", "fatal: not a repository (exit status 128)"),
    ],
)
def test_else_it_is_the_line_that_tells(text: str, why: str) -> None:
    assert reason(text) == why


@given(
    st.lists(
        st.sampled_from(
            [
                "Traceback (most recent call last):",
                "  | ",
                "E",
                "  x",
                "FAILED a",
                "1 failed in 1s",
                "exit status 1",
                "=",
                "\t",
                "é: ",
            ]
        ),
        max_size=8,
    )
)
def test_whatever_was_printed_it_is_one_line(parts: list[str]) -> None:
    assert "\n" not in reason("\n".join(parts))


@pytest.mark.parametrize(
    ("arguments", "label"),
    [
        ({"recipient": "bob", "content": "go"}, "SendMessage bob: go"),
        ({"recipient": "bob", "content": "go now", "summary": "go"}, "SendMessage bob: go"),
        ({"type": "broadcast", "content": "go"}, "SendMessage all: go"),
        ({"type": "shutdown_request", "recipient": "bob"}, "SendMessage bob (shutdown request)"),
        ({"type": "shutdown_response", "approve": True}, "SendMessage the asker (shutdown: yes)"),
        (
            {"type": "shutdown_response", "approve": False, "request_id": "lead:7.0"},
            "SendMessage lead (shutdown: no)",
        ),
        (
            {"type": "plan_approval_response", "recipient": "bob", "approve": False, "content": "why?"},
            "SendMessage bob (plan: no): why?",
        ),
    ],
)
def test_a_message_that_is_sent_has_the_words_that_its_recipient_sees(arguments: dict[str, object], label: str) -> None:
    assert call_label("SendMessage", arguments) == label


@pytest.mark.parametrize(
    ("tool", "arguments", "label"),
    [
        ("TaskCreate", {"team_name": "main", "subject": "test"}, "TaskCreate test (main)"),
        ("TaskGet", {"taskId": 3}, "TaskGet #3"),
        ("TaskList", {"team_name": "main"}, "TaskList (main)"),
        ("TaskUpdate", {"taskId": "#3", "status": "completed", "team_name": "main"}, "TaskUpdate #3 (main) completed"),
    ],
)
def test_a_call_for_a_board_names_the_task_and_the_team_if_it_names_one(
    tool: str, arguments: dict[str, object], label: str
) -> None:
    assert call_label(tool, arguments) == label


@pytest.mark.parametrize(
    ("arguments", "label"),
    [
        ({"questions": [{"question": "Which?"}, {"question": "When?"}]}, "AskUser Which? When?"),
        ({"questions": ["Which?", {"question": 1}]}, "AskUser"),
        ({"questions": "Which?"}, "AskUser"),
    ],
)
def test_a_question_to_the_user_is_what_its_call_is_about(arguments: dict[str, object], label: str) -> None:
    assert call_label("AskUser", arguments) == label
