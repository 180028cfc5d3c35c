"""What the branch of a team changes: all of it, or the work of one task."""

import re
from functools import cached_property

from deskmate.workspace.trees.git_program import GitProgram
from deskmate.workspace.trees.team_branch import SNAPSHOT, TASK, TEAM, TeamBranch

# No program that a repository names takes part in this.
PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color")
# By this line, as `git cherry-pick -x` writes it, the user's branch says which commits it has a copy of.
COPY_OF = "(cherry picked from commit "
_COPY = re.compile(rf"^{re.escape(COPY_OF)}([0-9a-f]{{40,64}})\)$", re.MULTILINE)
# Under this name git keeps a commit whose parents are a commit of the team's branch, and the user's commit that has
# everything up to there.
HANDED = "handed"


class BranchChanges:
    """The changes of a branch at one commit. `git`: on the checkout of the user."""

    def __init__(self, git: GitProgram, team: str, tip: str) -> None:
        self._git, self._team, self._tip = git, team, tip

    @cached_property
    def base(self) -> str:
        """The commit that the team's own changes begin after, as far as the user's branch does not have them.

        What the user had not committed when the team began is no change of the team.
        """
        return self._handed or self.snapshot or self._git.line("merge-base", "HEAD", self._tip)

    @property
    def snapshot(self) -> str:
        """The commit with what the user had not committed when the team began, if the user's branch does not have it.

        Empty if there is none.
        """
        return self._line[-1] if self._line else ""

    @property
    def merges(self) -> list[str]:
        """The commits of the branch after a snapshot that the user's branch has no copy of, the first one first."""
        line = self._line
        return line[: line.index(self.base)][::-1] if line else []

    @cached_property
    def _line(self) -> list[str]:
        """The last snapshot and the commits of the branch after it, the last one first. Empty without a snapshot."""
        words = f"--format=%H%x09%(trailers:key={TEAM},valueonly,separator=%x20)%x09%s"
        log = self._git.run("log", "--first-parent", words, f"HEAD..{self._tip}")[1].splitlines()
        found = list[str]()
        for line in log:
            commit, of_team, subject = line.split("\t", 2)
            found.append(commit)
            if not of_team and subject == f"{SNAPSHOT} {self._team} began":
                return found
        return []

    @property
    def _handed(self) -> str:
        """The last commit of the branch after a snapshot that the user's branch has a copy of. Empty if none."""
        line = self._line
        if len(line) < 2:
            return ""
        words = ("log", "--format=%B", "--fixed-strings", f"--grep={COPY_OF}", f"{line[-1]}^1..HEAD")
        copied = {*_COPY.findall(self._git.run(*words)[1])}
        handed = TeamBranch(self._git, self._team).ref_of(HANDED)
        has = self._git.commit_of(f"{handed}^2")
        if has and self._git.run("merge-base", "--is-ancestor", has, "HEAD", fails=(1,))[0] == 0:
            copied.add(self._git.line("rev-parse", f"{handed}^1"))
        return next((commit for commit in line if commit in copied), "")

    def merge_of(self, task: int) -> str | None:
        """Return the commit that merged the work of a task last, or None."""
        words = ("log", "--first-parent", f"--format=%H %(trailers:key={TASK},valueonly,separator=%x20)", self._tip)
        for line in self._git.run(*words)[1].splitlines():
            commit, _, tasks = line.partition(" ")
            if f"#{task}" in tasks.split():
                return commit
        return None

    def of_task(self, merge: str, *, stat: bool) -> str:
        """Return what a merge changed in the branch."""
        return self._diff(f"{merge}^1", merge, stat=stat)

    def of_team(self, *, stat: bool) -> str:
        """Return what the team changed, as far as the user's branch does not have it."""
        return self._diff(self.base, self._tip, stat=stat)

    def _diff(self, one: str, other: str, *, stat: bool) -> str:
        return self._git.run("diff", *PLAIN, *(("--stat",) if stat else ()), one, other)[1]
