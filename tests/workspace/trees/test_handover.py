"""The work of a team in the user's branch: never at the price of anything of the user's."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from deskmate.errors import Refused
from deskmate.workspace.trees.handover.branch_handover import HandedOver, Handover, NotHandedOver, PendingWork
from tests.workspace.trees.deadly_git import needs_strace
from tests.workspace.trees.tree_repository import TreeRepository

BRANCH = "deskmate/main"


def refused(repository: TreeRepository) -> NotHandedOver:
    """Hand over, and expect that this is not possible and changes nothing."""
    before = repository.seen()
    end = repository.hand_over()
    assert isinstance(end, NotHandedOver)
    assert repository.seen() == before
    return end


def type_in(repository: TreeRepository, command: str) -> int:
    return subprocess.run(command, shell=True, cwd=repository.root, capture_output=True, check=False).returncode


def test_a_branch_that_only_adds_to_the_users_is_taken_as_it_is(repository: TreeRepository) -> None:
    tip = repository.merge_work({"new/ann.txt": "ann\n", "list.txt": "one\ntwo\nthree\nfour\n"})
    assert repository.hand_over() == HandedOver(BRANCH, "trunk", tip, 2, ("list.txt", "new/ann.txt"))
    assert repository.git("rev-parse", "trunk") == tip
    assert (repository.root / "new/ann.txt").read_text() == "ann\n"
    assert repository.status() == []


def test_handing_over_twice_changes_nothing(repository: TreeRepository) -> None:
    tip = repository.merge_work({"ann.txt": "ann\n"})
    repository.hand_over()
    before = repository.seen()
    assert repository.hand_over() == HandedOver(BRANCH, "trunk", tip, 0)
    assert repository.seen() == before


def test_commits_of_the_user_are_merged_with_those_of_the_team(repository: TreeRepository) -> None:
    tip = repository.merge_work({"list.txt": "ONE\ntwo\nthree\n"})
    repository.write("list.txt", "one\ntwo\nTHREE\n")
    mine = repository.commit("Mine")
    end = repository.hand_over()
    assert isinstance(end, HandedOver)
    assert repository.git("rev-parse", "HEAD^1", "HEAD^2").split() == [mine, tip]
    assert (repository.root / "list.txt").read_text() == "ONE\ntwo\nTHREE\n"
    assert repository.status() == []


def test_changes_in_other_files_stay_as_they_are_staged_or_not(repository: TreeRepository) -> None:
    repository.merge_work({"list.txt": "ONE\ntwo\nthree\n"})
    repository.write("other.txt", "mine\n")
    repository.write("staged.txt", "staged\n")
    repository.git("add", "staged.txt")
    assert isinstance(repository.hand_over(), HandedOver)
    assert sorted(repository.status()) == [" M other.txt", "A  staged.txt"]
    assert (repository.root / "other.txt").read_text() == "mine\n"


def test_a_conflict_changes_nothing_and_the_command_starts_the_merge(repository: TreeRepository) -> None:
    repository.merge_work({"list.txt": "ONE\ntwo\nthree\n"})
    repository.write("list.txt", "uno\ntwo\nthree\n")
    repository.commit("Mine")
    end = refused(repository)
    assert "list.txt" in end.reason
    assert end.command == f"git merge --no-edit {BRANCH}"
    assert type_in(repository, end.command) == 1
    assert repository.status() == ["UU list.txt"]


def test_a_file_that_the_user_changes_is_not_overwritten_and_the_command_works(repository: TreeRepository) -> None:
    tip = repository.merge_work({"list.txt": "ONE\ntwo\nthree\n"})
    repository.write("list.txt", "mine\n")
    end = refused(repository)
    assert "list.txt" in end.reason
    assert type_in(repository, end.command) == 0
    assert repository.git("rev-parse", "HEAD") == tip
    assert repository.git("show", "stash@{0}:list.txt") == "mine"


def test_a_new_file_of_the_user_is_not_overwritten_and_the_command_works(repository: TreeRepository) -> None:
    tip = repository.merge_work({"ann.txt": "ann\n"})
    repository.write("ann.txt", "mine\n")
    end = refused(repository)
    assert type_in(repository, end.command) == 0
    assert repository.git("rev-parse", "HEAD") == tip


@pytest.mark.parametrize("name", ["ann.log", "folder.log"])
def test_an_ignored_file_is_not_overwritten(repository: TreeRepository, name: str) -> None:
    repository.write(".gitignore", "*.log\n")
    repository.commit("Ignore logs")
    tip = repository.merge_work({"ann.log": "ann\n", "folder.log/x": "x\n"})
    repository.write(name, "mine\n")
    end = refused(repository)
    assert name in end.reason
    assert type_in(repository, end.command) == 0
    assert repository.git("rev-parse", "HEAD") == tip


# -- what was not committed when the team began ---------------------------------------------------


def begun_with_changes(repository: TreeRepository) -> None:
    """Let the team begin while the user has a changed file, a new one and a deleted one."""
    repository.write("list.txt", "one\ntwo\nTHREE\n")
    repository.write("draft.txt", "draft\n")
    (repository.root / "other.txt").unlink()
    repository.begin()


def test_a_team_that_merged_nothing_hands_nothing_over(repository: TreeRepository) -> None:
    begun_with_changes(repository)
    before = repository.seen()
    assert Handover(repository.places, "main", repository.root).pending() is None
    assert repository.hand_over() == HandedOver(BRANCH, "trunk", repository.git("rev-parse", "HEAD"), 0)
    assert repository.seen() == before


def test_changes_that_the_team_began_with_stay_uncommitted(repository: TreeRepository) -> None:
    begun_with_changes(repository)
    tip = repository.merge_work({"list.txt": "ONE\ntwo\nTHREE\n", "ann.txt": "ann\n"}, subject="Capital")
    end = repository.hand_over()
    head = repository.git("rev-parse", "HEAD")
    assert end == HandedOver(BRANCH, "trunk", head, 1, ("ann.txt", "list.txt"))
    assert repository.git("show", "HEAD:list.txt") == "ONE\ntwo\nthree"
    assert (repository.root / "list.txt").read_text() == "ONE\ntwo\nTHREE\n"
    assert (repository.root / "draft.txt").read_text() == "draft\n"
    assert sorted(repository.status()) == [" D other.txt", " M list.txt", "?? draft.txt"]
    assert repository.git("log", "-1", "--format=%s %P") == f"Capital {repository.git('rev-parse', f'{tip}^1^1')}"


def test_each_task_is_a_commit_and_is_handed_over_once(repository: TreeRepository) -> None:
    begun_with_changes(repository)
    repository.merge_work({"ann.txt": "ann\n"}, 1, "First task")
    repository.merge_work({"bob.txt": "bob\n"}, 2, "Second task")
    assert isinstance(repository.hand_over(), HandedOver)
    assert Handover(repository.places, "main", repository.root).pending() is None
    repository.merge_work({"ann.txt": "Ann\n"}, 3, "Third task")
    pending = Handover(repository.places, "main", repository.root).pending()
    assert pending == PendingWork(BRANCH, "trunk", 1)
    assert isinstance(repository.hand_over(), HandedOver)
    assert repository.git("log", "--format=%s").splitlines() == ["Third task", "Second task", "First task", "First"]
    before = repository.seen()
    assert repository.hand_over() == HandedOver(BRANCH, "trunk", repository.git("rev-parse", "HEAD"), 0)
    assert repository.seen() == before


def test_work_in_a_file_that_is_not_committed_is_written_and_stays_uncommitted(repository: TreeRepository) -> None:
    begun_with_changes(repository)
    repository.merge_work({"draft.txt": "draft\nfilled in\n", "ann.txt": "ann\n"})
    end = repository.hand_over()
    head = repository.git("rev-parse", "HEAD")
    assert end == HandedOver(BRANCH, "trunk", head, 1, ("ann.txt", "draft.txt"), ("draft.txt",))
    assert (repository.root / "draft.txt").read_text() == "draft\nfilled in\n"
    repository.merge_work({"draft.txt": "draft\nfilled in\nand more\n"}, 2)
    end = repository.hand_over()
    assert end == HandedOver(BRANCH, "trunk", head, 0, ("draft.txt",), ("draft.txt",))
    assert (repository.root / "draft.txt").read_text() == "draft\nfilled in\nand more\n"
    assert Handover(repository.places, "main", repository.root).pending() is None
    assert sorted(repository.status()) == [" D other.txt", " M list.txt", "?? draft.txt"]


def test_what_is_staged_in_other_files_stays_staged(repository: TreeRepository) -> None:
    begun_with_changes(repository)
    repository.git("add", "other.txt")
    repository.merge_work({"list.txt": "ONE\ntwo\nTHREE\n"})
    assert isinstance(repository.hand_over(), HandedOver)
    assert sorted(repository.status()) == [" M list.txt", "?? draft.txt", "D  other.txt"]


def test_after_the_user_has_rebased_the_copies_nothing_is_handed_over_twice(repository: TreeRepository) -> None:
    begun_with_changes(repository)
    repository.merge_work({"ann.txt": "ann\n"})
    repository.hand_over()
    repository.git("commit", "-q", "--amend", "--no-edit", "--date=2001-01-01T00:00:00")
    assert Handover(repository.places, "main", repository.root).pending() is None


def test_what_the_user_changed_since_then_stays_uncommitted(repository: TreeRepository) -> None:
    begun_with_changes(repository)
    repository.merge_work({"list.txt": "ONE\ntwo\nTHREE\n"})
    repository.write("draft.txt", "draft, and more\n")
    repository.write("later.txt", "later\n")
    assert isinstance(repository.hand_over(), HandedOver)
    assert sorted(repository.status()) == [" D other.txt", " M list.txt", "?? draft.txt", "?? later.txt"]
    assert (repository.root / "draft.txt").read_text() == "draft, and more\n"


def test_a_file_that_both_changed_since_then_is_not_overwritten(repository: TreeRepository) -> None:
    begun_with_changes(repository)
    repository.merge_work({"list.txt": "ONE\ntwo\nTHREE\n"})
    repository.write("list.txt", "one\ntwo\nTHREE\nfour\n")
    end = refused(repository)
    assert "list.txt" in end.reason
    assert type_in(repository, end.command) == 0
    assert repository.git("show", "HEAD:list.txt") == "ONE\ntwo\nthree"
    assert Handover(repository.places, "main", repository.root).pending() is None
    assert repository.git("show", "stash@{0}:list.txt") == "one\ntwo\nTHREE\nfour"


def test_a_commit_of_the_user_that_conflicts_with_a_task_stops_it(repository: TreeRepository) -> None:
    begun_with_changes(repository)
    repository.merge_work({"other.txt": "the team's\n", "ann.txt": "ann\n"})
    repository.git("stash", "--include-untracked")
    repository.write("other.txt", "mine\n")
    repository.commit("Mine")
    end = refused(repository)
    assert "other.txt" in end.reason
    assert type_in(repository, end.command) == 1
    assert "other.txt" in str(repository.status())


def test_a_change_that_is_only_in_the_index_is_not_lost(repository: TreeRepository) -> None:
    begun_with_changes(repository)
    repository.merge_work({"list.txt": "ONE\ntwo\nTHREE\n"})
    repository.write("list.txt", "staged\n")
    repository.git("add", "list.txt")
    repository.write("list.txt", "one\ntwo\nTHREE\n")
    end = refused(repository)
    assert "list.txt" in end.reason
    assert type_in(repository, end.command) == 0


def test_the_user_may_have_committed_the_changes_meanwhile(repository: TreeRepository) -> None:
    begun_with_changes(repository)
    repository.merge_work({"list.txt": "ONE\ntwo\nTHREE\n"})
    repository.commit("Mine")
    assert isinstance(repository.hand_over(), HandedOver)
    assert (repository.root / "list.txt").read_text() == "ONE\ntwo\nTHREE\n"
    assert repository.status() == []


def test_files_that_a_killed_hand_over_has_written_do_not_stop_the_next_one(repository: TreeRepository) -> None:
    begun_with_changes(repository)
    repository.merge_work({"list.txt": "ONE\ntwo\nTHREE\n", "ann.txt": "ann\n"})
    repository.write("list.txt", "ONE\ntwo\nTHREE\n")
    repository.write("ann.txt", "ann\n")
    assert isinstance(repository.hand_over(), HandedOver)
    assert sorted(repository.status()) == [" D other.txt", " M list.txt", "?? draft.txt"]


def test_after_a_hand_over_the_branch_begins_again_where_the_user_is(repository: TreeRepository) -> None:
    begun_with_changes(repository)
    tip = repository.merge_work({"ann.txt": "ann\n"})
    repository.hand_over()
    again = repository.begin()
    assert repository.git("rev-parse", f"{again}^1", f"{again}^2").split() == [tip, repository.git("rev-parse", "HEAD")]
    assert repository.begin() == again
    repository.write("mine.txt", "mine\n")
    later = repository.begin()
    assert repository.git("show", f"{later}:mine.txt") == "mine"
    assert Handover(repository.places, "main", repository.root).pending() is None
    repository.merge_work({"ann.txt": "Ann\n"}, 2)
    assert repository.begin() == repository.git("rev-parse", BRANCH)
    repository.hand_over()
    assert repository.git("show", "HEAD:ann.txt") == "Ann"
    assert "?? mine.txt" in repository.status()


@pytest.mark.parametrize("name", [".envrc", ".vscode/tasks.json", ".mcp.json", ".teams/x/roster.jsonl", "git-hooks/x"])
def test_what_programs_run_is_left_to_the_user(repository: TreeRepository, name: str) -> None:
    repository.git("config", "core.hooksPath", "git-hooks")
    tip = repository.merge_work({name: "planted\n"})
    end = refused(repository)
    assert name in end.reason
    assert type_in(repository, end.command) == 0
    assert repository.git("rev-parse", "HEAD") == tip


def test_what_programs_run_may_have_been_changed_by_the_user(repository: TreeRepository) -> None:
    repository.write(".envrc", "mine\n")
    repository.merge_work({"ann.txt": "ann\n"})
    assert isinstance(repository.hand_over(), HandedOver)
    assert (repository.root / ".envrc").read_text() == "mine\n"


# -- where nothing can be handed over -------------------------------------------------------------


def test_a_team_without_a_branch_is_refused(repository: TreeRepository) -> None:
    with pytest.raises(Refused, match="no branch deskmate/main"):
        repository.hand_over()


def test_without_a_branch_of_the_user_it_says_how_to_get_one(repository: TreeRepository) -> None:
    repository.merge_work({"ann.txt": "ann\n"})
    repository.git("checkout", "-q", "--detach")
    with pytest.raises(Refused) as error:
        repository.hand_over()
    assert type_in(repository, error.value.hint.rpartition(": ")[2]) == 0
    assert isinstance(repository.hand_over(), HandedOver)


def test_the_branch_of_the_team_does_not_get_its_own_work(repository: TreeRepository) -> None:
    repository.merge_work({"ann.txt": "ann\n"})
    repository.git("checkout", "-q", BRANCH)
    with pytest.raises(Refused) as error:
        repository.hand_over()
    assert type_in(repository, error.value.hint.rpartition(": ")[2]) == 0
    assert isinstance(repository.hand_over(), HandedOver)


def test_a_merge_of_the_user_is_finished_first(repository: TreeRepository) -> None:
    repository.merge_work({"list.txt": "ONE\ntwo\nthree\n"})
    repository.write("list.txt", "uno\ntwo\nthree\n")
    repository.commit("Mine")
    assert type_in(repository, f"git merge {BRANCH}") == 1
    with pytest.raises(Refused, match="MERGE_HEAD"):
        repository.hand_over()


def test_another_git_command_at_work_is_left_alone(repository: TreeRepository) -> None:
    repository.merge_work({"ann.txt": "ann\n"})
    repository.write(".git/index.lock", "")
    before = repository.seen()
    with pytest.raises(Refused, match=r"index\.lock"):
        repository.hand_over()
    assert repository.seen() == before


@pytest.mark.parametrize("starts_with_changes", [False, True])
def test_files_come_back_if_the_branch_cannot_be_moved(repository: TreeRepository, starts_with_changes: bool) -> None:
    if starts_with_changes:
        begun_with_changes(repository)
    repository.merge_work({"list.txt": "ONE\ntwo\nthree\n", "new/ann.txt": "ann\n"})
    repository.write(".git/refs/heads/trunk.lock", "")
    assert "trunk.lock" in refused(repository).reason


def test_no_hook_of_the_user_runs(repository: TreeRepository) -> None:
    repository.merge_work({"ann.txt": "ann\n"})
    for name in ("post-merge", "post-checkout", "reference-transaction", "post-index-change", "pre-merge-commit"):
        repository.write(f".git/hooks/{name}", "#!/bin/sh\necho ran >> ran.txt\n")
        (repository.root / ".git/hooks" / name).chmod(0o755)
    assert isinstance(repository.hand_over(), HandedOver)
    assert not list(repository.root.rglob("ran.txt"))


def test_a_worktree_of_the_user_gets_the_work(repository: TreeRepository) -> None:
    tip = repository.merge_work({"ann.txt": "ann\n"})
    beside = repository.root.parent / "beside"
    repository.git("worktree", "add", "-q", "-b", "side", str(beside))
    repository.root = beside
    assert repository.hand_over() == HandedOver(BRANCH, "side", tip, 2, ("ann.txt",))
    assert (beside / "ann.txt").read_text() == "ann\n"
    assert repository.status() == []


def test_commands_for_another_folder_name_the_repository(repository: TreeRepository) -> None:
    repository.merge_work({"list.txt": "ONE\ntwo\nthree\n"})
    repository.write("list.txt", "mine\n")
    end = Handover(repository.places, "main", Path("/")).run()
    assert isinstance(end, NotHandedOver)
    assert subprocess.run(end.command, shell=True, cwd="/", capture_output=True, check=False).returncode == 0


@needs_strace
@pytest.mark.parametrize("starts_with_changes", [False, True])
def test_files_come_back_if_the_disk_is_full(
    repository: TreeRepository, tmp_path: Path, starts_with_changes: bool
) -> None:
    if starts_with_changes:
        begun_with_changes(repository)
    repository.merge_work({"ann.txt": "ann\n", "list.txt": "ONE\ntwo\nthree\n", "zoe.txt": "zoe\n"})
    before = repository.seen()
    git, fault = shutil.which("git"), "-f -qq -o /dev/null -e trace=openat -e inject=openat:error=ENOSPC"
    full = f'exec strace -P zoe.txt {fault} {git} "$@"'
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text(f'#!/bin/sh\ncase "$*" in *"read-tree -m -u"*) {full} ;; esac\nexec {git} "$@"\n')
    (tmp_path / "bin/git").chmod(0o755)
    places = repository.places_with({**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    end = Handover(places, "main", repository.root).run()
    assert isinstance(end, NotHandedOver)
    assert "zoe.txt" in end.reason
    assert repository.seen() == before
    assert isinstance(repository.hand_over(), HandedOver)
