"""Handing the work of a team over to the branch that the user has checked out.

The user's files change only if nothing of theirs is lost. Otherwise everything stays as it is, and the user gets one
command that does it. No hook of the user runs.

What the user had not committed when the team began is a commit of the team's branch. That commit never gets into the
user's branch: what each task changed is copied to it, and what was not committed stays so. The files are merged from
three sides: what the team found or handed over before, the files as they are, and the branch. A file is written only if
the user has not changed it since.

The new commit is written down before the first file is. So a hand-over that was killed is finished first, also if the
branch of the team has moved on.
"""

import shlex
import tempfile
from collections.abc import Collection, Set
from functools import cached_property
from pathlib import Path

from deskmate.core.agent.merge_texts import MergeConflict, listed
from deskmate.core.values import frozen
from deskmate.errors import Refused
from deskmate.workspace.sandbox.protected_paths import obeyed_names
from deskmate.workspace.trees.branch_changes import HANDED, BranchChanges
from deskmate.workspace.trees.filters.git_filters import not_writable
from deskmate.workspace.trees.git_program import GitFailed, GitProgram
from deskmate.workspace.trees.handover.task_copies import Copies, NotCopied, copy_tasks
from deskmate.workspace.trees.handover.user_checkout import UserCheckout
from deskmate.workspace.trees.team_branch import TeamBranch
from deskmate.workspace.trees.tree_places import TreePlaces

