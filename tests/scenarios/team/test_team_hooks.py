"""Hooks of the user apply to every member of a team, in whatever process it runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from deskmate.core.team.tasks import Returned
from deskmate.testing import Say
from deskmate.testing.scenario import Scenario
from deskmate.testing.team_scripts import (
    add_task,
    claim_task,
    complete_task,
    hears,
    in_turn,
    spawn,
    write_file,
)
from tests.scenarios.team.team_runner import TeamRunner
from tests.scenarios.team.test_own_trees import lead, repository, writes
from tests.scenarios.team.two_teams import script

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("hooks")]


@pytest.fixture(params=["inline", "process"])
def launcher(request: pytest.FixtureRequest) -> str:
    """Launch teammates in both ways: here is shown that they do the same."""
    return str(request.param)


def hooks(**commands: str) -> dict[str, Any]:
    return {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in commands.items()}


ALICE = in_turn(
    Say(calls=[claim_task(1)]),
    Say(calls=[write_file(".env")]),
    Say(calls=[complete_task(1)]),
    Say(calls=[write_file("tests"), complete_task(1)]),
    then=Say("Done."),
)


async def test_a_teammate_is_held_by_the_hooks_of_the_user(runner: TeamRunner) -> None:
    lead = in_turn(Say(calls=[add_task("write it"), spawn("alice")]), Say("Waiting."), Say("All done."))
    guard = "jq -r .tool_input.file_path | grep -q '[.]env$' && { echo no secrets >&2; exit 2; }; exit 0"
    tested = "cat >> told; test -e tests || { echo the tests are missing >&2; exit 2; }"
    run = await runner.play({"lead": lead, "alice": ALICE}, hooks=hooks(PreToolUse=guard, TaskCompleted=tested))
    assert run.statuses == {"write it": "completed"}
    told = [json.loads(line) for line in runner.file("told").replace("}{", "}\n{").splitlines()]
    assert [(one["teammate_name"], one["task_subject"]) for one in told] == [("alice", "write it")] * 2
    assert not (runner.place / ".env").exists()


async def test_a_teammate_that_a_hook_does_not_let_rest_continues_with_the_reason(runner: TeamRunner) -> None:
    lead = in_turn(Say(calls=[spawn("alice")]), Say("Waiting."), Say("All done."))
    alice = in_turn(Say("Done."), Say(calls=[write_file("tests")]), then=Say("Now it is tested."))
    tested = "cat >> told; test -e tests || { echo the tests are missing >&2; exit 2; }"
    run = await runner.play({"lead": lead, "alice": alice}, hooks=hooks(TeammateIdle=tested))
    assert [hears(asked, "the tests are missing") for asked in run.requests_of("alice")] == [False, True, False]
    told = [json.loads(line) for line in runner.file("told").replace("}{", "}\n{").splitlines()]
    active = [(one["last_assistant_message"], one["stop_hook_active"]) for one in told]
    assert active == [("Done.", False), ("Now it is tested.", True)]


# A hook that refuses a task if its folder has the files of both members.
ONE_AT_A_TIME = (
    "cat >> {told}; test -e ann.txt || exit 0; test -e bob.txt || exit 0; test -e fixed && exit 0; "
    "echo both are here >&2; exit 2"
)


async def test_hooks_hear_of_work_again_if_merging_changed_its_files_and_a_refusal_goes_to_its_owner(
    tmp_path: Path,
) -> None:
    repository(tmp_path / "work")
    told, fixed = tmp_path / "told", ("fixed", "now they fit\n")
    members = {name: writes((f"{name}.txt", f"{name}\n"), fixed) for name in ("ann", "bob")}
    settings = hooks(TaskCompleted=ONE_AT_A_TIME.format(told=told))
    async with Scenario(tmp_path, {"lead": lead("ann", "bob"), **members}, merge="leave", hooks=settings) as team:
        run = await team.run("Write two files.")
    assert {task.status for task in run.board.tasks.values()} == {"completed"}
    [returned] = [event for event in run.streams.board_events if isinstance(event, Returned)]
    assert "a TaskCompleted hook refused it: both are here" in returned.reason
    heard = [json.loads(line) for line in told.read_text().replace("}{", "}\n{").splitlines()]
    # Twice as a call began and, of the work that was merged last, on the merged files and after its repair.
    assert [one.get("merged_into") for one in heard if one["teammate_name"] == returned.by] == [
        None,
        "deskmate/main",
        None,
    ]
    assert {one["task_id"] for one in heard} == {"1", "2"}


async def test_hooks_of_a_lead_with_two_teams_are_told_where_its_transcript_is(runner: TeamRunner) -> None:
    await runner.play(script, hooks=hooks(PreToolUse="cat >> told"))
    told = [json.loads(line) for line in runner.file("told").replace("}{", "}\n{").splitlines()]
    paths = {(one["team_name"], Path(one["transcript_path"])) for one in told}
    teams = runner.place / ".teams"
    assert {path for team, path in paths if team == "web"} >= {teams / "main/lead_transcript.jsonl"}
    assert all(path.parent.name == "main" for _, path in paths if path.name.startswith("lead_"))


async def test_hooks_of_a_task_are_told_whose_board_has_it(runner: TeamRunner) -> None:
    await runner.play(script, hooks=hooks(TaskCreated="cat >> told", TaskCompleted="cat >> told"))
    told = [json.loads(line) for line in runner.file("told").replace("}{", "}\n{").splitlines()]
    # The lead created the second task while it led team `web`.
    assert [(one["hook_event_name"], one["team_name"], one["task_subject"]) for one in told] == [
        ("TaskCreated", "main", "write home.txt"),
        ("TaskCreated", "main", "more"),
        ("TaskCompleted", "main", "write home.txt"),
        ("TaskCompleted", "main", "write more.txt"),
    ]
