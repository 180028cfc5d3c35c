"""A provider inside the test: it answers with the pieces it was given, and keeps what it was asked."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass

import httpx2

from deskmate.core.prompt.prompts import Delta, Prompt, Reply, TextBlock, Told
from deskmate.models.http.http_failures import HttpFailure
from deskmate.models.http.response_reader import ResponseHead
from deskmate.ports import Model, ModelLimits

LIMITS = ModelLimits(200_000, 8_192)
KEY = "sk-secret-0123456789"
HELLO = Prompt("be brief", (Told((TextBlock("hello"),)),))


@dataclass(frozen=True)
class Request:
    """What a provider was asked."""

    url: str
    headers: Mapping[str, str]
    content: bytes


class Body:
    """What is sent: piece by piece, then its end, or an error.

    `spent`: whether it was read to its end. `closed`: whether the reader let go of it.
    """

    def __init__(self, head: ResponseHead, pieces: Iterable[bytes], then: HttpFailure | None = None) -> None:
        self.head = head
        self._pieces, self._then = iter(pieces), then
        self.spent = self.closed = False

    async def read(self) -> bytes:
        for piece in self._pieces:
            if piece:
                return piece
        self.spent = True
        if self._then:
            raise self._then
        return b""

    def close(self) -> None:
        self.closed = True


class Provider:
    """Answers every request alike. Models post to `client`, the providers' own clients to `sdk_client`."""

    def __init__(
        self,
        *pieces: bytes,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        then: HttpFailure | None = None,
        refuse: HttpFailure | None = None,
        reason: str = "",
    ) -> None:
        self._pieces, self._then, self._refuse = pieces, then, refuse
        lines = {name.lower(): value for name, value in (headers or {}).items()}
        self._head = ResponseHead(status, reason, lines, keeps=True)
        self.asked: list[Request] = []
        self.bodies: list[Body] = []
        self.client = self

    async def post(self, url: str, headers: Mapping[str, str], body: Sequence[bytes]) -> Body:
        self.asked.append(Request(url, headers, b"".join(body)))
        if self._refuse:
            raise self._refuse
        self.bodies.append(Body(self._head, self._pieces, self._then))
        return self.bodies[-1]

    async def get(self, url: str, headers: Mapping[str, str]) -> Body:
        """Say nothing about itself."""
        return Body(ResponseHead(404, "", {}, keeps=True), ())

    @property
    def sdk_client(self) -> httpx2.AsyncClient:
        """A client of another library that leads to this provider."""
        stream = _Pieces(self._pieces)
        response = httpx2.Response(self._head.status, headers=dict(self._head.headers), stream=stream)
        return httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: response))


class _Pieces(httpx2.AsyncByteStream):
    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


async def all_of(model: Model, prompt: Prompt = HELLO) -> list[Delta | Reply]:
    return [item async for item in model.stream(prompt)]


async def reply_of(model: Model, prompt: Prompt = HELLO) -> Reply:
    last = (await all_of(model, prompt))[-1]
    assert isinstance(last, Reply)
    return last
