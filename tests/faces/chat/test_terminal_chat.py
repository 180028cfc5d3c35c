"""The plain conversation at a terminal: what is typed stays whole, Ctrl-C and Ctrl-D do as told, nothing is left."""

import json
import os
import pty
import re
import signal
import stat
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import step
from tests.faces.chat_program import LONG, ChatProgram, chat_program
from tests.faces.terminal import Screen, Terminal, at_terminal

pytestmark = pytest.mark.behaviour("repl")
HEAD = "anthropic:claude-sonnet-4-5, permission mode default, no sandbox, team main (/help, /quit)"
CTRL_C, CTRL_D, HOME, LEFT, RIGHT, UP, TAB = "\x03", "\x04", "\x01", "\x1b[D", "\x1b[C", "\x1b[A", "\t"
NOTHING_SAID = "You sent no message, so the team was not kept."
WAYS_ON = ["To continue, run: deskmate --team main", "To let it work without you, run: deskmate resume main"]


@pytest.fixture
def place(shared: ChatProgram, tmp_path: Path) -> ChatProgram:
    return shared.own(tmp_path, NO_COLOR="1")


@pytest.fixture
def terminal(place: ChatProgram) -> Iterator[Terminal]:
    with typing_at(place) as terminal:
        yield terminal


def typing_at(place: ChatProgram, *args: str, **options: Any) -> AbstractContextManager[Terminal]:
    """Have a conversation at a terminal."""
    return at_terminal("--plain", *args, cwd=place.folder, env=place.env, **options)


@contextmanager
def waiting(place: ChatProgram, **options: Any) -> Iterator[Terminal]:
    """Have one whose lead waits for a file `go`, and then answers at length."""
    with typing_at(place, "--permission-mode", "bypass", **options) as terminal:
        terminal.say("wait")
        terminal.see("[lead@main] bash until")
        terminal.prompted()
        yield terminal


@contextmanager
def interrupted(place: ChatProgram, words: str = "sleep", busy: tuple[str, ...] = ("lead",)) -> Iterator[Terminal]:
    """Have one whose lead was busy when Ctrl-C was pressed, once. `busy`: who sleeps after these words."""
    with typing_at(place, "--permission-mode", "bypass") as terminal:
        terminal.say(words)
        for name in busy:
            terminal.see(f"[{name}@main] bash sleep 60")
        terminal.say("/team")
        terminal.see("working")
        terminal.prompted()
        terminal.type(CTRL_C)
        terminal.see("The lead was interrupted. Press Ctrl-C again to leave")
        yield terminal


def leave(terminal: Terminal, keys: str = CTRL_D) -> int:
    """Leave with a key; the terminal must be as it was."""
    terminal.prompted()
    terminal.type(keys)
    code = terminal.end()
    assert terminal.modes == terminal.found
    assert terminal.raw.count("\x1b[?2004h") <= terminal.raw.count("\x1b[?2004l")
    return code


# -- what is seen ---------------------------------------------------------------------------------


def test_words_and_answers_stand_below_each_other(terminal: Terminal) -> None:
    terminal.say("hello")
    terminal.see("I am here.")
    terminal.say("paragraphs")
    terminal.see("three")
    assert leave(terminal) == 0
    lines = terminal.screen.lines
    assert lines[:10] == [HEAD, "> hello", "Hello.", "I am here.", "> paragraphs", "one", "", "two", "", ""]
    assert lines[10] == "three"
    # The price counts the prompt, which names the folder: it is not the same in every place.
    assert re.fullmatch(r"team main: 2 model calls, \$0\.01\d\d \(hello\)", lines[11])
    assert lines[-1] == WAYS_ON[-1]


@pytest.mark.parametrize("columns", [40, 100])
def test_what_is_being_typed_outlives_what_is_printed_meanwhile(place: ChatProgram, columns: int) -> None:
    with waiting(place, columns=columns) as terminal:
        terminal.type("unfinished" + 3 * LEFT)
        terminal.cursor_in("> unfinished", 9)
        (place.folder / "go").touch()
        terminal.see(LONG.splitlines()[-1])
        terminal.cursor_in("> unfinished", 9)
        terminal.type("X")
        terminal.cursor_in("> unfinisXhed", 10)
        shown = terminal.screen.lines
    assert shown[shown.index("line 0") : -1] == LONG.splitlines()
    assert shown[-1] == "> unfinisXhed"


