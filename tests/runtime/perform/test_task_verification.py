"""Completing a task that has a command, and calls of which nothing can be told: both are judged before they run."""

import json
import logging

import pytest

from deskmate.core.agent.entries import Began, Call, Said, Started
from deskmate.core.log.names import LEAD, log
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.team.messages import PermissionRequest
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.status import Idle
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import TaskStatus
from deskmate.models.scripted import Step
from deskmate.testing import Say, Use
from tests.runtime.agent_harness import AgentHarness, ScriptedWorkspace, uses
from tests.runtime.team_process import until
from tests.runtime.teammate_harness import hangs, plays, teammate

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("permission")]
DEEP = f"touch PWNED; [ {'! ' * 1500}x ] || true"


def completing(verify: str) -> list[Step]:
    made = uses("TaskCreate", subject="parse", verify=verify)
    return [made, uses("TaskUpdate", taskId="1", status="completed"), "Done."]


async def asked(harness: AgentHarness) -> list[PermissionRequest]:
    return [letter.message for letter in await harness.letters() if isinstance(letter.message, PermissionRequest)]


@pytest.mark.parametrize("verify", ["touch PWNED", DEEP], ids=["plain", "deep"])
async def test_completing_a_task_runs_no_command_where_bash_is_denied(verify: str) -> None:
    harness = await AgentHarness.opened(completing(verify), mode=Mode.DEFAULT)
    await harness.permit(add_rules=("deny bash",))
    await harness.turn("go")

    (_, made, _), (_, completed, why) = await harness.results()
    assert (made, completed, why) == (True, False, "Denied by the rule 'deny bash'. Continue without this call.")
    assert harness.bench.asked == []


@pytest.mark.parametrize("verify", ["touch  SEEN;   rm 'ä b'\n\trm c", DEEP], ids=["plain", "deep"])
async def test_a_question_about_completing_a_task_holds_the_very_command(verify: str) -> None:
    harness = await AgentHarness.opened(completing(verify), mode=Mode.DEFAULT, attended=True)
    async with harness.playing("go"):
        await harness.until_status("waiting", "permission")

    (question,) = await asked(harness)
    why, _, command = question.reason.partition(". It would run ")
    assert (question.tool, why.split()[0]) == ("TaskUpdate", "bash")
    # Faces show a reason on one line, with one space for several.
    assert json.loads(" ".join(command.split())) == verify
    assert harness.bench.asked == []


async def test_a_call_of_which_a_tool_cannot_tell_what_it_touches_is_asked_about_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(ScriptedWorkspace):
        async def locate(self, path: str) -> tuple[str, bool]:
            raise RuntimeError("no such device")

    step = uses("write_file", path="a", content="b")
    harness = await AgentHarness.opened([step, "Done."], mode=Mode.ACCEPT_EDITS, attended=True, workspace=Broken())
    with caplog.at_level(logging.WARNING):
        async with harness.playing("go"):
            await harness.until_status("waiting", "permission")
            (question,) = await asked(harness)
            await harness.answer(question.request_id, approve=False)
            await harness.until_status("idle")

    assert question.reason == "write_file would edit outside the workspace"
    assert [record.getMessage() for record in caplog.records] == ["write_file cannot tell what a call touches"]


# -- agents without bash ----------------------------------------------------------------------------

COMPLETE = Use("TaskUpdate", {"taskId": 1, "status": "completed"})
MODES = [mode for mode in Mode if mode is not Mode.PLAN]
READERS = [AgentType.EXPLORE, AgentType.PLAN]


@pytest.mark.behaviour("permission", "tiers")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("agent_type", READERS)
async def test_a_teammate_that_only_reads_runs_no_command_by_completing_a_task(
    agent_type: AgentType, mode: Mode
) -> None:
    bench = ScriptedWorkspace()
    script = plays("I wait.", Say("", [COMPLETE]), hangs)
    async with teammate(script, workspace=bench, mode=mode, agent_type=agent_type) as played:
        await played.until(Idle())
        await played.harness.permit(add_rules=("allow bash", "allow *"))
        await played.harness.team_state.board.create(LEAD, NewTask("look", verify="touch PWNED", role="alice"))
        await until(lambda: played.calls == 3)
        ((_, ok, why),) = await played.harness.results("alice")
        board = await played.harness.team_state.board.refresh()

    assert not ok
    assert why == (
        "Completing this task runs a command, and you have no bash. "
        "Use SendMessage to ask the lead to complete it, or to give it to a teammate who has bash."
    )
    assert (bench.asked, board.tasks[1].status) == ([], TaskStatus.IN_PROGRESS)


