"""Hooks of an agent file apply to agents of its type alone, in whatever process they run."""

import json
from pathlib import Path

import pytest

from deskmate.testing import Asked, Say, Use
from deskmate.testing.scenario import Scenario
from deskmate.testing.team_scripts import add_task, in_turn, member_of, spawn
from tests.scenarios.team.team_runner import TeamRunner
from tests.scenarios.team.test_own_trees import repository, writes

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("hooks", "agent-types")]

READER = """---
name: db-reader
description: Reads the database
hooks:
  PreToolUse:
    - matcher: "Bash"
      hooks:
        - type: command
          command: "jq -r .tool_input.command | grep -q DROP && { echo only read >&2; exit 2; }; exit 0"
  Stop:
    - hooks:
        - type: command
          command: "jq -c '[.hook_event_name, .agent_id]' >> stopped"
---
Answer questions about the data.
"""
DROP = Use("bash", {"command": "echo DROP TABLE"})


@pytest.fixture(params=["inline", "process"])
def launcher(request: pytest.FixtureRequest) -> str:
    """Launch teammates in both ways: here is shown that they do the same."""
    return str(request.param)


def describe(home: Path, text: str, name: str = "db-reader") -> None:
    (home / ".claude/agents").mkdir(parents=True, exist_ok=True)
    (home / f".claude/agents/{name}.md").write_text(text)


def name_of(asked: Asked) -> str:
    return "subagent" if asked.system.startswith("You are a coding agent with one job") else member_of(asked)


async def test_agents_of_a_type_have_the_hooks_of_its_file_and_others_do_not(runner: TeamRunner) -> None:
    describe(runner.folder / "home", READER)
    first = [DROP, spawn("dora", subagent_type="db-reader"), spawn("bob")]
    asks = Use("Task", {"prompt": "How many rows?", "subagent_type": "db-reader"})
    scripts = {
        "lead": in_turn(Say(calls=first), Say(calls=[asks]), Say("Waiting."), Say("All done.")),
        "dora": in_turn(Say(calls=[DROP]), then=Say("I may not.")),
        "bob": in_turn(Say(calls=[DROP]), then=Say("Dropped.")),
        "subagent": in_turn(Say(calls=[DROP]), then=Say("There are three.")),
    }
    run = await runner.play(lambda asked: scripts[name_of(asked)](asked))
    refused = {name_of(asked) for asked in run.requests if any("only read" in str(block) for block in asked.results)}
    assert refused == {"dora", "subagent"}
    events = {tuple(json.loads(line)) for line in runner.file("stopped").splitlines()}
    assert {event for event, _ in events} == {"TeammateIdle", "SubagentStop"}
    assert ("TeammateIdle", "dora") in events
    assert "bob" not in {who for _, who in events}


async def test_a_hook_of_a_file_hears_of_merged_work_of_its_agents_alone(tmp_path: Path) -> None:
    repository(tmp_path / "work")
    told = tmp_path / "told"
    hook = f"{{TaskCompleted: [{{hooks: [{{type: command, command: 'cat >> {told}'}}]}}]}}"
    describe(
        tmp_path / "home", f"---\nname: careful\ndescription: Is careful\nhooks: {hook}\n---\nBe careful.", "careful"
    )
    members = {name: writes((f"{name}.txt", f"{name}\n")) for name in ("ann", "bob")}
    starts = [spawn("ann", subagent_type="careful", isolation="own"), spawn("bob", isolation="own")]
    tasks = [add_task(f"work of {name}", owner=name) for name in members]
    lead = in_turn(Say(calls=starts), Say(calls=tasks))
    async with Scenario(tmp_path, {"lead": lead, **members}, merge="leave") as team:
        await team.run("Write two files.")
    heard = [json.loads(line) for line in told.read_text().replace("}{", "}\n{").splitlines()]
    # Before it was merged, and on the merged files if bob was faster.
    assert {one["teammate_name"] for one in heard} == {"ann"}
