"""TaskUpdate on tasks with a command: completed only once it has passed."""

from typing import Any

import pytest

from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import BOARD
from deskmate.core.policy.permissions import Attempt
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.core.team.task_fields import TaskChange
from deskmate.core.team.tasks import Created, Receipt, Revision, TaskStatus
from deskmate.errors import TaskRefused
from deskmate.ports import AskHost, Ran
from tests.tools.board_team import BoardTeam, add, refused
from tests.tools.tool_desk import MemoryWorkspace

pytestmark = pytest.mark.anyio

PLAIN = Attempt("TaskUpdate", (), inside=True)
AS_BASH = Attempt("bash", ("make test",), inside=False, command="make test")
UNTOLD = Attempt("bash", None, inside=False)


class Killed(Exception):
    """The process died at this point."""


class FatalWorkspace(MemoryWorkspace):
    """One in which every command is the last thing that happens."""

    async def run(
        self,
        command: str,
        *,
        timeout_seconds: float,
        blob: str,
        printed: LiveOutput | None = None,
        ask_host: AskHost | None = None,
    ) -> Ran:
        raise Killed


@pytest.mark.behaviour("complete")
async def test_a_verified_task_is_completed_with_the_receipt_of_its_command(desks: BoardTeam) -> None:
    await add(desks, "parse", verify="make test")
    alice = desks["alice"]
    await alice.use("TaskUpdate", taskId=1, status="in_progress")
    alice.workspace.ran = Ran(0, f"{'ä' * 3_000}\nok\n")
    told = await alice.use("TaskUpdate", taskId=1, status="completed")
    assert told == Result("#1 [completed] parse @alice\ncompleted", tasks={1: None})
    assert alice.workspace.asked == [("make test", 600, "alice-2-0.txt")]
    output = f"…{'ä' * 2_046}\nok"
    assert desks.task(1).receipt == Receipt(command="make test", workspace="/desk", exit=0, output=output)


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.behaviour("complete")
@pytest.mark.parametrize(
    ("at", "told"),
    [
        ([Revision(COMMIT, clean=True)], "at commit 0123456789ab (all committed)"),
        ([Revision(COMMIT, clean=False)], "at commit 0123456789ab (with uncommitted changes)"),
        ([Revision(COMMIT, clean=None)], "at commit 0123456789ab (unknown whether all was committed)"),
        # The tests themselves may leave files behind: what counts is what they ran on.
        ([Revision(COMMIT, clean=True), Revision(COMMIT, clean=False)], "at commit 0123456789ab (all committed)"),
        ([Revision(COMMIT, clean=True), Revision("f" * 40, clean=True)], "at an unknown commit"),
        ([None], "at an unknown commit"),
    ],
)
async def test_a_receipt_names_the_commit_and_whether_all_was_committed(
    desks: BoardTeam, at: list[Revision | None], told: str
) -> None:
    await add(desks, "parse", verify="make test")
    alice = desks["alice"]
    await alice.use("TaskUpdate", taskId=1, status="in_progress")
    alice.workspace.at = list(at)
    await alice.use("TaskUpdate", taskId=1, status="completed")
    receipt = desks.task(1).receipt
    assert receipt is not None
    assert receipt.commit == (None if "unknown commit" in told else COMMIT)
    assert told in (await alice.use("TaskGet", taskId=1)).text


@pytest.mark.behaviour("complete")
@pytest.mark.parametrize(
    ("ran", "why"),
    [
        (Ran(2, "1 failed\n"), "exit status 2. Fix the cause, then complete it again.\n1 failed"),
        (
            Ran(None, "", ended="ended after 600 s"),
            "ended after 600 s. Fix the cause, then complete it again.\n(no output)",
        ),
        (
            Ran(1, "no", blob="b/alice-2-0.txt"),
            "exit status 1. Fix the cause, then complete it again.\nno\nThe whole output is in b/alice-2-0.txt.",
        ),
    ],
)
async def test_a_task_whose_command_fails_stays_with_its_owner(desks: BoardTeam, ran: Ran, why: str) -> None:
    await add(desks, "parse", verify="make test")
    alice = desks["alice"]
    await alice.use("TaskUpdate", taskId=1, status="in_progress")
    alice.workspace.ran = ran
    told = await alice.use("TaskUpdate", taskId=1, status="completed")
    assert told == refused(f"Task #1 is not done: its verify command failed with {why}")
    assert (desks.task(1).status, desks.task(1).receipt) == (TaskStatus.IN_PROGRESS, None)
    assert alice.memory.tasks == {1: 1}


