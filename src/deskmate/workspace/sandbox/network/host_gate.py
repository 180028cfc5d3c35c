"""What lets the threads of a proxy ask about hosts, and wait for the answer, while a command runs."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from deskmate.ports import AskHost
from deskmate.workspace.sandbox.network.allowed_hosts import HostPort, may_reach

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.from_thread import BlockingPortal

# How long connections of one command wait for answers, all together.
HOLD_SECONDS = 600.0
_LEAST_SECONDS = 5.0


class HostGate:
    """Asks about the hosts of one command. `hold_seconds`: how long it lets the command wait, in all."""

    def __init__(self, portal: "BlockingPortal", ask: AskHost, hold_seconds: float = HOLD_SECONDS) -> None:
        self._portal, self._ask, self._hold_seconds = portal, ask, hold_seconds
        self._lock = threading.Lock()
        self._holding, self._since, self._held = 0, 0.0, 0.0

    def refusal(self, wanted: HostPort) -> str:
        """Return why a host may not be reached, empty if it may. Blocks its thread until that is known."""
        if why := _never(wanted):
            return why
        # A name is looked up only after it is allowed: a lookup alone can carry what the command knows to its owner.
        with self._counted():
            try:
                asked = self._portal.start_task_soon(self._ask, wanted.shown)
                # What a rule or an earlier answer decides is known at once, also when the time is used up.
                return asked.result(max(_LEAST_SECONDS, self._hold_seconds - self._passed()))
            except TimeoutError:
                return f"nobody answered within {self._hold_seconds:g} s. Ask the user, then run the command again"
            except (CancelledError, RuntimeError):
                return "the command is over"
            except Exception as error:
                return f"the user could not be asked: {error}"

    def seconds(self) -> float:
        """Return how long the command has waited for answers so far."""
        with self._lock:
            return min(self._passed(), self._hold_seconds)

    def _passed(self) -> float:
        return self._held + (time.monotonic() - self._since if self._holding else 0.0)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count the time of a block. If several overlap, it counts once."""
        with self._lock:
            if not self._holding:
                self._since = time.monotonic()
            self._holding += 1
        try:
            yield
        finally:
            with self._lock:
                if self._holding == 1:
                    self._held = self._passed()
                self._holding -= 1


@asynccontextmanager
async def open_gate(ask: AskHost) -> "AsyncIterator[HostGate]":
    """Yield a gate. When the context ends, open questions are withdrawn, and what waits for them is refused."""
    from anyio.from_thread import BlockingPortal

    async with BlockingPortal() as portal:
        try:
            yield HostGate(portal, ask)
        finally:
            await portal.stop(cancel_remaining=True)


def _never(wanted: HostPort) -> str:
    """Return why nobody is asked about a host, because it is on this machine or in a private network."""
    if isinstance(wanted.host, str):
        is_public = "." in wanted.host and wanted.host.rpartition(".")[2] != "localhost"
    else:
        is_public = may_reach((), str(wanted.host), wanted.port)
    return "" if is_public else "it is not public, so the user must list it in the setting 'network'"
