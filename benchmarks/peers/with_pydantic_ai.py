"""The run as Pydantic AI does it. It reports to nobody unless told to."""

from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from timed import Once, run


def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


def prepare(base_url: str, model: str, streamed: bool) -> Once:
    """Return one run of an agent with one tool."""
    chat = OpenAIChatModel(model, provider=OpenAIProvider(base_url=base_url, api_key="none"))
    agent = Agent(chat, tools=[read_file])

    async def whole() -> str:
        return (await agent.run("What does note.txt say?")).output

    async def by_pieces() -> str:
        async with agent.run_stream("What does note.txt say?") as result:
            return "".join([piece async for piece in result.stream_text(delta=True, debounce_by=None)])

    return by_pieces if streamed else whole


run("pydantic-ai-slim", prepare)
