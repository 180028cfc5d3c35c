"""The vendors' own clients, against a provider of ours, with what one asks in a line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import openai

from deskmate.testing.fake_provider import FakeProvider

HI: Any = [{"role": "user", "content": "hi"}]


@asynccontextmanager
async def anthropic_client(provider: FakeProvider, **options: Any) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(base_url=provider.url, api_key="k", max_retries=0, **options) as client:
        yield client


@asynccontextmanager
async def openai_client(provider: FakeProvider, **options: Any) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="k", max_retries=0, **options) as client:
        yield client


async def ask_anthropic(
    provider: FakeProvider, *, stream: bool, messages: Any = HI, **body: Any
) -> anthropic.types.Message:
    """Ask as the client does it by itself; a streamed answer is folded by the client."""
    async with anthropic_client(provider) as client:
        if not stream:
            message: anthropic.types.Message = await client.messages.create(
                model="m", max_tokens=100, messages=messages, **body
            )
            return message
        async with client.messages.stream(model="m", max_tokens=100, messages=messages, **body) as streamed:
            return await streamed.get_final_message()


async def ask_openai(
    provider: FakeProvider, *, stream: bool, messages: Any = HI, **body: Any
) -> openai.types.chat.ChatCompletion:
    async with openai_client(provider) as client:
        if not stream:
            completion: openai.types.chat.ChatCompletion = await client.chat.completions.create(
                model="m", messages=messages, **body
            )
            return completion
        options: Any = {"include_usage": True}
        asked = client.chat.completions.stream(model="m", messages=messages, stream_options=options, **body)
        async with asked as streamed:
            return await streamed.get_final_completion()
