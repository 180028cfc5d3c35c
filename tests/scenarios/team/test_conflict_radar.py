"""Two teammates change one file in their own trees: through the product, both hear of it before anything is merged."""

import shlex
from pathlib import Path

import pytest

from deskmate.core.team.tasks import Returned, TaskStatus
from deskmate.models.scripted import Use
from deskmate.testing import Say
from deskmate.testing.scenario import Scenario
from deskmate.testing.team_run import TeamRun
from deskmate.testing.team_scripts import (
    MemberScript,
    all_texts,
    complete_task,
    edit_file,
    in_turn,
    read_file,
    run_command,
    wait_for_file,
)
from tests.scenarios.team.test_own_trees import BRANCH, git, lead, repository

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("radar")]


def until_board_has(work: Path, words: str) -> Use:
    """Return a call that ends once a record of the board has these words."""
    board = shlex.quote(str(work / ".tasks/main/board.jsonl"))
    return run_command(f"until grep -qF {shlex.quote(words)} {board}; do sleep 0.05; done")


def changes(old: str, new: str, *calls: Use) -> MemberScript:
    """Change the list in an own tree, then make calls one after the other."""
    edit = [read_file("list.txt"), edit_file("list.txt", old, new)]
    return in_turn(*(Say(calls=[call]) for call in (*edit, *calls)), then=Say("Done."))


def told(run: TeamRun, member: str, words: str) -> int:
    """Return how often a member's last request has these words."""
    return sum(text.count(words) for text in all_texts(run.requests_of(member)[-1]))


@pytest.mark.parametrize("launcher", ["inline", "process"])
async def test_members_that_change_one_file_agree_before_it_conflicts(tmp_path: Path, launcher: str) -> None:
    work = tmp_path / "work"
    repository(work)
    both, moved = until_board_has(work, '"kind":"edits"'), until_board_has(work, '"kind":"moved"')
    update = run_command(f"git commit -qam mine && git pull -q --no-rebase --no-edit origin {BRANCH}")
    scripts = {
        "lead": lead("ann", "bob"),
        "ann": changes("one", "ONE", both, complete_task(1)),
        "bob": changes("three", "three\nfour", both, moved, update, complete_task(2)),
    }
    async with Scenario(tmp_path, scripts, launcher=launcher) as team:
        run = await team.run("Change the list.")
    assert {task.status for task in run.board.tasks.values()} == {TaskStatus.COMPLETED}
    assert not [event for event in run.streams.board_events if isinstance(event, Returned)]
    assert git(work, "show", f"{BRANCH}:list.txt") == "ONE\ntwo\nthree\nfour\n"
    assert told(run, "ann", "You and bob both change") == 1
    assert told(run, "bob", "You and ann both change") == 1
    assert told(run, "bob", f"{BRANCH} has new changes in") == 1
    assert run.board.overlaps == {}


async def test_in_a_shared_folder_an_agent_reads_who_changed_its_file_and_how(tmp_path: Path) -> None:
    repository(tmp_path / "work")
    ready, done = tmp_path / "ann-has-read", tmp_path / "bob-has-written"
    scripts = {
        "lead": lead("ann", "bob", isolation="shared"),
        "ann": in_turn(
            Say(calls=[read_file("list.txt")]),
            Say(calls=[run_command(f"touch {ready}"), wait_for_file(str(done))]),
            Say(calls=[edit_file("list.txt", "one", "ONE")]),
            Say(calls=[complete_task(1)]),
            then=Say("Done."),
        ),
        "bob": in_turn(
            Say(calls=[wait_for_file(str(ready)), read_file("list.txt")]),
            Say(calls=[edit_file("list.txt", "three", "THREE")]),
            Say(calls=[run_command(f"touch {done}")]),
            Say(calls=[complete_task(2)]),
            then=Say("Done."),
        ),
    }
    async with Scenario(tmp_path, scripts) as team:
        run = await team.run("Change the list.")
    [(_, refusal)] = [(ok, text) for ok, text in run.results_of("ann") if not ok]
    assert "by bob" in refusal
    assert refusal.endswith("\n one\n two\n-three\n+THREE")
