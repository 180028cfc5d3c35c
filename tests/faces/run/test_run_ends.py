"""Every run ends, says what it left behind, and reminds its lead each time the team comes to rest."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deskmate.core.agent.open_calls import TIME_IS_UP
from deskmate.faces.cli.run_command import LEFT
from deskmate.testing import Asked, Say, Use
from deskmate.testing.provider_faults import ErrorStatus, Stall
from deskmate.testing.team_scripts import all_texts, hears, member_of, send_mail, step, was_told
from tests.faces.chat_program import SECONDS, ChatProgram, chat_program

FREE = ("--permission-mode", "dontAsk", "--no-sandbox")
LAUNCHERS = pytest.mark.parametrize("launcher", ["inline", "process"])
QUIET = "Your whole team is idle"
RUNNING = "still running"
BOB = Use("Task", {"name": "bob", "role": "help", "prompt": "Look around."})


def serve(command: str) -> Use:
    return Use("bash", {"command": command, "run_in_background": True})


def wait_for(asked: Asked, seconds: int) -> Use:
    """Return a call that waits for what the model was told is running."""
    words = next(text for text in all_texts(asked) if RUNNING in text)
    return Use("TaskOutput", {"task_id": words.split("- ")[1].split(":")[0], "timeout": seconds, "block": True})


def transcript(place: ChatProgram, name: str) -> list[dict[str, Any]]:
    lines = (place.folder / f".teams/main/{name}_transcript.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


# -- background commands ----------------------------------------------------------------------------


def serves_for_ever(asked: Asked) -> Say:
    if step(asked) == 0:
        return Say("", [serve("sleep 1000")])
    return Say("Stop it, then." if hears(asked, RUNNING) else "The server is up.")


def test_a_run_with_an_endless_command_ends_and_names_it(tmp_path: Path) -> None:
    with chat_program(tmp_path, serves_for_ever) as place:
        end = place.piped("", "run", "serve", "--output", "json", *FREE)
    result = json.loads(end.stdout)
    assert (end.code, result["end"], result["text"]) == (LEFT, "answered", "The server is up.\n\nStop it, then.")
    assert [job["command"] for job in result["stopped"]] == ["sleep 1000"]
    assert "sleep 1000" in end.stderr.splitlines()[-3]
    assert "answered, but work is left\nTo continue, run: deskmate resume main" in end.stderr


def builds(asked: Asked) -> Say:
    if step(asked) == 0:
        return Say("", [serve("sleep 1; echo built")])
    if hears(asked, RUNNING):
        return Say("", [wait_for(asked, 60)])
    return Say("It is built." if any("built" in result.text for result in asked.results) else "I build.")


def test_a_lead_that_is_reminded_may_wait_for_its_command(tmp_path: Path) -> None:
    with chat_program(tmp_path, builds) as place:
        end = place.piped("", "run", "build", "--output", "json", *FREE)
    result = json.loads(end.stdout)
    assert (end.code, result["text"], result["stopped"]) == (0, "I build.\n\nIt is built.", [])


def waits_for_ever(asked: Asked) -> Say:
    if step(asked) == 0:
        return Say("", [serve("sleep 1000")])
    return Say("", [wait_for(asked, 600)]) if was_told(asked, RUNNING) else Say("I serve.")


def has_a_busy_teammate(asked: Asked) -> Say:
    if member_of(asked) == "bob":
        return Say("", [Use("bash", {"command": "sleep 500", "timeout": 600000})])
    return Say("", [BOB]) if step(asked) == 0 else Say("I wait for bob.")


@pytest.mark.parametrize("script", [waits_for_ever, has_a_busy_teammate])
def test_a_run_that_waits_ends_when_its_time_is_up(tmp_path: Path, script: Callable[[Asked], Say]) -> None:
    with chat_program(tmp_path, script) as place:
        end = place.piped("", "run", "serve", "--max-time", "5", *FREE)
    assert end.code == 1
    assert "5 s is reached (--max-time)" in end.stderr.splitlines()[-2]


def test_a_run_whose_provider_is_busy_ends_when_its_time_is_up(tmp_path: Path) -> None:
    with chat_program(tmp_path, faults=lambda number, asked: ErrorStatus(429, retry_after=300)) as place:
        end = place.piped("", "run", "look", "--max-time", "3", *FREE)
    assert end.code == 1
    assert "(--max-time)" in end.stderr.splitlines()[-2]


TICKS = Use("bash", {"command": "echo tick; sleep 500", "timeout": 600})


def hangs_in_a_command(asked: Asked) -> Say:
    return Say("I look.", [TICKS]) if step(asked) == 0 else Say("Done.")


def has_a_teammate_in_a_command(asked: Asked) -> Say:
    if member_of(asked) == "bob":
        return Say("", [TICKS])
    return Say("", [BOB]) if step(asked) == 0 else Say("I wait for bob.")


@pytest.mark.parametrize(
    ("script", "name", "launcher"),
    [
        (hangs_in_a_command, "lead", "inline"),
        (has_a_teammate_in_a_command, "bob", "inline"),
        (has_a_teammate_in_a_command, "bob", "process"),
    ],
)
def test_a_command_ends_with_the_time_of_its_run_and_its_result_says_so(
    tmp_path: Path, script: Callable[[Asked], Say], name: str, launcher: str
) -> None:
    with chat_program(tmp_path, script) as place:
        end = place.piped("", "run", "look", "--max-time", "4", "--launcher", launcher, *FREE)
        (result,) = [entry for entry in transcript(place, name) if entry["type"] == "did" and "Ended" in entry["text"]]
    assert (end.code, result["text"]) == (1, f"{TIME_IS_UP}\nIt had printed:\ntick")
    assert "4 s is reached (--max-time)" in end.stderr.splitlines()[-2]


def test_a_reply_that_stalls_ends_with_the_time_of_its_run(tmp_path: Path) -> None:
    with chat_program(tmp_path, lambda asked: Say("A long report."), faults={0: Stall(0.7)}) as place:
        end = place.piped("", "run", "look", "--max-time", "3", *FREE)
        again = place.piped("", "resume", *FREE)
    assert end.code == 1
    assert "(--max-time)" in end.stderr.splitlines()[-2]
    assert (again.code, again.stdout) == (0, "A long report.\n")


# -- a quiet team -----------------------------------------------------------------------------------


def goes_on_in_phases(asked: Asked) -> Say:
    """Give the teammate more to do whenever the team is quiet, three times; then rest."""
    if member_of(asked) == "bob":
        return Say(f"I looked, {step(asked)}.")
    reminded = sum(QUIET in text for text in all_texts(asked))
    if step(asked) == 0:
        return Say("", [BOB])
    if hears(asked, QUIET) and reminded < 4:
        return Say("", [send_mail("bob", f"phase {reminded}")])
    return Say("They were dismissed." if was_told(asked, "dismissed") else f"I rest, {reminded}.")


@LAUNCHERS
def test_a_lead_is_reminded_each_time_its_team_comes_to_rest(tmp_path: Path, launcher: str) -> None:
    with chat_program(tmp_path, goes_on_in_phases) as place:
        end = place.piped("", "run", "look", "--output", "json", "--launcher", launcher)
    result = json.loads(end.stdout)
    assert (end.code, result["dismissed"], result["end"]) == (LEFT, ["bob"], "answered")
    assert "dismissed: bob" in end.stderr
    assert result["text"].endswith("I rest, 4.\n\nThey were dismissed.")


def never_stops_its_teammate(asked: Asked) -> Say:
    if member_of(asked) == "bob":
        return Say("I looked.")
    if step(asked) == 0:
        return Say("", [BOB])
    if hears(asked, QUIET):
        Path(os.environ["REMINDED"]).touch()
    return Say(f"I rest, {sum(QUIET in text for text in all_texts(asked))}.")


@LAUNCHERS
def test_a_reminder_outlives_a_kill(tmp_path: Path, launcher: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reminded = tmp_path / "reminded"
    monkeypatch.setenv("REMINDED", str(reminded))
    with chat_program(tmp_path, never_stops_its_teammate) as place:
        first = place.begun("run", "look", "--launcher", launcher)
        deadline = time.monotonic() + SECONDS
        while not reminded.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(first.pid, signal.SIGKILL)
        first.communicate()
        end = place.piped("", "resume", "--output", "json")
        reminders = (place.folder / ".teams/main/lead_transcript.jsonl").read_text().count(QUIET)
    assert (end.code, json.loads(end.stdout)["dismissed"], reminders) == (LEFT, ["bob"], 1)
