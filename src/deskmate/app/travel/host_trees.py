"""The trees of members on this machine, if the lead is on another one."""

from pathlib import Path

from anyio import to_thread

from deskmate.config import Settings, environment
from deskmate.core.log.names import known_name
from deskmate.core.travel.code_records import Payload
from deskmate.ports import MemberTree, Workspace
from deskmate.runtime.team_state import TeamState
from deskmate.runtime.travel.code_exchange import CodeExchange
from deskmate.runtime.travel.member_code import MemberCode, TravellingTree
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.trees.own_tree import TreeSetup
from deskmate.workspace.trees.team_branch import TeamBranch
from deskmate.workspace.trees.team_trees import TeamTrees
from deskmate.workspace.trees.travel.code_bundles import CodeBundles
from deskmate.workspace.trees.travel.host_clone import HostClone
from deskmate.workspace.trees.travel.travelling_files import IncomingFile


class _TeamClone:
    """The clone of this machine as one team uses it."""

    def __init__(self, clone: HostClone, bundles: CodeBundles, team: str) -> None:
        self._clone, self._bundles, self._team = clone, bundles, team
        self.turn, self.includes, self.include = clone.turn, clone.includes, clone.include
        self.keep = TeamBranch(clone.git, team).keep

    def ends(self) -> tuple[str, ...]:
        """Return commits that it has, with everything before them."""
        return self._bundles.ends() if self._clone.exists else ()

    def begin(self, tip: str) -> None:
        """Make it if it is missing, for commits like this one."""
        self._clone.begin(self._team, tip)

    def move_branch(self, tip: str) -> None:
        """Let the branch of the team be at a commit, unless it is further."""
        self._clone.move_branch(self._team, tip)


class HostTrees:
    """The trees of one team on this machine. `workspace`: the folder in which its members are started."""

    def __init__(
        self,
        team_state: TeamState,
        settings: Settings,
        workspace: Path,
        sandbox: Sandbox,
        skills: tuple[Path, ...] = (),
    ) -> None:
        self._team_state, self._settings = team_state, settings
        self._workspace, self._sandbox, self._skills = workspace, sandbox, skills
        self._team = team_state.roster.state.team
        self._clone = HostClone(settings.state, workspace, environment())

    @property
    def _trees(self) -> TeamTrees:
        # The clone may be new, so this is not made before it is needed.
        setup = TreeSetup(self._settings.tree.setup, tuple(self._settings.tree.sparse))
        redaction = self._team_state.writer.redaction
        places = self._clone.places()
        return TeamTrees(
            places, self._team, self._workspace, environment(), self._sandbox, redaction, setup, self._skills
        )

    def _code(self, member: str) -> MemberCode:
        folder = self._clone.folder / self._team / known_name(member)
        bundles = CodeBundles(self._clone.git, folder / "outgoing", thin=False)

        def incoming(payload: Payload) -> IncomingFile:
            # Members of this machine take turns, so the next one goes on with what another has begun to receive.
            return IncomingFile(self._clone.folder / "incoming", payload)

        exchange = CodeExchange(self._team_state.writer, bundles, incoming)
        return MemberCode(member, exchange, _TeamClone(self._clone, bundles, self._team))

    async def make(self, member: str, _: Workspace) -> None:
        """Make the tree of a member, unless it exists. Waits until the lead has sent what it needs.

        A tree that exists moves to the latest work, if it has nothing of its own: its member may have worked elsewhere.
        """
        there = self._clone.exists and await to_thread.run_sync(self._trees.folder(member).is_dir)
        commit = await self._code(member).begin(lambda commit: self._trees.make_at(member, commit))
        if there:
            await self._trees.of(member)[1].move_to(commit)

    async def set_up(self, member: str) -> str:
        """Run the user's setup command in the tree of a member, once. Return what the member must know, or nothing."""
        return await self._trees.set_up(member)

    async def release(self, member: str) -> None:
        """Keep the tree of a member that has left for the next one, unless it has work that is nowhere else."""
        await self._trees.release(member)

    def of(self, member: str) -> tuple[LocalWorkspace, MemberTree]:
        """Return the tree of a member, as its workspace and as what can be merged."""
        workspace, own = self._trees.of(member)
        return workspace, TravellingTree(own, self._code(member))
