"""Merge, diff, trees and what is said about trees elsewhere, through the command line."""

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from deskmate.workspace.local_workspace import LocalWorkspace
from tests.faces.disk_teams import OpenTeam, at, founded, in_team
from tests.faces.fake_app import ANSWER, Ended, Env, FakeApp, run_command
from tests.workspace.trees.tree_repository import TreeRepository

BRANCH = "deskmate/main"


@pytest.fixture
def env(tmp_path: Path) -> Env:
    settings = tmp_path / "home/.config/deskmate/settings.toml"
    settings.parent.mkdir(parents=True)
    # These tests are about what is said. Other tests look at trees from inside the sandbox.
    settings.write_text("sandbox = false\n")
    return {"HOME": str(tmp_path / "home"), "ANTHROPIC_API_KEY": "sk-test", "PATH": os.environ["PATH"]}


@pytest.fixture
def repository(tmp_path: Path) -> TreeRepository:
    repository = TreeRepository(tmp_path / "work", tmp_path / "home/.local/state/deskmate")
    founded(repository.root, "main", "ann")
    return repository


@pytest.fixture
def type_in(repository: TreeRepository, env: Env) -> Callable[..., Ended]:
    return partial(at, repository.root, env=env)


def make_tree(repository: TreeRepository, member: str) -> Path:
    """Give a member its own tree, as its process does."""
    lead = LocalWorkspace(repository.root, "main", "lead", environ=os.environ)
    anyio.run(repository.trees.make, member, lead)
    return repository.trees.folder(member)


def leave(repository: TreeRepository, member: str) -> None:
    async def go(opened: OpenTeam) -> None:
        await opened.roster.leave(member, "done", heard=0)

    in_team(repository.root, go)


# -- merge ----------------------------------------------------------------------------------------


def test_merge_says_what_was_merged_and_then_that_nothing_is_left(
    repository: TreeRepository, type_in: Callable[..., Ended]
) -> None:
    tip = repository.merge_work({"ann.txt": "ann\n"})
    assert type_in("merge") == Ended(0, f"merged {BRANCH} into trunk: 2 commits, now at {tip[:12]}\n", "")
    assert type_in("merge", "main") == Ended(0, f"trunk already has everything of {BRANCH}\n", "")


def test_merge_that_is_not_possible_exits_with_1_and_prints_the_command(
    repository: TreeRepository, type_in: Callable[..., Ended]
) -> None:
    repository.merge_work({"list.txt": "ONE\n"})
    repository.write("list.txt", "mine\n")
    ended = type_in("merge")
    assert (ended.code, ended.stdout) == (1, "")
    git = f"git -C {repository.root}"
    assert f"{git} stash --include-untracked && {git} merge --no-edit {BRANCH}\n" in ended.stderr


def test_merge_tells_programs_the_same(repository: TreeRepository, type_in: Callable[..., Ended]) -> None:
    tip = repository.merge_work({"list.txt": "ONE\n"})
    repository.write("list.txt", "mine\n")
    ended = type_in("merge", "--json")
    assert ended.code == 1
    found = json.loads(ended.stdout)
    assert (found["team"], found["branch"], found["into"], found["merged"]) == ("main", BRANCH, "trunk", False)
    assert {"reason", "command"} < found.keys()
    repository.git("checkout", "-q", "list.txt")
    assert json.loads(type_in("merge", "--json").stdout) == {
        **{"team": "main", "branch": BRANCH, "into": "trunk", "merged": True},
        **{"commit": tip, "commits": 2, "snapshot": None},
    }


def test_merge_without_a_branch_is_refused(type_in: Callable[..., Ended]) -> None:
    assert type_in("merge").code == 2


def test_the_branch_of_a_team_that_is_gone_can_be_merged(
    repository: TreeRepository, type_in: Callable[..., Ended]
) -> None:
    repository.merge_work({"ann.txt": "ann\n"})
    assert type_in("teams", "rm", "main", "--yes").code == 0
    assert type_in("merge", "main").code == 0
    assert (repository.root / "ann.txt").exists()


# -- the end of a run -----------------------------------------------------------------------------


def test_a_run_leaves_the_branch_and_says_how_to_merge_it(repository: TreeRepository, env: Env) -> None:
    repository.merge_work({"ann.txt": "ann\n"})
    ended = run_command("-C", str(repository.root), "run", "go", app=FakeApp(outcome=ANSWER), env=env)
    assert f"{BRANCH} has 2 commits that are not in trunk yet\n" in ended.stderr
    assert f"deskmate -C {repository.root} merge main\n" in ended.stderr
    assert not (repository.root / "ann.txt").exists()


def test_a_run_merges_the_branch_if_that_is_wanted(repository: TreeRepository, env: Env) -> None:
    tip = repository.merge_work({"ann.txt": "ann\n"})
    run_command("-C", str(repository.root), "run", "go", "--merge", "auto", app=FakeApp(outcome=ANSWER), env=env)
    assert repository.git("rev-parse", "trunk") == tip


# -- diff -----------------------------------------------------------------------------------------


