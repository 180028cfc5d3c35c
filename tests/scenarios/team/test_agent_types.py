"""Agent files through the product: the lead starts agents of their types, if the files are trusted."""

import shutil
from pathlib import Path

import pytest

from deskmate.core.team.tasks import TaskStatus
from deskmate.testing import Asked, Say, Use
from deskmate.testing.scenario import Scenario
from deskmate.testing.team_scripts import add_task, complete_task, given_task, in_turn, member_of, spawn
from tests.agent_files import COMMA_LISTS, YAML_LISTS

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("agent-types")]
BASE = {"bash", "read_file", "write_file", "edit_file", "glob", "grep"}


@pytest.mark.parametrize("launcher", ["inline", "process"])
async def test_a_teammate_of_a_type_has_its_prompt_and_tools_and_takes_the_task_of_its_role(
    tmp_path: Path, launcher: str
) -> None:
    shutil.copytree(COMMA_LISTS, tmp_path / "home/.claude/agents")

    def tina(asked: Asked) -> Say:
        task = given_task(asked)
        return Say(calls=[complete_task(task)]) if task else Say("I am idle.")

    first = Say(calls=[add_task("run the tests", role="test-runner"), spawn("tina", subagent_type="test-runner")])
    async with Scenario(tmp_path, {"lead": in_turn(first), "tina": tina}, launcher=launcher) as team:
        run = await team.run("Test it.")
    [task] = run.board.tasks.values()
    assert (task.owner, task.status) == ("tina", TaskStatus.COMPLETED)
    own = [asked for asked in run.requests if member_of(asked) == "tina"]
    assert {frozenset(BASE & {*asked.tools}) for asked in own} == {frozenset({"bash", "read_file", "edit_file"})}
    assert all('<agent-instructions type="test-runner">\nRun the tests.' in asked.system for asked in own)


@pytest.mark.behaviour("trust")
async def test_a_type_of_a_workspace_that_nobody_trusts_does_not_exist(tmp_path: Path) -> None:
    shutil.copytree(YAML_LISTS, tmp_path / "work/.claude/agents")
    calls = [spawn("dora", subagent_type="docs-writer"), Use("Task", {"prompt": "x", "subagent_type": "planner"})]
    async with Scenario(tmp_path, {"lead": in_turn(Say(calls=calls))}) as team:
        run = await team.run("Write.")
    assert run.roster.teammates == []
    told = [block.text for asked in run.requests for block in asked.results]
    assert any("'docs-writer' is not an agent type" in text for text in told)
    assert any("'planner' is not an agent type" in text for text in told)
    assert all("docs-writer" not in asked.system for asked in run.requests)
