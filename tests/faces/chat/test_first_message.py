"""A team begins with its first message: what never got that far, or never got an answer, leaves no team behind."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskmate.faces.common.run_start import NOTHING_SAID
from deskmate.testing.provider_faults import ErrorStatus
from tests.faces.chat_program import ChatProgram, chat_program
from tests.faces.disk_teams import founded
from tests.faces.tui.test_tui_start import AtScreen


@pytest.fixture
def place(shared: ChatProgram, tmp_path: Path) -> ChatProgram:
    return shared.own(tmp_path)


@pytest.fixture
def denied(tmp_path: Path) -> Iterator[ChatProgram]:
    """A place at a provider that takes nobody's key."""
    with chat_program(tmp_path, faults=lambda number, asked: ErrorStatus(401, message="invalid x-api-key")) as place:
        yield place


def test_a_screen_that_is_opened_and_left_leaves_no_trace(place: ChatProgram) -> None:
    with AtScreen(place) as terminal:
        terminal.see("to lead")
        assert "team main" not in terminal.leave()
    assert [path.name for path in place.folder.iterdir() if path.name.startswith(".t")] == []
    with AtScreen(place, "--new-team", "web") as terminal:
        terminal.see("to lead")
        parting = terminal.leave()
    assert NOTHING_SAID in parting
    assert "sync" not in parting
    assert place.teams == []


def kill_screen(place: ChatProgram, *args: str) -> None:
    with AtScreen(place, *args) as terminal:
        terminal.see("to lead")
        os.kill(terminal.process.pid, signal.SIGKILL)
        terminal.process.wait()


def test_a_screen_that_was_killed_before_a_word_is_gone_at_the_next_start(place: ChatProgram) -> None:
    kill_screen(place)
    kill_screen(place, "--new-team", "web")
    assert place.teams == ["web"]
    assert "There is no team" in place.piped("", "resume").stderr
    assert place.teams == []
    kill_screen(place)
    place.piped("hello\n")
    assert place.teams == ["main"]
    assert place.typed("teams").stdout.count("main") == 1


def test_a_screen_that_is_open_before_a_word_keeps_its_team(place: ChatProgram) -> None:
    with AtScreen(place) as terminal:
        terminal.see("to lead")
        place.piped("hello\n")
        assert place.teams == ["main", "main-2"]
        terminal.type("good morning\r")
        terminal.see("I am here.")
        terminal.leave()
    assert place.teams == ["main", "main-2"]


def test_a_conversation_of_commands_alone_leaves_the_last_team_the_last(place: ChatProgram) -> None:
    place.piped("hello\n")
    end = place.piped("/team\n/mode plan\n")
    assert end.stderr.endswith(f"{NOTHING_SAID}\n")
    assert place.teams == ["main"]
    assert place.typed("board").stdout == "team main: no tasks\n"


def test_a_team_in_which_nothing_was_ever_said_is_not_the_last_team(place: ChatProgram) -> None:
    place.piped("hello\n")
    founded(place.folder, "web")
    for command in ("board", "cost"):
        assert place.typed(f"{command}").stdout.startswith("team main")
    assert "Hello." in place.typed("tail lead").stdout
    place.piped("hello\n", "--continue")
    assert not (place.folder / ".teams/web/lead_inbox.jsonl").exists()


@pytest.mark.parametrize("deed", ['run "tidy up"', 'run "tidy up" --new-team web', '--plain "tidy up"'])
def test_a_start_that_the_model_refuses_for_good_leaves_no_team(denied: ChatProgram, deed: str) -> None:
    end = denied.typed(f"{deed}")
    assert end.code == 1
    assert "401" in end.stderr
    assert end.stderr.endswith("The model never answered, so the team was not kept. Fix the problem, then try again.\n")
    assert end.stderr.count("401") == 1
    assert "deskmate resume" not in end.stderr
    assert denied.teams == []


def test_a_start_that_failed_names_no_team_to_programs(denied: ChatProgram) -> None:
    result = json.loads(denied.typed("run x --output json").stdout)
    assert (result["team"], result["end"]) == (None, "parked")


def test_a_team_that_was_answered_is_kept_when_the_model_fails_later(tmp_path: Path) -> None:
    with chat_program(tmp_path, faults=lambda number, asked: ErrorStatus(401) if number else None) as place:
        assert place.typed("run hello").code == 0
        for deed in ("resume main more", "--team main 'go on'"):
            end = place.typed(f"{deed}")
            assert (end.code, place.teams) == (1, ["main"])
            assert "deskmate resume main" in end.stderr


@pytest.mark.parametrize("deed", ["--plain --team kelvn -- hello", "run hello --team kelvn"])
def test_a_team_that_is_not_there_is_not_begun_by_its_name(place: ChatProgram, deed: str) -> None:
    for team in ("kelvin", "main"):
        place.typed(f"run hello --new-team {team}")
    end = place.typed(f"{deed}")
    assert end.code == 2
    assert end.stderr.splitlines()[-3:] == [
        f"deskmate: There is no team 'kelvn' in {place.folder}",
        "Did you mean kelvin?",
        "To start a team with this name, run: deskmate --new-team kelvn",
    ]
    assert place.teams == ["kelvin", "main"]


def test_a_new_team_has_the_name_that_it_was_given_and_only_a_free_one(place: ChatProgram) -> None:
    assert place.piped("hello\n", "--new-team", "web").code == 0
    assert place.typed("run hello --new-team api").code == 0
    for deed in ("--plain --new-team web -- hello", "run hello --new-team web"):
        end = place.typed(f"{deed}")
        assert end.code == 2
        assert end.stderr.splitlines()[-1] == "To continue it, run: deskmate --team web"
    assert place.teams == ["api", "web"]


def test_a_run_continues_the_team_that_it_names(place: ChatProgram) -> None:
    place.typed("run hello --new-team web")
    assert place.typed("run 'once more' --team web").code == 0
    assert "once more" in place.typed("inbox lead web").stdout
    assert place.teams == ["web"]


@pytest.mark.parametrize("two", ["--team web --new-team api", "--continue --new-team api", "--team web --continue"])
def test_only_one_team_can_be_chosen(place: ChatProgram, two: str) -> None:
    end = place.typed(f"{two} -- hello")
    assert (end.code, place.teams) == (2, [])
    assert "Choose one of --team, --new-team, --continue and --resume." in end.stderr
