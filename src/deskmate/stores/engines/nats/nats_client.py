"""The connection: requests to JetStream, their errors, and trying again until the servers are back."""

import asyncio
import base64
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from email.parser import BytesHeaderParser
from typing import Any, TypeVar

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from deskmate.core.values import frozen
from deskmate.errors import StoreUnavailable

T = TypeVar("T")
ANSWER_SECONDS, CONNECT_SECONDS = 4.0, 3
# Electing a leader takes up to ten seconds. After that, somebody must look.
PATIENCE_SECONDS, FIRST_PATIENCE_SECONDS = 30.0, 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
# Errors of JetStream: another message came first, or is about to.
WRONG_LAST, UNDECIDED = 10071, 10164
NO_MESSAGE = 10037


class JetStreamError(Exception):
    """An error that a server answered. `code`: what kind it is."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(f"{words} ({code})")
        self.code = code


# The servers are down, electing a leader or overloaded, or the connection broke.
PASSING = (OSError, asyncio.TimeoutError, NatsError, JetStreamError)


@frozen
class Stored:
    """A message as a server stored it: its subject, number in the server, headers, body and time."""

    subject: str
    sequence: int
    headers: Mapping[str, str]
    body: bytes
    time: str


class NatsClient:
    """A connection to the servers of one cluster. `place`: their address as people may see it."""

    def __init__(self, servers: list[str], place: str, check: Callable[[Client], Awaitable[int]]) -> None:
        self._servers, self.place, self._check = servers, place, check
        self._client: Client | None = None
        self._opening = asyncio.Lock()
        self.replicas = 1

    async def client(self) -> Client:
        """Return the connection, which reconnects by itself. The first time, check the servers."""
        async with self._opening:
            if self._client is None:
                self._client = await self.patiently(self._connect, FIRST_PATIENCE_SECONDS)
        return self._client

    async def _connect(self) -> Client:
        client = Client()
        connecting = client.connect(
            self._servers,
            connect_timeout=CONNECT_SECONDS,
            allow_reconnect=True,
            max_reconnect_attempts=-1,
            # The library's types are narrower than what it takes.
            reconnect_time_wait=0.1,  # type: ignore[arg-type]
            ping_interval=3,
            max_outstanding_pings=2,
            error_cb=_ignore,
            name="deskmate",
        )
        try:
            # Once connected, it shall try for ever. The first time, it does that too.
            await asyncio.wait_for(connecting, FIRST_PATIENCE_SECONDS)
            self.replicas = await self._check(client)
        except BaseException:
            await client.close()
            raise
        return client

    async def request(self, subject: str, body: bytes = b"", headers: dict[str, str] | None = None) -> dict[str, Any]:
        """Return the answer to a request. Raises JetStreamError, or any other of PASSING."""
        client = await self.client()
        answer: Msg = await client.request(subject, body, timeout=ANSWER_SECONDS, headers=headers)
        found: dict[str, Any] = json.loads(answer.data)
        if error := found.get("error"):
            raise JetStreamError(error.get("err_code", 0), error.get("description", "error"))
        return found

    async def ask(self, verb: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Return the answer to a request of the JetStream API, such as `STREAM.INFO.name`."""
        return await self.request(f"$JS.API.{verb}", b"" if body is None else json.dumps(body).encode())

    async def message(self, stream: str, wanted: Mapping[str, object]) -> Stored | None:
        """Return one message of a stream from its leader, or None if there is none."""
        try:
            found = (await self.ask(f"STREAM.MSG.GET.{stream}", wanted))["message"]
        except JetStreamError as error:
            if error.code == NO_MESSAGE:
                return None
            raise
        head = base64.b64decode(found.get("hdrs", ""))
        headers = BytesHeaderParser().parsebytes(head.partition(b"\r\n")[2])
        return Stored(
            found["subject"],
            found["seq"],
            dict(headers.items()),
            base64.b64decode(found.get("data", "")),
            found["time"],
        )

    async def patiently(self, work: Callable[[], Awaitable[T]], patience: float = PATIENCE_SECONDS) -> T:
        """Return what `work` returns, and try again while the servers are away. Raises StoreUnavailable after that."""
        until, pause = time.monotonic() + patience, _FIRST_PAUSE
        while True:
            try:
                return await work()
            except PASSING as error:
                if time.monotonic() + pause > until:
                    raise self.unavailable(error) from error
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def unavailable(self, error: BaseException) -> StoreUnavailable:
        """Return the error for servers that cannot be used now."""
        words = str(error).strip() or type(error).__name__
        return StoreUnavailable(
            f"Cannot use {self.place}: {words}", "Check that the servers run and can be reached, then repeat."
        )

    async def close(self) -> None:
        """End the connection."""
        if self._client is not None:
            await self._client.close()


async def _ignore(error: Exception) -> None:
    """Do nothing: each request reports its own errors."""
