"""Progress as people read it: in a pipe, and on a terminal with its live line."""

import fcntl
import os
import select
import struct
import termios
from collections.abc import Iterator
from typing import TextIO

import pytest

from deskmate.core.agent.entries import Began, Call, Compacted, Did, Ended, Heard, Said, Started, Took
from deskmate.core.prompt.prompts import CallDelta, RetryDelta, TextDelta, ThinkingDelta
from deskmate.core.team.messages import Envelope, Plain, SentImage
from deskmate.core.team.status import Idle, Left, Parked, Waiting, Working
from deskmate.faces.common.output_stream import OutputStream
from deskmate.faces.common.progress_lines import PIPE_CELLS, Progress, progress_on
from deskmate.faces.common.terminal_text import clean, cut, gist
from deskmate.runtime.events import Arrived, Changed, Recorded, Seated, Streamed, TeamEvent, TeamStarted
from tests.faces.fake_app import paper, written

ERASE = "\r\x1b[K"


def printed(*events: TeamEvent, terminal: bool = False, colour: bool = False, cells: int = 60) -> str:
    with paper() as stream:
        with OutputStream(stream) as output_stream:
            progress = Progress(output_stream, terminal=terminal, colour=colour, cells=lambda: cells)
            for event in events:
                progress.hear(event)
            progress.close()
        return written(stream)


def said(number: int, *calls: tuple[str, dict[str, object]], text: str = "", member: str = "lead") -> Recorded:
    return Recorded(member, number, Said(text=text, calls=tuple(Call(tool=t, arguments=a) for t, a in calls)))


@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("read_file", {"path": "src/a.py"}, "read_file src/a.py"),
        ("write_file", {"content": "x = 1", "path": "src/a.py"}, "write_file src/a.py"),
        ("bash", {"timeout": 9, "command": "make\n  test"}, "bash make test"),
        ("Skill", {"depth": 3, "skill": "review"}, "Skill review"),
        ("TaskList", {}, "TaskList"),
    ],
)
def test_a_call_is_a_line_with_its_most_telling_argument(tool: str, arguments: dict[str, object], line: str) -> None:
    assert printed(said(4, (tool, arguments)), Recorded("lead", 5, Began(calls=("lead:4.0",)))) == f"[lead] {line}\n"


def test_a_call_is_printed_when_it_begins_and_again_only_when_it_fails() -> None:
    assert (
        printed(
            said(4, ("grep", {"pattern": "x"}), ("bash", {"command": "make"}), text="Let me look.\nMore."),
            Recorded("lead", 5, Began(calls=("lead:4.0",))),
            Recorded("lead", 6, Did(call="lead:4.0", text="nothing")),
            Recorded("lead", 7, Began(calls=("lead:4.1",))),
            Recorded("lead", 8, Did(call="lead:4.1", text="cc a.c\na.c:1: error\nexit status 2", ok=False)),
        )
        == """[lead] Let me look. … More.
[lead] grep x
[lead] bash make
[lead] bash make failed: a.c:1: error (exit status 2)
"""
    )


@pytest.mark.parametrize(
    ("ok", "text", "line"),
    [
        (True, "#3 [completed] page", "#3 completed"),
        (
            False,
            "task #3 is not done: fix it\nTraceback (most recent call last):\n  x\nKeyError: 'a'",
            "#3 not completed: KeyError: 'a'",
        ),
    ],
)
def test_a_task_is_called_completed_only_once_it_is(ok: bool, text: str, line: str) -> None:
    asked = said(4, ("TaskUpdate", {"taskId": "#3", "status": "completed"}))
    begin = Recorded("lead", 5, Began(calls=("lead:4.0",)))
    assert printed(asked, begin) == "[lead] completing #3 …\n"
    end = Recorded("lead", 6, Did(call="lead:4.0", text=text, ok=ok))
    assert printed(asked, begin, end) == f"[lead] completing #3 …\n[lead] {line}\n"


def test_a_call_from_before_is_printed_as_an_earlier_one() -> None:
    assert printed(Recorded("lead", 9, Began(calls=("lead:4.0",)))) == "[lead] an earlier call\n"


def test_a_long_command_does_not_push_out_why_it_failed() -> None:
    line = printed(
        said(4, ("bash", {"command": "x" * 90})), Recorded("lead", 6, Did(call="lead:4.0", text="no", ok=False))
    )
    assert line == f"[lead] bash {'x' * 24}… failed: no\n"


