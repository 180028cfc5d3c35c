"""Keeps one running agent for every member that has not left.

A spawned teammate is a record on the roster. This starts its agent. The lead is run by whatever opened the team.
"""

from collections.abc import Mapping
from typing import NoReturn

import anyio
from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskGroup, TaskStatus

from deskmate.core.log.names import ROSTER
from deskmate.core.team.members import Member
from deskmate.ports import Launcher
from deskmate.runtime.departure import give_back
from deskmate.runtime.events import Seated
from deskmate.runtime.supervisor import Supervisor
from deskmate.runtime.team_state import TeamState


class TeamPlayers:
    """Runs every teammate of one team, each with the launcher it was spawned for."""

    def __init__(self, team_state: TeamState, launchers: Mapping[str, Launcher], tasks: TaskGroup) -> None:
        self._team_state, self._launchers, self._tasks = team_state, launchers, tasks
        self._kept = set[str]()
        self._playing: set[Supervisor] = set()
        self._finishing = False
        self._ended = anyio.Event()

    async def keep(self, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED) -> NoReturn:
        """Run every member that joins. Calls `started` once present members are starting."""
        roster = self._team_state.roster
        gone = [member.name for member in (await roster.refresh()).teammates if not member.here]
        self._finishing = True
        self._tasks.start_soon(self._finish_leaving, gone)
        self._start_members()
        task_status.started()
        while True:
            await self._team_state.writer.store.changed({ROSTER: roster.state.number})
            await roster.refresh()
            self._start_members()

    def _start_members(self) -> None:
        for member in self._team_state.roster.state.teammates:
            if member.here and member.name not in self._kept:
                self._kept.add(member.name)
                self._team_state.feed.tell(Seated(member.name, member.colour))
                supervisor = Supervisor(self._team_state, member.name, self._launcher(member))
                self._playing.add(supervisor)
                self._tasks.start_soon(self._play, supervisor)

    async def gone(self) -> None:
        """Return once no teammate runs and nothing of it is left. Call it when all have left."""
        while self._playing or self._finishing:
            await self._ended.wait()

    async def _play(self, supervisor: Supervisor) -> None:
        await supervisor.keep()
        self._playing.discard(supervisor)
        self._tell_ended()

    async def _finish_leaving(self, names: list[str]) -> None:
        """Finish the leaving of members that were perhaps killed half-way through it."""
        team_state = self._team_state
        for name in names:
            async with team_state.writer.store.hold(name, "the team, to finish its leaving", wait=True):
                await give_back(name, team_state.writer, team_state.roster, team_state.board)
        self._finishing = False
        self._tell_ended()

    def _tell_ended(self) -> None:
        self._ended.set()
        self._ended = anyio.Event()

    def _launcher(self, member: Member) -> Launcher:
        # With a launcher that this version does not know, the teammate runs in this process.
        name = member.joined.launcher if member.joined else ""
        return self._launchers.get(name, self._launchers["inline"])
