"""Follows the schedules of a team, and imports nothing for a team that has none."""

from typing import NoReturn

from deskmate.core.log.names import SCHEDULE
from deskmate.runtime.team_state import TeamState


class ScheduleWatch:
    """Follows the schedules of a team once it has some."""

    def __init__(self, team_state: TeamState) -> None:
        self._team_state = team_state

    async def keep(self) -> NoReturn:
        """Act on what is due, until cancelled."""
        store = self._team_state.writer.store
        while not await store.read(SCHEDULE):
            await store.changed({SCHEDULE: 0})
        from deskmate.runtime.schedules.schedule_keeper import ScheduleKeeper

        await ScheduleKeeper(self._team_state).keep()
        raise AssertionError("a keeper works until it is cancelled")

    async def act(self) -> int:
        """Act on what is due now. Return how much that was."""
        if not await self._team_state.writer.store.read(SCHEDULE):
            return 0
        from deskmate.runtime.schedules.schedule_keeper import ScheduleKeeper

        return await ScheduleKeeper(self._team_state).act()
