"""The seams: what the runtime needs from the outside, as narrow as possible.

The adapters in `stores/`, `models/`, `tools/`, `workspace/` and `launchers/` implement them. `runtime/` uses them and
never knows which adapter it has. `ToolContext` is the opposite: what the runtime lets a tool touch.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

from anyio import CancelScope
from pydantic import BaseModel

from deskmate.core.agent.memory import Memory
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.records import Item, Json, Make
from deskmate.core.policy.permissions import Attempt
from deskmate.core.policy.redaction import Redaction
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.core.prompt.prompts import Delta, Prompt, Reply
from deskmate.core.prompt.prompts import ModelLimits as ModelLimits
from deskmate.core.prompt.skills import Skill
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.messages import Envelope, Message, PlanResponse
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask, TaskChange
from deskmate.core.team.tasks import BoardState, Receipt, Revision, Task
from deskmate.core.values import frozen

T = TypeVar("T")


class Seat(Protocol):
    """The exclusive right to run a member."""

    @property
    def name(self) -> str:
        """The seat's name: a member, or a slot such as `calls/0`."""


class Store(Protocol):
    """Append-only, numbered streams, and seats. Numbers grow, but need not be contiguous."""

    async def append(self, stream: str, *records: Json, expect: int | None = None, sync: bool = True) -> list[int]:
        """Append records in this order, with one write and nothing in between. Return their numbers.

        With `expect`, only if the last record has that number (0: empty). Raises Conflict (read and decide again),
        TooLarge or BadRecord, and then writes nothing. The caller stamps `run` (random, one per process start) and
        `ord` (counts up) into each record. After StoreUnavailable or a kill, none, all or the first few may have been
        written, never one without those before it. After StoreUnavailable, append the same records again: the store
        writes only those that are not there yet. If another writer came first, an `expect` then raises Conflict.
        With `sync`, a power loss after the return removes nothing. Without it, a power loss may remove the last second,
        but a killed process still loses nothing. Cancellation does not interrupt it.
        """

    async def read(self, stream: str, after: int = 0, *, sync: bool = True) -> Sequence[Item]:
        """Return everything after the number `after`, in order, with damage in its place.

        With `sync`, nothing is returned that a power loss could remove. Without it, something may be. That is enough
        to add up costs. Raises StoreCorrupt if the stream ends before `after`, because somebody has read further.
        """

    async def decide(self, stream: str, after: int, make: Make[T], *, sync: bool = True) -> tuple[int | None, T]:
        """Append what `make` decides on everything after `after`, with nothing in between.

        Return the number of the record, None if `make` wants none, and the outcome. `make` must have no side effects:
        it may be called more than once, and in another thread. The promises and the errors are those of `append`.
        After StoreUnavailable, call it again: `make` is then given what the earlier try had written.
        """

    async def changed(self, since: Mapping[str, int]) -> None:
        """Return once any of these streams has something above the given number.

        It may return early, never late. No change between reading and waiting is missed.
        """

    def hold(self, name: str, note: str, *, wait: bool = False) -> AbstractAsyncContextManager[Seat]:
        """Hold `name` until closed or this process dies; one holder at a time.

        Raises Held with the holder's note. With `wait`, it waits in line instead.
        """


class Clock(Protocol):
    """The only source of time for the runtime."""

    def monotonic(self) -> float:
        """Return seconds that only grow."""

    def timestamp(self) -> float:
        """Return seconds since the epoch, for people to read."""

    async def sleep(self, seconds: float) -> None:
        """Return after this many monotonic seconds."""

    def move_on_after(self, seconds: float) -> CancelScope:
        """Return a scope that is cancelled this many monotonic seconds from now."""


