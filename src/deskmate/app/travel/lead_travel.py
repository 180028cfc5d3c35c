"""The lead's side of code that travels."""

from functools import partial
from pathlib import Path

from deskmate.ports import Workspace
from deskmate.runtime.team_state import TeamState
from deskmate.runtime.travel.code_exchange import CodeExchange
from deskmate.runtime.travel.lead_code import LeadCode
from deskmate.workspace.paths import workspace_key
from deskmate.workspace.trees.team_trees import TeamTrees
from deskmate.workspace.trees.travel.code_bundles import CodeBundles
from deskmate.workspace.trees.travel.included_archive import pack_included
from deskmate.workspace.trees.travel.travelling_files import IncomingFile, OutgoingFile
from deskmate.workspace.trees.tree_places import TreePlaces

FOLDER = "travel"


class LeadBranch:
    """The branch of a team, and what travels with it. `folder`: for files on their way."""

    def __init__(self, trees: TeamTrees, places: TreePlaces, workspace: Workspace, folder: Path) -> None:
        self._trees, self._places, self._workspace, self._folder = trees, places, workspace, folder
        self.tip, self.kept, self.keep = trees.branch.tip, trees.branch.kept, trees.branch.keep

    async def begin(self) -> str:
        """Return the commit that it is at. Let it begin if it does not exist."""
        return await self._trees.begin(self._workspace)

    def files(self) -> OutgoingFile | None:
        """Return the ignored files that every tree gets, if there are any. They are kept until `files_sent`."""
        return OutgoingFile(self._included) if pack_included(self._places, self._included) else None

    def files_sent(self) -> None:
        """Delete what was kept for sending."""
        self._included.unlink(missing_ok=True)

    @property
    def _included(self) -> Path:
        # In a folder of its own, which is private: these files are secrets more often than not.
        return self._folder / "included/files.tar"


def lead_code_of(
    team_state: TeamState, trees: TeamTrees, places: TreePlaces, workspace: Workspace, state: Path
) -> LeadCode:
    """Return the lead's side of a team. `state`: the folder of Deskmate's own data."""
    folder = state / FOLDER / workspace_key(places.workspace) / team_state.roster.state.team
    bundles = CodeBundles(places.git, folder / "outgoing", thin=True)
    exchange = CodeExchange(team_state.writer, bundles, partial(IncomingFile, folder / "incoming"))
    return LeadCode(team_state, exchange, LeadBranch(trees, places, workspace, folder))
