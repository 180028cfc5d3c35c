"""The seams: what the runtime needs from the outside, as narrow as it can be.

Adapters (`stores/`, `models/`, `tools/`, `workspaces/`, `launchers/`) stand below them; `runtime/` stands
above and never knows which one it has. `Desk` is the other way round: what the runtime lets a tool touch.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from anyio import CancelScope
from pydantic import BaseModel

from deskmate.core.agent.memory import Memory
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.records import Item, Json
from deskmate.core.policy.permissions import Attempt
from deskmate.core.policy.redaction import Redaction
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.core.prompt.prompts import Delta, Prompt, Reply
from deskmate.core.prompt.skills import Skill
from deskmate.core.team.members import Joined, Member, RosterState
from deskmate.core.team.messages import Envelope, Message, PlanResponse
from deskmate.core.team.tasks import BoardState, Receipt, Revision, Task


class Seat(Protocol):
    """The exclusive right to run a member."""

    @property
    def name(self) -> str:
        """The seat's name: a member, or a slot such as `calls/0`."""


class Store(Protocol):
    """Append-only, numbered streams, and seats. Numbers grow, but need not be contiguous."""

    async def append(self, stream: str, record: Json, *, expect: int | None = None, sync: bool = True) -> int:
        """Append one record and return its number. With `expect`, only if the last record has that number (0: empty).

        Raises Conflict (read and decide again) or TooLarge. After StoreUnavailable the record may or may not have been
        written: append the same record again. The caller stamps `run` (random, one per process start) and `ord`
        (counts up) into it. If the first try had written the record, the store returns its number and writes nothing.
        With `sync`, a power loss after the return removes nothing. Without it, a power loss may remove the last second,
        but a killed process still loses nothing. Cancellation does not interrupt it.
        """

    async def read(self, stream: str, after: int = 0, *, sync: bool = True) -> Sequence[Item]:
        """Return everything after the number `after`, in order, with damage in its place.

        With `sync`, nothing is returned that a power loss could remove. Without it, something may be. That is enough
        to add up costs. Raises StoreCorrupt if the stream ends before `after`, because somebody has read further.
        """

    async def decide(
        self, stream: str, after: int, make: Callable[[Sequence[Item]], Json | None], *, sync: bool = True
    ) -> int | None:
        """Append what `make` returns for everything after `after`, with nothing in between. Return its number.

        If `make` returns None, nothing is appended and None is returned. `make` must have no side effects: it may be
        called more than once, and in another thread. The promises and the errors are those of `append`. After
        StoreUnavailable, call it again: `make` is then given what the earlier try had written.
        """

    async def changed(self, since: Mapping[str, int]) -> None:
        """Return once any of these streams has something above the given number.

        It may return early, never late. No change is missed between looking and waiting.
        """

    def hold(self, name: str, note: str, *, wait: bool = False) -> AbstractAsyncContextManager[Seat]:
        """Hold `name` until closed or this process dies; one holder at a time.

        Raises Held with the holder's note. With `wait`, it waits in line instead.
        """


class Clock(Protocol):
    """What the runtime knows about time."""

    def monotonic(self) -> float:
        """Return seconds that only grow."""

    def timestamp(self) -> float:
        """Return seconds since the epoch, for people to read."""

    async def sleep(self, seconds: float) -> None:
        """Return after that many monotonic seconds."""

    def move_on_after(self, seconds: float) -> CancelScope:
        """Return a scope that is cancelled after that many monotonic seconds, counted from now."""


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """How much a model takes and gives, in tokens."""

    window: int
    output: int


