"""What members have changed in their trees and not merged yet, and where it conflicts.

Commits come out of a tree as offered work does: packed in the sandbox, and checked before git takes them. They are
taken only if they are new, so a member that only commits when it completes a task costs nothing here.
"""

import hashlib
import logging
import os
import secrets
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from itertools import combinations
from pathlib import Path

from anyio import to_thread

from deskmate.core.radar.overlaps import BRANCH, Pair, WorkInProgress
from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.workspace.git.revisions import head_commit
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.paths import resolved
from deskmate.workspace.trees.git_program import SAFE_GIT
from deskmate.workspace.trees.merge_target import CHECKER
from deskmate.workspace.trees.team_branch import TeamBranch
from deskmate.workspace.trees.tree_places import TreePlaces
from deskmate.workspace.trees.trial_merges import TrialMerges
from deskmate.workspace.workspace_files import content, opened

log = logging.getLogger(__name__)
HEADS = "heads"
_PACK = ".git/deskmate-head.pack"
_SECONDS = 120.0
# Of the files that a member has edited, only so many of the last ones are compared with its commit.
_MOST_COMPARED = 200


@frozen
class _Head:
    """The commit of a tree, and the files that were changed up to it, and in the branch, since they parted."""

    commit: str
    committed: frozenset[str]
    moved: frozenset[str]


class UnmergedWork:
    """The work of one team. `folder`: where the tree of a member is. `inside`: runs commands there, in the sandbox."""

    def __init__(
        self,
        places: TreePlaces,
        branch: TeamBranch,
        folder: Callable[[str], Path],
        inside: Callable[[str], LocalWorkspace],
    ) -> None:
        self._places, self._branch, self._folder, self._inside = places, branch, folder, inside
        self._git, self._merges = places.git, TrialMerges(places.git)
        self._heads: dict[tuple[str, str], _Head] = {}
        self._refused = set[str]()

    async def look(
        self, edited: Mapping[str, Collection[str]]
    ) -> tuple[list[WorkInProgress], Mapping[Pair, tuple[str, ...]]]:
        """Return the work of members, and the files in which it conflicts, as `overlaps_of` takes them.

        `edited`: files that each member has changed, committed or not. Raises ToolError if git fails.
        """
        tip = await to_thread.run_sync(self._branch.tip)
        if tip is None:
            return [], {}
        heads = {name: head for name in sorted(edited) if (head := await self._head(name, tip))}
        self._heads = {(head.commit, tip): head for head in heads.values()}
        works = [
            WorkInProgress(name, head.committed, await self._changed(name, head, edited[name]), head.moved)
            for name, head in heads.items()
        ]
        own = {name: head.commit for name, head in heads.items() if head.committed}
        pairs = {(name, BRANCH): frozenset({commit, tip}) for name, commit in own.items()}
        pairs |= {(one, two): frozenset({own[one], own[two]}) for one, two in combinations(own, 2)}
        # Two members may be at the same commit.
        wanted = {pair for pair in pairs.values() if len(pair) == 2}
        found = await to_thread.run_sync(self._merges.conflicts, wanted)
        return works, {names: found[pair] for names, pair in pairs.items() if pair in wanted}

    async def _head(self, member: str, tip: str) -> _Head | None:
        """Return what a tree is at, or None if it cannot be known."""
        root = self._folder(member)
        commit = await to_thread.run_sync(head_commit, root)
        if commit is None or commit in self._refused:
            return None
        if known := self._heads.get((commit, tip)):
            return known
        try:
            if await to_thread.run_sync(self._git.commit_of, commit) is None:
                await self._fetch(member, root, commit, tip)
            return await to_thread.run_sync(self._compare, commit, tip)
        except ToolError as error:
            # Not again for this commit: the member may have damaged its repository.
            self._refused.add(commit)
            log.warning("commit %s of %s is not compared with others: %s", commit[:12], member, error)
            return None

    async def _fetch(self, member: str, root: Path, commit: str, tip: str) -> None:
        pack = f"{SAFE_GIT} pack-objects -q --revs --thin --stdout > {_PACK}"
        ran = await self._inside(member).run(
            # The member may have put something else in its place, such as a pipe that nobody reads.
            f"rm -rf {_PACK} && printf '%s\\n' {commit} ^{tip} | {pack}",
            timeout_seconds=_SECONDS,
            # A name of its own: a command ends what others of its name have left running.
            blob=f"{CHECKER}-f{secrets.token_hex(3)}.txt",
        )
        if ran.exit != 0:
            raise ToolError(f"it cannot be packed: {ran.output.strip()[-500:] or ran.ended}")
        await to_thread.run_sync(self._take, root, commit, f"{HEADS}/{member}")

    def _take(self, root: Path, commit: str, what: str) -> None:
        with resolved(root, _PACK) as place, opened(place) as fd, os.fdopen(os.dup(fd), "rb") as pack:
            self._branch.take_in(pack, commit, what)
        with suppress(OSError):
            os.unlink(root / _PACK)

    def _compare(self, commit: str, tip: str) -> _Head:
        status, base = self._git.run("merge-base", commit, tip, fails=(1,))
        if status:
            raise ToolError("it has no commit in common with the branch")
        return _Head(commit, self._names(base.strip(), commit), self._names(base.strip(), tip))

    def _names(self, one: str, other: str) -> frozenset[str]:
        if one == other:
            return frozenset()
        printed = self._git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", one, other)[1]
        return frozenset(filter(None, printed.split("\0")))

    async def _changed(self, member: str, head: _Head, names: Collection[str]) -> frozenset[str]:
        inside = [name for name in names if _is_inside(name)][-_MOST_COMPARED:]
        root = self._folder(member)
        return await to_thread.run_sync(self._differing, root, head.commit, inside) if inside else frozenset()

    def _differing(self, root: Path, commit: str, compared: Collection[str]) -> frozenset[str]:
        """Return those of these files that are not as in a commit, and that git does not ignore."""
        printed = self._git.run("ls-tree", "-r", "-z", commit, "--", *map(_literal, compared))[1]
        lines = (line.partition("\t") for line in printed.split("\0") if line)
        blobs = {name: words.split()[2] for words, _, name in lines}
        differing = {name for name in compared if _blob_of(root, name, len(commit)) != blobs.get(name)}
        # What git ignores is never merged.
        return frozenset(differing - self._places.ignored(differing - blobs.keys()))


def _is_inside(name: str) -> bool:
    return not os.path.isabs(name) and ".." not in Path(name).parts


def _literal(name: str) -> str:
    return f":(literal){name}"


def _blob_of(root: Path, name: str, digits: int) -> str | None:
    """Return the id that git gives to the content of a file, or None if there is none. Links are not followed."""
    try:
        with resolved(root, name) as place:
            data = content(place)
    except ToolError:
        return None
    made = hashlib.sha1(usedforsecurity=False) if digits == 40 else hashlib.sha256()
    made.update(b"blob %d\0" % len(data))
    made.update(data)
    return made.hexdigest()