# Under this name git keeps the commits of a hand-over from before the first file is written until it is done. They are
# the parents of a commit with the files as they should be. Its message names the tree with the files as they were.
_BEGUN, _FROM = "handing-over", "Deskmate-From"
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

    `files`: those that changed. `uncommitted`: those of them in which the work is not committed, because it builds on
    what the user has not committed there.
    """

    branch: str
    into: str
    commit: str
    commits: int
    files: tuple[str, ...] = ()
    uncommitted: tuple[str, ...] = ()


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
        changes = BranchChanges(self._git, self._team, tip)
        commits = len(changes.merges) if changes.snapshot else self._count("HEAD", tip)
        return PendingWork(self._branch.name, self._into() or "", commits) if commits else None

    def run(self) -> HandedOver | NotHandedOver:
        """Merge the branch into the user's branch. Raises Refused if there is nothing to merge, or nowhere."""
        into, head, tip = self._check()
        self._checkout.remove_left()
        begun = self._begun(head, tip)
        if not begun and not self._is_new(tip):
            return HandedOver(self._branch.name, into, head, 0)
        ends = list[HandedOver]()
        with self._checkout.locked():
            if begun:
                self._finish_files()
            for to, made in (*begun, (tip, "")):
                if ends:
                    if not self._is_new(tip):
                        break
                    self._checkout.again()
                end = self._hand_over(into, ends[-1].commit if ends else head, to, made)
                if isinstance(end, NotHandedOver):
                    return end
                ends.append(end)
        commit, files = ends[-1].commit, {name for end in ends for name in end.files}
        uncommitted = {name for end in ends for name in end.uncommitted}
        commits = self._count(head, commit)
        return HandedOver(self._branch.name, into, commit, commits, (*sorted(files),), (*sorted(uncommitted),))

    def _is_new(self, tip: str) -> bool:
        changes = BranchChanges(self._git, self._team, tip)
        return bool(changes.merges) if changes.snapshot else not self._is_in(tip, "HEAD")

    def _begun(self, head: str, tip: str) -> list[tuple[str, str]]:
        """Return what a hand-over that was killed had begun: the commit of the branch, and the new one of the user."""
        begun = self._branch.ref_of(_BEGUN)
        to = self._git.commit_of(f"{begun}^1")
        # Git names a parent once.
        made = self._git.commit_of(f"{begun}^2") or to
        return [(to, made)] if to and made and self._is_in(to, tip) and self._is_in(head, made) else []

    def _finish_files(self) -> None:
        """Write the files that a hand-over which was killed had begun to write."""
        begun = self._branch.ref_of(_BEGUN)
        before = self._git.line("show", "-s", f"--format=%(trailers:key={_FROM},valueonly,separator=)", begun)
        if before and self._git.run("cat-file", "-e", before, fails=(1, 128))[0] == 0:
            self._checkout.finish(before, f"{begun}^{{tree}}")

    def _hand_over(self, into: str, head: str, tip: str, made: str) -> HandedOver | NotHandedOver:
        """Hand over one commit of the branch. `made`: what this gave the user in a hand-over that was killed."""
        changes = BranchChanges(self._git, self._team, tip)
        changed = self._checkout.changed()
        names = self._checkout.differences(changes.base, tip)
        if obeyed := obeyed_names(self._places.workspace, names, self._places.environ):
            why = f"the team changed {listed(obeyed)}, from which programs run commands"
            return self._not(into, why, changed, changes)
        copies: Copies | NotCopied | MergeConflict
        if made:
            copies = Copies(made, (names - self._checkout.differences(head, made)) & changed)
        else:
            copies = self._new_commit(changes, head, tip, into, changed)
        if not isinstance(copies, Copies):
            why = f"both branches change {listed(copies.files)}, and the changes conflict"
            return self._not(into, why, changed, changes)
        touched = self._checkout.differences(head, copies.commit) | copies.left_out
        base = changes.base if changes.snapshot else head
        if why := self._write((head, copies.commit), tip, base, touched, changed):
            return self._not(into, why, changed, changes)
        if changes.snapshot:
            self._branch.keep(HANDED, self._pair(tip, copies.commit))
        self._branch.let_go(_BEGUN)
        uncommitted = tuple(sorted(copies.left_out))
        return HandedOver(self._branch.name, into, copies.commit, 0, tuple(sorted(touched)), uncommitted)

    def _new_commit(
        self, changes: BranchChanges, head: str, tip: str, into: str, changed: Collection[str]
    ) -> Copies | NotCopied | MergeConflict:
        """Return the commit that the user's branch moves to. Nothing moves."""
        if changes.snapshot:
            with tempfile.TemporaryDirectory(prefix="deskmate-handover-") as folder:
                return copy_tasks(self._signing, self._branch, changes.merges, head, changed, Path(folder) / "index")
        merged = tip if self._is_in(head, tip) else self._merge(head, tip, into)
        return merged if isinstance(merged, MergeConflict) else Copies(merged, set())

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
        words = [word for parent in parents for word in ("-p", parent)]
        return self._signing.run("commit-tree", tree, *words, "-F", "-", text=message)[1].strip()

    @cached_property
    def _signing(self) -> GitProgram:
        return self._git.signing_as(self._git.identity())

    def _pair(self, tip: str, commit: str) -> str:
        """Return a commit that names a commit of the team's branch and one of the user's."""
        return self._commit(f"{tip}^{{tree}}", f"{self._branch.name} handed over\n", tip, commit)

    def _write(self, head: tuple[str, str], tip: str, base: str, touched: Set[str], changed: Set[str]) -> str:
        """Write the merged files, and move the user's branch. Return why that is not possible, or an empty string.

        `base`: the commit with the user's files as the team found them, or as the last hand-over left them.
        """
        checkout, files = self._checkout, head
        if not touched.isdisjoint(changed):
            if half := checkout.half_staged(head[1]) & touched:
                return f"you have changed {listed(half)} again after git add"
            now = checkout.tree()
            tree = self._branch.merge(self._commit(now, "What is not committed\n", base), tip)
            if isinstance(tree, MergeConflict):
                return f"your uncommitted changes in {listed(tree.files)} conflict with the branch"
            if mine := checkout.differences(base, now) & checkout.differences(now, tree) & changed:
                return f"you have uncommitted changes in {listed(mine)}, which the branch changes too"
            files = (now, tree)
        if why := not_writable(self._git, self._places.workspace, *files):
            return why
        if beside := checkout.in_the_way(*files):
            return f"{listed(beside)} is there already and not in git, and the merge would overwrite it"
        message = f"{self._branch.name} is handed over\n\n{_FROM}: {files[0]}\n"
        self._branch.keep(_BEGUN, self._commit(f"{files[1]}^{{tree}}", message, tip, head[1]))
        how = "Fast-forward" if head[1] == tip else "Merge made by Deskmate"
        try:
            checkout.write(files, head, f"merge {self._branch.name}: {how}")
        except GitFailed as error:
            self._branch.let_go(_BEGUN)
            return str(error)
        return ""

    def _not(self, into: str, reason: str, changed: Collection[str], changes: BranchChanges) -> NotHandedOver:
        stash = f"{self._typed} stash --include-untracked && " if changed else ""
        tasks = f"$({self._typed} rev-list --reverse --first-parent {changes.base[:12]}..{self._branch.name})"
        command = f"cherry-pick -x -m 1 {tasks}" if changes.snapshot else f"merge --no-edit {self._branch.name}"
        return NotHandedOver(self._branch.name, into, reason, f"{stash}{self._typed} {command}")
