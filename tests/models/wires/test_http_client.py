"""The way to a provider: what each failure means, what is never told, and what becomes of the connection."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import anyio.abc
import pytest

from deskmate.errors import BadSettings, ModelError, ModelRejected, ModelTrouble, PromptTooLong, Unreachable
from deskmate.models.http.http_failures import BadResponse, ConnectFailure, ConnectTimeout, HttpFailure, SilenceTimeout
from deskmate.models.http.post_client import TimeLimits
from deskmate.models.wires.http_client import CONNECT_SECONDS, WRITE_SECONDS, ask, drain, new_client
from deskmate.models.wires.provider_errors import (
    Fault,
    ProviderEndpoint,
    SettingsOrigin,
    failure,
    read_fault,
    retry_seconds,
)
from deskmate.models.wires.sse import ServerEvent
from tests.models.in_process_provider import KEY, Provider

pytestmark = pytest.mark.anyio

AT = ProviderEndpoint("acme:large", "https://acme.test/chat", "ACME_API_KEY", KEY)


async def events_of(provider: Provider, at: ProviderEndpoint = AT) -> list[ServerEvent]:
    return [event async for event in ask(provider.client, at, {}, [b"{}"])]


async def failure_of(provider: Provider, at: ProviderEndpoint = AT) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await events_of(provider, at)
    return raised.value


# -- what a status means --------------------------------------------------------------------------


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        *((status, ModelTrouble) for status in (408, 409, 429, 500, 502, 503, 504, 529)),
        *((status, ModelRejected) for status in (301, 400, 401, 402, 403, 404, 405, 422)),
        (413, PromptTooLong),
    ],
)
async def test_the_status_decides_what_a_failure_means(status: int, expected: type[ModelError]) -> None:
    raised = await failure_of(Provider(b'{"error": {"message": "alas"}}', status=status))
    assert type(raised) is expected
    assert "acme:large" in str(raised)
    assert "alas" in str(raised)


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}),
        (400, {"message": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}),
        (400, {"code": "context_length_exceeded", "message": "shorten it"}),
        (400, {"message": "This model's maximum context length is 8192 tokens. However, you requested 9000"}),
        (400, {"message": "However, the model's context length is only 1024 tokens", "code": 400}),
        (400, {"message": "Your input exceeds the context window of this model"}),
        (500, {"code": 500, "type": "exceed_context_size_error", "message": "the request exceeds the size"}),
        (400, {"message": "the request exceeds the available context size. try increasing it"}),
        (413, {"type": "request_too_large", "message": "Request exceeds the maximum size"}),
        (422, {"message": "Input is too long for requested model"}),
    ],
)
async def test_a_prompt_above_the_window_is_told_from_other_refusals(status: int, error: dict[str, object]) -> None:
    raised = await failure_of(Provider(json.dumps({"error": error}).encode(), status=status))
    assert type(raised) is PromptTooLong


async def test_a_rate_limit_stays_one_whatever_it_says() -> None:
    body = b'{"error": {"message": "maximum context length is not the trouble, tokens per minute are"}}'
    assert type(await failure_of(Provider(body, status=429))) is ModelTrouble


async def test_who_is_denied_learns_which_setting_to_check() -> None:
    assert "ACME_API_KEY" in str(await failure_of(Provider(b"{}", status=401)))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"type": "error", "error": {"type": "api_error", "message": "alas"}}', "alas"),
        ('{"error": "model not loaded"}', "model not loaded"),
        ('{"object": "error", "message": "alas", "type": "BadRequestError"}', "alas"),
        ('{"detail": "Not Found"}', "Not Found"),
        ('[{"error": {"message": "alas"}}]', "alas"),
        ('{"error": {"reason": 7}}', '{"reason": 7}'),
        ("<html>bad gateway</html>", "<html>bad gateway</html>"),
        ("[]", "[]"),
        ('{"odd": 1}', '{"odd": 1}'),
    ],
)
def test_the_providers_own_words_are_found(body: str, message: str) -> None:
    assert read_fault(body).message == message


async def test_an_answer_without_a_body_is_told_by_its_status() -> None:
    assert "Service Unavailable" in str(await failure_of(Provider(status=503, reason="Service Unavailable")))


async def test_a_providers_words_are_bounded_and_never_hold_the_key() -> None:
    raised = await failure_of(Provider(f"{KEY} is wrong\n".encode() * 9_999, status=400))
    assert len(str(raised)) < 700
    assert KEY not in str(raised)
    assert "\n" not in str(raised)


def test_the_key_is_cut_out_before_the_message_is_cut_short() -> None:
    assert KEY[:4] not in str(failure(AT, 400, Fault("x" * 495 + KEY)))
    assert KEY not in repr(AT)


@pytest.mark.parametrize("key", ["sk-1\n", "sk 1", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_at_once(key: str) -> None:
    with pytest.raises(BadSettings):
        ProviderEndpoint("acme:large", "https://acme.test", "ACME_API_KEY", key)


# -- how long to wait -----------------------------------------------------------------------------


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 -0000", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_wish_to_be_left_alone_is_read_in_every_form(headers: Mapping[str, str], seconds: float | None) -> None:
    assert retry_seconds(headers) == seconds


@pytest.mark.parametrize("status", [429, 503])
async def test_a_passing_trouble_says_how_long_to_wait(status: int) -> None:
    raised = await failure_of(Provider(b"{}", status=status, headers={"Retry-After": "7"}))
    assert isinstance(raised, ModelTrouble)
    assert raised.retry_after == 7.0


# -- what is no answer ----------------------------------------------------------------------------


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    "error",
    [
        SilenceTimeout(),
        HttpFailure("reset"),
        BadResponse("nonsense"),
    ],
)
async def test_a_lost_or_silent_connection_is_a_passing_trouble(error: HttpFailure) -> None:
    assert type(await failure_of(Provider(refuse=error))) is ModelTrouble
    assert type(await failure_of(Provider(b"data: a\n", then=error))) is ModelTrouble
    assert type(await failure_of(Provider(b'{"error"', then=error, status=500))) is ModelTrouble


@pytest.mark.parametrize(
    ("error", "why"),
    [(ConnectFailure("refused"), "refused"), (ConnectTimeout(), "no answer within 10 s")],
)
async def test_a_server_without_a_connection_is_named_by_its_address(error: HttpFailure, why: str) -> None:
    raised = await failure_of(Provider(refuse=error))
    assert (type(raised), raised.message) == (Unreachable, f"Cannot connect to https://acme.test: {why}")


OWN = SettingsOrigin(address="ACME_BASE_URL", key="acme.key in settings.toml", usual_model="acme:small")
OFFICIAL = "https://api.anthropic.com/v1/messages"


def test_an_address_is_blamed_only_if_the_user_set_it() -> None:
    own = ProviderEndpoint("acme:large", "https://acme.test/chat", "ACME_API_KEY", origin=OWN)
    official = ProviderEndpoint("acme:large", OFFICIAL, "ACME_API_KEY", origin=replace(OWN, address=""))
    assert "address" in own.way_to_reach_it
    assert "network" in official.way_to_reach_it
    assert "base URL" in failure(own, 404, Fault("")).hint
    assert "acme:small" in failure(official, 404, Fault("")).hint
    assert "base URL" not in failure(official, 404, Fault("")).hint


@pytest.mark.parametrize(("origin", "place"), [(OWN, OWN.key), (SettingsOrigin(), "ACME_API_KEY")])
def test_a_wrong_key_is_looked_for_where_it_was_set(origin: SettingsOrigin, place: str) -> None:
    at = ProviderEndpoint("acme:large", OFFICIAL, "ACME_API_KEY", origin=origin)
    assert place in failure(at, 401, Fault("")).hint


@pytest.mark.parametrize("url", ["acme.test/chat", "ftp://acme.test", "https://acme.test:port"])
async def test_an_address_that_cannot_be_asked_is_rejected_for_good(url: str) -> None:
    async with new_client() as client:
        with pytest.raises(ModelRejected):
            await anext(ask(client, ProviderEndpoint("acme:large", url, "ACME_API_KEY"), {}, [b"{}"]))


@pytest.mark.behaviour("models")
async def test_an_answer_that_is_no_stream_is_told_by_its_beginning() -> None:
    raised = await failure_of(Provider(json.dumps({"choices": [], "text": "x" * 999}).encode()))
    assert type(raised) is ModelTrouble
    assert '{"choices": [], "text": "xxx' in str(raised)
    assert len(str(raised)) < 300
    assert type(await failure_of(Provider())) is ModelTrouble


async def test_an_error_in_place_of_a_stream_means_what_it_says() -> None:
    body = b'{"error": {"code": 400, "type": "exceed_context_size_error", "message": "too much"}}'
    assert type(await failure_of(Provider(body))) is PromptTooLong


# -- the connection -------------------------------------------------------------------------------


async def test_the_client_gives_up_on_silence_and_not_on_length() -> None:
    async with new_client(silence_seconds=7) as client:
        assert client.limits == TimeLimits(connect=CONNECT_SECONDS, silence=7, write=WRITE_SECONDS)


async def test_who_stops_reading_lets_go_of_the_answer() -> None:
    provider = Provider(b"data: a\n\n", b"data: b\n\n")
    events = ask(provider.client, AT, {}, [b"{}"])
    assert await anext(events) == ServerEvent("", "a")
    await events.aclose()
    assert [body.closed for body in provider.bodies] == [True]


class Server:
    """A real one on this machine. `connections` counts those it took, `lost` tells of one that was closed on it.

    `ends`: whether its answers do.
    """

    def __init__(self) -> None:
        self.ends = True
        self.connections = 0
        self.lost = anyio.Event()
        self.url = ""

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        self.connections += 1
        async with stream:
            try:
                while True:
                    while b"{}" not in await stream.receive():
                        pass
                    await stream.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n")
                    if self.ends:
                        await stream.send(b"0\r\n\r\n")
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                self.lost.set()


@asynccontextmanager
async def running() -> AsyncIterator[Server]:
    server = Server()
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        server.url = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        tasks.start_soon(listener.serve, server.serve)
        yield server
        tasks.cancel_scope.cancel()


async def test_a_drained_answer_leaves_its_connection_to_the_next() -> None:
    async with running() as server, new_client() as client:
        for _ in range(3):
            events = ask(client, ProviderEndpoint("acme:large", server.url, ""), {}, [b"{}"])
            assert await anext(events) == ServerEvent("", "a")
            await drain(events)
        assert server.connections == 1


async def test_a_closed_answer_closes_its_connection() -> None:
    async with running() as server, new_client() as client:
        server.ends = False
        events = ask(client, ProviderEndpoint("acme:large", server.url, ""), {}, [b"{}"])
        await anext(events)
        await events.aclose()
        with anyio.fail_after(30):
            await server.lost.wait()


async def test_an_answer_that_breaks_while_it_is_drained_troubles_nobody() -> None:
    provider = Provider(b"data: a\n\n", then=HttpFailure("reset"))
    events = ask(provider.client, AT, {}, [b"{}"])
    await anext(events)
    await drain(events)
    assert [body.closed for body in provider.bodies] == [True]