@pytest.mark.behaviour("permission", "tiers")
@pytest.mark.parametrize("agent_type", READERS)
async def test_a_teammate_that_only_reads_creates_no_task_with_a_command(agent_type: AgentType) -> None:
    bench = ScriptedWorkspace()
    # Together in one step, too: the task is not there when the completion is judged.
    create = Use("TaskCreate", {"subject": "x", "verify": "touch PWNED"})
    async with teammate(
        plays(Say("", [create, COMPLETE]), "I wait."), workspace=bench, agent_type=agent_type
    ) as played:
        await until(lambda: played.calls == 2)
        await played.until(Idle())
        results = await played.harness.results("alice")
        board = await played.harness.team_state.board.refresh()

    assert [ok for _, ok, _ in results] == [False, False]
    assert (
        results[0][2] == "verify is a command, and you have no bash. Leave it out, or ask the lead to create the task."
    )
    assert (bench.asked, board.tasks) == ([], {})


@pytest.mark.behaviour("permission", "tiers")
@pytest.mark.parametrize("mode", MODES)
async def test_a_lead_that_delegates_creates_tasks_with_a_command_and_completes_none(mode: Mode) -> None:
    harness = await AgentHarness.opened(completing("touch PWNED"), mode=mode)
    await harness.permit(add_rules=("allow *",), delegate=True)
    await harness.turn("go")

    (_, made, _), (_, completed, why) = await harness.results()
    assert (made, completed) == (True, False)
    assert why.endswith("Use TaskUpdate with owner to give it to a general-purpose teammate, who then completes it.")
    assert harness.bench.asked == []


@pytest.mark.behaviour("permission", "complete")
async def test_a_teammate_with_bash_completes_the_task_of_a_lead_that_delegates() -> None:
    bench = ScriptedWorkspace()
    steps: list[Step] = [Say("", [Use("TaskUpdate", {"taskId": 1, "status": "completed"})]), "Done."]
    async with teammate(plays("Waiting.", *steps), workspace=bench) as played:
        await played.until(Idle())
        await played.harness.permit(delegate=True)
        await played.harness.team_state.board.create(LEAD, NewTask("parse", verify="make test", owner="alice"))
        await until(lambda: played.calls == 3)
        await played.until(Idle())
        board = await played.harness.team_state.board.refresh()

    assert ([asked[0] for asked in bench.asked], board.tasks[1].status) == (["make test"], TaskStatus.COMPLETED)


@pytest.mark.behaviour("permission", "tiers")
async def test_a_yes_for_a_command_does_not_count_once_the_lead_delegates() -> None:
    harness = await AgentHarness.opened(completing("touch PWNED"), mode=Mode.DEFAULT, attended=True)
    async with harness.playing("go"):
        await harness.until_status("waiting", "permission")
        (question,) = await asked(harness)
        await harness.permit(delegate=True)
        await harness.answer(question.request_id, approve=True)
        await harness.until_status("idle")

    assert harness.bench.asked == []
    assert (await harness.results())[1][2].startswith("Completing this task runs")


@pytest.mark.behaviour("permission", "resume")
async def test_a_completion_that_was_cut_off_runs_no_command_for_a_lead_that_delegates_by_now() -> None:
    harness = await AgentHarness.opened(["I see."], attended=True)
    await harness.team_state.board.create(LEAD, NewTask("parse", verify="touch PWNED"))
    for entry in (
        Started(name=LEAD, prompt="go"),
        Said(calls=(Call(tool="TaskUpdate", arguments={"taskId": 1, "status": "completed"}),)),
        Began(calls=("lead:2.0",)),
    ):
        await harness.team_state.writer.append(log(LEAD), entry.body())
    await harness.permit(delegate=True)
    await harness.turn()

    ((_, ok, why),) = await harness.results()
    assert (ok, why.startswith("Interrupted"), harness.bench.asked) == (False, True, [])


@pytest.mark.behaviour("permission", "complete")
async def test_a_lead_with_bash_completes_the_task_of_a_teammate_that_only_reads() -> None:
    harness = await AgentHarness.opened([uses("TaskUpdate", taskId=1, status="completed"), "Done."])
    await harness.team_state.roster.join(Joined(name="alice", agent_type=AgentType.EXPLORE, at=0.0))
    await harness.team_state.board.create(LEAD, NewTask("look", verify="make test", owner="alice"))
    async with harness.playing("go"):
        await until(lambda: len(harness.scripted.prompts) == 2)
    ((_, ok, _),) = await harness.results()
    assert (ok, [asked[0] for asked in harness.bench.asked]) == (True, ["make test"])
