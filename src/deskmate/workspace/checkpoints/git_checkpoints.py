"""Checkpoints in a git repository: commits that no branch has.

Git reads and writes the user's files inside the sandbox, because members can change them meanwhile. What only concerns
saved objects is done by `GitProgram`. A file with a secret that is not in the user's commit is left out, so that it
does not become an object of the repository.
"""

import json
import os
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import TypeAlias

from anyio import to_thread

from deskmate.core.policy.redaction import Redaction
from deskmate.errors import ToolError
from deskmate.fs.safe_files import read_regular
from deskmate.ports import Ran
from deskmate.workspace.checkpoints.file_copies import read_file
from deskmate.workspace.checkpoints.file_secrets import secrets_of
from deskmate.workspace.checkpoints.git_scripts import INDEX, LISTED, listing_lines, restoring_lines, saving_lines
from deskmate.workspace.checkpoints.points import MOST_FILE_BYTES, Change, ChangeKind, Point, Saved, outdated
from deskmate.workspace.trees.git_program import EMAIL, NAME, GitFailed, GitProgram
from deskmate.workspace.trees.ref_locks import change_refs

Run: TypeAlias = Callable[[str], Awaitable[Ran]]
_MOST_LISTED_BYTES = 50_000_000
_IDENTITY = (("NAME", NAME), ("EMAIL", EMAIL))
_SAVED = re.compile(r"^saved ([0-9a-f]{40,64}) ([0-9a-f]{40,64})$", re.MULTILINE)
_OURS = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _IDENTITY}
_GITLINK = "160000"
_KINDS = {"A": ChangeKind.CREATED, "D": ChangeKind.DELETED}
_FIELDS = "%(refname)%00%(committerdate:unix)%00%(tree)%00%(contents:body)%1e"


class GitCheckpoints:
    """The checkpoints of a team. `run`: runs shell commands in the workspace, in a sandbox. `refs`: where they are.

    `redaction`: finds secrets.
    """

    def __init__(self, workspace: Path, git: GitProgram, team: str, run: Run, refs: str, redaction: Redaction) -> None:
        self._workspace, self._git, self._team, self._run = workspace, git, team, run
        self._refs, self._redaction = f"{refs}/{team}", redaction

    def points(self) -> tuple[Point, ...]:
        """Return all checkpoints, oldest first."""
        printed = self._git.run("for-each-ref", f"--format={_FIELDS}", f"{self._refs}/")[1]
        found = (_point(line.strip("\n")) for line in printed.split("\x1e"))
        return tuple(sorted(filter(None, found), key=lambda point: point.number))

    async def save(self) -> Saved:
        """Save the files of the workspace as they are now."""
        index = _new_index()
        await self._shell(listing_lines(index))
        withheld = await to_thread.run_sync(self._withheld, index)
        output = await self._shell([*saving_lines(index, MOST_FILE_BYTES, withheld), 'echo "saved $tree $left"'])
        found = _SAVED.search(output)
        if found is None:
            raise ToolError(f"The files could not be saved: {output}")
        left_out = await to_thread.run_sync(lambda: _split(self._git.data("cat-file", "blob", found[2])))
        # The name of a file may be a secret, too.
        return Saved(found[1], tuple(left_out), tuple(map(self._redaction.text, withheld)))

    async def _shell(self, lines: Sequence[str]) -> str:
        ran = await self._run("\n".join(lines))
        if ran.exit != 0:
            raise ToolError(f"The files could not be saved: {ran.output.strip() or ran.ended}")
        return ran.output

    def _withheld(self, index: str) -> list[str]:
        """Return the listed files that would bring a secret into the repository."""
        try:
            listed = read_regular(self._git.folder / f"{index}{LISTED}", _MOST_LISTED_BYTES)
        except OSError as error:
            raise ToolError(f"The files could not be saved: {error.strerror}") from error
        # A file in conflict is listed once for each of its versions.
        return sorted(filter(self._has_new_secret, set(_split(listed))))

    def _has_new_secret(self, path: str) -> bool:
        found = secrets_of(self._redaction, path, read_file(self._workspace, path) or b"")
        return bool(found and found - secrets_of(self._redaction, "", self.content("HEAD", path) or b""))

    def add(self, saved: Saved, *, entry: int | None = None, undoes: int | None = None, before: str = "") -> Point:
        """Make a checkpoint of saved files."""
        number = max((point.number for point in self.points()), default=0) + 1
        facts = {"entry": entry, "undoes": undoes, "left_out": saved.left_out, "secret": saved.secret, "before": before}
        message = f"Checkpoint {number} of team {self._team}\n\n{json.dumps(facts)}\n"
        commit = self._git.signing_as(_OURS).run("commit-tree", saved.tree, "-F", "-", text=message)[1].strip()
        # Only if there is none of this number.
        change_refs(self._git, self._ref(number), commit, "")
        return Point(number, time.time(), saved, entry, undoes, before)

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

    def paths(self, tree: str) -> tuple[str, ...]:
        """Return the files of a tree."""
        return tuple(_split(self._git.data("ls-tree", "-r", "-z", "--name-only", tree)))

    def content(self, tree: str, path: str) -> bytes | None:
        """Return the bytes of a regular file in a tree, or None if there is none."""
        try:
            return self._git.data("cat-file", "blob", f"{tree}:{path}")
        except GitFailed:
            return None

    async def restore(self, tree: str, write: Sequence[str], remove: Sequence[str]) -> None:
        """Write some files as they are in a tree, and remove others. Nothing else is touched."""
        ran = await self._run("\n".join(restoring_lines(_new_index(), tree, write, remove)))
        if ran.exit is None:
            raise ToolError(f"The files could not be restored: {ran.output.strip() or ran.ended}")

    def drop(self, numbers: Collection[int]) -> None:
        """Remove checkpoints. Git deletes their files when it next collects garbage."""
        self._delete([self._ref(number) for number in numbers])

    def prune(self, most: int, days: float) -> None:
        """Remove checkpoints that are too many or too old."""
        self.drop(outdated(self.points(), most, days, time.time()))

    def drop_all(self) -> None:
        """Remove all checkpoints of the team, also unreadable ones."""
        self._delete(self._git.run("for-each-ref", "--format=%(refname)", f"{self._refs}/")[1].split())

    def _delete(self, refs: Sequence[str]) -> None:
        if refs:
            change_refs(self._git, "--stdin", text="".join(f"delete {ref}\n" for ref in refs))

    def _ref(self, number: int) -> str:
        return f"{self._refs}/{number}"


def _point(line: str) -> Point | None:
    """Return the checkpoint that git describes, or None. Members can write such commits, so anything may be there."""
    try:
        ref, at, tree, body = line.split("\0")
        facts = json.loads(body)
        left_out, secret = (tuple(map(str, facts[key])) for key in ("left_out", "secret"))
        entry, undoes = (None if facts[key] is None else int(facts[key]) for key in ("entry", "undoes"))
        # Older checkpoints do not have it.
        before = str(facts.get("before", ""))
        return Point(int(ref.rpartition("/")[2]), float(at), Saved(tree, left_out, secret), entry, undoes, before)
    except (ValueError, TypeError, KeyError):
        return None


def _new_index() -> str:
    """Return the name of a private index that no other process uses."""
    return f"{INDEX}-{secrets.token_hex(4)}"


def _split(data: bytes) -> list[str]:
    return [os.fsdecode(part) for part in data.split(b"\0") if part]
