"""What the runtime lets a tool touch: `ToolContext`, and what is in it."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel

from deskmate.core.agent.memory import Memory
from deskmate.core.agent.tool_results import Result
from deskmate.core.policy.permissions import Attempt
from deskmate.core.policy.redaction import Redaction
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.core.prompt.skills import Skill
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.messages import Envelope, InputRequest, InputResponse, Message, PlanResponse
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.spending import Sum
from deskmate.core.team.task_fields import NewTask, TaskChange
from deskmate.core.team.tasks import BoardState, Receipt, Task
from deskmate.ports.machine_ports import AskHost, MemberTree, Workspace

if TYPE_CHECKING:
    from deskmate.core.schedule.schedules import NewSchedule, Schedule, ScheduleState


class Background(Protocol):
    """What an agent has started without waiting for it."""

    def start(self, kind: str, work: Callable[[str], Awaitable[Result]], printed: LiveOutput | None = None) -> str:
        """Start work, which is given its own id; return that id: `kind`, then six hexadecimal digits."""

    async def output(self, id_: str, *, block: bool, timeout_seconds: float) -> Result:
        """Return its result so far, or with `block` wait for its end; raise ToolError for an unknown id."""

    async def stop(self, id_: str) -> Result:
        """Stop it; raise ToolError for an unknown id or one that has ended."""


class Tasks(Protocol):
    """The board for tools. A change returns the task or raises TaskRefused. Repeating its cause does nothing."""

    @property
    def state(self) -> BoardState:
        """The board as last read."""

    async def refresh(self) -> BoardState:
        """Read what is new and return the board."""

    async def create(self, by: str, new: NewTask, *, cause: str | None = None) -> Task:
        """Put a task on the board."""

    async def edit(self, by: str, task: int, change: TaskChange, *, cause: str | None = None) -> Task:
        """Change a task's text and edges."""

    async def claim(self, member: Member, task: int, *, cause: str | None = None) -> Task:
        """Take a task and begin it."""

    async def assign(self, by: str, task: int, owner: str, *, cause: str | None = None) -> Task:
        """Put a task in someone's queue."""

    async def release(self, by: str, task: int, epoch: int, *, note: str = "", cause: str | None = None) -> Task:
        """Give a task back."""

    async def complete(
        self, by: str, task: int, epoch: int, *, receipt: Receipt | None = None, cause: str | None = None
    ) -> Task:
        """Mark a task as done."""

    async def offer(
        self, by: str, task: int, epoch: int, commit: str, *, receipt: Receipt | None = None, cause: str | None = None
    ) -> Task:
        """Offer the work on a task for merging."""

    async def settled(self, task: int, offer: int) -> Task:
        """Return a task once the work that record `offer` offered is merged or returned."""

    async def delete(self, by: str, task: int, *, cause: str | None = None) -> Task:
        """Delete a task and every edge to and from it."""


class Schedules(Protocol):
    """The schedules of the lead. Repeating the cause of a change does nothing."""

    async def refresh(self) -> "ScheduleState":
        """Read what is new and return the schedules."""

    async def create(self, by: str, new: "NewSchedule", *, cause: str | None = None) -> "Schedule":
        """Create a schedule; raise BadInput or Refused if its times are not possible."""

    async def delete(self, by: str, schedule: int, *, cause: str | None = None) -> "Schedule":
        """Delete a schedule; raise Refused with those that there are."""

    def next_due(self, schedule: "Schedule") -> float | None:
        """Return when a schedule is due next; None if never again."""

    def moment_text(self, schedule: "Schedule", moment: float) -> str:
        """Return a moment in the time zone of a schedule."""


class Delivered(Protocol):
    """The recipients of a broadcast: members whose mailbox has it, and members it did not reach."""

    @property
    def reached(self) -> tuple[str, ...]: ...

    @property
    def missed(self) -> tuple[str, ...]: ...


class Mail(Protocol):
    """The agent's own mailbox, for sending. The runtime sets the sender."""

    async def send(self, recipient: str, message: Message, *, id_: str = "") -> Envelope:
        """Send a message; raise UnknownRecipient that names who is here, or TooLarge."""

    async def answer(self, asker: str, response: PlanResponse, *, id_: str = "") -> None:
        """Send the one answer to a plan; raise Refused if it was answered before."""

    async def broadcast(self, recipients: Iterable[str], message: Message, *, id_: str) -> Delivered:
        """Send to each recipient once. A repeat continues with the rest."""


