"""The finished work of teammates with their own trees, in the lead's workspace while the team runs."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.core.agent.entries import Noticed
from deskmate.core.log.names import LEAD
from deskmate.testing import Asked, Say, Use
from deskmate.testing.scenario import Scenario
from deskmate.testing.team_run import TeamRun
from deskmate.testing.team_scripts import (
    MemberScript,
    add_task,
    complete_task,
    given_task,
    hears,
    in_turn,
    run_command,
    spawn,
    wait_for_file,
    was_told,
)
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level
from tests.app.rewind.rewind_story import rewinder
from tests.scenarios.team.test_own_trees import BRANCH, git, lead, repository, seen, writes

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("worktree")]
LOOK = "cat ann.txt bob.txt"


def looking_lead(*members: str) -> MemberScript:
    """Give each member a task, and look at their files once they have all come in."""
    begin = in_turn(
        Say(calls=[spawn(name, isolation="own") for name in members]),
        Say(calls=[add_task(f"work of {name}", owner=name) for name in members]),
        then=Say("They work."),
    )
    look = iter([Say(calls=[run_command(LOOK)])])

    def script(asked: Asked) -> Say:
        has_all = all(was_told(asked, f"{name}.txt") for name in members)
        return next(look, Say("Done.")) if has_all else begin(asked)

    return script


def handed(run: TeamRun) -> list[str]:
    """Return what the lead was told of hand-overs."""
    return [notice.text for notice in run.entries_of(LEAD, Noticed) if f"work of {BRANCH}" in notice.text]


def results(run: TeamRun, wanted: Callable[[str], bool]) -> list[str]:
    return [block.text for asked in run.requests for block in asked.results if wanted(block.text)]


async def test_the_lead_reads_the_finished_work_in_its_own_workspace(tmp_path: Path) -> None:
    repository(tmp_path / "work")
    scripts = {
        LEAD: looking_lead("ann", "bob"),
        "ann": writes(("ann.txt", "ann\n")),
        "bob": writes(("bob.txt", "bob\n")),
    }
    async with Scenario(tmp_path, scripts, merge="auto") as team:
        run = await team.run("Write two files.")
    assert results(run, lambda text: "ann\nbob" in text)
    texts = handed(run)
    assert 1 <= len(texts) <= 2
    assert len({*texts}) == len(texts)
    # What the user had not committed is still not committed.
    assert git(tmp_path / "work", "status", "--porcelain", "--", ".", ":!.teams") == "?? draft.txt\n"
    assert git(tmp_path / "work", "ls-tree", "--name-only", "trunk").split() == ["ann.txt", "bob.txt", "list.txt"]


async def test_work_that_cannot_be_handed_over_is_told_once_with_a_way_to_see_it(tmp_path: Path) -> None:
    repository(tmp_path / "work")
    (tmp_path / "work/ann.txt").write_text("the user's own\n")
    git(tmp_path / "work", "add", "ann.txt")
    git(tmp_path / "work", "commit", "-qm", "Mine")

    def ann(asked: Asked) -> Say:
        # Meanwhile the user types into the same file. Ann's tree began before.
        (tmp_path / "work/ann.txt").write_text("typed meanwhile\n")
        return writes(("ann.txt", "ann\n"))(asked)

    begin = in_turn(
        Say(calls=[spawn("ann", isolation="own")]),
        Say(calls=[add_task("work of ann", owner="ann")]),
        then=Say("It works."),
    )
    look = iter([Say(calls=[run_command(f"git show {BRANCH}:ann.txt")])])

    def lead_(asked: Asked) -> Say:
        return next(look, Say("Done.")) if was_told(asked, f"work of {BRANCH}") else begin(asked)

    scripts = {LEAD: lead_, "ann": ann}
    async with Scenario(tmp_path, scripts, merge="auto") as team:
        run = await team.run("Write a file.")
    [text] = handed(run)
    assert "ann.txt" in text
    assert f"git show {BRANCH}:PATH" in text
    assert (tmp_path / "work/ann.txt").read_text() == "typed meanwhile\n"
    assert results(run, lambda text: text.strip() == "ann")


@pytest.mark.parametrize("choice", ["ask", "leave"])
async def test_nothing_is_handed_over_while_the_team_runs_if_the_user_does_not_want_it(
    tmp_path: Path, choice: str
) -> None:
    repository(tmp_path / "work")
    before = seen(tmp_path / "work")
    scripts = {LEAD: lead("ann"), "ann": writes(("ann.txt", "ann\n"))}
    async with Scenario(tmp_path, scripts, merge=choice) as team:
        run = await team.run("Write a file.")
    assert handed(run) == []
    assert seen(tmp_path / "work") == before


async def test_files_are_saved_before_a_task_in_the_users_folder_and_before_work_comes_in(tmp_path: Path) -> None:
    repository(tmp_path / "work")
    begin = in_turn(
        Say(calls=[spawn("ann", isolation="own"), spawn("bob", isolation="shared")]),
        Say(calls=[add_task("work of ann", owner="ann")]),
        then=Say("Ann works."),
    )
    asks_bob = iter([Say(calls=[add_task("work of bob", owner="bob")])])

    def lead_(asked: Asked) -> Say:
        return next(asks_bob, Say("Bob works.")) if was_told(asked, f"work of {BRANCH}") else begin(asked)

    scripts = {LEAD: lead_, "ann": writes(("ann.txt", "ann\n")), "bob": writes(("bob.txt", "bob\n"))}
    async with Scenario(tmp_path, scripts, merge="auto") as team:
        await team.run("Write two files.")
        words = [point.words for point in await rewinder(team).points()]
        assert words == ["Write two files.", "(finished work of #1 comes in)", "(task #2 of bob: work of bob)"]
        await rewinder(team).restore(3, force=True)
    assert (tmp_path / "work/ann.txt").exists()
    assert not (tmp_path / "work/bob.txt").exists()


@pytest.mark.behaviour("two-teams")
async def test_a_lead_that_leads_another_team_reads_the_finished_work_of_both(tmp_path: Path) -> None:
    repository(tmp_path / "work")

    def ann(asked: Asked) -> Say:
        if asked.results or not hears(asked, "begin now"):
            return Say("I wait.")
        return Say(calls=[run_command("echo ann > ann.txt"), complete_task(1)])

    begin = in_turn(
        Say(calls=[spawn("ann", isolation="own"), add_task("work of ann", owner="ann")]),
        Say(calls=[Use("TeamCreate", {"team_name": "web"})]),
        Say(calls=[spawn("bob", isolation="own"), add_task("work of bob", owner="bob")]),
        Say(calls=[Use("SendMessage", {"recipient": "ann@main", "content": "begin now"})]),
        then=Say("They work."),
    )
    look = iter([Say(calls=[run_command(LOOK)])])

    def lead_(asked: Asked) -> Say:
        has_both = all(was_told(asked, f"work of deskmate/{name} is in") for name in ("main", "web"))
        return next(look, Say("Done.")) if has_both else begin(asked)

    async with Scenario(tmp_path, {LEAD: lead_, "ann": ann, "bob": writes(("bob.txt", "bob\n"))}, merge="auto") as team:
        run = await team.run("Write two files.")
    assert results(run, lambda text: "ann\nbob" in text)
    told = [notice.text for notice in run.entries_of(LEAD, Noticed) if notice.handed_over]
    assert sorted("web" if "deskmate/web" in text else "main" for text in told) == ["main", "web"]
    assert git(tmp_path / "work", "status", "--porcelain", "--", ".", ":!.teams", ":!.tasks") == "?? draft.txt\n"
    assert git(tmp_path / "work", "ls-tree", "--name-only", "trunk").split() == ["ann.txt", "bob.txt", "list.txt"]


@pytest.mark.behaviour("two-teams")
async def test_nothing_is_handed_over_while_a_teammate_of_either_team_may_change_the_files(
    tmp_path: Path,
) -> None:
    if (found := find_sandbox(tmp_path, environ=os.environ)).level is not Level.BUBBLEWRAP:
        pytest.skip(found.reason)
    repository(tmp_path / "work")

    def zoe(asked: Asked) -> Say:
        return Say(calls=[wait_for_file("go.txt"), complete_task(1)]) if given_task(asked) else Say("I rest.")

    begin = in_turn(
        Say(calls=[spawn("zoe", isolation="shared"), add_task("work of zoe", owner="zoe")]),
        Say(calls=[Use("TeamCreate", {"team_name": "web"})]),
        Say(calls=[spawn("bob", isolation="own"), add_task("work of bob", owner="bob")]),
        then=Say("They work."),
    )
    go = iter([Say(calls=[run_command("touch go.txt")])])

    def lead_(asked: Asked) -> Say:
        return next(go, Say("They still work.")) if was_told(asked, "zoe@main may change files") else begin(asked)

    scripts = {LEAD: lead_, "zoe": zoe, "bob": writes(("bob.txt", "bob\n"))}
    async with Scenario(tmp_path, scripts, merge="auto", sandbox=True, permission_mode="bypass") as team:
        run = await team.run("Write a file.")
    told = [notice for notice in run.entries_of(LEAD, Noticed) if notice.handed_over is not None]
    assert [notice.handed_over for notice in told] == [False, True]
    assert "zoe@main may change files" in told[0].text
    assert (tmp_path / "work/bob.txt").read_text() == "bob\n"
