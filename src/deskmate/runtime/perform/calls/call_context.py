"""What a tool may touch while it runs one call."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from deskmate.core.agent.memory import Memory
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import LEAD
from deskmate.core.policy.host_access import judge_host, may_open
from deskmate.core.policy.permissions import Mode, PermissionRule, Verdict
from deskmate.core.policy.redaction import Redaction
from deskmate.core.profiles.agent_profiles import AgentProfile, profile_of
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.core.prompt.skills import Skill
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.messages import InputRequest, InputResponse
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.spending import Sum
from deskmate.core.values import frozen
from deskmate.errors import Refused
from deskmate.ports import AskHost, Background, MemberTree, Workspace
from deskmate.runtime.agent_parts import AgentParts, LeadTeams
from deskmate.runtime.dismissal import dismiss
from deskmate.runtime.perform.calls.host_questions import HostQuestions
from deskmate.runtime.radar.file_writers import writer_of
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.team_state import TeamState

if TYPE_CHECKING:
    from deskmate.runtime.schedules.schedule_list import ScheduleList

RunSubagent = Callable[[str, str, AgentProfile], Awaitable[Result]]


@frozen
class CallContext:
    """The context of one call."""

    call: str
    again: bool
    fixed: tuple[str, ...]
    printed: LiveOutput
    me: Member
    team_state: TeamState
    mail: Mailbox
    parts: AgentParts
    background: Background
    transcript: Transcript
    run_subagents: RunSubagent

    @property
    def workspace(self) -> Workspace:
        """The folder the agent works in."""
        return self.parts.workspace

    @property
    def tree(self) -> MemberTree | None:
        """The agent's own tree, if it has one."""
        return self.parts.tree

    @property
    def redaction(self) -> Redaction:
        """What finds secrets. The same object replaces them in all records."""
        return self.team_state.writer.redaction

    @property
    def skills(self) -> Mapping[str, Skill]:
        """All skills by name."""
        return self.parts.skills

    @property
    def memory(self) -> Memory:
        """What the agent knows of this team and of its own work, as of now."""
        return self.transcript.memory.in_team(self.roster.team)

    @property
    def board(self) -> Board:
        """The team's board."""
        return self.team_state.board

    @property
    def roster(self) -> RosterState:
        """The team's roster as last read."""
        return self.team_state.roster.state

    @property
    def home(self) -> "CallContext | None":
        """The same call in the lead's first team, while the lead leads another one."""
        home = self.parts.home_beside(self.team_state)
        if home is None:
            return None
        me = home.roster.state.members[self.me.name]
        return replace(self, me=me, team_state=home, mail=Mailbox(me.name, home.writer, home.roster))

    @property
    def spent(self) -> Mapping[str, Sum]:
        """What each member has spent, as last read."""
        return self.team_state.budget.state.members

    @property
    def schedules(self) -> "ScheduleList":
        """The schedules of the lead, which belong to its first team."""
        from deskmate.runtime.schedules.schedule_list import ScheduleList

        writer = (self.parts.home_beside(self.team_state) or self.team_state).writer
        return ScheduleList(writer, self.parts.local_zone())

    async def join(self, joined: Joined) -> Member:
        """Add a teammate."""
        if self.memory.dismissed or self.memory.dismissed_at_home:
            raise Refused("This run is ending and your team was dismissed, so nobody can join. Give your final answer.")
        if self.parts.placing is not None:
            joined = await self.parts.placing(joined)
        elif joined.labels or joined.host not in (None, LEAD):
            raise Refused("No other machine can run teammates of this team", "Leave host and labels out.")
        return await self.team_state.roster.join(self.parts.hires(joined), self.team_state.budget.caps)

    async def found(self, name: str, description: str) -> None:
        """Create a team and work there from now on."""
        await self._teams.found(name, description)

    async def close(self) -> str:
        """Close the team: stop its teammates, wait for that, hear all mail, and go back to the first team."""
        await dismiss(self.team_state, self.mail, self.call)
        while await self.mail.hear(self.transcript):
            pass
        return await self._teams.close()

    @property
    def _teams(self) -> LeadTeams:
        if self.parts.teams is None:
            raise Refused("You cannot create or close a team here. Work with the team you have.")
        return self.parts.teams

    @property
    def files(self) -> Mapping[str, str]:
        """The files this agent knows, as of now. An earlier call may have changed some."""
        return self.transcript.memory.files

    async def writer_of(self, path: str, fingerprint: str) -> str | None:
        """Return the other member whose last change left a file with this fingerprint."""
        return await writer_of(self.team_state, self.me.name, path, fingerprint)

    async def ask_user(self, request: InputRequest) -> InputResponse:
        """Ask the user for input, if somebody is there who can be asked."""
        if self.roster.attended and self.roster.mode_of(self.me.name) is not Mode.DONT_ASK:
            return await self.mail.ask(request)
        return InputResponse(request_id=request.request_id, approve=False, content="nobody is asked in this run")

    def ask_host(self, command: str, waiting: str) -> AskHost | None:
        """Return what judges the hosts that a command wants to reach, if any can be allowed."""
        roster = self.roster
        if not may_open(roster.mode_of(self.me.name), self._rules, attended=roster.attended):
            return None
        return HostQuestions(
            answers=self.team_state.host_answers,
            judge=self._judge_host,
            ask_user=self.ask_user,
            command=command,
            waiting=waiting,
            id_=self.call if waiting == self.call else f"{self.call}.{waiting}",
        )

    def _judge_host(self, host: str) -> Verdict:
        mode = self.roster.mode_of(self.me.name)
        return judge_host(host, mode=mode, rules=self._rules, attended=self.roster.attended)

    @property
    def _rules(self) -> tuple[PermissionRule, ...]:
        return (*self.parts.rules, *self.roster.rules)

    def profile_of(self, name: str) -> AgentProfile:
        """Return the agent type of a name."""
        return profile_of(name, self.parts.profiles)

    async def run_subagent(self, prompt: str, profile: AgentProfile) -> Result:
        """Run a subagent that has the id of this call."""
        return await self.run_subagents(self.call, prompt, profile)