class ToolContext(Protocol):
    """All that a tool may touch while it runs one call."""

    @property
    def call(self) -> str:
        """The id of the call."""

    @property
    def again(self) -> bool:
        """Whether the call began before, in a process that was killed."""

    @property
    def me(self) -> Member:
        """The agent that makes the call."""

    @property
    def memory(self) -> Memory:
        """What the agent knows."""

    @property
    def printed(self) -> LiveOutput:
        """The output of this call's command, which is reported if the call is cut off."""

    @property
    def fixed(self) -> tuple[str, ...]:
        """What the tool's `fix` returned for this call, recorded before its first run."""

    @property
    def board(self) -> Tasks:
        """The team's board."""

    @property
    def roster(self) -> RosterState:
        """The team's roster as last read."""

    @property
    def mail(self) -> Mail:
        """The agent's mailbox."""

    @property
    def home(self) -> "ToolContext | None":
        """The same call in the lead's first team, while the lead leads another one: roster, board, mail, memory."""

    @property
    def spent(self) -> Mapping[str, Sum]:
        """What each member has spent, as last read."""

    @property
    def schedules(self) -> Schedules:
        """The schedules of the lead, which belong to its first team."""

    async def join(self, joined: Joined) -> Member:
        """Add a teammate, once per cause; raise Refused if the name is reserved or was used, or a cap is reached."""

    async def found(self, name: str, description: str) -> None:
        """Found a team and work there from now on; raise BadName, or Refused if a team of that name exists."""

    async def close(self) -> str:
        """Ask members still here to stop, close the team created last and go back; return where all of it is kept."""

    @property
    def workspace(self) -> Workspace:
        """The folder the agent works in."""

    @property
    def tree(self) -> MemberTree | None:
        """The agent's own tree, or None if it works in the folder of the user."""

    @property
    def redaction(self) -> Redaction:
        """Finds the secrets that the agent reads as placeholders."""

    @property
    def files(self) -> Mapping[str, str]:
        """The files this agent has read or written, path and fingerprint as it knows them."""

    async def writer_of(self, path: str, fingerprint: str) -> str | None:
        """Return the other member whose last change left a file with this fingerprint; None if that is unknown."""

    @property
    def skills(self) -> Mapping[str, Skill]:
        """The available skills, by name."""

    @property
    def background(self) -> Background:
        """What the agent has started without waiting for it."""

    async def ask_user(self, request: InputRequest) -> InputResponse:
        """Ask the user for input during this call, and wait for the answer. It is no if nobody can be asked."""

    def ask_host(self, command: str, waiting: str) -> AskHost | None:
        """Return what judges the hosts that a command wants to reach, and asks the user; None if all are refused.

        `waiting`: the call that waits for the command, or the id of a background command.
        """

    def profile_of(self, name: str) -> AgentProfile:
        """Return the agent type of this name; raise BadInput that lists the names there are."""

    async def run_subagent(self, prompt: str, profile: AgentProfile) -> Result:
        """Run a subagent and return its answer. Run again after a crash, it continues where it was."""


class Tool(Protocol):
    """Something a model can use. Its traits are in `core.policy.tool_table`, under its name."""

    @property
    def name(self) -> str:
        """The name by which the model calls it."""

    @property
    def text(self) -> str:
        """The description that the model reads."""

    @property
    def arguments(self) -> type[BaseModel]:
        """The class of its arguments. Unknown arguments are forbidden."""

    async def attempt(self, arguments: Any, context: ToolContext) -> Attempt:
        """Return what the permission rules see of a call."""

    def fix(self, arguments: Any, context: ToolContext) -> tuple[str, ...]:
        """Return what must stay the same if the call runs again, such as a broadcast's recipients; usually empty."""

    async def run(self, arguments: Any, context: ToolContext) -> Result:
        """Run the call. Raises ToolError for a mistake of the model. If cancelled, it leaves nothing running."""
