"""The branch of a team in the user's repository, where the work of its members comes together.

Merging needs no checkout: git computes the merged tree from the two commits. The branch moves only by compare and set.
So after a kill between any two steps, it has the work of a task completely or not at all, and repeating the step is
safe.
"""

import re
from pathlib import Path
from typing import IO

from deskmate.core.agent.merge_texts import MergeConflict
from deskmate.core.prompt.task_lines import one_line
from deskmate.errors import ToolError
from deskmate.workspace.git.plain_merge import PlainMerge
from deskmate.workspace.trees.filters.lfs_objects import take_large_files
from deskmate.workspace.trees.git_program import GitFailed, GitProgram
from deskmate.workspace.trees.ref_locks import change_refs

# A member that offers more than this at once probably committed a build or a download.
MAX_PACK = 1_000_000_000
_CONFLICT = 1
_HUNK = re.compile(r"^<{7} .*?^>{7} [^\n]*$", re.MULTILINE | re.DOTALL)
_HUNK_SHOWN, _HUNKS_SHOWN, _FILES_SHOWN = 1500, 6, 20
# In the message of a merge: which task of which team it merged.
TASK, TEAM = "Deskmate-Task", "Deskmate-Team"
# The subject of the commit with what the user had not committed, before the name of the team.
SNAPSHOT = "What was not committed when team"

# Below this, git keeps commits for each team. Checkpoints have refs of their own beside it.
TEAM_REFS = "refs/deskmate/teams"