def test_the_rest_worth_a_line_is_one_line_each() -> None:
    assert (
        printed(
            TeamStarted("main"),
            Recorded("lead", 1, Started(name="lead")),
            Recorded("lead", 2, Heard(box="mail/lead", after=0, upto=1, damage=("record 1 is torn",))),
            Streamed("lead", RetryDelta(4.2, "overloaded", "anthropic:m")),
            Recorded("lead", 3, Compacted(upto=2, summary="long")),
            Recorded("lead", 4, Ended(background="b1a2b3c", status="exit status 0")),
            Changed("lead", Working()),
            Changed("lead", Waiting("permission")),
            Recorded("alice", 2, Said(text="Done; the parser stands.")),
            Recorded("alice", 3, Took(task=3, epoch=1, text="parse")),
            Recorded("alice", 4, Took(task=4, epoch=1, text="lex\nall of it", created_by="bob")),
            Changed("alice", Left("agreed to a shutdown request")),
            said(5, text="The answer, for stdout."),
        )
        == """[lead@main] could not read mail: record 1 is torn
[lead@main] trying anthropic:m again in 4 s: overloaded
[lead@main] made room: a summary replaces everything before
[lead@main] b1a2b3c ended: exit status 0
[lead@main] waiting: permission
[alice@main] Done; the parser stands.
[alice@main] took task #3: parse
[alice@main] took task #4 (by bob): lex … all of it
[alice@main] left: agreed to a shutdown request
"""
    )


def test_a_pipe_sees_nothing_of_what_only_lives_for_a_moment() -> None:
    assert (
        printed(Streamed("lead", TextDelta("Hm")), Streamed("lead", CallDelta("bash")), Changed("lead", Idle())) == ""
    )


def test_a_terminal_shows_the_last_line_being_said_until_something_stays() -> None:
    assert (
        printed(
            Streamed("lead", ThinkingDelta("well")),
            Streamed("lead", TextDelta("First.\nSec")),
            Streamed("lead", TextDelta("ond.\n\n")),
            Streamed("lead", RetryDelta(1, "cut off", "m")),
            Streamed("lead", TextDelta("Third.")),
            said(4, text="Third."),
            Streamed("lead", TextDelta("Fourth.")),
            terminal=True,
        )
        == f"[lead] thinking{ERASE}[lead] Sec{ERASE}[lead] Second.{ERASE}[lead] trying m again in 1 s: cut off\n"
        f"[lead] Third.{ERASE}[lead] Fourth.{ERASE}"
    )


@pytest.mark.behaviour("colours")
def test_every_line_of_a_member_bears_its_name_and_team_in_its_colour() -> None:
    told: list[TeamEvent] = [
        TeamStarted("main"),
        Seated("bob", "yellow"),
        Changed("bob", Left()),
        Changed("lead", Left()),
    ]
    lines = printed(*told, colour=True).splitlines()
    assert lines == ["\x1b[33m[bob@main]\x1b[0m left", "[lead@main]\x1b[0m left"]


@pytest.mark.behaviour("deliver")
def test_a_terminal_shows_that_mail_waits() -> None:
    assert printed(Arrived("bob", "alice", "message"), terminal=True) == f"[bob] message from alice waiting{ERASE}"


def test_a_line_leaves_the_last_cell_of_the_window_free() -> None:
    assert printed(Changed("lead", Left("x" * 99)), cells=30) == f"[lead] left: {'x' * 15}…\n"


def test_the_reason_why_a_member_stopped_is_wrapped_and_never_cut() -> None:
    reason = "Cannot connect to the model. Check the address, and that the server is running."
    lines = printed(Changed("lead", Parked(reason)), cells=30).splitlines()
    assert len(lines) > 1
    assert all(len(line) < 30 for line in lines)
    assert " ".join(" ".join(lines).split()).endswith(reason)
    assert printed(Changed("lead", Parked(reason)), cells=PIPE_CELLS).count("\n") == 1


def test_a_stream_that_cannot_be_written_to_harms_nobody() -> None:
    with open("/dev/full", "w") as full, OutputStream(full) as output_stream:
        progress = Progress(output_stream, terminal=False, colour=False, cells=lambda: 60)
        progress.hear(Changed("lead", Left()))
        progress.note("and on")


def test_a_note_is_all_of_a_text_without_what_a_terminal_obeys() -> None:
    with paper() as stream:
        with OutputStream(stream) as output_stream:
            Progress(output_stream, terminal=True, colour=False, cells=lambda: 9).note("a long\x1b[2J text\nof lines")
        assert written(stream) == "a long text\nof lines\n"