class Model(Protocol):
    """Something that answers prompts."""

    @property
    def name(self) -> str:
        """Its name, `provider:model`."""

    @property
    def limits(self) -> ModelLimits:
        """How much it takes and gives."""

    def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        """Yield deltas as they come and, last of all, the one reply.

        Raises ModelTrouble, PromptTooLong or ModelRejected. May be closed at any time, and then lets go of its
        connection; nothing is billed to anyone's memory but what the reply says.
        """


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a command: how it ended, in words and number, what it printed, bounded, and where all of it is.

    `exit` is None where it was ended from outside: `ended` says why, and which limits it has met. `lines`: how many it
    printed, if `output` has not all of them.
    """

    exit: int | None
    output: str
    ended: str = ""
    blob: str | None = None
    lines: int | None = None


class Workspace(Protocol):
    """The folder an agent works in, and nothing outside of it.

    Paths are as a model gives them: relative to the root, or absolute. Whatever resolves outside, or into a folder of
    ours, raises ToolError, naming it; checked and used on one descriptor, so that nobody can change it in between.
    """

    @property
    def root(self) -> str:
        """The absolute path of the folder."""

    async def locate(self, path: str) -> tuple[str, bool]:
        """Return a path resolved, relative to the root, and whether it lies inside; absolute where it does not.

        What does not exist yet is resolved as far as it does.
        """

    async def is_autorun(self, path: str) -> bool:
        """Tell whether a program of the user's runs commands that a file at this path names, without asking."""

    async def read(self, path: str) -> bytes:
        """Return the bytes of a file; raise ToolError for none, a folder, or one above the cap for files."""

    async def write(self, path: str, data: bytes, *, known: str | None) -> None:
        """Put a file there, whole or not at all, with the folders above it and its mode kept.

        Raises ToolError unless what stands there now has the fingerprint `known` (None: nothing stands there).
        """

    async def find(self, pattern: str) -> list[str]:
        """Return the files a glob pattern matches, the latest changed first, bounded."""

    async def search(self, pattern: str, path: str, glob: str) -> Ran:
        """Return the lines that match a regular expression, as `path:line:text`, bounded."""

    async def run(self, command: str, *, timeout_seconds: float, blob: str, printed: LiveOutput | None = None) -> Ran:
        """Run a shell command to its end, its time, its cap of output or its cancellation; none of it survives that.

        All it prints is kept in `blob` once it is more than `Ran` holds; `printed` tells so far.
        """

    async def revision(self) -> Revision | None:
        """Return the commit that the folder is at; None if there is none or it cannot be told."""

    async def keep(self, blob: str, data: bytes) -> str:
        """Keep bytes outside of any context; return the path under which this agent may read them."""

    async def blob(self, path: str) -> bytes:
        """Return what was kept under a path."""


class Background(Protocol):
    """What an agent has started and not waited for."""

    def start(self, kind: str, work: Callable[[str], Awaitable[Result]], printed: LiveOutput | None = None) -> str:
        """Start work that is given its own id; return that id: `kind`, then six hexadecimal digits."""

    async def output(self, id_: str, *, block: bool, timeout_seconds: float) -> Result:
        """Return what it has come to, waiting for its end with `block`; raise ToolError for an unknown id."""

    async def stop(self, id_: str) -> Result:
        """End it; raise ToolError for an unknown id or one that has ended."""


class Launcher(Protocol):
    """A way to have a member played."""

    async def play(self, name: str) -> None:
        """Play a member until it leaves; raise whatever kept it from going on.

        However it ends, cancelled too, nobody plays the member then and nothing that it ran still runs.
        """


class Tasks(Protocol):
    """The board, as a tool may use it. Every change carries the cause that makes a repeat of it do nothing.

    Raises TaskRefused, saying which rule; returns the task as it is then.
    """

    @property
    def state(self) -> BoardState:
        """The board as last read."""

    async def refresh(self) -> BoardState:
        """Read what is new and return the board."""

    async def create(
        self,
        by: str,
        subject: str,
        *,
        description: str = "",
        active_form: str = "",
        blocked_by: Iterable[int] = (),
        owner: str | None = None,
        role: str | None = None,
        verify: str | None = None,
        cause: str | None = None,
    ) -> Task:
        """Put a task on the board."""

    async def edit(
        self,
        by: str,
        task: int,
        *,
        subject: str | None = None,
        description: str | None = None,
        active_form: str | None = None,
        role: str | None = None,
        add_blocked_by: Iterable[int] = (),
        remove_blocked_by: Iterable[int] = (),
        add_blocks: Iterable[int] = (),
        cause: str | None = None,
    ) -> Task:
        """Change a task's words and edges."""

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

    async def delete(self, by: str, task: int, *, cause: str | None = None) -> Task:
        """Drop a task and every edge to and from it."""