@pytest.mark.behaviour("claim", "complete")
async def test_a_task_that_was_taken_and_failed_its_command_in_one_call_is_known_as_taken(desks: BoardTeam) -> None:
    await add(desks, "parse", verify="make test")
    alice = desks["alice"]
    alice.workspace.ran = Ran(1, "no")
    assert not (await alice.use("TaskUpdate", taskId=1, owner="alice", status="completed")).ok
    assert alice.memory.tasks == {1: 1}


@pytest.mark.behaviour("complete")
async def test_a_command_that_was_interrupted_is_not_run_again_unasked(desks: BoardTeam) -> None:
    await add(desks, "parse", verify="deploy")
    alice = desks["alice"]
    await alice.use("TaskUpdate", taskId=1, status="in_progress")
    alice.workspace = FatalWorkspace()
    with pytest.raises(Killed):
        await alice.use("TaskUpdate", taskId=1, status="completed")
    alice.workspace = MemoryWorkspace()
    told = await alice.use_again("TaskUpdate", taskId=1, status="completed")
    assert told == refused("The verify command of #1 was interrupted. Complete the task again.")
    assert alice.workspace.asked == []
    assert (await alice.use("TaskUpdate", taskId=1, status="completed")).ok
    assert alice.workspace.asked == [("deploy", 600, "alice-3-0.txt")]


@pytest.mark.behaviour("complete")
async def test_a_verified_completion_that_was_recorded_before_the_crash_is_told_as_done(desks: BoardTeam) -> None:
    await add(desks, "parse", verify="make test")
    alice = desks["alice"]
    await alice.use("TaskUpdate", taskId=1, owner="alice", status="completed")
    told = await alice.use_again("TaskUpdate", taskId=1, owner="alice", status="completed")
    assert told == Result("#1 [completed] parse @alice\nclaimed, completed", tasks={1: None})
    assert len(alice.workspace.asked) == 1


@pytest.mark.behaviour("complete")
async def test_no_command_runs_for_a_task_that_could_not_be_completed_anyway(desks: BoardTeam) -> None:
    await add(desks, "parse", verify="make test")
    told = await desks["bob"].use("TaskUpdate", taskId=1, status="completed")
    assert told == refused("Task #1 is not yours. Take it first, with status in_progress.")
    assert desks["bob"].workspace.asked == []


@pytest.mark.behaviour("complete")
@pytest.mark.parametrize(
    ("arguments", "attempt"),
    [
        ({"taskId": 1, "status": "completed"}, PLAIN),
        ({"taskId": 2, "status": "completed"}, AS_BASH),
        ({"taskId": 2, "status": "in_progress"}, PLAIN),
        ({"taskId": 2, "subject": "b"}, PLAIN),
        # By the time it runs, a call before it may have made that task, with a command.
        ({"taskId": 3, "status": "completed"}, UNTOLD),
    ],
)
async def test_the_rules_see_a_completion_that_may_run_a_command_as_bash(
    desks: BoardTeam, arguments: dict[str, Any], attempt: Attempt
) -> None:
    await add(desks, "plain")
    await add(desks, "verified", verify="make test")
    assert await desks["alice"].attempt("TaskUpdate", **arguments) == attempt


# -- secrets --------------------------------------------------------------------------------------

# In two parts: as one, it would be found in this file.
SECRET = "ghp_" + "kL9x2mQ8vT4nR7wY1zB5cD3fG6hJ0pS8aE2u"
STAND_IN = "[redacted: GitHub token]"


@pytest.mark.behaviour("secrets")
@pytest.mark.parametrize("word", [SECRET, STAND_IN], ids=["secret", "stand-in"])
async def test_a_command_with_a_secret_or_a_stand_in_verifies_no_task(desks: BoardTeam, word: str) -> None:
    told = await desks["alice"].use("TaskCreate", subject="parse", verify=f"rm -rf build/{word} && echo done")
    assert told == refused(
        f"The verify command of task #1 cannot run: it contains {STAND_IN}, a placeholder for a secret, and "
        "would use that text literally. Let it read the secret from a file or a variable."
    )
    await add(desks, "lex")
    with pytest.raises(TaskRefused, match="The verify command of task #1 cannot run"):
        await desks.board.edit("lead", 1, TaskChange(verify=f"echo {word}"))
    assert desks.task(1).verify is None


@pytest.mark.behaviour("secrets")
async def test_a_command_that_was_recorded_with_a_stand_in_is_never_run(desks: BoardTeam) -> None:
    made = Created(by="lead", at=1.0, task=1, subject="parse", verify=f"rm -rf build/{STAND_IN}")
    await desks.writer.append(BOARD, made.body())
    told = await desks["alice"].use("TaskUpdate", taskId=1, owner="alice", status="completed")
    assert "command of task #1 cannot run" in told.text
    assert "Delete the task and create it again with another command" in told.text
    assert desks["alice"].workspace.asked == []
    assert desks.task(1).status is TaskStatus.IN_PROGRESS
