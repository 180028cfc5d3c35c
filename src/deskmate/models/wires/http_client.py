"""One HTTP client for all models of a process."""

import ssl
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, suppress
from functools import lru_cache
from typing import Protocol

import anyio
import httpx2

from deskmate.core.prompt.prompts import Delta, Reply
from deskmate.errors import ModelError, ModelRejected, ModelTrouble, Unreachable
from deskmate.models.wires.json_fields import read_object
from deskmate.models.wires.provider_errors import (
    EXCERPT_CAP,
    Fault,
    ProviderEndpoint,
    failure,
    fault_in,
    read_fault,
    retry_seconds,
)
from deskmate.models.wires.sse import EventParser, ServerEvent

SILENCE_SECONDS = 120.0
CONNECT_SECONDS = 10.0
WRITE_SECONDS = 30.0
DRAIN_SECONDS = 1.0
BODY_CAP = 64 * 1024
# Far above the largest answer of any model with one token per event. Counts bytes after decompression.
STREAM_CAP = 64 * 2**20


def new_client(silence_seconds: float = SILENCE_SECONDS, *, secure: bool = True) -> httpx2.AsyncClient:
    """Return a client to share between models. The caller closes it.

    A provider that is silent for `silence_seconds` counts as lost, and so does a wait that long for a connection.
    Certificates are checked against those of the system, or of SSL_CERT_FILE or SSL_CERT_DIR if one is set.
    Without `secure`, the client works only for http:// addresses, and saves the 20 ms for loading certificates.
    """
    return httpx2.AsyncClient(
        verify=_system_certificates() if secure else False,
        timeout=httpx2.Timeout(
            connect=CONNECT_SECONDS, read=silence_seconds, write=WRITE_SECONDS, pool=silence_seconds
        ),
        limits=httpx2.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=60),
    )


def _system_certificates() -> ssl.SSLContext:
    context = httpx2.create_ssl_context()
    # Many companies sign without key identifiers. From 3.13 on, Python refuses that, and no other program does.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


class ReplyFold(Protocol):
    """One reply, built from its events."""

    finished: bool

    def take(self, event: ServerEvent) -> Iterator[Delta]:
        """Yield the deltas of an event, for display. Raises the error that the event reports."""

    def reply(self) -> Reply:
        """Return the reply. Raises ModelTrouble if the stream ended before it."""


async def answer(
    client: httpx2.AsyncClient, at: ProviderEndpoint, headers: Mapping[str, str], body: bytes, fold: ReplyFold
) -> AsyncGenerator[Delta | Reply, None]:
    """Post a body and yield deltas as they arrive, and the one reply last. Raises what `ask` and `fold` raise."""
    async with aclosing(ask(client, at, headers, body)) as events:
        async for event in events:
            for delta in fold.take(event):
                yield delta
            if fold.finished:
                await drain(events)
    yield fold.reply()


async def ask(
    client: httpx2.AsyncClient, at: ProviderEndpoint, headers: Mapping[str, str], body: bytes
) -> AsyncGenerator[ServerEvent, None]:
    """Post a body and yield the events of the answer. Raises ModelTrouble, PromptTooLong or ModelRejected.

    Closing the generator closes the connection. After `drain`, the connection stays open for the next request.
    """
    sent = {"content-type": "application/json", "accept": "text/event-stream", **headers}
    try:
        async with client.stream("POST", _url(at.url), content=body, headers=sent) as response:
            if not response.is_success:
                raise await _refusal(at, response)
            async with aclosing(_events(at, response)) as events:
                async for event in events:
                    yield event
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
        raise ModelRejected(
            f"The address of {at.model} is not valid: {at.hide(str(error))}", "Check its base URL."
        ) from error
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
        if (reason := _distrust(error)) is not None:
            raise ModelRejected(
                f"The certificate of {at.place} is not trusted: {at.hide(reason)}",
                "If your company issues it, add the company's certificate authority to your system's certificates, "
                "or to the file in SSL_CERT_FILE.",
            ) from error
        late = isinstance(error, httpx2.ConnectTimeout)
        reason = f"no answer within {CONNECT_SECONDS:.0f} s" if late else at.hide(str(error)) or type(error).__name__
        raise Unreachable(f"Cannot connect to {at.place}: {reason}", hint=at.way_to_reach_it) from error
    except httpx2.TimeoutException as error:
        raise ModelTrouble(f"{at.model} sent nothing for too long ({type(error).__name__})") from error
    except httpx2.HTTPError as error:
        reason = at.hide(str(error)) or "no reason given"
        raise ModelTrouble(f"The connection to {at.model} failed: {type(error).__name__}: {reason}") from error


# A process has few addresses, and one is read for each request.
@lru_cache(maxsize=64)
def _url(address: str) -> httpx2.URL:
    return httpx2.URL(address)


def _distrust(error: BaseException) -> str | None:
    """Return why a certificate was refused, or None if the connection failed for another reason."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    return cause.verify_message if cause is not None else None


async def drain(events: AsyncGenerator[ServerEvent, None]) -> None:
    """Read a finished stream to its end, so that its connection can be reused. Give up if it is slow or broken."""
    with anyio.move_on_after(DRAIN_SECONDS), suppress(ModelError):
        async for _ in events:
            pass


async def _events(at: ProviderEndpoint, response: httpx2.Response) -> AsyncGenerator[ServerEvent, None]:
    parser, head, streams, size = EventParser(), b"", False, 0
    async with aclosing(response.aiter_bytes()) as pieces:
        async for piece in pieces:
            size += len(piece)
            if size > STREAM_CAP:
                raise ModelRejected(
                    f"{at.model} sent more than {STREAM_CAP >> 20} MB for one answer, so Deskmate stopped reading",
                    "Check its base URL, or choose another model.",
                )
            if not streams:
                head = (head + piece)[:BODY_CAP]
            for event in parser.feed(piece):
                streams = True
                yield event
    for event in parser.end():
        streams = True
        yield event
    if not streams:
        raise _no_stream(at, head.decode("utf-8", "replace"))


def _no_stream(at: ProviderEndpoint, body: str) -> ModelError:
    fault = fault_in(read_object(body) or {})
    if fault:
        return failure(at, fault.status, fault)
    shown = at.hide(body)[:EXCERPT_CAP]
    return ModelTrouble(f"{at.model} did not answer with a stream of events, but with: {shown or 'nothing'}")


async def _refusal(at: ProviderEndpoint, response: httpx2.Response) -> ModelError:
    body = b""
    async with aclosing(response.aiter_bytes()) as pieces:
        async for piece in pieces:
            body = (body + piece)[:BODY_CAP]
            if len(body) == BODY_CAP:
                break
    fault = read_fault(body.decode("utf-8", "replace"))
    if not fault.message.strip():
        fault = Fault(response.reason_phrase)
    return failure(at, response.status_code, fault, retry_seconds(response.headers))
