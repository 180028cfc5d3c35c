"""A provider inside the test: it answers with the pieces it was given, and keeps what it was asked."""

from collections.abc import AsyncIterator, Iterable, Mapping

import httpx2

from deskmate.core.prompt.prompts import Delta, Prompt, Reply, TextBlock, Told
from deskmate.ports import Model, ModelLimits

LIMITS = ModelLimits(200_000, 8_192)
KEY = "sk-secret-0123456789"
HELLO = Prompt("be brief", (Told((TextBlock("hello"),)),))


class Body(httpx2.AsyncByteStream):
    """What is sent: piece by piece, then its end, or an error.

    `spent`: whether it was read to its end. `closed`: whether the reader let go of it.
    """

    def __init__(self, pieces: Iterable[bytes], then: Exception | None = None) -> None:
        self._pieces, self._then = pieces, then
        self.spent = self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        self.spent = True
        if self._then:
            raise self._then

    async def aclose(self) -> None:
        self.closed = True


class Provider:
    """Answers every request alike; `client` leads to it."""

    def __init__(
        self,
        *pieces: bytes,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        then: Exception | None = None,
        refuse: Exception | None = None,
    ) -> None:
        self._pieces, self._status, self._headers, self._then, self._refuse = pieces, status, headers, then, refuse
        self.asked: list[httpx2.Request] = []
        self.bodies: list[Body] = []
        self.client = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        if self._refuse:
            raise self._refuse
        self.bodies.append(Body(self._pieces, self._then))
        return httpx2.Response(self._status, headers=self._headers, stream=self.bodies[-1])


async def all_of(model: Model, prompt: Prompt = HELLO) -> list[Delta | Reply]:
    return [item async for item in model.stream(prompt)]


async def reply_of(model: Model, prompt: Prompt = HELLO) -> Reply:
    last = (await all_of(model, prompt))[-1]
    assert isinstance(last, Reply)
    return last
