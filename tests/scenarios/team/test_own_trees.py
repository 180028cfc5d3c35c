"""Teammates with trees of their own: through the product, their work is merged, conflicts come back to their owner."""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from deskmate.core.team.tasks import Completed, Offered, Returned, TaskStatus
from deskmate.testing import Asked, Say, Use
from deskmate.testing.scenario import Scenario
from deskmate.testing.team_scripts import (
    MemberScript,
    add_task,
    complete_task,
    given_task,
    hears,
    in_turn,
    member_of,
    run_command,
    spawn,
)
from deskmate.workspace.trees.tree_places import TreePlaces

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("worktree")]
BRANCH = "deskmate/main"
_TASK = re.compile(r"Task #(\d+)")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout


def repository(folder: Path) -> None:
    """Make a repository with one commit, and a change that is not committed."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "trunk")
    git(folder, "config", "user.name", "Ursula")
    git(folder, "config", "user.email", "ursula@example.org")
    (folder / "list.txt").write_text("one\ntwo\nthree\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "First")
    (folder / "draft.txt").write_text("not committed\n")


def seen(folder: Path) -> Mapping[str, bytes]:
    """Return all files of the user, and git's index and HEAD."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    ours = {".teams", ".tasks", ".git"}
    kept = [path for path in files if ours.isdisjoint(path.relative_to(folder).parts)]
    return {str(path): path.read_bytes() for path in (*kept, folder / ".git/index", folder / ".git/HEAD")}


def lead(*members: str, isolation: str = "own") -> MemberScript:
    """Spawn the members, give each a task, and wait until both are done."""

    def script(asked: Asked) -> Say:
        first = in_turn(
            Say(calls=[spawn(name, isolation=isolation) for name in members]),
            Say(calls=[add_task(f"work of {name}", owner=name) for name in members]),
        )
        return first(asked)

    return script


def writes(*files: tuple[str, str]) -> MemberScript:
    """Write one file after another: the first when the task is given, the next each time when the work came back."""

    def script(asked: Asked) -> Say:
        results = [block.text for block in asked.results]
        came_back = [text for text in results if "was not merged" in text]
        number = given_task(asked) or next((int(found[1]) for text in came_back if (found := _TASK.search(text))), None)
        if number is None:
            return Say("Done.")
        path, words = files[1 if came_back else 0]
        return Say(calls=[run_command(f"printf {shlex.quote(words)} > {path}"), complete_task(number)])

    return script


async def test_finished_work_is_merged_and_the_files_of_the_user_stay_as_they_are(tmp_path: Path) -> None:
    repository(tmp_path / "work")
    before = seen(tmp_path / "work")
    scripts = {"lead": lead("ann", "bob"), "ann": writes(("ann.txt", "ann\n")), "bob": writes(("bob.txt", "bob\n"))}
    async with Scenario(tmp_path, scripts) as team:
        run = await team.run("Write two files.")
    assert {task.status for task in run.board.tasks.values()} == {TaskStatus.COMPLETED}
    assert seen(tmp_path / "work") == before
    names = git(tmp_path / "work", "ls-tree", "--name-only", BRANCH).split()
    assert names == ["ann.txt", "bob.txt", "draft.txt", "list.txt"]
    done = [event for event in run.streams.board_events if isinstance(event, Completed)]
    merged = git(tmp_path / "work", "rev-list", "--first-parent", BRANCH).split()
    assert {event.merged for event in done} <= {*merged}
    assert all(event.merged for event in done)


async def test_a_conflict_goes_back_to_its_owner_who_resolves_it(tmp_path: Path) -> None:
    repository(tmp_path / "work")
    mine, both = ("list.txt", "ONE\ntwo\nthree\n"), ("list.txt", "ONE and uno\ntwo\nthree\n")
    other = ("list.txt", "uno\ntwo\nthree\n")
    scripts = {"lead": lead("ann", "bob"), "ann": writes(mine, both), "bob": writes(other, both)}
    async with Scenario(tmp_path, scripts) as team:
        run = await team.run("Change the list.")
    assert {task.status for task in run.board.tasks.values()} == {TaskStatus.COMPLETED}
    [returned] = [event for event in run.streams.board_events if isinstance(event, Returned)]
    assert "list.txt" in returned.reason
    assert "work of" in returned.reason
    assert sum(isinstance(event, Offered) for event in run.streams.board_events) == 3
    assert git(tmp_path / "work", "show", f"{BRANCH}:list.txt") == both[1]


async def test_what_is_done_without_a_task_is_merged_when_the_turn_ends(tmp_path: Path) -> None:
    repository(tmp_path / "work")
    scripts = {
        "lead": in_turn(Say(calls=[spawn("ann", isolation="worktree")])),
        "ann": in_turn(Say(calls=[run_command("echo hello > hello.txt")]), Say("hello.txt is there.")),
    }
    async with Scenario(tmp_path, scripts) as team:
        run = await team.run("Say hello.")
    assert git(tmp_path / "work", "show", f"{BRANCH}:hello.txt") == "hello\n"
    [task] = run.board.tasks.values()
    assert (task.status, task.created_by) == (TaskStatus.COMPLETED, "ann")


async def test_a_teammate_that_changes_nothing_merges_nothing(tmp_path: Path) -> None:
    repository(tmp_path / "work")
    scripts = {"lead": in_turn(Say(calls=[spawn("ann", isolation="own")])), "ann": in_turn(Say("I looked."))}
    async with Scenario(tmp_path, scripts) as team:
        run = await team.run("Look.")
    assert not run.board.tasks


