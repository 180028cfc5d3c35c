"""Everything one agent works with, as one value that is complete before it plays."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias

import anyio

from deskmate.core.agent.tool_results import Result
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.team.members import Member
from deskmate.core.values import frozen
from deskmate.runtime.agent_parts import AgentParts
from deskmate.runtime.perform.calls.background import BackgroundJobs
from deskmate.runtime.perform.calls.call_context import RunSubagent
from deskmate.runtime.perform.calls.tool_calls import Calls
from deskmate.runtime.perform.mail_watch import MailWatch
from deskmate.runtime.perform.model_calls import ModelCalls
from deskmate.runtime.perform.status_reporter import StatusReporter
from deskmate.runtime.perform.step_scope import StepScope
from deskmate.runtime.perform.team_duties import TeamDuties
from deskmate.runtime.perform.wait_times import WaitTimes
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.task_groups import PlayTasks
from deskmate.runtime.team_state import TeamState

# Runs a subagent in a team: the team, the parts of the agent that starts it, the call, the prompt, the agent type.
RunIn: TypeAlias = Callable[[TeamState, AgentParts, str, str, AgentProfile], Coroutine[Any, Any, Result]]


class Bell:
    """Wakes an agent that waits. Also counts if it rings before the agent waits, but after it last listened."""

    def __init__(self) -> None:
        self._rung = anyio.Event()

    def ring(self) -> None:
        """Wake the agent."""
        self._rung.set()

    async def ring_after(self, event: anyio.Event) -> None:
        """Wake the agent once this is set."""
        await event.wait()
        self.ring()

    def renew(self) -> None:
        """Count only what rings from now on."""
        self._rung = anyio.Event()

    async def wait(self) -> None:
        """Return once it has rung."""
        await self._rung.wait()


@frozen
class AgentWork:
    """What one agent works with. `subagent`: who it is, if it is not on the roster. `tasks`: run while it plays."""

    team_state: TeamState
    transcript: Transcript
    parts: AgentParts
    subagent: Member | None
    mailbox: Mailbox
    tasks: PlayTasks
    bell: Bell
    waits: WaitTimes
    waits_at_home: WaitTimes
    step: StepScope
    mail_watch: MailWatch
    status: StatusReporter
    jobs: BackgroundJobs
    model_calls: ModelCalls
    calls: Calls
    duties: TeamDuties

    @classmethod
    def of(
        cls,
        team_state: TeamState,
        transcript: Transcript,
        parts: AgentParts,
        run_in: RunIn,
        subagent: Member | None = None,
    ) -> "AgentWork":
        """Return the work of the agent with this transcript. `run_in`: runs its subagents."""
        name, writer, budget = transcript.name, team_state.writer, team_state.budget
        tasks, bell = PlayTasks(), Bell()
        jobs = BackgroundJobs(name, tasks, parts.workspace, bell.ring, writer.redaction, lambda: budget.seconds_left)
        waits, run_subagent = WaitTimes(writer.clock), partial(run_in, team_state, parts)
        return cls._in_team(team_state, transcript, parts, run_subagent, subagent, tasks, bell, jobs, waits)

    def in_current_team(self, run_in: RunIn) -> "AgentWork":
        """Return the work of the agent in its team. That is another one if a lead has just created or closed a team.

        Its background work continues there.
        """
        teams, elsewhere = self.parts.teams, self.parts.elsewhere
        if teams is None or elsewhere is None or teams.current is self.team_state:
            return self
        team_state, parts = teams.current, elsewhere(teams.current)
        run_subagent = partial(run_in, team_state, parts)
        seen = self.mail_watch.end()
        self.step.end_alarms()
        work = self._in_team(
            team_state, self.transcript, parts, run_subagent, None, self.tasks, self.bell, self.jobs, self.waits
        )
        work.tasks.start_soon(work.mail_watch.keep, {**work.transcript.memory.cursors, **seen})
        return work

    @classmethod
    def _in_team(
        cls,
        team_state: TeamState,
        transcript: Transcript,
        parts: AgentParts,
        run_subagent: RunSubagent,
        subagent: Member | None,
        tasks: PlayTasks,
        bell: Bell,
        jobs: BackgroundJobs,
        waits: WaitTimes,
    ) -> "AgentWork":
        name, writer = transcript.name, team_state.writer
        mailbox = Mailbox(name, writer, team_state.roster)
        step = StepScope(team_state, transcript, bell.ring, tasks)

        def me() -> Member:
            return subagent or team_state.roster.state.members[name]

        return cls(
            team_state=team_state,
            transcript=transcript,
            parts=parts,
            subagent=subagent,
            mailbox=mailbox,
            tasks=tasks,
            bell=bell,
            waits=waits,
            waits_at_home=WaitTimes(writer.clock),
            step=step,
            mail_watch=MailWatch(team_state, mailbox, step.by_mail, tasks),
            status=StatusReporter(team_state, transcript, None if subagent else name),
            jobs=jobs,
            model_calls=ModelCalls(transcript, parts, team_state.feed, writer.redaction),
            calls=Calls(team_state, me, mailbox, transcript, parts, jobs, run_subagent),
            duties=TeamDuties(team_state, transcript, mailbox, parts.tree, parts.home_beside(team_state)),
        )

    @property
    def me(self) -> Member:
        """Who this agent is, as the roster shows it now."""
        return self.subagent or self.team_state.roster.state.members[self.transcript.name]

    @property
    def is_lead(self) -> bool:
        """Whether this is the lead of its team."""
        return self.me.kind is AgentKind.LEAD

    @property
    def home(self) -> TeamState | None:
        """The first team of a lead that works in another one."""
        return self.parts.home_beside(self.team_state)
