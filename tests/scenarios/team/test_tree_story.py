"""Eight members, 24 tasks, six real conflicts: with their own trees nothing is lost, in one folder half of it is.

In each of three rounds, two members change each of four files at the same time. Both read the file before one of them
writes it. In six of these twelve cases they change the same line, otherwise each changes its own function.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from deskmate.core.log.names import LEAD
from deskmate.core.team.tasks import Returned, TaskStatus
from deskmate.testing import Asked, Say
from deskmate.testing.scenario import Scenario
from deskmate.testing.team_run import TeamRun
from deskmate.testing.team_scripts import (
    MemberScript,
    add_task,
    complete_task,
    given_task,
    in_turn,
    member_of,
    run_command,
    spawn,
)

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("worktree")]
MEMBERS = [f"m{number}" for number in range(8)]
ROUNDS = 3
TASKS = range(1, len(MEMBERS) * ROUNDS + 1)
MERGED = "deskmate/main"
_NOT_MERGED = re.compile(r"Task #(\d+) is not completed")
_HUNK = re.compile(r"^<{7} [^\n]*\n(.*?)^={7}\n(.*?)^>{7} ", re.MULTILINE | re.DOTALL)
CHECKED = f"{shlex.quote(sys.executable)} check.py"
CHECK = """
import importlib, sys

done = set()
for name in ("part0", "part1", "part2", "part3"):
    part = importlib.import_module(name)
    for word, value in vars(part).items():
        if word.startswith("together"):
            assert value == sorted(set(value)), (name, word, value)
            done |= {*value}
        elif word.startswith("task"):
            assert value() in (0, int(word.removeprefix("task"))), (name, word)
            done |= {value()} - {0}
missing = {int(word) for word in sys.argv[1:]} - done
print(*sorted(missing))
sys.exit(bool(missing))
"""


def place_of(task: int) -> tuple[int, int]:
    """Return the round and the file of a task."""
    round_, member = divmod(task - 1, len(MEMBERS))
    return round_, member // 2


def mate_of(task: int) -> int:
    """Return the task that changes the same file at the same time."""
    return task + 1 if task % 2 else task - 1


def is_together(task: int) -> bool:
    """Tell whether a task and its mate change the same line."""
    return sum(place_of(task)) % 2 == 0


def first_text(part: int) -> str:
    texts = list[str]()
    for task in (task for task in TASKS if place_of(task)[1] == part):
        if not is_together(task):
            texts.append(f"def task{task}():\n    return 0\n")
        elif task % 2:
            texts.append(f"together{task} = []\n")
    return "\n\n".join(texts)


def changed(text: str, task: int) -> str:
    """Return the text of a file with the work of a task."""
    if not is_together(task):
        return text.replace(f"def task{task}():\n    return 0", f"def task{task}():\n    return {task}")
    return re.sub(
        rf"^together{min(task, mate_of(task))} = \[\]", lambda found: f"{found[0][:-1]}{task}]", text, flags=re.M
    )


def repository(folder: Path) -> None:
    folder.mkdir(parents=True)
    for part in range(4):
        (folder / f"part{part}.py").write_text(first_text(part))
    (folder / "check.py").write_text(CHECK)
    (folder / ".gitignore").write_text("__pycache__/\n")
    for words in (
        ("init", "-q", "-b", "trunk"),
        ("config", "user.name", "Ursula"),
        ("config", "user.email", "ursula@example.org"),
        ("add", "-A"),
        ("commit", "-qm", "First"),
    ):
        subprocess.run(["git", "-C", str(folder), *words], check=True)


def resolved(hunk: re.Match[str]) -> str:
    """Return the line that has the work of both sides of a conflict."""
    name, _, _ = hunk[1].partition(" = ")
    return f"{name} = {sorted({int(number) for side in hunk.groups() for number in re.findall('[0-9]+', side[9:])})}"


def worker(meeting: Path) -> MemberScript:
    """Read the whole file, wait until the mate has read it too, write the whole file. Resolve what comes back."""

    def script(asked: Asked) -> Say:
        if number := given_task(asked):
            file, mate = f"part{place_of(number)[1]}.py", mate_of(number)
            wait = f"touch {meeting}/{number}; until [ -e {meeting}/{mate} ]; do sleep 0.02; done"
            return Say(calls=[run_command(f"echo task {number}; cat {file}; {wait}")])
        result = asked.results[0].text if asked.results else ""
        if found := re.search(r"^task (\d+)\n", result, re.M):
            number = int(found[1])
            text = changed(result[found.end() :], number)
            write = f"cat > part{place_of(number)[1]}.py <<'END'\n{text.rstrip()}\nEND"
            return Say(calls=[run_command(write), complete_task(number)])
        told = "\n".join(block.text for block in asked.results)
        if (back := _NOT_MERGED.search(told)) and (hunk := _HUNK.search(told)):
            number = int(back[1])
            command = f"sed -i '/^<<<<<<< /,/^>>>>>>> /c\\{resolved(hunk)}' part{place_of(number)[1]}.py"
            return Say(calls=[run_command(command), complete_task(number)])
        return Say("Done.")

    return script


async def run_story(folder: Path, isolation: str) -> TeamRun:
    repository(folder / "work")
    meeting = folder / "meeting"
    meeting.mkdir()
    lead = in_turn(
        Say(calls=[spawn(name, isolation=isolation) for name in MEMBERS]),
        Say(calls=[add_task(f"task {task}", owner=MEMBERS[(task - 1) % len(MEMBERS)]) for task in TASKS]),
    )
    scripts = {LEAD: lead, **dict.fromkeys(MEMBERS, worker(meeting))}
    async with Scenario(folder, scripts, seconds=120, check=CHECKED, merge="leave") as team:
        run = await team.run("Do all of it.")
    assert {task.status for task in run.board.tasks.values()} == {TaskStatus.COMPLETED}
    assert sum(member_of(asked) == LEAD for asked in run.requests) <= 8
    return run


def missing_in(folder: Path) -> list[int]:
    """Return the tasks whose work is not in a folder. Fails if the files do not work at all."""
    words = [sys.executable, "check.py", *map(str, TASKS)]
    ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert not ran.stderr
    return [int(word) for word in ran.stdout.split()]


async def test_with_own_trees_everything_is_merged_and_six_conflicts_are_resolved_by_their_owners(
    tmp_path: Path,
) -> None:
    run = await run_story(tmp_path, "own")
    subprocess.run(["git", "clone", "-q", "-b", MERGED, tmp_path / "work", tmp_path / "merged"], check=True)
    assert missing_in(tmp_path / "merged") == []
    returned = [event.task for event in run.streams.board_events if isinstance(event, Returned)]
    assert len(returned) == 6
    assert all(is_together(task) for task in returned)
    # The user's files are as they were.
    assert missing_in(tmp_path / "work") == [*TASKS]


async def test_in_one_folder_half_of_the_completed_work_is_overwritten(tmp_path: Path) -> None:
    await run_story(tmp_path, "shared")
    missing = missing_in(tmp_path / "work")
    assert len(missing) == len(TASKS) // 2
    assert all(mate_of(task) not in missing for task in missing)