async def test_outside_of_a_repository_a_tree_of_its_own_is_refused_with_the_reason(tmp_path: Path) -> None:
    scripts = {"lead": in_turn(Say(calls=[spawn("ann", isolation="own")]), then=Say("I work alone."))}
    async with Scenario(tmp_path, scripts) as team:
        run = await team.run("Go.")
    assert [member.name for member in run.roster.teammates] == []
    why = TreePlaces(tmp_path, tmp_path / "work", os.environ).refusal()
    assert any(why in block.text for asked in run.requests for block in asked.results)


async def test_auto_gives_trees_if_that_is_possible_and_otherwise_says_once_why_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    repository(tmp_path / "git" / "work")
    lead_ = in_turn(Say(calls=[spawn("ann"), spawn("bob"), spawn("eve", subagent_type="Explore")]))
    scripts = {"lead": lead_, "ann": in_turn(), "bob": in_turn(), "eve": in_turn()}
    isolated, told = {}, {}
    why = TreePlaces(tmp_path, tmp_path / "plain", os.environ).refusal()
    for folder in ("git", "plain"):
        caplog.clear()
        async with Scenario(tmp_path / folder, scripts, isolation="auto") as team:
            run = await team.run("Go.")
        isolated[folder] = {member.name for member in run.roster.teammates if member.isolated}
        told[folder] = caplog.text.count(why)
        results = [block.text for asked in run.requests for block in asked.results if "agent_id ann" in block.text]
        assert (why in results[0]) == (folder == "plain")
    assert isolated == {"git": {"ann", "bob"}, "plain": set()}
    assert told == {"git": 0, "plain": 1}


@pytest.mark.parametrize("usual", ["shared", "own", "auto"])
async def test_the_lead_chooses_per_teammate_whatever_the_settings_say(tmp_path: Path, usual: str) -> None:
    repository(tmp_path / "work")
    words = {"ann": "own", "bob": "worktree", "cat": "auto", "dan": "shared"}
    lead_ = in_turn(Say(calls=[spawn(name, isolation=word) for name, word in words.items()]))
    async with Scenario(tmp_path, {"lead": lead_, **dict.fromkeys(words, in_turn())}, isolation=usual) as team:
        run = await team.run("Go.")
    assert {member.name for member in run.roster.teammates if member.isolated} == {"ann", "bob", "cat"}


async def test_a_setup_command_that_fails_is_told_in_the_first_message_and_the_work_goes_on(tmp_path: Path) -> None:
    repository(tmp_path / "work")
    scripts = {"lead": lead("ann"), "ann": writes(("ann.txt", "ann\n"))}
    async with Scenario(tmp_path, scripts, tree={"setup": "echo no such package; exit 3"}) as team:
        run = await team.run("Write a file.")
    first = next(asked for asked in run.requests if member_of(asked) == "ann")
    assert any("no such package" in text for text in first.texts)
    assert git(tmp_path / "work", "show", f"{BRANCH}:ann.txt") == "ann\n"


async def test_the_next_team_gets_the_trees_of_the_last_one(tmp_path: Path) -> None:
    repository(tmp_path / "work")
    scripts = {"lead": lead("ann", "bob"), "ann": writes(("ann.txt", "ann\n")), "bob": writes(("bob.txt", "bob\n"))}
    async with Scenario(tmp_path, scripts) as team:
        await team.run("Write two files.")
    pool = TreePlaces(tmp_path / "home/.local/state/deskmate", tmp_path / "work", os.environ).pool
    free = pool.free()
    assert len(free) == 2
    inodes = {(tree / "list.txt").stat().st_ino for tree in free}
    scripts = {"lead": in_turn(Say(calls=[spawn("cleo", isolation="own")])), "cleo": in_turn(Say("I looked."))}
    async with Scenario(tmp_path, scripts) as team:
        await team.run("Look.")
    assert {(tree / "list.txt").stat().st_ino for tree in pool.free()} == inodes


@pytest.mark.behaviour("two-teams")
async def test_the_work_of_a_home_is_merged_into_its_branch_while_the_lead_leads_another_team(tmp_path: Path) -> None:
    repository(tmp_path / "work")

    def ann(asked: Asked) -> Say:
        if asked.results or not hears(asked, "begin now"):
            return Say("I wait.")
        return Say(calls=[run_command("echo ann > ann.txt"), complete_task(1)])

    scripts = {
        "lead": in_turn(
            Say(calls=[spawn("ann", isolation="own"), add_task("work of ann", owner="ann")]),
            Say(calls=[Use("TeamCreate", {"team_name": "web"})]),
            Say(calls=[spawn("bob", isolation="own"), add_task("work of bob", owner="bob")]),
            Say(calls=[Use("SendMessage", {"recipient": "ann@main", "content": "begin now"})]),
        ),
        "ann": ann,
        "bob": writes(("bob.txt", "bob\n")),
    }
    async with Scenario(tmp_path, scripts) as team:
        run = await team.run("Write two files.")
    assert {task.owner for task in run.outcome.tasks} == {"ann", "bob"}
    assert {task.status for task in run.outcome.tasks} == {TaskStatus.COMPLETED}
    names = {
        one: git(tmp_path / "work", "ls-tree", "--name-only", f"deskmate/{one}").split() for one in ("main", "web")
    }
    assert names == {"main": ["ann.txt", "draft.txt", "list.txt"], "web": ["bob.txt", "draft.txt", "list.txt"]}
