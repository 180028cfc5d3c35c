"""Does what the schedules of a team say when they are due.

Any number of processes may run one for the same team: only one records a due time as due, and that one acts. If it is
killed before it has acted, another acts some seconds later, under the same id, so that nothing happens twice.
"""

import math
from typing import NoReturn

from deskmate.core.log.names import LEAD, SCHEDULE
from deskmate.core.schedule.schedules import Schedule
from deskmate.core.team.messages import Scheduled
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import BadInput, Refused
from deskmate.runtime.schedules.schedule_list import ScheduleList
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.team_state import TeamState

# The clock may be set or the machine may sleep, so nothing is waited for longer than this.
LOOK_SECONDS = 30.0
# Another process has had enough time to act, so it was killed.
AGAIN_SECONDS = 10.0


class ScheduleKeeper:
    """The schedules of the first team of a lead, as one process keeps them."""

    def __init__(self, team_state: TeamState) -> None:
        self._team_state, self._schedules = team_state, ScheduleList(team_state.writer)

    async def keep(self) -> NoReturn:
        """Act on what is due, until cancelled."""
        writer = self._team_state.writer
        while True:
            await self.act()
            with writer.clock.move_on_after(self._seconds()):
                await writer.store.changed({SCHEDULE: self._schedules.state.number})

    async def act(self) -> int:
        """Do what is due now, and what a killed process left undone. Return how much that was."""
        mine = await self._schedules.record_due()
        late = [one for one in self._schedules.state.undone if one not in mine and self._left_undone(one) <= 0]
        for schedule in (*mine, *late):
            await self._do(schedule)
        return len(mine) + len(late)

    async def _do(self, schedule: Schedule) -> None:
        """Create the task or send the message of a schedule that is due, and record that."""
        task = None
        try:
            if schedule.created.subject:
                task = await self._create_task(schedule, schedule.created.subject)
            else:
                await self._tell(schedule, schedule.created.content)
        except (Refused, BadInput) as error:
            await self._schedules.record_done(schedule, flaw=str(error))
        else:
            await self._schedules.record_done(schedule, task=task)

    async def _create_task(self, schedule: Schedule, subject: str) -> int:
        """Create the task. If there is no teammate to take it, tell the lead."""
        new = NewTask(subject, schedule.created.content)
        task = await self._team_state.board.create(schedule.created.by, new, cause=schedule.effect_id)
        roster = await self._team_state.roster.refresh()
        if not any(member.here for member in roster.teammates):
            await self._tell(schedule, f"Task #{task.id} is on the board now: {subject}")
        return task.id

    async def _tell(self, schedule: Schedule, words: str) -> None:
        assert schedule.open is not None, "only a due schedule is acted on"
        message = Scheduled(
            schedule=schedule.id,
            content=words,
            due=self._schedules.moment_text(schedule, schedule.open.due),
            missed=schedule.open.missed,
        )
        box = Mailbox(schedule.created.by, self._team_state.writer, self._team_state.roster)
        await box.send(LEAD, message, id_=schedule.effect_id)

    def _seconds(self) -> float:
        """Return how long there is nothing to do. Infinite if nothing is scheduled."""
        state, now = self._schedules.state, self._now()
        times = [due - now for one in state.active if (due := self._schedules.next_due(one))]
        waits = [*times, *(self._left_undone(one) for one in state.undone)]
        return min(max(min(waits), 0.0), LOOK_SECONDS) if waits else math.inf

    def _left_undone(self, schedule: Schedule) -> float:
        """Return for how long it is still left to the process that recorded a due time."""
        assert schedule.open is not None, "it is undone"
        return AGAIN_SECONDS - abs(self._now() - schedule.open.at)

    def _now(self) -> float:
        return self._team_state.writer.clock.timestamp()
