"""How many files may be open, and so how much runs at once.

A command takes about a dozen while it runs, and many agents may ask for many. `local` above waits for room before it
starts one. What is started has the limit that Deskmate was started with: some programs break under a higher one.
"""

import contextlib
import os
import resource
import sys
from collections.abc import AsyncIterator

import anyio
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

from deskmate.errors import ToolError

_MOST_SEARCHES = 8
_MOST_COMMANDS = 256
_PER_COMMAND = 10
# For searches, for what is being set up, and for all else: records, connections, files that tools read.
_KEPT = 256
# No command that somebody waits for may run longer.
_LONG_SECONDS = 600.0
# Teammates are processes that this one starts: they, too, must know what the first was started with.
_INHERITED = "DESKMATE_OPEN_FILES"

_searches: RunVar[CapacityLimiter] = RunVar("searches")
_short: RunVar[CapacityLimiter] = RunVar("short commands")
_long: RunVar[CapacityLimiter] = RunVar("long commands")


def raise_open_files() -> None:
    """Let this process open as many files as it may, and note how many that was before."""
    if sys.platform == "linux":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        os.environ.setdefault(_INHERITED, str(soft))
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def inherited_limit() -> int | None:
    """Return how many files Deskmate might have open when it was started, if it has raised that since."""
    noted, (_, hard) = os.environ.get(_INHERITED, ""), resource.getrlimit(resource.RLIMIT_NOFILE)
    if not noted.isdecimal():
        return None
    return int(noted) if hard == resource.RLIM_INFINITY else min(int(noted), hard)


def give_back(pid: int) -> None:
    """Give a process of ours the limit that Deskmate was started with."""
    if sys.platform == "linux" and (inherited := inherited_limit()) is not None:
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(inherited, hard), hard))


@contextlib.asynccontextmanager
async def room_to_search() -> AsyncIterator[None]:
    """Wait until there is room for a search, and keep it. A search waits for nothing but itself, so that this ends."""
    async with _limiter(_searches, _MOST_SEARCHES):
        yield


@contextlib.asynccontextmanager
async def room_to_run(seconds: float) -> AsyncIterator[None]:
    """Wait until there is room for a command of at most this time, and keep it; raise ToolError after the same time.

    Commands that may run for a day have a count of their own, so that they never keep others waiting.
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
    """Return the one that all of this event loop share."""
    try:
        return variable.get()
    except LookupError:
        made = CapacityLimiter(most)
        variable.set(made)
        return made
