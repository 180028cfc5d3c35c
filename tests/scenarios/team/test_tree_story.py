"""A larger team with trees of their own: 8 members, 24 tasks, and 6 tasks that change a line which another changes."""

import re
import subprocess
from pathlib import Path

import pytest

from deskmate.core.team.tasks import Returned, TaskStatus
from deskmate.testing import Asked, Say
from deskmate.testing.scenario import Scenario
from deskmate.testing.team_scripts import add_task, complete_task, given_task, in_turn, run_command, spawn

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("worktree")]
MEMBERS, TASKS = 8, 24
# Tasks in pairs, each pair changes the same line of the same file.
RIVALS = {1: 2, 3: 4, 5: 6, 7: 8, 9: 10, 11: 12}
LINES = {task: line for line, pair in enumerate(RIVALS.items(), 1) for task in pair}
KEEP_BOTH = "sed -i '/^<<<<<<< /d;/^=======$/d;/^>>>>>>> /d' notes.txt"
CHECK = "test -s notes.txt && ! grep -q '^<<<<<<<' notes.txt"
TRAILERS = "--format=%(trailers:key=Deskmate-Task,valueonly,separator=)"
_TASK = re.compile(r"Task #(\d+)")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout


def lead(asked: Asked) -> Say:
    """Put all tasks on the board, start the members, and leave them alone."""
    script = in_turn(
        Say(calls=[add_task(f"part {task}", verify=f"test -e part-{task}.txt") for task in range(1, TASKS + 1)]),
        Say(calls=[spawn(f"m{number}", isolation="own") for number in range(1, MEMBERS + 1)]),
        then=Say("I wait."),
    )
    return script(asked)


def member(asked: Asked) -> Say:
    """Write a file of its own for each task, and a line of a common one. Keep both sides of a conflict."""
    came_back = [text for text in (block.text for block in asked.results) if "was not merged" in text]
    if came_back and (found := _TASK.search(came_back[-1])):
        return Say(calls=[run_command(KEEP_BOTH), complete_task(int(found[1]))])
    if task := given_task(asked):
        line = LINES.get(task)
        common = f" && sed -i '{line}s/.*/line {line} of {task}/' notes.txt" if line else ""
        return Say(calls=[run_command(f"echo {task} > part-{task}.txt{common}"), complete_task(task)])
    return Say("Done.")


async def test_all_is_merged_and_green_although_tasks_conflict(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q")
    git(work, "config", "user.name", "U")
    git(work, "config", "user.email", "u@example.org")
    (work / "notes.txt").write_text("".join(f"line {line}\n" for line in range(1, 8)))
    git(work, "add", "-A")
    git(work, "commit", "-qm", "First")

    def script(asked: Asked) -> Say:
        return lead(asked) if "the lead of team" in asked.system else member(asked)

    async with Scenario(
        tmp_path, script, seconds=240, check="test -s notes.txt && ! grep -q '^<<<<<<<' notes.txt"
    ) as team:
        run = await team.run("Do all parts.")
    assert {task.status for task in run.board.tasks.values()} == {TaskStatus.COMPLETED}
    names = set(git(work, "ls-tree", "--name-only", "deskmate/main").split())
    assert names == {"notes.txt", *(f"part-{task}.txt" for task in range(1, TASKS + 1))}
    notes = git(work, "show", "deskmate/main:notes.txt")
    assert all(f"line {line} of {task}\n" in notes for task, line in LINES.items())
    merged = git(
        work, "log", "--first-parent", "--format=%(trailers:key=Deskmate-Task,valueonly,separator=)", "deskmate/main"
    )
    assert sorted(merged.split()) == sorted(f"#{task}" for task in range(1, TASKS + 1))
    returned = [event for event in run.streams.board_events if isinstance(event, Returned)]
    assert len({event.task for event in returned}) >= len(RIVALS)
    asked = [one for one in run.requests if "the lead of team" in one.system]
    assert len(asked) <= 8
    assert git(work, "status", "--porcelain", "--", "notes.txt") == ""