def test_what_is_typed_over_more_than_one_row_outlives_it_too(place: ChatProgram) -> None:
    text = "words that take more than one row of forty columns, and a bit"
    with typing_at(place, columns=40, rows=20) as terminal:
        terminal.say("ls")
        # The prompt behind it: the one before is still there until this is shown.
        terminal.see("> ls")
        terminal.prompted()
        terminal.type(text)
        terminal.see("question 1")
        terminal.until(lambda: terminal.screen.lines[-2:] == [f"> {text[:38]}", text[38:]])
        assert terminal.screen.cursor == (text[38:], len(text) - 38)


def test_what_is_printed_spares_all_rows_that_are_typed_also_those_below_the_cursor(place: ChatProgram) -> None:
    text = "é23456789 " * 10
    with waiting(place, columns=40) as terminal:
        terminal.type(f"{text}end{HOME}{40 * RIGHT}")
        terminal.cursor_in(text[38:78].rstrip(), 2)
        (place.folder / "go").touch()
        terminal.see(LONG.splitlines()[-1])
        terminal.type("X")
        whole = f"> {text[:40]}X{text[40:]}end"
        expected = [*LONG.splitlines(), whole[:40].rstrip(), whole[40:80].rstrip(), whole[80:]]
        # The rest of the row is written after the cursor has passed the letter.
        terminal.until(lambda: terminal.screen.lines[-len(expected) :] == expected)
        terminal.until(lambda: terminal.screen.cursor[1] == 3)
        terminal.signal(signal.SIGTERM)
        assert terminal.end() == 130
        assert not any("23456789" in line for line in terminal.screen.lines)


def test_a_terminal_that_tells_no_size_is_written_to_all_the_same(place: ChatProgram) -> None:
    with typing_at(place, columns=80, told=(0, 0)) as terminal:
        terminal.prompted()
        terminal.type("hire\r")
        terminal.see("Alice has reported.")
        assert leave(terminal) == 0


def test_a_question_is_answered_from_the_keyboard(terminal: Terminal) -> None:
    terminal.say("ls")
    terminal.see("answer with y 1, a 1 (adds the rule: allow bash(ls)) or n 1 WORDS")
    terminal.say("/yes")
    terminal.see("Done.")
    assert leave(terminal) == 0


def test_a_short_answer_that_was_begun_before_the_question_came_does_not_answer_it(place: ChatProgram) -> None:
    with waiting_to_ask(place) as terminal:
        terminal.type("y")
        terminal.cursor_in("> y", 3)
        (place.folder / "go").touch()
        terminal.see("question 2")
        terminal.type("\r")
        terminal.see("Question 2 came while you were typing")
        terminal.say("y")
        terminal.see("yes to lead: bash ls")


@contextmanager
def waiting_to_ask(place: ChatProgram) -> Iterator[Terminal]:
    """Have a conversation whose lead asks something as soon as there is a file `go`."""

    def play(asked: Asked) -> Say:
        if step(asked) == 0:
            return Say("I wait.", [Use("bash", {"command": "until test -e go; do sleep 0.05; done"})])
        return Say("I look.", [Use("bash", {"command": "ls"})]) if step(asked) == 1 else Say("Done.")

    with (
        chat_program(place.folder / "own", play) as own,
        at_terminal("--plain", cwd=place.folder, env={**own.env, "NO_COLOR": "1"}) as terminal,
    ):
        terminal.say("go on")
        terminal.see("question 1")
        terminal.say("y")
        terminal.see("bash until")
        terminal.prompted()
        yield terminal


def test_clear_begins_another_team_at_the_same_prompt(place: ChatProgram, terminal: Terminal) -> None:
    terminal.say("hello")
    terminal.see("I am here.")
    terminal.say("/clear paragraphs")
    terminal.see("To continue, run: deskmate --team main")
    terminal.see("three")
    terminal.say("/copy")
    terminal.see("copied the lead's last answer, 16 characters")
    assert "\x1b]52;c;b25lCgp0d28KCgp0aHJlZQ==\a" in terminal.raw
    assert leave(terminal) == 0
    assert place.teams == ["main", "main-2"]


