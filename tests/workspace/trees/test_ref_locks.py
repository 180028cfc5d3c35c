"""Locks that a killed git leaves: Deskmate removes its own ones, and no others."""

import os
from pathlib import Path

import pytest

from deskmate.workspace.trees.git_program import GitFailed
from deskmate.workspace.trees.ref_locks import change_refs
from tests.workspace.trees.tree_repository import TreeRepository

pytestmark = pytest.mark.behaviour("worktree")
REF, PACKED = "refs/deskmate/teams/main/x", "packed-refs.lock"


def lock(repository: TreeRepository, name: str, *, age: float = 0) -> Path:
    path = repository.root / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    at = path.stat().st_mtime - age
    os.utime(path, (at, at))
    return path


def test_the_locks_of_a_git_that_was_killed_while_it_deleted_a_ref_are_removed(repository: TreeRepository) -> None:
    repository.git("update-ref", REF, "HEAD")
    locks = [lock(repository, f"{REF}.lock"), lock(repository, PACKED)]
    change_refs(repository.places.git, "-d", REF)
    assert not any(path.exists() for path in locks)
    assert repository.places.git.commit_of(REF) is None


def test_they_are_removed_also_if_another_ref_is_deleted(repository: TreeRepository) -> None:
    repository.git("update-ref", f"{REF}2", "HEAD")
    locks = [lock(repository, f"{REF}.lock"), lock(repository, PACKED)]
    change_refs(repository.places.git, "-d", f"{REF}2")
    assert not any(path.exists() for path in locks)


@pytest.mark.parametrize("age", [None, 60.0])
def test_a_lock_of_all_packed_refs_that_may_be_of_the_user_stays(repository: TreeRepository, age: float | None) -> None:
    repository.git("update-ref", REF, "HEAD")
    packed = lock(repository, PACKED)
    if age:
        lock(repository, f"{REF}2.lock", age=age)
    with pytest.raises(GitFailed, match=PACKED):
        change_refs(repository.places.git, "-d", REF)
    assert packed.exists()


def test_a_lock_on_a_ref_of_the_user_stays(repository: TreeRepository) -> None:
    own = lock(repository, "refs/heads/topic.lock")
    with pytest.raises(GitFailed, match="topic"):
        change_refs(repository.places.git, "refs/heads/topic", "HEAD")
    assert own.exists()


def test_a_lock_that_a_killed_git_left_on_the_start_of_a_team_does_not_stop_the_next_one(
    repository: TreeRepository,
) -> None:
    repository.write("draft.txt", "draft\n")
    own = lock(repository, "refs/deskmate/teams/main/start.lock")
    assert repository.begin() == repository.git("rev-parse", "deskmate/main")
    assert not own.exists()


def test_the_locks_of_a_git_that_was_killed_while_it_moved_the_users_branch_are_removed(
    repository: TreeRepository,
) -> None:
    merged = repository.merge_work({"ann.txt": "ann\n"})
    locks = [lock(repository, "HEAD.lock"), lock(repository, "refs/heads/trunk.lock")]
    locks[1].write_text(f"{merged}\n")
    repository.hand_over()
    assert repository.git("rev-parse", "trunk") == merged
    assert not any(path.exists() for path in locks)