def test_diff_shows_what_the_team_changed_and_not_what_the_user_had_changed(
    repository: TreeRepository, type_in: Callable[..., Ended]
) -> None:
    repository.write("other.txt", "mine\n")
    repository.merge_work({"list.txt": "ONE\ntwo\nthree\n"})
    repository.merge_work({"ann.txt": "ann\x1b[2J\n"}, task=2)
    ended = type_in("diff")
    assert ended.code == 0
    assert {"+ONE", "-one", "+ann"} <= set(ended.stdout.splitlines())
    assert "other.txt" not in ended.stdout
    assert type_in("diff", "main").stdout == ended.stdout
    assert "list.txt | 2 +-" in type_in("diff", "--stat").stdout


@pytest.mark.parametrize("words", [("2",), ("#2",), ("main", "#2")])
def test_diff_shows_the_work_of_one_task(
    repository: TreeRepository, type_in: Callable[..., Ended], words: tuple[str, ...]
) -> None:
    repository.merge_work({"list.txt": "ONE\ntwo\nthree\n"})
    repository.merge_work({"bob.txt": "bob\n"}, task=2)
    shown = type_in("diff", *words).stdout
    assert "+bob" in shown
    assert "list.txt" not in shown


def test_diff_shows_what_a_member_has_not_merged_yet(repository: TreeRepository, type_in: Callable[..., Ended]) -> None:
    tree = make_tree(repository, "ann")
    (tree / "new.txt").write_text("new\n")
    (tree / "list.txt").write_text("one\ntwo\nthree\nfour\n")
    shown = type_in("diff", "ann").stdout.splitlines()
    assert {"+new", "+four"} <= set(shown)


def test_a_diff_can_be_applied_as_a_patch(repository: TreeRepository, type_in: Callable[..., Ended]) -> None:
    repository.merge_work({"list.txt": "one \ntwo\t\nthree\n\n"})
    repository.git("apply", "-", text=type_in("diff").stdout)
    assert (repository.root / "list.txt").read_text() == "one \ntwo\t\nthree\n\n"


def test_diff_of_a_task_that_does_not_exist_says_so(repository: TreeRepository, type_in: Callable[..., Ended]) -> None:
    repository.merge_work({"ann.txt": "ann\n"})
    said = "deskmate: There is no task #9 in team 'main'\nTo list its tasks, run: deskmate board main\n"
    assert type_in("diff", "9") == Ended(2, "", said)


@pytest.mark.parametrize("word", ["9", "bob"])
def test_diff_of_what_is_not_there_is_refused(
    repository: TreeRepository, type_in: Callable[..., Ended], word: str
) -> None:
    repository.merge_work({"ann.txt": "ann\n"})
    assert type_in("diff", word).code == 2


def test_diff_without_changes_says_so(repository: TreeRepository, type_in: Callable[..., Ended]) -> None:
    repository.merge_work({"ann.txt": "ann\n"})
    type_in("merge")
    assert type_in("diff") == Ended(0, "", f"Your branch has everything of {BRANCH}.\n")
    make_tree(repository, "ann")
    assert type_in("diff", "ann") == Ended(0, "", "The tree of ann has nothing that is not merged.\n")


# -- trees ----------------------------------------------------------------------------------------


def states(type_in: Callable[..., Ended]) -> dict[str, tuple[int, int, str | None]]:
    found = json.loads(type_in("trees", "--json").stdout)["trees"]
    return {tree["member"]: (tree["changed"], tree["commits"], tree["left"]) for tree in found}


def test_trees_lists_what_is_only_there(repository: TreeRepository, type_in: Callable[..., Ended]) -> None:
    assert type_in("trees").stdout == "There are no trees.\n"
    tree = make_tree(repository, "ann")
    assert states(type_in) == {"ann": (0, 0, None)}
    (tree / "new.txt").write_text("new\n")
    assert states(type_in) == {"ann": (1, 0, None)}
    commit = ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "More")
    repository.git("-C", str(tree), "add", "-A")
    repository.git("-C", str(tree), *commit)
    leave(repository, "ann")
    assert states(type_in) == {"ann": (0, 1, "member left")}
    assert "1 commit not merged, member left" in type_in("trees", "main").stdout


