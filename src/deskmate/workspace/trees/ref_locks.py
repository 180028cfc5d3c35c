"""Locks that a killed git left on refs of Deskmate itself, or on the user's branch during a hand-over.

Git waits for a lock before it gives up, and holds one for milliseconds. Only Deskmate changes its own refs. So a lock
on one of them for which git has waited belongs to a process that was killed. The lock of all packed refs is also taken
by git commands of the user. It is Deskmate's if it was made together with a lock that still is on one of its refs: git
takes both to delete a ref.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from deskmate.workspace.trees.git_program import GitFailed, GitProgram

_TAKEN = re.compile(r"'(/[^']*\.lock)': File exists")
_OURS = ("refs/deskmate", "refs/deskmate-checkpoints", "refs/heads/deskmate")
_PACKED = "packed-refs.lock"
_TOGETHER_SECONDS = 1.0


def change_refs(git: GitProgram, *words: str, text: str | None = None) -> None:
    """Run `git update-ref` on refs of Deskmate. Locks that a killed git left there are removed. Raises GitFailed."""
    while True:
        try:
            git.run("update-ref", *words, text=text)
        except GitFailed as error:
            if not remove_left(git.folder, str(error)):
                raise
        else:
            return


def remove_left(repository: Path, error: str) -> bool:
    """Remove the lock that git complains about if a killed git left it on a ref of Deskmate. Return whether it did."""
    taken = _TAKEN.search(error)
    lock = Path(taken[1]) if taken else None
    packed = repository / _PACKED
    if lock == packed:
        left = next((one for one in _own_locks(repository) if _are_together(one, packed)), None)
    else:
        left = lock if lock and any(lock.is_relative_to(repository / ours) for ours in _OURS) else None
    if left is None:
        return False
    if _are_together(left, packed):
        packed.unlink(missing_ok=True)
    left.unlink(missing_ok=True)
    return True


def remove_left_on_head(checkout: Path, repository: Path, branch: str, commit: str, error: str) -> bool:
    """Remove the locks of a git that was killed while it moved HEAD to a commit. Return whether it did.

    `branch`: the ref that HEAD names. If its lock has the commit in it, it belongs to the hand-over of this commit.
    """
    lock, head = repository / f"{branch}.lock", checkout / "HEAD.lock"
    taken = _TAKEN.search(error)
    if taken is None or Path(taken[1]) not in (lock, head) or _text(lock).strip() != commit:
        return False
    for one in (head, lock):
        one.unlink(missing_ok=True)
    return True


def _own_locks(repository: Path) -> Iterator[Path]:
    for ours in _OURS:
        yield from (repository / ours).rglob("*.lock")


def _are_together(one: Path, other: Path) -> bool:
    """Tell whether two files exist and were made at the same time."""
    with suppress(FileNotFoundError):
        return abs(one.stat().st_mtime - other.stat().st_mtime) < _TOGETHER_SECONDS
    return False


def _text(file: Path) -> str:
    with suppress(OSError):
        return file.read_text(errors="replace")
    return ""