def test_a_reader_who_is_behind_is_spared_what_only_lives_for_a_moment() -> None:
    near, far = os.pipe()
    with os.fdopen(near, "r") as reader, os.fdopen(far, "w") as stream:
        with OutputStream(stream) as output_stream:
            progress = Progress(output_stream, terminal=True, colour=False, cells=lambda: 60)
            for _ in range(200):
                progress.note("x" * 999)
            for _ in range(2000):
                progress.hear(Streamed("lead", TextDelta("hm ")))
            progress.hear(Changed("lead", Left()))
            assert [reader.readline() for _ in range(201)] == ["x" * 999 + "\n"] * 200 + ["[lead] left\n"]
            progress.hear(Streamed("lead", ThinkingDelta("well")))
        stream.close()
        assert reader.read() == "[lead] thinking"


# -- a real terminal ------------------------------------------------------------------------------


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, TextIO]]:
    monkeypatch.setenv("TERM", "xterm")
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 20, 0, 0))
    with os.fdopen(ours, "rb", buffering=0) as near, os.fdopen(theirs, "w") as far:
        yield near.fileno(), far


def shown(near: int, upto: str) -> str:
    """Return what a terminal shows, in whatever pieces it arrives."""
    seen = b""
    while not seen.endswith(upto.encode()):
        assert select.select([near], [], [], 30)[0], f"only {seen!r} arrived"
        seen += os.read(near, 1000)
    return seen.decode()


@pytest.mark.parametrize(("colour", "name"), [(True, "[lead]\x1b[0m"), (False, "[lead]")])
def test_a_terminal_is_written_to_as_wide_as_it_is_and_coloured_if_wanted(
    terminal: tuple[int, TextIO], colour: bool, name: str
) -> None:
    near, far = terminal
    with OutputStream(far) as output_stream:
        progress = progress_on(output_stream, colour=colour)
        progress.hear(Streamed("lead", TextDelta("a long line of words")))
        progress.hear(Changed("lead", Left()))
    assert shown(near, upto="left\r\n") == f"{name} a long line…{ERASE}{name} left\r\n"


def test_a_terminal_that_obeys_nothing_gets_whole_lines_alone(
    terminal: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    near, far = terminal
    with OutputStream(far) as output_stream:
        progress = progress_on(output_stream, colour=True)
        progress.hear(Streamed("lead", TextDelta("a long line of words")))
        progress.hear(Changed("lead", Left()))
    assert shown(near, upto="left\r\n") == "[lead] left\r\n"


def test_a_pipe_is_never_coloured() -> None:
    with paper() as stream:
        with OutputStream(stream) as output_stream:
            progress_on(output_stream, colour=True).hear(Changed("lead", Left()))
        assert written(stream) == "[lead] left\n"


# -- texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain\n\ttext é 漢 👩‍🔧", "plain\n\ttext é 漢 👩‍🔧"),
        ("a\x1b[1;31mb\x1b[0mc", "abc"),
        ("a\x1b]8;;http://x\x1b\\b\x1b]8;;\x07c", "abc"),
        ("a\x1b]0;never ended\nb", "a\nb"),
        ("a\x9b31mb\x9dtitle\x9cc", "abc"),
        ("a\x1bPq#0\x1b\\b\x1b(Bc\x1b7d\x1b", "abcd"),
        ("a\rb\x08c\x7fd\x85e\x00f", "abcdef"),
        ("a\u202eb\u2066c", "abc"),
        ("a\udc80b", "a�b"),
    ],
)
def test_clean_leaves_nothing_a_terminal_obeys(text: str, left: str) -> None:
    assert clean(text) == left


@pytest.mark.parametrize(
    ("text", "cells", "left"),
    [
        ("abcd", 4, "abcd"),
        ("abcde", 4, "abc…"),
        ("漢字漢", 5, "漢字…"),
        ("漢字漢", 4, "漢…"),
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),
    ],
)
def test_cut_counts_the_cells_of_a_terminal(text: str, cells: int, left: str) -> None:
    assert cut(text, cells) == left


@pytest.mark.parametrize(
    ("text", "left"), [("", ""), ("\n one \n", "one"), ("a\nb\n\nc\n", "a … c"), ("same\nsame", "same")]
)
def test_gist_is_the_first_line_and_the_last(text: str, left: str) -> None:
    assert gist(text) == left


def test_images_of_the_user_are_a_line_with_their_labels() -> None:
    image = SentImage(media_type="image/png", blob="a.png", name="a.png", size=84_000, width=40, height=30)
    mail = Envelope("1", "user", "lead", 1.0, Plain(content="see", images=(image, image))).body()
    heard = Recorded("lead", 2, Heard(box="mail/lead", after=0, upto=1, mail=(mail,)))
    assert printed(heard) == "[lead] got [a.png, 40x30, 84 kB], [a.png, 40x30, 84 kB]\n"
