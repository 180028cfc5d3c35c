"""The work of teammates with their own trees, until the user has it: in a run, and in a conversation."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deskmate.testing import Asked, Say
from deskmate.testing.team_scripts import member_of
from tests.faces.chat_program import ChatProgram, chat_program
from tests.faces.terminal import at_terminal
from tests.scenarios.team.test_own_trees import git, lead, writes

SETTINGS = 'isolation = "own"\nmerge = "ask"\nsandbox = false\npermission_mode = "bypass"\n'
SCRIPTS = {"lead": lead("ann"), "ann": writes(("list.txt", "ONE\ntwo\n"))}


def script(asked: Asked) -> Say:
    return SCRIPTS[member_of(asked)](asked)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[ChatProgram]:
    """A user with a repository, a change that is not committed, and teammates with their own trees."""
    with chat_program(tmp_path, script) as program:
        (tmp_path / "home/.config/deskmate/settings.toml").write_text(SETTINGS)
        git(program.folder, "init", "-q", "-b", "trunk")
        git(program.folder, "config", "user.name", "Ursula")
        git(program.folder, "config", "user.email", "ursula@example.org")
        (program.folder / "list.txt").write_text("one\ntwo\n")
        git(program.folder, "add", "-A")
        git(program.folder, "commit", "-qm", "First")
        (program.folder / "draft.txt").write_text("not committed\n")
        yield program


def handed_over(program: ChatProgram) -> bool:
    """Tell whether the user has the work, and everything that was there before."""
    words = [(program.folder / name).read_text() for name in ("list.txt", "draft.txt")]
    words.append(git(program.folder, "status", "--porcelain"))
    return words == ["ONE\ntwo\n", "not committed\n", "?? draft.txt\n"]


def test_a_run_hands_the_work_over_if_that_is_wanted(program: ChatProgram) -> None:
    ended = program.piped("", "run", "Write.", "--merge", "auto")
    assert "The finished work of deskmate/main is in your workspace now" in ended.stderr
    assert handed_over(program)


def test_in_a_conversation_the_work_is_shown_and_merged(program: ChatProgram) -> None:
    told = program.piped("Write.\n", "--plain").stderr
    assert "#1 merged into deskmate/main" in told
    ended = program.piped("/diff\n/diff #1\n/diff ann\n/merge\n/merge\n", "--plain", "--continue")
    assert (ended.code, ended.stderr.count("+ONE")) == (0, 2)
    assert "merged deskmate/main into trunk" in ended.stderr
    assert "already has everything" in ended.stderr
    assert "To merge them" not in ended.stderr
    assert handed_over(program)


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_conversation_asks_at_the_end_of_a_turn_and_shows_the_difference_first(
    program: ChatProgram, answer: str
) -> None:
    with at_terminal("--plain", cwd=program.folder, env=program.env) as terminal:
        terminal.say("Write.")
        terminal.see("d: show the diff")
        terminal.say("d")
        terminal.see("+ONE")
        terminal.say(answer)
        terminal.see({"y": "merged deskmate/main into trunk", "n": "To merge it later: /merge"}[answer])
    assert handed_over(program) == (answer == "y")


def test_a_run_at_a_terminal_asks_at_the_end(program: ChatProgram) -> None:
    with at_terminal("run", "Write.", "--merge", "ask", cwd=program.folder, env=program.env) as terminal:
        terminal.see("y: merge")
        terminal.type("d\n")
        terminal.see("+ONE")
        terminal.type("y\n")
        terminal.see("merged deskmate/main into trunk")
    assert handed_over(program)


def test_a_merge_that_is_not_possible_is_refused_in_a_conversation(program: ChatProgram) -> None:
    program.piped("Write.\n", "--plain")
    (program.folder / "list.txt").write_text("mine\n")
    ended = program.piped("/merge\n", "--plain", "--continue")
    assert ended.code == 1
    assert "git stash --include-untracked && git cherry-pick -x" in ended.stderr
    assert (program.folder / "list.txt").read_text() == "mine\n"


def test_who_leaves_a_conversation_reads_how_to_merge(program: ChatProgram) -> None:
    ended = program.piped("Write.\n", "--plain", "--merge", "leave")
    assert "To merge them, run: deskmate merge main\n" in ended.stderr
    assert "/merge" not in ended.stderr
    assert not handed_over(program)
