"""Completing a task that has a command, and calls of which nothing can be told: both are judged before they run."""

import json
import logging

import pytest

from deskmate.core.messages import PermissionRequest
from deskmate.core.policy import Mode
from deskmate.models.scripted import Step
from tests.runtime.desks import Bench, Floor, uses

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("permission")]
DEEP = f"touch PWNED; [ {'! ' * 1500}x ] || true"


def completing(verify: str) -> list[Step]:
    made = uses("TaskCreate", subject="parse", verify=verify)
    return [made, uses("TaskUpdate", taskId="1", status="completed"), "Done."]


async def asked(floor: Floor) -> list[PermissionRequest]:
    return [letter.message for letter in await floor.letters() if isinstance(letter.message, PermissionRequest)]


@pytest.mark.parametrize("verify", ["touch PWNED", DEEP], ids=["plain", "deep"])
async def test_completing_a_task_runs_no_command_where_bash_is_denied(verify: str) -> None:
    floor = await Floor.opened(completing(verify), mode=Mode.DEFAULT)
    await floor.permit(add_rules=("deny bash",))
    await floor.turn("go")

    (_, made, _), (_, completed, why) = await floor.results()
    assert (made, completed, why) == (True, False, "the rule 'deny bash' denies this call; do without it")
    assert floor.bench.asked == []


@pytest.mark.parametrize("verify", ["touch  SEEN;   rm 'ä b'\n\trm c", DEEP], ids=["plain", "deep"])
async def test_a_question_about_completing_a_task_holds_the_very_command(verify: str) -> None:
    floor = await Floor.opened(completing(verify), mode=Mode.DEFAULT, attended=True)
    async with floor.playing("go"):
        await floor.until_status("waiting", "permission")

    (question,) = await asked(floor)
    why, _, command = question.reason.partition("; it would run ")
    assert (question.tool, why) == ("TaskUpdate", "bash runs a command outside a sandbox")
    # Faces show a reason on one line, with one space for several.
    assert json.loads(" ".join(command.split())) == verify
    assert floor.bench.asked == []


async def test_a_call_of_which_a_tool_cannot_tell_what_it_touches_is_asked_about_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Bench):
        async def locate(self, path: str) -> tuple[str, bool]:
            raise RuntimeError("no such device")

    step = uses("write_file", path="a", content="b")
    floor = await Floor.opened([step, "Done."], mode=Mode.ACCEPT_EDITS, attended=True, workspace=Broken())
    with caplog.at_level(logging.WARNING):
        async with floor.playing("go"):
            await floor.until_status("waiting", "permission")
            (question,) = await asked(floor)
            await floor.answer(question.request_id, approve=False)
            await floor.until_status("idle")

    assert question.reason == "write_file would edit outside the workspace"
    assert [record.getMessage() for record in caplog.records] == ["write_file cannot tell what a call touches"]
