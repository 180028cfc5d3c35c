"""Commands from files as the goal of a run, and as the first words of a conversation through a pipe."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faces.chat_program import ChatProgram

pytestmark = pytest.mark.behaviour("commands")


@pytest.fixture
def place(shared: ChatProgram, tmp_path: Path) -> ChatProgram:
    # A home inside of the workspace would not count.
    (tmp_path / "work").mkdir()
    place = replace(shared.own(tmp_path), folder=tmp_path / "work")
    write(Path(place.env["HOME"]) / ".claude/commands/tell.md", "Tell $1 of @notes.txt. !`echo ran > ran`")
    (place.folder / "notes.txt").write_text("The notes.\n")
    return place


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def told(place: ChatProgram) -> str:
    """Return what the lead of team main was told first."""
    first, *_ = json.loads(place.typed("inbox lead --json").stdout)["mail"]
    return str(first["content"])


def test_a_run_sends_the_prompt_with_its_files_after_its_shell_commands(place: ChatProgram) -> None:
    end = place.typed("run '/tell ann' --permission-mode bypass --no-sandbox")
    assert end.code == 0
    assert "sending /tell (" in end.stderr
    assert (place.folder / "ran").read_text() == "ran\n"
    words = told(place)
    assert words.startswith("Tell ann of @notes.txt. `echo ran > ran` (its output is below)\n\n<user-command")
    assert '<user-file path="notes.txt"' in words


def test_an_unattended_run_denies_what_would_be_asked_and_leaves_no_team(place: ChatProgram) -> None:
    end = place.typed("run '/tell ann' --no-sandbox")
    assert end.code != 0
    assert "/tell was not sent" in end.stderr
    assert not (place.folder / "ran").exists()
    assert place.teams == []


def test_a_run_asks_no_model_about_a_command_that_does_not_exist_or_is_not_trusted(place: ChatProgram) -> None:
    write(place.folder / ".claude/commands/ship.md", "Ship it.")
    for typed, why in {
        "/tel ann": "There is no command /tel",
        "/ship now": "/ship is not used, because you have not trusted .claude/commands/ship.md",
    }.items():
        end = place.typed(f"run '{typed}'")
        assert (end.code, why in end.stderr) == (2, True), end.stderr
    assert "Did you mean /tell? To send these words as they are: //tel" in place.typed("run '/tel ann'").stderr
    assert place.teams == []
    assert place.typed("run '//tel ann'").code == 0
    assert told(place) == "/tel ann"


def test_a_conversation_asks_and_a_piped_line_answers(place: ChatProgram) -> None:
    end = place.piped("/tell ann\n/run\n", "--no-sandbox")
    assert end.code == 0
    assert (place.folder / "ran").exists()
    assert "Hello." in end.stdout


def test_first_words_may_be_a_command_that_asks(place: ChatProgram) -> None:
    end = place.piped("/run\n", "--no-sandbox", "/tell ann")
    assert end.code == 0
    assert told(place).startswith("Tell ann")


@pytest.mark.behaviour("trust")
def test_a_command_of_an_untrusted_repository_never_runs(place: ChatProgram) -> None:
    write(place.folder / ".claude/commands/ship.md", "Ship. !`touch made`")
    end = place.typed("run '/ship' --permission-mode bypass --no-sandbox")
    assert ".claude/commands" in end.stderr
    assert not (place.folder / "made").exists()
    assert place.typed("trust --yes").code == 0
    assert place.typed("run '/ship' --permission-mode bypass --no-sandbox").code == 0
    assert (place.folder / "made").exists()


def test_init_works_in_a_run(place: ChatProgram) -> None:
    assert place.typed("run /init").code == 0
    assert "Write AGENTS.md" in told(place)
