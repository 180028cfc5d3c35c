"""A team from a file, and a custom command, killed at any instant: everything that the file says is there, and once.

Every run is `deskmate run`, then `deskmate resume` until it ends by itself. `agent_run` does the killing, before a deed
that others could see afterwards.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deskmate.testing import Asked, Say
from deskmate.testing.team_scripts import complete_task, given_task
from tests.chaos import TIMES
from tests.chaos.kills.agent_run import Ended, Fate
from tests.chaos.kills.kill_harness import KillHarness, kill_harness

POINTS = 8 * TIMES
FINAL = "All is done."
TEAM = """
words = "Build the page."
[budget]
max_cost = 2
[[members]]
name = "ann"
prompt = "You know the server."
[[members]]
name = "tess"
role = "tests"
[[tasks]]
id = "server"
subject = "Write the server"
owner = "ann"
[[tasks]]
subject = "Test it"
blocked_by = ["server"]
role = "tests"
"""
# What the command prints tells how often it ran.
COMMAND = "Ship $1.\n\n!`echo ran >> ran; wc -l < ran`\n"
# The second code says that the run dismissed teammates that the lead had not asked to leave.
ENDED = (0, 4)
OPTIONS = ("--permission-mode", "dontAsk", "--no-sandbox")


def play(asked: Asked) -> Say:
    task = given_task(asked)
    return Say(calls=[complete_task(task)]) if task and not asked.results else Say(FINAL)


@pytest.fixture(scope="module")
def harness() -> Iterator[KillHarness]:
    with kill_harness(play) as harness:
        for name, text in (("teams/web.toml", TEAM), ("commands/ship.md", COMMAND)):
            file = harness.folder / ".config/deskmate" / name
            file.parent.mkdir(parents=True)
            file.write_text(text)
        # The first of all makes the user's key as well, and none does so after it.
        run(harness, "first", "hello")
        yield harness


def run(harness: KillHarness, name: str, *words: str, fate: Fate | None = None) -> Ended:
    """Run once in the workspace of that name, which is new for the first run."""
    folder = harness.folder / name
    return harness.warm.play(
        "-C", str(folder if folder.exists() else harness.workspace(name)), "run", *words, *OPTIONS, fate=fate
    )


def resume(harness: KillHarness, name: str) -> Ended:
    return harness.warm.play("-C", str(harness.folder / name), "resume", *OPTIONS)


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file, without an end that was cut."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def told(workspace: Path, team: str) -> list[str]:
    """Return what the user told the lead."""
    mail = lines(workspace / f".teams/{team}/lead_inbox.jsonl")
    return [body["content"] for body in mail if body.get("sender") == "user"]


# -- a team file ----------------------------------------------------------------------------------


def of_team(workspace: Path) -> dict[str, object]:
    """Return what a team from the file comes to. Only the order of things that happen together is left out."""
    roster, board = lines(workspace / ".teams/web/roster.jsonl"), lines(workspace / ".tasks/web/board.jsonl")
    kinds = Counter((body["type"], body.get("task")) for body in board)
    return {
        "joined": [(body["name"], body.get("role", "")) for body in roster if body["type"] == "member_joined"],
        "described": [body["words"] for body in roster if body["type"] == "team_described"],
        "tasks": [(body["subject"], body.get("blocked_by")) for body in board if body["type"] == "task_created"],
        "completed": {task: kinds["task_completed", task] for task in (1, 2)},
        "told": told(workspace, "web"),
        "prompts": [
            body["prompt"] for body in lines(workspace / ".teams/web/ann_transcript.jsonl") if body["type"] == "started"
        ],
    }


@pytest.fixture(scope="module")
def unkilled(harness: KillHarness) -> tuple[Ended, dict[str, object]]:
    ended = run(harness, "unkilled", "--team-file", "web")
    assert ended.code in ENDED, ended.err
    found = of_team(harness.folder / "unkilled")
    assert found["joined"] == [("ann", ""), ("tess", "tests")]
    assert found["completed"] == {1: 1, 2: 1}
    assert found["told"] == found["described"] == ["Build the page."]
    return ended, found


@pytest.mark.behaviour("team-files", "resume")
@pytest.mark.parametrize("point", range(POINTS))
def test_a_team_from_a_file_that_is_killed_has_the_same_members_and_tasks_once(
    harness: KillHarness, unkilled: tuple[Ended, dict[str, object]], point: int
) -> None:
    whole, expected = unkilled
    name = f"team-{point}"
    ended = run(harness, name, "--team-file", "web", fate=Fate(deed=1 + point * whole.deeds // POINTS))
    if not ended.killed:
        # Teammates run at the same time, so this run may have fewer deeds.
        return
    workspace = harness.folder / name
    is_described = bool(of_team(workspace)["described"])
    ended = resume(harness, name)
    if not is_described:
        # Nobody has joined, and nothing is to go on with. The same command starts the team.
        assert ended.code == 2, ended.err
        ended = run(harness, name, "--team-file", "web")
    assert ended.code in ENDED, ended.err
    # A team that was only begun keeps its folder, and the next one has another name.
    assert of_team(workspace) == expected
    assert harness.complaints() == []


# -- a command ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def command(harness: KillHarness) -> Ended:
    ended = run(harness, "command", "/ship v2")
    assert (ended.code, ended.out) == (0, f"{FINAL}\n"), ended.err
    [words] = told(harness.folder / "command", "main")
    assert words.startswith("Ship v2.")
    assert words.endswith('exit_status="0">1</user-command>')
    return ended


@pytest.mark.behaviour("commands", "resume")
@pytest.mark.parametrize("point", range(POINTS))
def test_a_command_that_is_killed_is_told_once_with_the_output_of_its_commands_or_not_at_all(
    harness: KillHarness, command: Ended, point: int
) -> None:
    name = f"command-{point}"
    ended = run(harness, name, "/ship v2", fate=Fate(deed=1 + point * command.deeds // POINTS))
    assert ended.killed
    workspace = harness.folder / name
    before = told(workspace, "main")
    assert all(words.startswith("Ship v2.") and words.endswith('exit_status="0">1</user-command>') for words in before)
    ended = resume(harness, name)
    assert told(workspace, "main") == before
    # What ran is not run again by resuming.
    assert len((workspace / "ran").read_text().split()) == 1 if before else True
    assert (ended.code, ended.out) == ((0, f"{FINAL}\n") if before else (2, "")), ended.err
    assert harness.complaints() == []