def test_trees_of_a_team_that_does_not_exist_are_refused(
    repository: TreeRepository, type_in: Callable[..., Ended]
) -> None:
    make_tree(repository, "ann")
    refused = type_in("trees", "other")
    assert (refused.code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("deskmate: There is no team 'other' in ")


def test_prune_removes_a_clean_tree_of_a_member_that_left(
    repository: TreeRepository, type_in: Callable[..., Ended]
) -> None:
    tree = make_tree(repository, "ann")
    assert type_in("trees", "prune").stdout == "There is nothing to remove.\n"
    leave(repository, "ann")
    assert type_in("trees", "prune").stdout.startswith("removed the tree of ann@main")
    assert not tree.exists()
    assert repository.git("for-each-ref", "refs/deskmate/teams/main/trees") == ""


def test_neither_prune_nor_doctor_takes_checkpoints_for_those_of_a_removed_team(
    repository: TreeRepository, type_in: Callable[..., Ended]
) -> None:
    make_tree(repository, "ann")
    repository.git("update-ref", "refs/deskmate/checkpoints/main/1", "HEAD")
    assert "no longer exist" not in type_in("doctor").stdout
    assert type_in("trees", "prune").stdout == "There is nothing to remove.\n"
    assert repository.git("for-each-ref", "refs/deskmate/checkpoints") != ""


def test_prune_keeps_a_tree_with_work_and_names_it(repository: TreeRepository, type_in: Callable[..., Ended]) -> None:
    tree = make_tree(repository, "ann")
    (tree / "new.txt").write_text("new\n")
    leave(repository, "ann")
    shown = type_in("trees", "prune").stdout
    assert shown == f"kept the tree of ann@main: 1 changed file ({tree})\n"
    assert (tree / "new.txt").exists()


def test_a_tree_that_cannot_be_read_is_kept(repository: TreeRepository, type_in: Callable[..., Ended]) -> None:
    tree = make_tree(repository, "ann")
    leave(repository, "ann")
    shutil.rmtree(tree / ".git")
    assert type_in("trees", "prune").stdout.startswith("kept the tree of ann@main: ")
    assert tree.exists()


def test_removing_a_team_keeps_its_branch_and_trees_with_work(
    repository: TreeRepository, type_in: Callable[..., Ended]
) -> None:
    clean, dirty = make_tree(repository, "ann"), make_tree(repository, "bob")
    tip = repository.merge_work({"ann.txt": "ann\n"})
    (dirty / "new.txt").write_text("new\n")
    removed, kept = type_in("teams", "rm", "main", "--yes").stdout.splitlines()
    assert removed.startswith("removed team main")
    assert kept.startswith("kept the tree of bob@main: 1 changed file")
    assert (clean.exists(), dirty.exists()) == (False, True)
    assert repository.git("rev-parse", BRANCH) == tip
    (dirty / "new.txt").unlink()
    assert type_in("trees", "prune").stdout.splitlines()[-1] == "removed the refs of team main"
    assert repository.git("for-each-ref", "refs/deskmate") == ""


def test_doctor_names_trees_and_refs_that_nobody_needs(
    repository: TreeRepository, type_in: Callable[..., Ended]
) -> None:
    assert " trees " not in type_in("doctor").stdout
    make_tree(repository, "ann")
    assert " trees  " in type_in("doctor").stdout
    shutil.rmtree(repository.root / ".teams/main")
    shown = type_in("doctor").stdout
    assert "1 of teams that no longer exist: ann@main" in shown
    assert "refs/deskmate/teams for teams that no longer exist: main" in shown


# -- what killed runs leave -----------------------------------------------------------------------


def test_free_trees_are_named_and_pruned(repository: TreeRepository, type_in: Callable[..., Ended]) -> None:
    make_tree(repository, "ann")
    anyio.run(repository.trees.release, "ann")
    leave(repository, "ann")
    free = repository.places.pool.free()
    assert type_in("trees").stdout.splitlines() == [
        "There are no trees.",
        "1 free tree waits for the next teammates. To remove them, run: deskmate trees prune",
    ]
    assert json.loads(type_in("trees", "--json").stdout)["free"] == list(map(str, free))
    assert "1 free, for the next teammates" in type_in("doctor").stdout
    assert type_in("trees", "prune").stdout == "removed 1 free tree that waited for the next teammates\n"
    assert not free[0].exists()
    assert type_in("trees", "prune").stdout == "There is nothing to remove.\n"


def test_what_a_killed_run_left_is_named_and_pruned(repository: TreeRepository, type_in: Callable[..., Ended]) -> None:
    tree = make_tree(repository, "ann")
    (tree.parent / ".unfinished-bob/folder").mkdir(parents=True)
    (tree.parent / ".unfinished-bob/folder").chmod(0o500)
    repository.git("update-ref", "refs/deskmate/teams/main/trees/bob", "HEAD")
    repository.git("update-ref", "refs/deskmate/teams/main/offers/bob", "HEAD")
    shown = type_in("doctor").stdout
    assert "1 that killed processes have not finished" in shown
    assert "git keeps 1 refs for trees that do not exist" in shown
    assert type_in("trees", "prune").stdout == "removed 1 unfinished tree\n"
    assert sorted(os.listdir(tree.parent)) == ["ann"]
    names = repository.git("for-each-ref", "--format=%(refname:lstrip=4)", "refs/deskmate/teams").split()
    assert names == ["offers/bob", "start", "trees/ann"]
    assert "that do not exist" not in type_in("doctor").stdout


def test_doctor_names_trees_of_a_repository_that_was_moved(
    repository: TreeRepository, env: Env, tmp_path: Path
) -> None:
    tree = make_tree(repository, "ann")
    repository.root.rename(tmp_path / "moved")
    shown = at(tmp_path / "moved", "doctor", env=env).stdout
    assert f"{tree.parent.parent} has trees of {repository.root}, which no longer exists" in shown
