"""The work of each task as a commit on the user's branch, without what the user has not committed.

The branch of a team that began with uncommitted changes has them as a commit. A merge would bring that commit into the
user's branch. So what each task changed is applied to the user's last commit, as `git cherry-pick -x` does it.
"""

from collections.abc import Collection, Sequence, Set
from pathlib import Path

from deskmate.core.values import frozen
from deskmate.workspace.trees.branch_changes import COPY_OF
from deskmate.workspace.trees.git_program import GitProgram
from deskmate.workspace.trees.team_branch import TeamBranch


@frozen
class Copies:
    """The copies of some tasks. `commit`: the last one.

    `left_out`: files whose changes are in no copy, because they build on what the user has not committed there.
    """

    commit: str
    left_out: Set[str]


@frozen
class NotCopied:
    """The files in which the user's commits conflict with the work of a task."""

    files: tuple[str, ...]


def copy_tasks(
    git: GitProgram, branch: TeamBranch, merges: Sequence[str], onto: str, uncommitted: Collection[str], index: Path
) -> Copies | NotCopied:
    """Return copies of merges, one on top of the other. Nothing moves. `index`: a file for an index, if one is needed.

    `uncommitted`: the files that the user has not committed. If the work conflicts only there, it is left out there.
    """
    left_out = set[str]()
    for merge in merges:
        ours = git.run("commit-tree", f"{onto}^{{tree}}", "-p", f"{merge}^1", "-m", "The user's files")[1].strip()
        tree, conflicts = branch.merge_trees(ours, merge)
        if conflicts and {*conflicts} <= {*uncommitted}:
            left_out |= {*conflicts}
            tree, conflicts = branch.merge_trees(ours, _without(git.with_index(index), merge, conflicts))
        if conflicts:
            return NotCopied(conflicts)
        if tree != git.line("rev-parse", f"{onto}^{{tree}}"):
            message = git.run("log", "-1", "--format=%B", merge)[1].rstrip()
            text = f"{message}\n{COPY_OF}{merge})\n"
            onto = git.run("commit-tree", tree, "-p", onto, "-F", "-", text=text)[1].strip()
    return Copies(onto, left_out)


def _without(git: GitProgram, merge: str, files: Sequence[str]) -> str:
    """Return a commit like a merge, but with some files as they were before it."""
    git.run("read-tree", merge)
    before = git.run("ls-tree", "-r", "-z", f"{merge}^1", "--", *files)[1]
    gone = "".join(f"0 {'0' * len(merge)}\t{name}\0" for name in files)
    git.run("update-index", "-z", "--index-info", text=gone + before)
    tree = git.line("write-tree")
    return git.run("commit-tree", tree, "-p", f"{merge}^1", "-m", "Less of a task")[1].strip()
