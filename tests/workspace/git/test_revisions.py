"""Which commit a workspace is at and whether all of it is committed, told without running what a repository names."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.core.team.tasks import Revision
from deskmate.workspace.git.revisions import head_commit
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox

pytestmark = pytest.mark.anyio
Make = Callable[..., LocalWorkspace]
WHO = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *WHO, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(params=["none", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox | None:
    return None if request.param == "none" else request.getfixturevalue("bubblewrap")


@pytest.fixture
def repository(root: Path) -> Path:
    """The workspace, with one file committed on a branch."""
    git(root, "init", "-q", "-b", "main")
    (root / "a.py").write_text("1\n")
    git(root, "add", "a.py")
    git(root, "commit", "-q", "-m", "first")
    return root


async def test_a_clean_checkout_is_told_by_its_commit(repository: Path, workspace: LocalWorkspace) -> None:
    assert await workspace.revision() == Revision(git(repository, "rev-parse", "HEAD"), clean=True)


@pytest.mark.parametrize("name", ["a.py", "new.py"])
async def test_what_is_not_committed_is_told(repository: Path, workspace: LocalWorkspace, name: str) -> None:
    (repository / name).write_text("2\n")
    assert await workspace.revision() == Revision(git(repository, "rev-parse", "HEAD"), clean=False)


async def test_a_folder_without_a_commit_is_at_none(root: Path, workspace: LocalWorkspace) -> None:
    assert await workspace.revision() is None
    git(root, "init", "-q", "-b", "main")
    assert await workspace.revision() is None


@pytest.mark.parametrize("how", [("pack-refs", "--all"), ("checkout", "-q", "--detach"), ("gc", "-q")])
def test_the_commit_is_found_wherever_git_keeps_it(repository: Path, how: tuple[str, ...]) -> None:
    git(repository, *how)
    assert head_commit(repository) == git(repository, "rev-parse", "HEAD")


def test_the_commit_of_a_worktree_and_of_a_folder_below_is_found(repository: Path, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    git(repository, "worktree", "add", "-q", "-b", "other", str(beside))
    (beside / "src").mkdir()
    git(beside, "commit", "-q", "--allow-empty", "-m", "second")
    assert head_commit(beside / "src") == git(beside, "rev-parse", "HEAD")
    assert head_commit(beside) != head_commit(repository)


@pytest.mark.parametrize("head", ["ref: refs/../../../secret", "ref: refs/heads/none", "rm -rf /", ""])
def test_a_strange_head_is_no_commit(repository: Path, head: str) -> None:
    (repository / ".git/HEAD").write_text(head)
    (repository.parent / "secret").write_text("f" * 40)
    assert head_commit(repository) is None


async def test_a_program_that_a_repository_names_as_its_monitor_is_not_run(
    repository: Path, workspace: LocalWorkspace
) -> None:
    monitor = repository / "monitor"
    monitor.write_text("#!/bin/sh\ntouch was-run\n")
    monitor.chmod(0o755)
    git(repository, "config", "core.fsmonitor", "./monitor")
    revision = await workspace.revision()
    assert (revision is not None, (repository / "was-run").exists()) == (True, False)