class Delivered(Protocol):
    """Whom a broadcast reached."""

    @property
    def reached(self) -> tuple[str, ...]:
        """Those whose mailbox has it."""

    @property
    def missed(self) -> tuple[str, ...]:
        """Those it did not reach."""


class Mail(Protocol):
    """The agent's own mailbox, for sending: the runtime stamps the sender."""

    async def send(self, recipient: str, message: Message, *, id_: str = "") -> Envelope:
        """Send; raise UnknownRecipient, naming who is here, or TooLarge."""

    async def answer(self, asker: str, response: PlanResponse, *, id_: str = "") -> None:
        """Send the one answer to a plan; raise Refused if it was answered before."""

    async def broadcast(self, recipients: Iterable[str], message: Message, *, id_: str) -> Delivered:
        """Send to each, once; a repeat goes on with the rest."""


class Desk(Protocol):
    """All that a tool may touch while it runs one call."""

    @property
    def call(self) -> str:
        """The id of the call."""

    @property
    def again(self) -> bool:
        """Whether the call began before, in a process that was killed."""

    @property
    def me(self) -> Member:
        """Who calls."""

    @property
    def memory(self) -> Memory:
        """What the agent knows."""

    @property
    def printed(self) -> LiveOutput:
        """What a command of this call prints is told if the call is cut."""

    @property
    def fixed(self) -> tuple[str, ...]:
        """What the tool fixed of this call in the journal before it first ran."""

    @property
    def board(self) -> Tasks:
        """The team's board."""

    @property
    def roster(self) -> RosterState:
        """The team's roster as last read."""

    @property
    def mail(self) -> Mail:
        """The agent's mailbox."""

    async def join(self, joined: Joined) -> Member:
        """Add a teammate; raise Refused for a name that is reserved or was ever used, or where a cap is reached.

        A repeated cause adds nobody and is never refused.
        """

    async def found(self, name: str, description: str) -> None:
        """Found a team and work there from now on; raise BadName, or Refused where one of that name is there."""

    async def close(self) -> str:
        """Close the team founded last and work at home again; return where all of it is kept.

        Who is still here is asked to stop and waited for: each must, within its deadline.
        """

    @property
    def workspace(self) -> Workspace:
        """The folder the agent works in."""

    @property
    def redaction(self) -> Redaction:
        """What finds secrets: those that the agent reads as stand-ins."""

    @property
    def files(self) -> Mapping[str, str]:
        """The files this agent has read or written, path and fingerprint as it knows them."""

    @property
    def skills(self) -> Mapping[str, Skill]:
        """The skills there are, by name."""

    @property
    def background(self) -> Background:
        """What the agent has started and not waited for."""

    async def errand(self, prompt: str, agent_type: AgentType) -> Result:
        """Send a subagent on an errand and return its answer; run again after a crash it goes on where it was."""


class Tool(Protocol):
    """Something a model can use. Its traits stand in the table of `core.roles`, under its name."""

    @property
    def name(self) -> str:
        """What the model calls it by."""

    @property
    def text(self) -> str:
        """What the model reads about it."""

    @property
    def arguments(self) -> type[BaseModel]:
        """The class of its arguments, unknown ones forbidden."""

    async def attempt(self, arguments: Any, desk: Desk) -> Attempt:
        """Return what the permission rules see of a call."""

    def fix(self, arguments: Any, desk: Desk) -> tuple[str, ...]:
        """Return what must be the same if the call is run again, such as whom a broadcast reaches; mostly nothing."""

    async def run(self, arguments: Any, desk: Desk) -> Result:
        """Do it. Raises ToolError for a wrong step of the model. Cancelled, it leaves nothing running."""
