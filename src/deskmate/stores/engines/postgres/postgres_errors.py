"""Connections with timeouts, and trying again until a server that was restarted is back."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from deskmate.errors import SeatLost, StoreCorrupt, StoreError, StoreUnavailable
from deskmate.stores.engines.postgres.postgres_schema import SEAT_LOST

T = TypeVar("T")
CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 15.0
# A restart or a failover takes some seconds. After that, somebody must look.
PATIENCE_SECONDS = 20.0
# A server that this process has not reached yet may not be there at all.
FIRST_PATIENCE_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
# A client that vanished lets go after this: the server asks it three times. The server ends a decider that hangs.
LEASE_SECONDS = 12
SESSION = {
    "application_name": "deskmate",
    "tcp_keepalives_idle": "6",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": f"{LEASE_SECONDS * 1000}",
    "idle_in_transaction_session_timeout": "10s",
    "statement_timeout": "12s",
    "jit": "off",
}
# The server is down, restarting, failing over, full or out of connections, or the connection broke.
PASSING = (
    OSError,
    asyncio.TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.ObjectNotInPrerequisiteStateError,
    asyncpg.InternalClientError,
)
_DAMAGE = (asyncpg.DataCorruptedError, asyncpg.IndexCorruptedError)


async def patiently(place: str, work: Callable[[], Awaitable[T]], patience: float = PATIENCE_SECONDS) -> T:
    """Return what `work` returns, and try again while the server is away. `work` must be safe to repeat.

    Raises StoreUnavailable after that, and the StoreError that other errors of the server stand for.
    """
    began, pause = time.monotonic(), _FIRST_PAUSE
    while True:
        try:
            return await work()
        except PASSING as error:
            if time.monotonic() + pause > began + _patience_with(error, patience):
                raise unavailable(place, error) from error
        except asyncpg.PostgresError as error:
            raise told(place, error) from error
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _patience_with(error: Exception, patience: float) -> float:
    """Return for how many seconds to try again after an error."""
    if isinstance(error, socket.gaierror):
        return 0.0
    # It said that it will be there soon.
    return PATIENCE_SECONDS if isinstance(error, asyncpg.CannotConnectNowError) else patience


def unavailable(place: str, error: BaseException) -> StoreUnavailable:
    """Return the error for a server that cannot be used now."""
    words = str(error).strip() or type(error).__name__
    return StoreUnavailable(
        f"Cannot use {place}: {words}", "Check that the server runs and can be reached, then repeat."
    )


def told(place: str, error: asyncpg.PostgresError) -> StoreError:
    """Return what an error of the server means."""
    if error.sqlstate == SEAT_LOST:
        return SeatLost(error.args[0], error.detail or "")
    if isinstance(error, _DAMAGE):
        return StoreCorrupt(f"{place} is damaged: {error}")
    if isinstance(error, asyncpg.ForeignKeyViolationError):
        return StoreUnavailable(f"This team was removed from {place}", "To list the teams, run: deskmate teams")
    if isinstance(error, asyncpg.InsufficientPrivilegeError):
        return StoreUnavailable(
            f"Cannot use {place}: {error}", "Let this user create a schema there, or create it for them: see the docs."
        )
    return StoreUnavailable(f"Cannot use {place}: {error}")
