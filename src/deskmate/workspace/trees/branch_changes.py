"""What the branch of a team changes: all of it, or the work of one task."""

from deskmate.workspace.trees.git_program import GitProgram
from deskmate.workspace.trees.team_branch import SNAPSHOT, TASK

# No program that a repository names takes part in this.
PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color")


class BranchChanges:
    """The changes of a branch at one commit. `git`: on the checkout of the user."""

    def __init__(self, git: GitProgram, team: str, tip: str) -> None:
        self._git, self._team, self._tip = git, team, tip

    @property
    def base(self) -> str:
        """The commit that the team's own changes begin after: where the branch left that of the user.

        What the user had not committed when the team began is no change of the team.
        """
        return self.snapshot or self._git.line("merge-base", "HEAD", self._tip)

    @property
    def snapshot(self) -> str:
        """The commit with what the user had not committed when the team began, if the user's branch does not have it.

        Empty if there is none.
        """
        log = self._git.run("log", "--first-parent", "--format=%H %s", f"HEAD..{self._tip}")[1].splitlines()
        first, _, subject = (log or [""])[-1].partition(" ")
        return first if subject == f"{SNAPSHOT} {self._team} began" else ""

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
