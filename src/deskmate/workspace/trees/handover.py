"""Handing the work of a team over to the branch that the user has checked out.

The user's files change only if nothing of theirs is lost. Otherwise everything stays as it is, and the user gets one
command that does it. No hook of the user runs.

What the user had not committed when the team began is the first commit of the team's branch. If it is still not
committed, the files are merged from three sides: that commit, the files as they are, and the branch. A file is written
only if the user has not changed it since.
"""

import shlex
from collections.abc import Collection
from pathlib import Path

from deskmate.core.agent.merge_texts import MergeConflict
from deskmate.core.values import frozen
from deskmate.errors import Refused
from deskmate.workspace.sandbox.protected_paths import obeyed_names
from deskmate.workspace.trees.branch_changes import BranchChanges
from deskmate.workspace.trees.filters.git_filters import not_writable
from deskmate.workspace.trees.git_program import GitFailed
from deskmate.workspace.trees.team_branch import TeamBranch
from deskmate.workspace.trees.tree_places import TreePlaces
from deskmate.workspace.trees.user_checkout import UserCheckout

_NAMED = 5
_FINISH = {
    "MERGE_HEAD": "git merge --continue",
    "CHERRY_PICK_HEAD": "git cherry-pick --continue",
    "REVERT_HEAD": "git revert --continue",
    "rebase-merge": "git rebase --continue",
    "rebase-apply": "git rebase --continue",
}


@frozen
class HandedOver:
    """The user's branch has the work now. `commits`: how many are new there, 0 if it had everything before.

    `snapshot`: the commit among them with what the user had not committed when the team began. Empty if there is none.
    """

    branch: str
    into: str
    commit: str
    commits: int
    snapshot: str = ""


@frozen
class NotHandedOver:
    """Nothing was changed. `command`: what the user can run instead."""

    branch: str
    into: str
    reason: str
    command: str


@frozen
class PendingWork:
    """What is in the branch of a team and not in the user's branch. `into`: empty if no branch is checked out."""

    branch: str
    into: str
    commits: int