class Model(Protocol):
    """Something that answers prompts."""

    @property
    def name(self) -> str:
        """Its name, `provider:model`."""

    @property
    def limits(self) -> ModelLimits:
        """How many tokens it takes and gives."""

    def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield deltas as they arrive and, at the end, the one reply.

        Raises ModelTrouble, PromptTooLong or ModelRejected. It may be closed at any time and then releases its
        connection. Only what the reply says is recorded as spent.
        """


@frozen
class Ran:
    """The result of a command: how it ended, what it printed, bounded, and the blob with all of its output.

    `exit`: None if it was ended from outside, and `ended` says why. `lines`: how many it printed, if `output` is cut.
    """

    exit: int | None
    output: str
    ended: str = ""
    blob: str | None = None
    lines: int | None = None


class Workspace(Protocol):
    """The folder an agent works in, and nothing outside it.

    Paths are as a model gives them: relative to the root, or absolute. Those that resolve outside, or into a folder of
    ours, raise ToolError. A path is checked and used on one descriptor.
    """

    @property
    def root(self) -> str:
        """The absolute path of the folder."""

    async def locate(self, path: str) -> tuple[str, bool]:
        """Return a path, resolved as far as it exists, and whether it is inside. Then it is relative to the root."""

    async def is_autorun(self, path: str) -> bool:
        """Tell whether a program of the user runs commands from a file at this path without asking."""

    async def read(self, path: str) -> bytes:
        """Return the bytes of a file; raise ToolError if there is none, it is a folder, or it is above the cap."""

    async def write(self, path: str, data: bytes, *, known: str | None) -> None:
        """Write a file completely or not at all. Create its parent folders and keep its mode.

        Raises ToolError unless the current file has the fingerprint `known` (None: there is no file).
        """

    async def find(self, pattern: str) -> list[str]:
        """Return the files that a glob pattern matches, most recently changed first, bounded."""

    async def search(self, pattern: str, path: str, glob: str) -> Ran:
        """Return the lines that match a regular expression, as `path:line:text`, bounded."""

    async def run(self, command: str, *, timeout_seconds: float, blob: str, printed: LiveOutput | None = None) -> Ran:
        """Run a shell command until it ends, times out, reaches its output cap or is cancelled. Nothing of it survives.
        All its output is kept in `blob` once it is more than fits in `Ran`. `printed` shows the output so far.
        """

    async def revision(self) -> Revision | None:
        """Return the commit that the folder is at; None if there is none or it is unknown."""

    async def keep(self, blob: str, data: bytes) -> str:
        """Store bytes outside any context; return the path under which this agent may read them."""

    async def blob(self, path: str) -> bytes:
        """Return what was stored under a path."""


class MemberTree(Protocol):
    """A member's own copy of the repository. Others see its work once that is merged into the team's branch."""

    @property
    def branch(self) -> str:
        """The branch that the work is merged into."""

    async def offer(self, message: str) -> str:
        """Commit everything that is new, and take it into the repository. Return the commit of the tree."""

    async def is_merged(self, commit: str) -> bool:
        """Tell whether the work of a commit is in the branch."""

    async def update(self) -> bool:
        """Bring the tree to the tip of the branch. Return False if it has work that is not merged."""

    async def merge_branch(self) -> None:
        """Merge the branch into the tree, and leave conflicts in the files."""


class Background(Protocol):
    """What an agent has started without waiting for it."""

    def start(self, kind: str, work: Callable[[str], Awaitable[Result]], printed: LiveOutput | None = None) -> str:
        """Start work, which is given its own id; return that id: `kind`, then six hexadecimal digits."""

    async def output(self, id_: str, *, block: bool, timeout_seconds: float) -> Result:
        """Return its result so far, or with `block` wait for its end; raise ToolError for an unknown id."""

    async def stop(self, id_: str) -> Result:
        """Stop it; raise ToolError for an unknown id or one that has ended."""


class Launcher(Protocol):
    """A way to run a member."""

    async def play(self, name: str) -> None:
        """Run a member until it leaves; raise the error that stopped it.

        When this ends, even by cancellation, nothing of the member runs, and nothing that it started.
        """


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
    def home(self) -> tuple[RosterState, Mail] | None:
        """The roster of the lead's home and its mailbox there, while it leads another team."""

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
