"""One HTTP client for all models of a process, and what its failures mean."""

import ssl
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from types import MappingProxyType
from typing import Protocol

import anyio

from deskmate.core.prompt.prompts import Delta, Reply
from deskmate.errors import ModelError, ModelRejected, ModelTrouble, Unreachable
from deskmate.models.http.http_failures import BadAddress, ConnectFailure, ConnectTimeout, HttpFailure, SilenceTimeout
from deskmate.models.http.post_client import PostClient, Posted, Poster, TimeLimits
from deskmate.models.http.proxy_choice import proxies_in
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
# Some gateways refuse a request that does not say what sends it.
_HEADERS = {
    "user-agent": "deskmate",
    "content-type": "application/json",
    "accept": "text/event-stream",
    "accept-encoding": "identity",
}


NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_NO_ENVIRONMENT: Mapping[str, str] = MappingProxyType({})


def new_client(
    silence_seconds: float = SILENCE_SECONDS, *, secure: bool = True, environ: Mapping[str, str] = _NO_ENVIRONMENT
) -> PostClient:
    """Return a client to share between models. The caller closes it.

    A provider that is silent for `silence_seconds` counts as lost, and so does a wait that long for a connection.
    `environ`: where proxies and certificates are found. Without `secure`, the client works only for http:// addresses,
    and saves the 20 ms for loading certificates. Raises ValueError or OSError for an environment that cannot be used.
    """
    trust, proxies = None, proxies_in(environ)
    if secure or any(proxy.scheme == "https" for proxy in proxies.proxies.values()):
        from deskmate.models.http.server_trust import trusted_certificates

        trust = trusted_certificates(environ)
    limits = TimeLimits(connect=CONNECT_SECONDS, silence=silence_seconds, write=WRITE_SECONDS)
    return PostClient(limits, proxies, trust)


class ReplyFold(Protocol):
    """One reply, built from its events."""

    finished: bool

    def take(self, event: ServerEvent) -> Iterator[Delta]:
        """Yield the deltas of an event, for display. Raises the error that the event reports."""

    def reply(self) -> Reply:
        """Return the reply. Raises ModelTrouble if the stream ended before it."""


async def answer(
    client: Poster, at: ProviderEndpoint, headers: Mapping[str, str], body: Sequence[bytes], fold: ReplyFold
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
    client: Poster, at: ProviderEndpoint, headers: Mapping[str, str], body: Sequence[bytes]
) -> AsyncGenerator[ServerEvent, None]:
    """Post a body, in parts, and yield the events of the answer. Raises ModelTrouble, PromptTooLong or ModelRejected.

    Closing the generator closes the connection. After `drain`, the connection stays open for the next request.
    """
    try:
        answer = await client.post(at.url, {**_HEADERS, **headers}, body)
        try:
            if not answer.head.is_success:
                raise await _refusal(at, answer)
            events = _EventStream(at)
            while piece := await answer.read():
                for event in events.take(piece):
                    yield event
            for event in events.end():
                yield event
        finally:
            answer.close()
    except HttpFailure as error:
        raise _meaning(at, error) from error


def _meaning(at: ProviderEndpoint, error: HttpFailure) -> ModelError:
    """Return the error to raise for a failure of the connection."""
    said = at.hide(str(error))
    match error:
        case BadAddress():
            return ModelRejected(f"The address of {at.model} is not valid: {said}", "Check its base URL.")
        case ConnectFailure():
            if (reason := _distrust(error)) is not None:
                return ModelRejected(
                    f"The certificate of {at.place} is not trusted: {at.hide(reason)}",
                    "If your company issues it, add the company's certificate authority to your system's "
                    "certificates, or to the file in SSL_CERT_FILE.",
                )
            late = isinstance(error, ConnectTimeout)
            reason = f"no answer within {CONNECT_SECONDS:.0f} s" if late else said or type(error).__name__
            return Unreachable(f"Cannot connect to {at.place}: {reason}", hint=at.way_to_reach_it)
        case SilenceTimeout():
            return ModelTrouble(f"{at.model} sent nothing for too long")
        case _:
            return ModelTrouble(f"The connection to {at.model} failed: {said or 'no reason given'}")


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


class _EventStream:
    """The events of one answer, from its pieces."""

    def __init__(self, at: ProviderEndpoint) -> None:
        self._at, self._parser = at, EventParser()
        self._head, self._has_events, self._size = b"", False, 0

    def take(self, piece: bytes) -> Iterator[ServerEvent]:
        """Yield the events that a piece completes. Raises ModelRejected if the answer is too long."""
        self._size += len(piece)
        if self._size > STREAM_CAP:
            raise ModelRejected(
                f"{self._at.model} sent more than {STREAM_CAP >> 20} MB for one answer, so Deskmate stopped reading",
                "Check its base URL, or choose another model.",
            )
        if not self._has_events:
            self._head = (self._head + piece)[:BODY_CAP]
        for event in self._parser.feed(piece):
            self._has_events = True
            yield event

    def end(self) -> Iterator[ServerEvent]:
        """Yield what is unfinished at the end of the answer. Raises an error if it has no events."""
        for event in self._parser.end():
            self._has_events = True
            yield event
        if not self._has_events:
            raise _no_stream(self._at, self._head.decode("utf-8", "replace"))


def _no_stream(at: ProviderEndpoint, body: str) -> ModelError:
    fault = fault_in(read_object(body) or {})
    if fault:
        return failure(at, fault.status, fault)
    shown = at.hide(body)[:EXCERPT_CAP]
    return ModelTrouble(f"{at.model} did not answer with a stream of events, but with: {shown or 'nothing'}")


async def _refusal(at: ProviderEndpoint, answer: Posted) -> ModelError:
    body = b""
    while len(body) < BODY_CAP and (piece := await answer.read()):
        body = (body + piece)[:BODY_CAP]
    fault = read_fault(body.decode("utf-8", "replace"))
    if not fault.message.strip():
        fault = Fault(answer.head.reason)
    return failure(at, answer.head.status, fault, retry_seconds(answer.head.headers))
