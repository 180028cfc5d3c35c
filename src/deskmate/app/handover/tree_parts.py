"""What trees of teammates need. It is loaded when a member first has a tree, because most runs have none."""

import os
from collections.abc import Callable, Coroutine, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from deskmate.config import Settings
from deskmate.core.agent.entries import Noticed
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.tasks import BoardState
from deskmate.ports import Workspace
from deskmate.runtime.running_team import Keeper
from deskmate.runtime.team_state import TeamState
from deskmate.trust.chosen_engine import engine_at
from deskmate.workspace.git.repositories import git_folder
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.trees.handover.left_locks import remove_left_locks

if TYPE_CHECKING:
    from deskmate.app.handover.running_handover import RunningHandover
    from deskmate.app.travel.host_trees import HostTrees
    from deskmate.runtime.merge_queue import CompletionHooks
    from deskmate.runtime.travel.lead_code import LeadCode
    from deskmate.workspace.trees.team_trees import TeamTrees
    from deskmate.workspace.trees.tree_places import TreePlaces

    MemberTrees: TypeAlias = TeamTrees | HostTrees

Checkpoint: TypeAlias = Callable[[int, str], Coroutine[Any, Any, None]]
HandOver: TypeAlias = Callable[[str, BoardState, int, str], Coroutine[Any, Any, Noticed | None]]


class TreeParts:
    """The trees of a workspace, for the teams of one lead. `away`: the lead, with the repository, is elsewhere."""

    def __init__(self, settings: Settings, workspace: Path, environ: Mapping[str, str], *, away: bool = False) -> None:
        self._settings, self._workspace, self._environ = settings, Path(os.path.realpath(workspace)), environ
        self._away = away

    @cached_property
    def _places(self) -> "TreePlaces":
        from deskmate.workspace.trees.tree_places import TreePlaces

        return TreePlaces(self._settings.state, self._workspace, self._environ)

    def placed(self, joined: Joined) -> Joined:
        """Return a new teammate with where it works. Raises Refused if it must have its own tree and cannot."""
        from deskmate.app.handover.tree_choice import placed

        return placed(joined, self._settings, self._places)

    def of_team(
        self, team_state: TeamState, records: Path, sandbox: Sandbox, skills: tuple[Path, ...] = ()
    ) -> "MemberTrees":
        """Return the trees of a team. `records`: the folder that has its records. `skills`: folders of skills."""
        if self._away:
            from deskmate.app.travel.host_trees import HostTrees

            return HostTrees(team_state, self._settings, self._workspace, sandbox, skills)
        from deskmate.app.handover.tree_choice import trees_of

        return trees_of(team_state, self._settings, self._places, records, sandbox, skills)

    def keepers(
        self,
        team_state: TeamState,
        trees: "MemberTrees",
        hooks: "CompletionHooks | None",
        workspace: Workspace,
    ) -> tuple[Keeper, ...]:
        """Return what merges and watches the work in the trees of a team. `hooks`: for the merge queue.

        `workspace`: that of the lead, where the branch begins.
        """
        from deskmate.runtime.merge_queue import MergeQueue
        from deskmate.runtime.radar.conflict_radar import ConflictRadar
        from deskmate.workspace.trees.team_trees import TeamTrees

        assert isinstance(trees, TeamTrees), "the queue runs where the repository is"
        code = self._code(team_state, trees, workspace)
        queue = MergeQueue(team_state, trees.target(), self._settings.check, hooks, code)
        return queue, ConflictRadar(team_state, trees.unmerged()), *([code] if code else [])

    def _code(self, team_state: TeamState, trees: "TeamTrees", workspace: Workspace) -> "LeadCode | None":
        """Return what sends code to members on other machines. They reach only a store that machines can share."""
        if not engine_at(self._workspace).shared:
            return None
        from deskmate.app.travel.lead_travel import lead_code_of

        return lead_code_of(team_state, trees, self._places, workspace, self._settings.state)

    def hand_over(self, checkpoint: Checkpoint | None) -> HandOver | None:
        """Return what hands work over while teams run, or None if the user does not want that.

        `checkpoint`: saves the files of the user first.
        """
        if self._settings.merge != "auto":
            return None

        @cache
        def running() -> "RunningHandover":
            from deskmate.app.handover.running_handover import RunningHandover

            return RunningHandover(self._places, checkpoint)

        async def look(team: str, board: BoardState, asked_at: int, writers: str) -> Noticed | None:
            if not any(task.merged for task in board.tasks.values()):
                return None
            return await running().look(team, board, asked_at, writers)

        return look

    def remove_left(self) -> None:
        """Remove what a killed hand-over left, such as its lock on the index. That of a process that runs stays."""
        found = git_folder(self._workspace)
        # In a bare repository, this would be the folder with all its files.
        if found and found.checkout != self._workspace:
            remove_left_locks(found.checkout)
