"""Checkpoints in a git repository: commits that no branch has.

Git reads and writes the user's files inside the sandbox, because members can change them meanwhile. What only concerns
saved objects is done by `GitProgram`. The user's index, HEAD and branches are never touched.
"""

import json
import os
import re
import secrets
import shlex
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeAlias

from deskmate.errors import ToolError
from deskmate.ports import Ran
from deskmate.workspace.checkpoints.points import MOST_FILE_BYTES, Change, ChangeKind, Point, Saved
from deskmate.workspace.trees.git_program import EMAIL, NAME, SAFE_GIT, GitProgram
from deskmate.workspace.trees.snapshot_script import saving_lines

Run: TypeAlias = Callable[[str], Awaitable[Ran]]
_INDEX = "deskmate-checkpoint"
# A killed process leaves its index.
_TIDY = f'find "$(git rev-parse --git-dir)" -maxdepth 1 -name "{_INDEX}-*" -mmin +60 -delete'
_IDENTITY = (("NAME", NAME), ("EMAIL", EMAIL))
_SAVED = re.compile(r"^saved ([0-9a-f]{40,64}) ([0-9a-f]{40,64})$", re.MULTILINE)
_OURS = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _IDENTITY}
_GITLINK = "160000"
_KINDS = {"A": ChangeKind.CREATED, "D": ChangeKind.DELETED}
_FIELDS = "%(refname)%00%(committerdate:unix)%00%(tree)%00%(contents:body)%1e"


class GitCheckpoints:
    """The checkpoints of a team. `run`: runs shell commands in the workspace, in a sandbox. `refs`: where they are."""

    def __init__(self, git: GitProgram, team: str, run: Run, refs: str) -> None:
        self._git, self._team, self._run = git, team, run
        self._refs = f"{refs}/{team}"

    def points(self) -> tuple[Point, ...]:
        """Return all checkpoints, oldest first."""
        printed = self._git.run("for-each-ref", f"--format={_FIELDS}", f"{self._refs}/")[1]
        found = (_point(line.strip("\n")) for line in printed.split("\x1e"))
        return tuple(sorted(filter(None, found), key=lambda point: point.number))

    async def save(self) -> Saved:
        """Save the files of the workspace as they are now."""
        lines = [_TIDY, *saving_lines(_new_index(), MOST_FILE_BYTES), 'echo "saved $tree $left"']
        ran = await self._run("\n".join(lines))
        found = _SAVED.search(ran.output)
        if ran.exit != 0 or found is None:
            raise ToolError(f"The files could not be saved: {ran.output.strip() or ran.ended}")
        return Saved(found[1], tuple(_split(self._git.data("cat-file", "blob", found[2]))))

    def add(self, saved: Saved, *, entry: int | None = None, undoes: int | None = None) -> Point:
        """Make a checkpoint of saved files."""
        number = max((point.number for point in self.points()), default=0) + 1
        facts = json.dumps({"entry": entry, "undoes": undoes, "left_out": saved.left_out})
        message = f"Checkpoint {number} of team {self._team}\n\n{facts}\n"
        commit = self._git.signing_as(_OURS).run("commit-tree", saved.tree, "-F", "-", text=message)[1].strip()
        # Only if there is none of this number.
        self._git.run("update-ref", self._ref(number), commit, "")
        return Point(number, time.time(), saved, entry, undoes)

    def changes(self, before: str, after: str) -> tuple[Change, ...]:
        """Return the files that differ between two trees, without other repositories in them."""
        fields = _split(self._git.data("diff-tree", "-r", "-z", "--raw", "--no-renames", before, after))
        pairs = zip(fields[::2], fields[1::2], strict=True)
        return tuple(
            Change(path, _KINDS.get(words.split()[-1], ChangeKind.CHANGED))
            for words, path in pairs
            if _GITLINK not in words.lstrip(":").split()[:2]
        )

    def diff(self, before: str, after: str) -> str:
        """Return the differences between two trees as a patch."""
        return self._git.run("diff", "--no-ext-diff", "--no-textconv", "--no-renames", before, after)[1]

    def content(self, tree: str, path: str) -> bytes | None:
        """Return the bytes of a regular file in a tree, or None if there is none."""
        status, _ = self._git.run("cat-file", "-e", f"{tree}:{path}", fails=(1, 128))
        return self._git.data("cat-file", "blob", f"{tree}:{path}") if status == 0 else None

    async def restore(self, tree: str, write: Sequence[str], remove: Sequence[str]) -> None:
        """Write some files as they are in a tree, and remove others. Nothing else is touched."""
        ran = await self._run("\n".join(_restoring_lines(_new_index(), tree, write, remove)))
        if ran.exit is None:
            raise ToolError(f"The files could not be restored: {ran.output.strip() or ran.ended}")

    def drop(self, numbers: Collection[int]) -> None:
        """Remove checkpoints. Git deletes their files when it next collects garbage."""
        self._delete([self._ref(number) for number in numbers])

    def drop_all(self) -> None:
        """Remove all checkpoints of the team, also unreadable ones."""
        self._delete(self._git.run("for-each-ref", "--format=%(refname)", f"{self._refs}/")[1].split())

    def _delete(self, refs: Sequence[str]) -> None:
        if refs:
            self._git.run("update-ref", "--stdin", text="".join(f"delete {ref}\n" for ref in refs))

    def _ref(self, number: int) -> str:
        return f"{self._refs}/{number}"


def _point(line: str) -> Point | None:
    """Return the checkpoint that git describes, or None. Members can write such commits, so anything may be there."""
    try:
        ref, at, tree, body = line.split("\0")
        facts = json.loads(body)
        left_out = tuple(map(str, facts["left_out"]))
        entry, undoes = (None if facts[key] is None else int(facts[key]) for key in ("entry", "undoes"))
        return Point(int(ref.rpartition("/")[2]), float(at), Saved(tree, left_out), entry, undoes)
    except (ValueError, TypeError, KeyError):
        return None


def _new_index() -> str:
    """Return the name of a private index that no other process uses."""
    return f"{_INDEX}-{secrets.token_hex(4)}"


def _split(data: bytes) -> list[str]:
    return [os.fsdecode(part) for part in data.split(b"\0") if part]


def _restoring_lines(index: str, tree: str, write: Sequence[str], remove: Sequence[str]) -> list[str]:
    """Return the commands of a restore. A folder that is in the way of a file stays: it has files that git ignores."""
    return [
        f'own="$(git rev-parse --git-path {index})"',
        'rm -f "$own" "$own.lock"',
        'export GIT_INDEX_FILE="$(realpath "$own")"',
        "trap 'rm -f \"$GIT_INDEX_FILE\"' EXIT",
        f"{SAFE_GIT} read-tree {tree} || exit",
        *(_removing_line(path) for path in remove),
        'put() { [ -d "$1" ] && [ ! -L "$1" ] || printf "%s\\0" "${1#./}"; }',
        "{ :",
        *(f"put {shlex.quote(f'./{path}')}" for path in write),
        f"}} | {SAFE_GIT} checkout-index -f -z --stdin",
    ]


def _removing_line(path: str) -> str:
    folder = os.path.dirname(path)
    emptied = f"; rmdir -p --ignore-fail-on-non-empty {shlex.quote(f'./{folder}')} 2>/dev/null" if folder else ""
    return f"rm -f {shlex.quote(f'./{path}')}{emptied}"