class TeamBranch:
    """The branch `deskmate/<team>`."""

    def __init__(self, git: GitProgram, team: str) -> None:
        self._git, self._team = git, team
        self.name = f"deskmate/{team}"
        self._ref = f"refs/heads/{self.name}"

    def tip(self) -> str | None:
        """Return the commit that the branch is at, or None if there is no such branch."""
        return self._git.commit_of(self._ref)

    def begin(self, commit: str) -> str:
        """Let the branch begin at a commit, unless it exists. Return where it is."""
        try:
            self._set_ref(self._ref, commit, "", why=f"deskmate: team {self._team} begins")
        except GitFailed as error:
            if (tip := self.tip()) is None:
                raise ToolError(self._not_begun(str(error))) from error
            return tip
        return commit

    def _not_begun(self, error: str) -> str:
        below = self._git.run("for-each-ref", "--format=%(refname:short)", f"{self._ref}/")[1].split()
        if not below:
            return f"The branch {self.name} cannot be created: {error}"
        return (
            f"The branch {self.name} cannot be created, because there is a branch {below[0]}. Rename that one: "
            f"git branch -m {below[0]} NEW-NAME"
        )

    def keep(self, what: str, commit: str) -> None:
        """Keep a commit and all before it from being collected."""
        self._set_ref(self.ref_of(what), commit)

    def kept(self, what: str) -> str | None:
        """Return the commit that is kept under a name, or None."""
        return self._git.commit_of(self.ref_of(what))

    def let_go(self, what: str) -> None:
        """Stop keeping the commit under a name."""
        change_refs(self._git, "-d", self.ref_of(what))

    def ref_of(self, what: str) -> str:
        """Return the name under which git keeps a commit."""
        return f"{TEAM_REFS}/{self._team}/{what}"

    def take_in(self, pack: IO[bytes], commit: str, what: str) -> None:
        """Take objects that a member offers into the repository, checked, and keep the commit among them.

        Raises ToolError if they are malformed, incomplete or too large.
        """
        self._git.run("index-pack", "--stdin", "--fix-thin", "--strict", f"--max-input-size={MAX_PACK}", stdin=pack)
        if self._git.commit_of(commit) is None:
            raise ToolError(f"The offered objects do not contain commit {commit[:12]}")
        # Fails if an object is missing.
        listed = self._git.data("rev-list", "--objects", "--no-object-names", commit, "--not", "--branches", "--tags")
        sizes = self._git.data("cat-file", "--batch-check=%(objectsize)", given=listed).split()
        # A small pack may hold very large files.
        if sum(map(int, sizes)) > MAX_PACK:
            raise ToolError(
                f"The offered files have more than {MAX_PACK // 1_000_000:,} MB. Commit fewer or smaller ones."
            )
        self.keep(what, commit)

    def take_large_files(self, tree: Path, commit: str, tip: str) -> None:
        """Take the content of large files that a commit of a tree adds into the repository. Raises ToolError."""
        take_large_files(self._git, tree, commit, tip)

    def contains(self, commit: str, tip: str) -> bool:
        """Tell whether the work of a commit is in the branch: itself, or every change of it as another commit."""
        if self._git.run("merge-base", "--is-ancestor", commit, tip, fails=(1,))[0] == 0:
            return True
        missing = self._git.run("cherry", tip, commit)[1].split("\n")
        return not any(line.startswith("+") for line in missing)

    def merge_of(self, commit: str, tip: str) -> str | None:
        """Return the commit of the branch that merged another one, or None."""
        words = ("rev-list", "--first-parent", "--merges", "--parents", tip, f"^{commit}")
        merges = (line.split() for line in self._git.run(*words)[1].splitlines())
        return next((merge for merge, *parents in merges if commit in parents[1:]), None)

    def merge(self, tip: str, commit: str) -> str | MergeConflict:
        """Return the tree of a merge of two commits, or where they conflict. Nothing is changed by this."""
        tree, files = self.merge_trees(tip, commit)
        if not files:
            return tree
        rivals = tuple(self._rivals(commit, tip, files))
        return MergeConflict(files[:_FILES_SHOWN], self._hunks(tree, files), rivals)

    def merge_trees(self, tip: str, commit: str) -> tuple[str, tuple[str, ...]]:
        """Return the merged tree, and all files in it that conflict. Nothing is changed by this."""
        if not self._git.merges_trees:
            merge = PlainMerge(self._git, tip, commit)
            return merge.tree, tuple(merge.conflicts)
        words = ("merge-tree", "--write-tree", "--name-only", "-z", tip, commit)
        status, printed = self._git.merging_as_text().run(*words, fails=(_CONFLICT,))
        tree, *rest = printed.split("\0")
        files = rest[: rest.index("")] if "" in rest else rest
        return tree.strip(), tuple(dict.fromkeys(files)) if status else ()

    def _hunks(self, tree: str, files: tuple[str, ...]) -> str:
        """Return the conflicting places, bounded. A file that one side deleted or that is binary has none."""
        found = list[str]()
        for file in files:
            status, text = self._git.run("cat-file", "blob", f"{tree}:{file}", fails=(128,))
            if status == 0:
                found += (f"{file}:\n{hunk[:_HUNK_SHOWN]}" for hunk in _HUNK.findall(text))
            if len(found) >= _HUNKS_SHOWN:
                break
        return "\n".join(found[:_HUNKS_SHOWN])

    def _rivals(self, commit: str, tip: str, files: tuple[str, ...]) -> list[str]:
        """Return the subjects of what was merged into these files since a commit left the branch."""
        base = self._git.line("merge-base", commit, tip)
        words = ("log", "--first-parent", "--format=%s", "-n", "5", f"{base}..{tip}", "--", *files)
        return self._git.run(*words)[1].splitlines()

    def is_same(self, commit: str, other: str) -> bool:
        """Tell whether two commits have the same files."""
        return self._git.line("rev-parse", f"{commit}^{{tree}}") == self._git.line("rev-parse", f"{other}^{{tree}}")

    def commit_merge(self, tree: str, tip: str, commit: str, subject: str, task: int) -> str:
        """Write the commit that merges a task's work, and return it. The branch does not move yet."""
        message = f"{one_line(subject)}\n\n{TASK}: #{task}\n{TEAM}: {self._team}\n"
        git = self._git.signing_as(self._git.identity())
        return git.run("commit-tree", tree, "-p", tip, "-p", commit, "-F", "-", text=message)[1].strip()

    def advance(self, tip: str, to: str) -> bool:
        """Move the branch from one commit to another. Return False if it is no longer at the first."""
        try:
            self._set_ref(self._ref, to, tip, why="deskmate: merged")
        except GitFailed:
            if self.tip() == tip:
                raise
            return False
        return True

    def _set_ref(self, ref: str, *values: str, why: str = "") -> None:
        """Move a ref of the team, from its old value if one is given."""
        change_refs(self._git, *(("-m", why) if why else ()), ref, *values)
