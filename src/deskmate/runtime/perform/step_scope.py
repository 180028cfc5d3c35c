"""What ends a step before it is done: interrupt, shutdown, time limit.

Three things cut a step: an interrupt by the user, a shutdown request that is not answered in time, and the time limit
of the run. `mail_watch` reports the mail that cuts.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio

from deskmate.core.agent.open_calls import INTERRUPTED, TIME_IS_UP
from deskmate.core.agent.rules.decide import BATCH_SECONDS, DEADLINE_SECONDS, WORDS
from deskmate.core.agent.rules.end_of_run import LAST_SECONDS
from deskmate.core.agent.view import View
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.task_groups import PlayTasks
from deskmate.runtime.team_state import TeamState


class StepScope:
    """Cuts the steps of one agent, and sets the alarms that wake it. `ring`: wakes the agent if it waits."""

    def __init__(
        self, team_state: TeamState, transcript: Transcript, ring: Callable[[], None], tasks: PlayTasks
    ) -> None:
        self._team_state, self._transcript, self._ring, self._tasks = team_state, transcript, ring, tasks
        self._scope = anyio.CancelScope()
        self._alarms: list[anyio.CancelScope] = []
        self._mail: dict[str, int] = {}

    @property
    def why(self) -> str:
        """The reason to give for a call that was cut just now."""
        return TIME_IS_UP if self._team_state.budget.time_is_up and not self._has_mail else INTERRUPTED

    @contextmanager
    def cuttable(self) -> Iterator[anyio.CancelScope]:
        """Run a step that can be cut, also by what came since the agent last listened."""
        with anyio.CancelScope() as self._scope:
            self._heed()
            yield self._scope

    def by_mail(self, box: str, number: int) -> None:
        """Cut the step because of the mail with this number, unless the agent has heard it already."""
        self._mail[box] = max(self._mail.get(box, 0), number)
        self._heed()

    def _heed(self) -> None:
        if self._has_mail or self._team_state.budget.time_is_up:
            self._scope.cancel()

    @property
    def _has_mail(self) -> bool:
        heard = self._transcript.memory.cursors
        return any(number > heard.get(box, 0) for box, number in self._mail.items())

    def set_alarms(self, view: View) -> None:
        """Wake the agent when time alone changes what it should do. Also cut the step if a deadline is over."""
        self.end_alarms()
        due = [DEADLINE_SECONDS - view.waited[id_] for id_ in view.memory.demands]
        batch = [BATCH_SECONDS - team.waited[WORDS] for team in view.teams if WORDS in team.waited]
        left = self._team_state.budget.seconds_left
        last = [left + LAST_SECONDS] if left <= 0 else []
        if soon := [seconds for seconds in (*due, *batch, *last) if seconds > 0]:
            self._tasks.start_soon(self._wake, self._new_alarm(), min(soon), min(soon) in due)
        if 0 < left < math.inf:
            self._tasks.start_soon(self._keep_time, self._new_alarm())

    def end_alarms(self) -> None:
        """End the alarms that were set."""
        for alarm in self._alarms:
            alarm.cancel()
        self._alarms = []

    def _new_alarm(self) -> anyio.CancelScope:
        self._alarms.append(anyio.CancelScope())
        return self._alarms[-1]

    async def _wake(self, alarm: anyio.CancelScope, seconds: float, cuts: bool) -> None:
        with alarm:
            await self._team_state.writer.clock.sleep(seconds)
            self._ring()
            if cuts:
                self._scope.cancel()

    async def _keep_time(self, alarm: anyio.CancelScope) -> None:
        with alarm:
            # Repeat while there is time left: the user may have raised the cap meanwhile.
            while (left := self._team_state.budget.seconds_left) > 0:
                await self._team_state.writer.clock.sleep(left)
                await self._team_state.roster.refresh()
            self._ring()
            self._heed()
