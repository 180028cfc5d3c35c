"""How many files may be open, and so how much runs at once.

A running command needs about a dozen open files, and many agents may run many commands. So a command waits for room.
It gets the limit that Deskmate was started with, because some programs break with a higher one.
"""

import contextlib
import resource
import sys
from collections.abc import AsyncIterator, MutableMapping

import anyio
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

from deskmate.errors import ToolError

_MOST_SEARCHES = 8
_MOST_COMMANDS = 256
_PER_COMMAND = 10
# Reserved for searches, for setup, and for everything else: records, connections, files that tools read.
_KEPT = 256
# No command that somebody waits for may run longer than this.
_LONG_SECONDS = 600.0
# Teammates are child processes. They must also know the limit that the first process was started with.
_INHERITED = "DESKMATE_OPEN_FILES"

_searches: RunVar[CapacityLimiter] = RunVar("searches")
_short: RunVar[CapacityLimiter] = RunVar("short commands")
_long: RunVar[CapacityLimiter] = RunVar("long commands")


class _Started:
    """What this process was started with. `open_files`: its limit of open files, or None if it was not raised."""

    open_files: str | None = None


def raise_open_files(environ: MutableMapping[str, str]) -> None:
    """Raise this process's open-file limit to the maximum, and remember the previous one.

    `environ`: the environment of this process. It keeps the limit that the first process was started with, for the
    processes that this one starts.
    """
    if sys.platform == "linux":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        _Started.open_files = environ.setdefault(_INHERITED, str(soft))
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def inherited_limit() -> int | None:
    """Return the open-file limit that Deskmate was started with, or None if it was not raised."""
    noted, (_, hard) = _Started.open_files, resource.getrlimit(resource.RLIMIT_NOFILE)
    if noted is None or not noted.isdecimal():
        return None
    return int(noted) if hard == resource.RLIM_INFINITY else min(int(noted), hard)


def give_back(pid: int) -> None:
    """Give a child process the limit that Deskmate was started with."""
    if sys.platform == "linux" and (inherited := inherited_limit()) is not None:
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(inherited, hard), hard))


@contextlib.asynccontextmanager
async def room_to_search() -> AsyncIterator[None]:
    """Wait for room for a search, and keep it. A search waits for nothing else, so this always ends."""
    async with _limiter(_searches, _MOST_SEARCHES):
        yield


@contextlib.asynccontextmanager
async def room_to_run(seconds: float) -> AsyncIterator[None]:
    """Wait for room for a command of at most this time, and keep it. Raises ToolError after the same time.

    Commands that may run for a day are counted separately, so that they never keep others waiting.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(1, min(_MOST_COMMANDS, (soft - _KEPT) // _PER_COMMAND) // 2)
    limiter = _limiter(_long if seconds > _LONG_SECONDS else _short, most)
    with anyio.move_on_after(seconds) as waiting:
        await limiter.acquire()
    if waiting.cancelled_caught:
        raise ToolError(
            f"{most} commands are running, as many as the limit of open files allows, and none ended in {seconds:g} s. "
            "Stop one that runs in the background, or have the user raise `ulimit -n`."
        )
    try:
        yield
    finally:
        limiter.release()


def _limiter(variable: RunVar[CapacityLimiter], most: int) -> CapacityLimiter:
    """Return the limiter that all tasks of this event loop share."""
    try:
        return variable.get()
    except LookupError:
        made = CapacityLimiter(most)
        variable.set(made)
        return made
