"""One HTTP client for all models of a process."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress

import anyio
import httpx2

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
    Without `secure`, the client works only for http:// addresses, and saves the 20 ms for loading certificates.
    """
    return httpx2.AsyncClient(
        verify=secure,
        timeout=httpx2.Timeout(
            connect=CONNECT_SECONDS, read=silence_seconds, write=WRITE_SECONDS, pool=silence_seconds
        ),
        limits=httpx2.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=60),
    )


async def ask(
    client: httpx2.AsyncClient, at: ProviderEndpoint, headers: Mapping[str, str], body: bytes
) -> AsyncGenerator[ServerEvent, None]:
    """Post a body and yield the events of the answer. Raises ModelTrouble, PromptTooLong or ModelRejected.

    Closing the generator closes the connection. After `drain`, the connection stays open for the next request.
    """
    sent = {"content-type": "application/json", "accept": "text/event-stream", **headers}
    try:
        async with client.stream("POST", at.url, content=body, headers=sent) as response:
            if not response.is_success:
                raise await _refusal(at, response)
            async with aclosing(_events(at, response)) as events:
                async for event in events:
                    yield event
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
        raise ModelRejected(f"{at.model} has no usable address: {at.hide(str(error))}; check its base URL") from error
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
        late = isinstance(error, httpx2.ConnectTimeout)
        reason = f"no answer in {CONNECT_SECONDS:.0f} s" if late else at.hide(str(error)) or type(error).__name__
        raise Unreachable(f"Cannot connect to {at.place}: {reason}") from error
    except httpx2.TimeoutException as error:
        raise ModelTrouble(f"{at.model} kept silent too long ({type(error).__name__})") from error
    except httpx2.HTTPError as error:
        reason = at.hide(str(error)) or "no reason given"
        raise ModelTrouble(f"the connection to {at.model} failed: {type(error).__name__}: {reason}") from error


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
                    f"{at.model} sent more than {STREAM_CAP >> 20} MB for one answer, so Deskmate stopped reading; "
                    "check its base URL, or choose another model"
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
    return ModelTrouble(f"{at.model} answered no stream of events but: {shown or 'nothing'}")


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