class Handover:
    """The branch of one team, and what the user has checked out. `here`: the folder in which commands are typed."""

    def __init__(self, places: TreePlaces, team: str, here: Path) -> None:
        self._places, self._team = places, team
        self._git, self._branch = places.user_git, TeamBranch(places.git, team)
        at = [] if here.is_relative_to(places.workspace) else ["-C", str(places.workspace)]
        self._typed = shlex.join(["git", *at])
        self._checkout = UserCheckout(places)

    def pending(self) -> PendingWork | None:
        """Return what is not handed over yet, or None if there is nothing."""
        if self._places.lacks_repository() or (tip := self._branch.tip()) is None:
            return None
        commits = self._count("HEAD", tip)
        return PendingWork(self._branch.name, self._into() or "", commits) if commits else None

    def run(self) -> HandedOver | NotHandedOver:
        """Merge the branch into the user's branch. Raises Refused if there is nothing to merge, or nowhere."""
        into, head, tip = self._check()
        self._checkout.remove_left()
        if self._is_in(tip, head):
            return HandedOver(self._branch.name, into, head, 0)
        changes = BranchChanges(self._git, self._team, tip)
        snapshot, base = changes.snapshot, changes.base
        with self._checkout.locked():
            changed = self._checkout.changed()
            names = self._checkout.differences(base, tip)
            if obeyed := obeyed_names(self._places.workspace, names, self._places.environ):
                return self._not(into, f"the team changed {_listed(obeyed)}, from which programs run commands", changed)
            merged = tip if self._is_in(head, tip) else self._merge(head, tip, into)
            if isinstance(merged, MergeConflict):
                return self._not(
                    into, f"both branches change {_listed(merged.files)}, and the changes conflict", changed
                )
            why = self._write(head, tip, merged, snapshot or head, changed)
        if why:
            return self._not(into, why, changed)
        return HandedOver(self._branch.name, into, merged, self._count(head, merged), snapshot)

    # -- what is there ----------------------------------------------------------------------------

    def _check(self) -> tuple[str, str, str]:
        """Return the user's branch, its commit, and the tip of the team's branch. Raises Refused."""
        branch = self._branch.name
        if why := self._places.lacks_repository():
            raise Refused(f"Nothing can be merged here: {why}", "Go to the top of a git repository, or use -C PATH.")
        tip, head = self._branch.tip(), self._git.commit_of("HEAD")
        if tip is None or head is None:
            raise Refused(
                f"There is no branch {branch}. A team has one after a teammate with its own tree has started",
                'To give teammates their own trees, set isolation = "own" in your settings.',
            )
        if under_way := self._places.under_way():
            raise Refused(
                f"A merge or rebase in your repository is not finished ({under_way})",
                f"Finish it, then try again: {self._typed}{_FINISH[under_way].removeprefix('git')}",
            )
        into = self._into()
        if into is None:
            raise Refused(
                f"No branch is checked out: HEAD is at commit {head[:12]}",
                f"Check out the branch that should get the work, then try again: {self._typed} switch {self._other()}",
            )
        if into == branch:
            raise Refused(
                f"The branch {branch} itself is checked out",
                f"Check out the branch that should get its work, then try again: {self._typed} switch {self._other()}",
            )
        return into, head, tip

    def _into(self) -> str | None:
        """Return the branch that the user has checked out, or None."""
        status, printed = self._git.run("symbolic-ref", "--quiet", "--short", "HEAD", fails=(1,))
        return printed.strip() if status == 0 else None

    def _other(self) -> str:
        """Return the branch of the user that has the latest commit, as a shell reads it."""
        words = ("for-each-ref", "--sort=-committerdate", "--format=%(refname:short)", "refs/heads")
        names = self._git.run(*words)[1].splitlines()
        found = next((name for name in names if not name.startswith("deskmate/")), None)
        return shlex.quote(found) if found else "-c main"

    def _is_in(self, commit: str, other: str) -> bool:
        return self._git.run("merge-base", "--is-ancestor", commit, other, fails=(1,))[0] == 0

    def _count(self, after: str, to: str) -> int:
        return int(self._git.line("rev-list", "--count", f"{after}..{to}"))

    # -- merging ----------------------------------------------------------------------------------

    def _merge(self, head: str, tip: str, into: str) -> str | MergeConflict:
        """Return a commit that merges both, or where they conflict. Nothing moves."""
        tree = self._branch.merge(head, tip)
        if isinstance(tree, MergeConflict):
            return tree
        message = f"Merge branch '{self._branch.name}' into {into}\n"
        return self._commit(tree, message, head, tip)

    def _commit(self, tree: str, message: str, *parents: str) -> str:
        git = self._git.signing_as(self._git.identity())
        words = [word for parent in parents for word in ("-p", parent)]
        return git.run("commit-tree", tree, *words, "-F", "-", text=message)[1].strip()

    def _write(self, head: str, tip: str, merged: str, base: str, changed: Collection[str]) -> str:
        """Write the merged files, and move the user's branch. Return why that is not possible, or an empty string.

        `base`: the commit with the user's files as the team found them.
        """
        checkout = self._checkout
        files, index = (head, merged), None
        touched = checkout.differences(head, merged)
        if not touched.isdisjoint(changed):
            if checkout.staged(merged).isdisjoint(touched):
                # A hand-over that was killed has written files and index.
                return self._finish(None, (head, merged), None, tip)
            if half := checkout.half_staged():
                return f"you have changed {_listed(half)} again after git add"
            now = checkout.tree()
            if checkout.differences(now, merged).isdisjoint(touched):
                # It has written the files.
                checkout.again()
                return self._finish(None, (head, merged), None, tip)
            tree = self._branch.merge(self._commit(now, "What is not committed\n", base), tip)
            if isinstance(tree, MergeConflict):
                return f"your uncommitted changes in {_listed(tree.files)} conflict with the branch"
            if mine := checkout.differences(base, now) & checkout.differences(now, tree):
                return f"you have uncommitted changes in {_listed(mine)}, which the branch changes too"
            files, index = (now, tree), merged
        if why := not_writable(self._git, self._places.workspace, *files):
            return why
        if beside := checkout.in_the_way(*files):
            return f"git ignores {_listed(beside)}, and the merge would overwrite it"
        return self._finish(files, (head, merged), index, tip)

    def _finish(self, files: tuple[str, str] | None, head: tuple[str, str], index: str | None, tip: str) -> str:
        """Write files, index and HEAD. Return why that is not possible, or an empty string."""
        how = "Fast-forward" if head[1] == tip else "Merge made by Deskmate"
        try:
            self._checkout.write(files, head, index, f"merge {self._branch.name}: {how}")
        except GitFailed as error:
            return str(error)
        return ""

    def _not(self, into: str, reason: str, changed: Collection[str]) -> NotHandedOver:
        stash = f"{self._typed} stash --include-untracked && " if changed else ""
        command = f"{stash}{self._typed} merge --no-edit {self._branch.name}"
        return NotHandedOver(self._branch.name, into, reason, command)


def _listed(names: Collection[str]) -> str:
    shown = sorted(names)[:_NAMED]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(shown)}{more}"