def test_teammates_are_told_of_in_their_colours_and_without_where_none_are_wanted(place: ChatProgram) -> None:
    for env, expected in (({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False)):
        with at_terminal("--plain", cwd=place.folder, env={**place.env, **env}) as terminal:
            terminal.say("hire")
            terminal.see("The report of alice.")
            assert ("\x1b[36m[alice@main" in terminal.raw) is expected


def test_odd_words_move_nothing(terminal: Terminal) -> None:
    terminal.say("odd")
    terminal.see("may I use bash?")
    terminal.say("/no")
    terminal.see("Done.")
    # The screen of these tests knows no other orders, so none were sent.
    assert leave(terminal) == 0


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_obeys_nothing_is_talked_at_line_by_line(place: ChatProgram, term: str) -> None:
    with at_terminal(cwd=place.folder, env=place.env, term=term) as terminal:
        terminal.see("Type one message per line. /help lists commands, /quit leaves")
        terminal.type("hello\n")
        terminal.see("I am here.")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    assert "\x1b" not in terminal.raw


# -- what is typed --------------------------------------------------------------------------------


def test_a_backslash_and_a_paste_make_texts_of_more_than_one_line(place: ChatProgram, terminal: Terminal) -> None:
    terminal.say("one\\")
    terminal.cursor_in(".", 2)
    terminal.type("two\r")
    terminal.see("I am here.")
    terminal.prompted()
    terminal.type("\x1b[200~three\nfour\x1b[201~")
    terminal.cursor_in(". four", 6)
    terminal.type("\r")
    terminal.say("/inbox")
    terminal.until(lambda: "    four" in terminal.screen.lines)
    assert leave(terminal) == 0
    said = [line["content"] for line in mail(place) if line["sender"] == "user"]
    assert said == ["one\ntwo", "three\nfour"]


def test_alt_enter_and_ctrl_j_begin_a_new_line(place: ChatProgram, terminal: Terminal) -> None:
    terminal.prompted()
    terminal.type("one\x1b\rtwo\nthree")
    terminal.cursor_in(". three", 7)
    terminal.type("\r")
    terminal.see("I am here.")
    assert leave(terminal) == 0
    assert [line["content"] for line in mail(place) if line["sender"] == "user"] == ["one\ntwo\nthree"]


def mail(place: ChatProgram) -> list[dict[str, str]]:
    text = (place.folder / ".teams/main/lead_inbox.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_commands_and_names_are_completed(terminal: Terminal) -> None:
    terminal.say("hire")
    terminal.see("Alice has reported.")
    terminal.prompted()
    for typed, completed in (("/te", "> /team"), ("@ali", "> @alice"), ("/stop a", "> /stop alice")):
        terminal.type(typed + TAB)
        terminal.cursor_in(completed, len(completed) + 1)
        terminal.type("\x15")
        terminal.prompted()


def test_a_file_is_found_by_letters_of_its_path_and_inserted(place: ChatProgram, terminal: Terminal) -> None:
    (place.folder / "src").mkdir()
    (place.folder / "src/client.py").touch()
    terminal.prompted()
    terminal.type("look at @clnt")
    terminal.see("src/client.py")
    terminal.type(TAB)
    completed = "> look at @src/client.py"
    terminal.cursor_in(completed, len(completed) + 1)


def test_a_menu_of_commands_opens_at_the_slash_and_is_gone_after_it(terminal: Terminal) -> None:
    terminal.prompted()
    terminal.type("/in")
    terminal.see("/interrupt")
    terminal.type("\t\t\r")
    terminal.see("> /interrupt")
    terminal.prompted()
    assert [line for line in terminal.screen.lines if "/inbox" in line] == []


def test_ctrl_r_finds_what_was_typed(terminal: Terminal) -> None:
    for words in ("hello there", "paragraphs"):
        terminal.say(words)
        terminal.see("I am here." if words == "hello there" else "three")
    terminal.prompted()
    terminal.type("\x12ello")
    terminal.see("hello there")
    terminal.type("\r")
    terminal.cursor_in("> hello there", 3)


def test_what_was_typed_is_a_key_away_also_the_next_time(place: ChatProgram, terminal: Terminal) -> None:
    terminal.say("hello")
    terminal.see("I am here.")
    assert leave(terminal) == 0
    with typing_at(place, "--continue") as again:
        again.prompted()
        again.type(UP)
        again.cursor_in("> hello", 7)
    (file,) = Path(place.env["HOME"]).rglob("history.jsonl")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_is_no_text_can_be_typed_and_stand_in_the_history(place: ChatProgram) -> None:
    folder = Path(place.env["HOME"]) / ".local/state/deskmate"
    folder.mkdir(parents=True)
    (folder / "history.jsonl").write_text('"a\\u0000b\\ud800"\n"\\u001b[2J"\nodd\n')
    with typing_at(place) as terminal:
        terminal.prompted()
        os.write(terminal.near, b"caf\xe9 \xff\r")
        terminal.see("I am here.")
        terminal.prompted()
        terminal.type(3 * UP)
        terminal.until(lambda: terminal.screen.cursor[0] == "> ab\ufffd")


def test_a_history_that_cannot_be_kept_is_told_and_the_words_are_said(place: ChatProgram) -> None:
    (Path(place.env["HOME"]) / ".local").write_text("in the way")
    with typing_at(place) as terminal:
        terminal.say("hello")
        terminal.see("deskmate: cannot save the input history: Not a directory")
        terminal.see("I am here.")


# -- leaving --------------------------------------------------------------------------------------


def test_ctrl_c_interrupts_a_busy_lead_and_it_can_be_spoken_to(place: ChatProgram) -> None:
    with interrupted(place) as terminal:
        terminal.see("[lead@main] bash sleep 60 failed: Interrupted.")
        terminal.say("hello")
        terminal.see("Done.")


def test_ctrl_c_twice_leaves_and_names_who_was_busy(place: ChatProgram) -> None:
    with interrupted(place, "doze", ("lead", "bob")) as terminal:
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        assert terminal.modes == terminal.found
        # The lead may have come to rest before the second key. Its teammate was not interrupted.
        named = {"bob was stopped while busy.", "lead, bob were stopped while busy."} & set(terminal.screen.lines)
        assert (len(named), "To continue, run: deskmate --team main" in terminal.screen.lines) == (1, True)


def test_ctrl_c_while_the_lead_rests_says_what_the_next_one_does(terminal: Terminal) -> None:
    terminal.prompted()
    terminal.type("typed")
    terminal.cursor_in("> typed", 7)
    terminal.type(CTRL_C)
    terminal.see("Press Ctrl-C again to leave")
    terminal.cursor_in("> typed", 7)
    assert not terminal.modes[3] & termios.ECHO
    terminal.type(CTRL_C)
    assert terminal.end() == 130
    assert terminal.screen.lines[-1] == NOTHING_SAID
    assert terminal.modes == terminal.found


def test_quit_leaves(terminal: Terminal) -> None:
    assert leave(terminal, "/quit\r") == 0
    assert [line for line in terminal.screen.lines if line] == [HEAD, "> /quit", NOTHING_SAID]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_as_it_was_found(terminal: Terminal, number: signal.Signals) -> None:
    terminal.prompted()
    terminal.type("typed")
    terminal.cursor_in("> typed", 7)
    terminal.signal(number)
    assert terminal.end() == 130
    assert terminal.modes == terminal.found
    assert terminal.screen.lines[-1] == NOTHING_SAID
    assert "> typed" not in terminal.screen.lines


def test_a_signal_before_anything_can_be_typed_ends_it_without_a_word() -> None:
    words = (
        "import os, signal, sys; from deskmate.faces.cli.plain.keyboard import Keyboard; "
        "from deskmate.faces.common.interrupt_key import InterruptKey; k = Keyboard(sys.stdout, {}, colour=False)"
    )
    deed = "with InterruptKey(print, k.restore).signals(): os.kill(os.getpid(), signal.SIGTERM); signal.pause()"
    near, far = pty.openpty()
    with open(near, "rb"), open(far, "rb") as terminal:
        ran = subprocess.run(
            [sys.executable, "-c", f"{words}\n{deed}"],
            stdin=terminal,
            stdout=terminal,
            stderr=subprocess.PIPE,
            start_new_session=True,
            timeout=60,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (-signal.SIGTERM, b"")


def test_a_store_that_fails_ends_it_with_a_sentence_and_a_whole_terminal(
    place: ChatProgram, terminal: Terminal
) -> None:
    terminal.prompted()
    (place.folder / ".teams/main/lead_inbox.jsonl").mkdir()
    terminal.say("hello")
    assert terminal.end() == 3
    assert terminal.modes == terminal.found
    assert any(line.startswith("deskmate: ") for line in terminal.screen.lines)
    assert "Traceback" not in terminal.raw


# -- the screen of these tests --------------------------------------------------------------------


def test_the_screen_obeys() -> None:
    screen = Screen(5, 3)
    screen.feed("one\r\ntwo\r\nthree66")
    assert screen.lines == ["one", "two", "three", "66"]
    screen.feed("\x1b[1A\r\x1b[1L\x1b7new\x1b8\x1b[1B")
    assert (screen.lines, screen.cursor) == (["one", "two", "new", "three"], ("three", 0))
    screen.feed("\x1b[2Pa\b\x1b[1@x\x1b[C\x1b[K")
    assert (screen.lines[-1], screen.cursor) == ("xa", ("xa", 2))
    screen.feed("\x1bD漢e\u0301\r\x1b[1A\x1b[J")
    assert screen.lines == ["one", "two", "new"]
    with pytest.raises(AssertionError, match="no order"):
        screen.feed("\x1b[2;2H")
