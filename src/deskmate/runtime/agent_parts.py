"""What one agent is made with: its model, tools, workspace and prompt."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from deskmate.core.agent.entries import Noticed, Started
from deskmate.core.agent.tool_results import Result
from deskmate.core.agent.view import View
from deskmate.core.agent.work_mode import is_offered
from deskmate.core.policy.permissions import PermissionRule
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.prompt.prompts import ToolSpec
from deskmate.core.prompt.skills import Skill
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.tasks import BoardState
from deskmate.core.values import frozen
from deskmate.ports import MemberTree, Model, Tool, ToolContext, Workspace
from deskmate.runtime.team_state import TeamState

if TYPE_CHECKING:
    from deskmate.core.hooks.hook_inputs import HookSession
    from deskmate.core.hooks.hook_outputs import HookRun
    from deskmate.core.hooks.hook_tables import Hook, HookTable
    from deskmate.core.prompt.user_frames import UserCommand


@frozen
class AgentParts:
    """What one agent is made with.

    `subagents`: makes the parts of a subagent, and its `Started`. `hires`: completes the description of a teammate
    that the agent wants, or raises if that teammate is not possible. `placing`: chooses its host, if there are
    any. `teams`: opens and closes teams, for a lead.
    `rules`: the user's own permission rules, which apply in addition to the team's. `elsewhere`: what the same lead is
    made with in another of its teams. `tree`: the tree of a member that does not work in the folder of the user.
    `checkpoint`: saves the files of the workspace before the agent acts on this entry. The words say what the entry is,
    empty for a message of the user to the lead. It must not raise.
    `hand_over`: hands finished work of teammates over to the workspace of a lead, and returns what the lead is told. It
    gets the team, its board, the entry with the user's last words, and who may change files there at this moment.
    `profiles`: the agent types that files describe, for a lead. `hooks`: runs the hooks in force, if there are any.
    `custom_type`: the agent type of the agent, if a file describes it.
    `run_goal`: runs the command of a goal as the user who gave it wants, in the workspace of a lead.
    `local_zone`: the time zone of schedules that name none.
    """

    model: Model
    tools: Mapping[str, Tool]
    specs: tuple[ToolSpec, ...]
    workspace: Workspace
    skills: Mapping[str, Skill] = field(default_factory=dict)
    confined: bool = False
    subagents: "MakeSubagent | None" = None
    hires: Callable[[Joined], Joined] = lambda joined: joined
    placing: Callable[[Joined], Awaitable[Joined]] | None = None
    teams: "LeadTeams | None" = None
    elsewhere: "Callable[[TeamState], AgentParts] | None" = None
    rules: tuple[PermissionRule, ...] = ()
    tree: MemberTree | None = None
    checkpoint: Callable[[int, str], Coroutine[Any, Any, None]] | None = None
    hand_over: Callable[[str, BoardState, int, str], Coroutine[Any, Any, Noticed | None]] | None = None
    profiles: Mapping[str, AgentProfile] = field(default_factory=dict)
    hooks: "HookRunner | None" = None
    custom_type: str = ""
    run_goal: "Callable[[str], Coroutine[Any, Any, UserCommand]] | None" = None
    local_zone: Callable[[], str] = lambda: "UTC"

    def offered(self, view: View) -> tuple[ToolSpec, ...]:
        """Return the tools to show to the model: those it can use in the work mode of this view."""
        return tuple(spec for spec in self.specs if is_offered(view.work_mode, view.me, spec.name, view.own_tools))

    def home_beside(self, team_state: TeamState) -> TeamState | None:
        """Return the first team of a lead that works in this one, if that is another one."""
        return self.teams.first if self.teams and self.teams.first is not team_state else None


@runtime_checkable
class ForeseeingTool(Protocol):
    """A tool that can tell beforehand that a call changes nothing, so that the user is not asked about it."""

    async def foresee(self, arguments: Any, context: ToolContext) -> Result | None:
        """Return the result of a call that would change nothing as of now, otherwise None.

        Raises ToolError if the call would fail. Changes nothing itself.
        """


class HookRunner(Protocol):
    """Runs hooks. One for all agents of a process. `session_told`: hooks were told of the start of the session."""

    session_told: bool

    @property
    def table(self) -> "HookTable":
        """The hooks in force, also those of single agent types."""

    async def run(self, hooks: "tuple[Hook, ...]", told: bytes, session: "HookSession") -> "tuple[HookRun, ...]":
        """Run hooks of a member together, in the folder of its session, and return how each ended.

        A hook that fails is a result. If cancelled, nothing of a hook is left.
        """

    def new_only(self, failures: tuple[str, ...]) -> tuple[str, ...]:
        """Return the failures that the user was not told of yet, and count them as told."""

    def transcript_path(self, team: str, name: str) -> str:
        """Return where the transcript of a member is."""


class LeadTeams(Protocol):
    """The teams a lead can have: its first team, and one more that it creates and closes."""

    @property
    def first(self) -> TeamState:
        """The team that the lead was started in."""

    @property
    def current(self) -> TeamState:
        """The team that the lead works in now."""

    async def found(self, name: str, description: str) -> None:
        """Create a team and move there. Raises Refused if a team of that name exists."""

    async def close(self) -> str:
        """Archive the team once none of its teammates runs, and go back to the first team. Return the archive."""


MakeSubagent: TypeAlias = Callable[[str, str, AgentProfile], tuple[AgentParts, Started]]
