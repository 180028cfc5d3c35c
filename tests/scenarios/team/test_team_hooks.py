"""Hooks of the user apply to every member of a team, in whatever process it runs."""

import json
from typing import Any

import pytest

from deskmate.testing import Say
from deskmate.testing.team_scripts import (
    add_task,
    claim_task,
    complete_task,
    in_turn,
    spawn,
    write_file,
)
from tests.scenarios.team.team_runner import TeamRunner

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
