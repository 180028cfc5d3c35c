"""A team that runs in this process: its teammates, its merge queue, and its readable copies."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import anyio
from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskStatus

from deskmate.core.log.names import ROSTER
from deskmate.ports import Launcher
from deskmate.runtime.streams.readable_copies import ReadableCopies, Write
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_players import TeamPlayers
from deskmate.runtime.team_state import TeamState


class Keeper(Protocol):
    """Something that works for a team as long as it runs: its merge queue, its radar."""

    async def keep(self) -> None:
        """Work until cancelled."""


class TreeWatch:
    """Waits until a member of a team has a tree of its own, then runs what works for such trees. Most teams have none.

    `keepers`: makes what works for the trees.
    """

    def __init__(self, team_state: TeamState, keepers: Callable[[], Sequence[Keeper]]) -> None:
        self._team_state, self._keepers = team_state, keepers

    async def keep(self) -> None:
        """Work until cancelled."""
        roster, store = self._team_state.roster, self._team_state.writer.store
        # Also for members that have left: their work may still wait to be merged.
        while not any(member.isolated for member in (await roster.refresh()).members.values()):
            await store.changed({ROSTER: roster.state.number})
        async with task_group() as tasks:
            for keeper in self._keepers():
                tasks.start_soon(keeper.keep)


class RunningTeam:
    """Runs the teammates of one team and what works for them, and writes its readable copies with `write`."""

    def __init__(
        self, team_state: TeamState, launchers: Mapping[str, Launcher], write: Write, keepers: Sequence[Keeper] = ()
    ) -> None:
        self._team_state, self._launchers, self._keepers = team_state, launchers, keepers
        self._copies = ReadableCopies(team_state, write)
        self._players: TeamPlayers | None = None
        self._scope, self._ended = anyio.CancelScope(), anyio.Event()

    async def keep(self, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED) -> None:
        """Run the team until `end`. Calls `started` once present members are starting."""
        try:
            with self._scope:
                async with task_group() as tasks:
                    self._players = TeamPlayers(self._team_state, self._launchers, tasks)
                    await tasks.start(self._players.keep)
                    tasks.start_soon(self._copies.keep)
                    for keeper in self._keepers:
                        tasks.start_soon(keeper.keep)
                    task_status.started()
        finally:
            # Also if it is ended before the first copy was written.
            with anyio.CancelScope(shield=True):
                await self._copies.show()
            self._ended.set()

    async def gone(self) -> None:
        """Return once no teammate runs and nothing of it is left. Call it when all have left."""
        if self._players:
            await self._players.gone()

    async def end(self) -> None:
        """Stop running the team, and return once that is done."""
        self._scope.cancel()
        await self._ended.wait()
