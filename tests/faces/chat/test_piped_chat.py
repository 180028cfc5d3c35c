"""The plain conversation through pipes, and how it is begun: the whole program in another process."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import hears, member_of
from tests.faces.chat_program import ALICE, LONG, ODD, SECONDS, ChatProgram, chat_program
from tests.faces.disk_teams import SECRET, founded, obeyed, spoil

pytestmark = pytest.mark.behaviour("repl")
HELLO = "Hello.\nI am here.\n"
PARTING = "To continue, run: deskmate --team main\nTo let it work without you, run: deskmate resume main\n"
SUM = re.compile(r"team main(-\d)?: \d+ model calls?, \$0\.\d{4}( \(.*\))?\n")


@pytest.fixture
def place(shared: ChatProgram, tmp_path: Path) -> ChatProgram:
    return shared.own(tmp_path)


# -- what is said ---------------------------------------------------------------------------------


def test_stdout_holds_the_words_of_the_lead_alone_and_stderr_all_else(place: ChatProgram) -> None:
    end = place.piped("hello\n")
    assert (end.code, end.stdout) == (0, HELLO)
    assert SUM.sub("", end.stderr) == PARTING


def test_the_tasks_that_are_left_open_are_named_on_leaving(place: ChatProgram) -> None:
    place.piped("hello\n")
    for subject in ("write docs", "test it"):
        # For nobody who is there, so that it stays open.
        assert place.typed(f"board add '{subject}' --role nobody").code == 0
    end = place.piped("hello\n", "--continue")
    assert end.code == 0
    assert end.stderr.endswith(f"\n2 of 2 tasks open: #1 write docs, #2 test it\n{PARTING}")


def test_each_line_is_said_once_the_one_before_it_is_answered(place: ChatProgram) -> None:
    end = place.piped("hello\n\nparagraphs\nfail\nhello")
    assert (end.code, end.stdout) == (0, f"{HELLO}one\n\ntwo\n\n\nthree\nI fail.\nDone.\n{HELLO}")
    assert end.stderr.splitlines()[:2] == [
        "[lead@main] read_file nowhere.txt",
        "[lead@main] read_file nowhere.txt failed: nowhere.txt does not exist. Look for it with glob.",
    ]


def test_clear_begins_another_team_and_the_lines_after_it_are_said_there(place: ChatProgram) -> None:
    end = place.piped("hello\n/clear\n\nparagraphs\n/new hello\n/clear\n")
    assert (end.code, end.stdout) == (0, f"{HELLO}one\n\ntwo\n\n\nthree\n{HELLO}")
    assert place.teams == ["main", "main-2", "main-3"]


def test_words_in_the_command_are_said_before_what_is_piped_in(place: ChatProgram) -> None:
    assert place.piped("hello\n", "tell me", "--plain", "--max-steps", "7").stdout == HELLO * 2
    assert place.piped("", "--", "fix", "-x", "paragraphs").stdout == "one\n\ntwo\n\n\nthree\n"


def test_a_line_that_ends_in_a_backslash_goes_on_with_the_next(place: ChatProgram) -> None:
    place.piped("one\\\ntwo\\\n")
    assert "    one\n    two\n" in place.piped("/inbox\n", "--continue").stderr


def test_bytes_that_are_no_text_are_said_as_far_as_they_are(place: ChatProgram) -> None:
    assert place.piped(b"caf\xe9 \xff hello\r\n").stdout == HELLO


def test_a_line_that_no_message_holds_is_refused_and_the_next_one_said(place: ChatProgram) -> None:
    end = place.piped("x" * 1_000_000 + "\nhello\n")
    assert (end.code, end.stdout) == (1, HELLO)
    assert "bytes" in end.stderr.splitlines()[0]


def test_the_end_waits_for_teammates_and_for_what_the_lead_makes_of_their_reports(place: ChatProgram) -> None:
    end = place.piped("hire\n")
    assert (end.code, end.stdout) == (0, "I hire.\nDone.\nAlice has reported.\n")
    assert end.stderr.splitlines()[:2] == ["[lead@main] Task alice", "[alice@main] The report of alice."]


@pytest.mark.parametrize("refused", ["/teem", "/yes", "@nobody hello"])
@pytest.mark.parametrize("then", ["hello\n", "hello\n/quit\n"])
def test_a_line_that_cannot_be_carried_out_makes_the_exit_code_1(place: ChatProgram, refused: str, then: str) -> None:
    end = place.piped(f"{refused}\n{then}")
    assert end.code == 1


@pytest.mark.parametrize("stdin", ["", "\n  \n\\\n"])
@pytest.mark.parametrize("args", [[], ["--new-team", "web"]])
def test_where_nothing_is_to_be_said_nothing_is_founded(place: ChatProgram, stdin: str, args: list[str]) -> None:
    end = place.piped(stdin, *args)
    assert (end.code, end.stdout, 'type it: deskmate "TEXT"' in end.stderr) == (2, "", True)
    assert place.teams == []


def test_a_reader_that_closes_the_pipe_ends_it(place: ChatProgram) -> None:
    ran = place.in_shell("yes long | deskmate 2>/dev/null | head -n 1")
    assert ran.stdout == LONG.splitlines()[0] + "\n"


def test_a_full_disk_under_stdout_is_told(place: ChatProgram) -> None:
    ran = place.in_shell("echo long | deskmate > /dev/full")
    assert ran.code == 3
    assert "deskmate: cannot write to stdout: No space left on device\n" in ran.stderr


def test_a_stdin_that_cannot_be_read_is_told(place: ChatProgram) -> None:
    ended = place.in_shell("deskmate 0> only-written")
    assert (ended.code, "Cannot read stdin: Bad file descriptor" in ended.stderr) == (2, True)


@contextmanager
def sleeping(place: ChatProgram) -> Iterator["subprocess.Popen[str]"]:
    """Have a conversation whose lead is busy."""
    with place.begun("--permission-mode", "bypass") as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("sleep\n")
        process.stdin.flush()
        assert "without a sandbox" in process.stderr.readline()
        assert process.stderr.readline() == "[lead@main] bash sleep 60\n"
        try:
            yield process
        finally:
            process.kill()


def test_sigterm_leaves_in_good_order(place: ChatProgram) -> None:
    with sleeping(place) as process:
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert "lead was stopped while busy.\nTo continue, run: deskmate --team main\n" in stderr


def test_ctrl_c_interrupts_the_lead_and_the_next_one_leaves(place: ChatProgram) -> None:
    with sleeping(place) as process:
        assert process.stderr is not None
        process.send_signal(signal.SIGINT)
        assert "Ctrl-C" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert "To continue, run: deskmate --team main\n" in stderr


def test_after_one_ctrl_c_the_lead_rests_and_what_follows_is_said(place: ChatProgram) -> None:
    with sleeping(place) as process:
        assert process.stderr is not None
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == "The lead was interrupted. Press Ctrl-C again to leave\n"
        stdout, _ = process.communicate("hello\n", timeout=SECONDS)
    assert (process.returncode, stdout) == (0, "I sleep.\nDone.\n")


# -- commands and questions -----------------------------------------------------------------------


def test_commands_reply_on_stderr_and_quit_leaves_the_rest_unsaid(place: ChatProgram) -> None:
    end = place.piped("hello\n/team\n/teem\n/stop\n/quit\nhello\n")
    assert (end.code, end.stdout) == (1, HELLO)
    lines = end.stderr.splitlines()
    assert re.fullmatch(r"lead@main +idle +\d+ s +\$0\.\d{4}", lines[0])
    assert "/team?" in lines[1]
    assert "Usage: /stop NAME (ask a teammate to leave)" in lines


@pytest.mark.parametrize(
    ("answer", "told"), [("/yes", "yes to lead: bash ls"), ("/no 1 please not", "no to lead: bash ls")]
)
def test_a_question_is_answered_by_the_next_line(place: ChatProgram, answer: str, told: str) -> None:
    end = place.piped(f"ls\n{answer}\n")
    assert (end.code, end.stdout) == (0, "I ls.\nDone.\n")
    shown = end.stderr.splitlines()
    assert shown[:4] == [
        "question 1: lead asks: may I use bash?",
        "    command: ls",
        "    because bash runs a command outside a sandbox",
        "answer with y 1, a 1 (adds the rule: allow bash(ls)) or n 1 WORDS",
    ]
    # What comes of it may be told first.
    assert told in shown


def test_a_question_that_nobody_can_answer_any_more_ends_with_1_and_is_still_open_later(place: ChatProgram) -> None:
    end = place.piped("ls\n")
    assert (end.code, end.stdout) == (1, "I ls.\n")
    assert "deskmate: lead asks for bash ls, and nobody is here to answer\n" in end.stderr
    later = place.piped("/yes\n", "--team", "main")
    assert (later.code, later.stdout) == (0, "Done.\n")


def test_a_subagent_asks_in_the_name_of_who_sent_it(tmp_path: Path) -> None:
    def script(asked: Asked) -> Say:
        if hears(asked, "errand"):
            return Say("I send.", [Use("Task", {"prompt": "look with ls", "description": "look"})])
        return Say("Found.") if asked.results else Say("I look.", [Use("bash", {"command": "ls"})])

    with chat_program(tmp_path, script) as place:
        end = place.piped("errand\n/yes\n")
    assert (end.code, end.stdout) == (0, "I send.\nFound.\n")
    assert "question 1: lead (subagent) asks: may I use bash?\n" in end.stderr


def test_a_lead_that_is_parked_ends_it_with_1_and_the_reason(place: ChatProgram) -> None:
    end = place.piped("fail\n", "--max-steps", "1")
    assert end.code == 1
    assert re.search(r"^\[lead@main\] stopped: .*step", end.stderr, re.MULTILINE)


def test_nothing_that_is_said_or_asked_moves_a_cursor(place: ChatProgram) -> None:
    said = ODD.replace("\n", "\\\n")
    end = place.piped(f"odd\n/yes\nsay {said}\n/inbox\n")
    assert "Done.\n" in end.stdout
    assert "</teammate-message>" in end.stderr
    assert obeyed(end.stdout + end.stderr) == []


def test_mail_to_the_user_is_shown_whole(tmp_path: Path) -> None:
    def script(asked: Asked) -> Say:
        mail = {"type": "message", "recipient": "user", "content": f"two\nlines {SECRET}", "summary": "news"}
        if member_of(asked) == "alice":
            return Say("Sent.") if asked.results else Say(calls=[Use("SendMessage", mail)])
        return Say("Well.") if asked.results else Say(calls=[Use("Task", ALICE)] if hears(asked, "hire") else [])

    with chat_program(tmp_path, script) as place:
        end = place.piped("hire\n")
    shown = end.stderr.splitlines()
    head = shown.index("mail to you:")
    assert re.fullmatch(r"  \[alice@main\], \d+ s ago", shown[head + 1])
    assert shown[head + 2 : head + 4] == ["    two", "    lines red bell"]
    assert obeyed(end.stderr) == []


# -- how it is begun ------------------------------------------------------------------------------


@pytest.mark.behaviour("cli")
def test_a_named_team_is_founded_and_the_next_time_gone_on_with(place: ChatProgram) -> None:
    assert place.piped("hello\n", "--new-team", "web").code == 0
    assert place.piped("hello\n", "--team", "web").code == 0
    assert place.teams == ["web"]
    assert "team web: 2 model calls" in place.piped("/team\n", "--team", "web").stderr


@pytest.mark.behaviour("cli")
def test_the_last_team_is_gone_on_with_where_that_is_wanted_and_else_a_new_one_founded(place: ChatProgram) -> None:
    place.piped("hello\n", "--new-team", "web")
    place.piped("hello\n")
    assert place.teams == ["main", "web"]
    assert "team main: 2 model calls" in place.piped("hello\n", "-c").stderr


@pytest.mark.behaviour("cli")
def test_flags_above_the_settings_hold_for_the_conversation(place: ChatProgram) -> None:
    flags = ("--permission-mode", "plan", "--model", "anthropic:claude-opus-4-5", "--no-sandbox")
    end = place.piped("/mode\n/model\n", *flags)
    assert end.stderr.splitlines()[:4] == [
        "mode: plan",
        "commands: no sandbox",
        "in plan mode: lead",
        "model: anthropic:claude-opus-4-5",
    ]


@pytest.mark.behaviour("cli")
def test_another_folder_stands_in_what_is_said_on_leaving(place: ChatProgram) -> None:
    other = place.folder / "o ther"
    other.mkdir()
    end = place.piped("hello\n", "-C", "o ther")
    assert "To continue, run: deskmate -C 'o ther' --team main\n" in end.stderr
    assert (other / ".teams").is_dir()


@pytest.mark.behaviour("cli")
def test_without_a_key_nothing_is_founded(place: ChatProgram) -> None:
    bare = {name: value for name, value in place.env.items() if not name.startswith(("ANTHROPIC", "DESKMATE"))}
    end = ChatProgram(place.folder, bare).piped("hello\n")
    assert (end.code, end.stdout) == (2, "")
    assert end.stderr.startswith("deskmate: There is no API key")
    assert place.teams == []


@pytest.mark.behaviour("cli")
@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--continue"], "There is no team"),
        (["--team", "web"], "There is no team 'web'"),
        (["--new-team", "no/name"], "no/name"),
        (["--new-team", "lead"], "lead"),
        (["--model", "llama3"], "openai:llama3"),
    ],
)
def test_what_cannot_be_begun_is_a_sentence_and_leaves_nothing_behind(
    place: ChatProgram, args: list[str], told: str
) -> None:
    end = place.piped("hello\n", *args)
    assert (end.code, end.stdout) == (2, "")
    assert told in end.stderr
    assert end.stderr.count("deskmate: ") == 1
    assert place.teams == []


@pytest.mark.behaviour("cli")
def test_a_team_that_somebody_plays_is_not_opened_twice(place: ChatProgram) -> None:
    with place.begun("hello there") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "Hello.\n"
        end = place.piped("hello\n", "--team", "main")
        process.communicate(timeout=SECONDS)
    assert (end.code, end.stdout, process.returncode) == (3, "", 0)
    assert f"process {process.pid}" in end.stderr
    assert all(f": deskmate {way}\n" in end.stderr for way in ("attach main", "send lead TEXT --team main"))


@pytest.mark.behaviour("cli")
def test_a_damaged_team_is_told_and_gone_on_with_as_far_as_it_can_be(place: ChatProgram) -> None:
    founded(place.folder, "main", "alice")
    spoil(place.folder / ".teams/main/roster.jsonl", 1)
    end = place.piped("/team\n", "--team", "main")
    assert "Traceback" not in end.stderr
    assert obeyed(end.stderr) == []


@pytest.mark.behaviour("cli")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(place: ChatProgram) -> None:
    locked = place.folder / "locked"
    locked.mkdir(mode=0o500)
    end = place.piped("hello\n", "-C", str(locked))
    assert (end.code, end.stdout) == (3, "")
    assert "Traceback" not in end.stderr


@pytest.mark.behaviour("cli")
def test_a_file_in_the_place_of_the_teams_is_told(place: ChatProgram) -> None:
    (place.folder / ".teams").write_text("in the way")
    end = place.piped("hello\n")
    assert (end.code, end.stdout) == (3, "")
    assert end.stderr.startswith("deskmate: ")
    assert "Traceback" not in end.stderr


@pytest.mark.behaviour("cli")
@pytest.mark.parametrize("rule", ["Bash(ls:*)", "bash(ls:*)", "Bash(ls *)"])
def test_rules_in_the_words_of_claude_code_hold(place: ChatProgram, rule: str) -> None:
    settings = Path(place.env["HOME"]) / ".config/deskmate/settings.toml"
    settings.write_text(f'sandbox = false\n[permission]\ndeny = ["{rule}"]\n')
    end = place.piped("ls\n")
    assert (end.code, end.stdout) == (0, "I ls.\nDone.\n")
    assert "Denied by the rule 'deny bash(ls*)'" in end.stderr
