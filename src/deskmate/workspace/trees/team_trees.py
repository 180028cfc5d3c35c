"""The trees of one team, and where its branch begins."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from anyio import to_thread

from deskmate.core.policy.redaction import Redaction
from deskmate.errors import ToolError
from deskmate.ports import Workspace
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.trees.git_program import SAFE_GIT
from deskmate.workspace.trees.merge_target import CHECKER, BranchTarget
from deskmate.workspace.trees.own_tree import OwnTree
from deskmate.workspace.trees.snapshot_script import saving_lines
from deskmate.workspace.trees.team_branch import TeamBranch
from deskmate.workspace.trees.tree_places import TreePlaces

_SECONDS = 300.0
_BLOB = "lead-snapshot.txt"


class TeamTrees:
    """The trees of one team. `places`: of all teams of this workspace, whose folder has the team's records."""

    def __init__(
        self,
        places: TreePlaces,
        team: str,
        records: Path,
        environ: Mapping[str, str],
        sandbox: Sandbox,
        redaction: Redaction,
    ) -> None:
        self._places, self._team, self._records = places, team, records
        self._environ, self._sandbox, self._redaction = environ, sandbox, redaction
        self.branch = TeamBranch(places.git, team)

    def folder(self, member: str) -> Path:
        """Return where the tree of a member is, or will be."""
        return self._places.of(self._team, member)

    async def make(self, member: str, workspace: Workspace) -> None:
        """Make the tree of a member, unless it exists. `workspace`: that of the lead, where the branch begins."""
        await to_thread.run_sync(self._create, member, await self.begin(workspace))

    async def begin(self, workspace: Workspace) -> str:
        """Return the tip of the team's branch. A new one begins at the user's commit, plus what is not committed.

        The user's files and index are only read. Raises ToolError if git fails.
        """
        tip = await to_thread.run_sync(self.branch.tip)
        if tip is None:
            ran = await workspace.run(self._snapshot(), timeout_seconds=_SECONDS, blob=_BLOB)
            start = await to_thread.run_sync(self.branch.kept, "start")
            if ran.exit != 0 or start is None:
                raise ToolError(f"The state of the repository could not be saved: {ran.output.strip() or ran.ended}")
            tip = await to_thread.run_sync(self.branch.begin, start)
        return tip

    def _snapshot(self) -> str:
        """Return the commands that save what is not committed, for the sandbox of the lead."""
        who = self._places.git.identity()
        named = [f"{name}={shlex.quote(value)}" for name, value in who.items()]
        subject = f"What was not committed when team {self._team} began"
        return "\n".join(
            [
                *saving_lines("deskmate-index"),
                "commit=$(git rev-parse HEAD)",
                'if [ "$tree" != "$(git rev-parse HEAD^{tree})" ]; then',
                f'  commit=$({" ".join(named)} git commit-tree "$tree" -p HEAD -m {shlex.quote(subject)})',
                "fi",
                f'{SAFE_GIT} update-ref {self.branch.ref_of("start")} "$commit"',
            ]
        )

    def _create(self, member: str, commit: str) -> None:
        self._places.create(self._team, member, commit)
        self.branch.keep(f"trees/{member}", commit)

    def of(self, member: str) -> tuple[LocalWorkspace, OwnTree]:
        """Return the tree of a member, as its workspace and as what can be merged."""
        workspace = self._workspace(member)
        return workspace, OwnTree(workspace, self.branch, member)

    def target(self) -> BranchTarget:
        """Return the branch for the merge queue."""
        return BranchTarget(self.branch, self._scratch)

    def _scratch(self) -> LocalWorkspace:
        tip = self.branch.tip()
        assert tip is not None, "something is merged into it"
        self._create(CHECKER, tip)
        return self._workspace(CHECKER)

    def _workspace(self, name: str) -> LocalWorkspace:
        return LocalWorkspace(
            self.folder(name),
            self._team,
            name,
            environ=self._environ,
            sandbox=self._sandbox,
            redaction=self._redaction,
            records=self._records,
            readable=(self._places.repository,),
        )
