"""The trees of one team, and where its branch begins."""

import logging
import secrets
import shlex
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from anyio import to_thread

from deskmate.core.log.names import LEAD
from deskmate.core.policy.redaction import Redaction
from deskmate.errors import ToolError
from deskmate.ports import Workspace
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from deskmate.workspace.trees.branch_changes import BranchChanges
from deskmate.workspace.trees.git_program import SAFE_GIT
from deskmate.workspace.trees.merge_target import CHECKER, BranchTarget
from deskmate.workspace.trees.own_tree import NO_SETUP, OwnTree, TreeSetup, set_up
from deskmate.workspace.trees.ref_locks import remove_left
from deskmate.workspace.trees.snapshot_script import saving_lines
from deskmate.workspace.trees.team_branch import SNAPSHOT, TeamBranch
from deskmate.workspace.trees.tree_inspection import TreeInspector
from deskmate.workspace.trees.tree_places import Tree, TreePlaces
from deskmate.workspace.trees.unmerged_work import UnmergedWork

_LOG = logging.getLogger(__name__)
_SECONDS = 300.0


class TeamTrees:
    """The trees of one team. `places`: of all teams of this workspace, whose folder has the team's records.

    `skills`: folders with the files of skills, which members can read.
    """

    def __init__(
        self,
        places: TreePlaces,
        team: str,
        records: Path,
        environ: Mapping[str, str],
        sandbox: Sandbox,
        redaction: Redaction,
        setup: TreeSetup = NO_SETUP,
        skills: tuple[Path, ...] = (),
    ) -> None:
        self._places, self._team, self._records = places, team, records
        self._environ, self._sandbox, self._redaction, self._setup = environ, sandbox, redaction, setup
        self._skills = skills
        self.branch = TeamBranch(places.git, team)

    def folder(self, member: str) -> Path:
        """Return where the tree of a member is, or will be."""
        return self._places.of(self._team, member)

    async def make(self, member: str, workspace: Workspace) -> None:
        """Make the tree of a member, unless it exists. `workspace`: that of the lead, where the branch begins.

        It begins with what the member has offered before, if that is not merged: it may have worked elsewhere.
        """
        tip = await self.begin(workspace)
        await to_thread.run_sync(self.make_at, member, await to_thread.run_sync(self._own_work, member, tip))

    def _own_work(self, member: str, tip: str) -> str:
        offered = self.branch.kept(f"offers/{member}")
        return offered if offered and not self.branch.contains(offered, tip) else tip

    def make_at(self, member: str, commit: str) -> None:
        """Make the tree of a member at a commit, unless it exists."""
        self._create(member, commit, self._setup.sparse)

    async def set_up(self, member: str) -> str:
        """Run the user's setup command in the tree of a member, once. Return what the member must know, or nothing."""
        return await set_up(self._workspace(member), self._setup.command, member)

    async def release(self, member: str) -> None:
        """Keep the tree of a member that has left for the next one, unless it has work that is nowhere else."""
        tree = Tree(self._team, member, self.folder(member))
        # With Landlock, a process can outlive its command, and would have the tree of the next member.
        if not tree.path.is_dir() or self._sandbox.level is Level.LANDLOCK:
            return
        inspector = TreeInspector(self._places.repository, self._environ, self._sandbox)
        try:
            content = await inspector.content(tree, await to_thread.run_sync(self._known))
            if not (content.changed or content.commits):
                await to_thread.run_sync(self._release, tree)
        except (ToolError, OSError) as error:
            _LOG.warning("The tree of '%s' is not used again: %s", member, error)

    def _known(self) -> list[str]:
        return [commit for commit in (self.branch.tip(), self._places.user_git.commit_of("HEAD")) if commit]

    def _release(self, tree: Tree) -> None:
        self._places.pool.give(tree.path)
        self._places.let_go_of(tree)
        # Nobody waits for this. If the process ends before, the next one continues.
        threading.Thread(target=self._places.pool.delete_waiting, name="deskmate-deleting", daemon=True).start()

    async def begin(self, workspace: Workspace) -> str:
        """Return the tip of the team's branch. A new one begins at the user's commit, plus what is not committed.

        If everything of the team is handed over, the branch goes on from what the user has now. The user's files and
        index are only read. Raises ToolError if git fails.
        """
        tip = await to_thread.run_sync(self.branch.tip)
        if tip is None or await to_thread.run_sync(self._is_handed_over, tip):
            # Two teammates may begin at once: each has its own index, and a call that the other does not end.
            mark = secrets.token_hex(3)
            save = partial(workspace.run, timeout_seconds=_SECONDS, blob=f"{LEAD}-s{mark}.txt")
            ran = await save(self._snapshot(mark, tip))
            if ran.exit != 0 and remove_left(self._places.repository, ran.output):
                ran = await save(self._snapshot(mark, tip))
            start = await to_thread.run_sync(self.branch.kept, "start")
            if ran.exit != 0 or start is None:
                raise ToolError(f"The state of the repository could not be saved: {ran.output.strip() or ran.ended}")
            tip = await to_thread.run_sync(self._go_on, tip, start)
        return tip

    def _is_handed_over(self, tip: str) -> bool:
        """Tell whether the user's branch has everything of the team's branch, or copies of it."""
        if self._is_in(tip, "HEAD"):
            return True
        changes = BranchChanges(self._places.user_git, self._team, tip)
        return bool(changes.snapshot) and not changes.merges

    def _go_on(self, tip: str | None, start: str) -> str:
        """Let the branch begin at a commit, or move on to it if the user's files have changed. Return where it is."""
        if tip is None:
            return self.branch.begin(start)
        if self.branch.is_same(start, tip) and self._is_in("HEAD", tip):
            return tip
        return start if self.branch.advance(tip, start) else tip

    def _is_in(self, commit: str, other: str) -> bool:
        return self._places.user_git.run("merge-base", "--is-ancestor", commit, other, fails=(1,))[0] == 0

    def _snapshot(self, mark: str, tip: str | None) -> str:
        """Return the commands that save what is not committed, for the sandbox of the lead. `mark`: of this one run.

        Not outside of it: a command of the lead could put a link in the place of a file while git reads it.
        `tip`: where the branch is.
        """
        who = self._places.git.identity()
        named = [f"{name}={shlex.quote(value)}" for name, value in who.items()]
        subject = f"{SNAPSHOT} {self._team} began"
        earlier = f"{SAFE_GIT} merge-base --is-ancestor {tip} HEAD || tip='-p {tip}'" if tip else ""
        return "\n".join(
            [
                *saving_lines(f"deskmate-index-{mark}"),
                "tip=",
                earlier,
                "commit=$(git rev-parse HEAD)",
                'if [ -n "$tip" ] || [ "$tree" != "$(git rev-parse HEAD^{tree})" ]; then',
                f'  commit=$({" ".join(named)} git commit-tree "$tree" $tip -p HEAD -m {shlex.quote(subject)})',
                "fi",
                f'{SAFE_GIT} update-ref {self.branch.ref_of("start")} "$commit"',
            ]
        )

    def _create(self, member: str, commit: str, sparse: tuple[str, ...] = ()) -> None:
        self._places.create(self._team, member, commit, sparse)
        self.branch.keep(f"trees/{member}", commit)

    def of(self, member: str) -> tuple[LocalWorkspace, OwnTree]:
        """Return the tree of a member, as its workspace and as what can be merged."""
        workspace = self._workspace(member)
        return workspace, OwnTree(workspace, self.branch, member)

    def target(self) -> BranchTarget:
        """Return the branch for the merge queue."""
        return BranchTarget(self.branch, self._scratch, self._setup.command)

    def unmerged(self) -> UnmergedWork:
        """Return what members have not merged yet."""
        return UnmergedWork(self._places, self.branch, self.folder, lambda member: self._workspace(member, as_=CHECKER))

    def _scratch(self, renewed_at: str | None) -> LocalWorkspace:
        if renewed_at:
            self._places.renew(Tree(self._team, CHECKER, self.folder(CHECKER)))
        commit = renewed_at or self.branch.tip()
        assert commit is not None, "something is merged into it"
        self._create(CHECKER, commit)
        return self._workspace(CHECKER)

    def _workspace(self, name: str, *, as_: str = "") -> LocalWorkspace:
        return LocalWorkspace(
            self.folder(name),
            self._team,
            as_ or name,
            environ=self._environ,
            sandbox=self._sandbox,
            redaction=self._redaction,
            records=self._records,
            readable=(self._places.repository,),
            skills=self._skills,
        )
