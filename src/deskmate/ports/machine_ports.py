"""What the runtime needs from the outside.

The adapters in `stores/`, `models/`, `workspace/` and `launchers/` implement it. `runtime/` uses it and never knows
which adapter it has.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias, TypeVar

from anyio import CancelScope

from deskmate.core.log.records import Item, Json, Make
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.core.prompt.prompts import Delta, ModelLimits, Prompt, Reply
from deskmate.core.team.tasks import Revision
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


# Returns why a command may not reach a host, empty if it may. It may have to ask the user first.
AskHost: TypeAlias = Callable[[str], Awaitable[str]]


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

    async def run(
        self,
        command: str,
        *,
        timeout_seconds: float,
        blob: str,
        printed: LiveOutput | None = None,
        ask_host: AskHost | None = None,
    ) -> Ran:
        """Run a shell command until it ends, times out, reaches its output cap or is cancelled. Nothing of it survives.
        All its output is kept in `blob` once it is more than fits in `Ran`. `printed` shows the output so far.
        `ask_host`: is asked about hosts that the sandbox keeps the command from. Its time stands still meanwhile.
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


class Launcher(Protocol):
    """A way to run a member."""

    async def play(self, name: str) -> None:
        """Run a member until it leaves; raise the error that stopped it.

        When this ends, even by cancellation, nothing of the member runs, and nothing that it started.
        """
