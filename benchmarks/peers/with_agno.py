"""The run as Agno does it. Its telemetry is off, as its documentation shows."""

from pathlib import Path

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from timed import Once, run


def read_file(path: str) -> str:
    """Read a file.

    Args:
        path: where it is
    """
    return Path(path).read_text()


def prepare(base_url: str, model: str, streamed: bool) -> Once:
    """Return one run of an agent with one tool."""
    chat = OpenAIChat(id=model, base_url=base_url, api_key="none")
    agent = Agent(model=chat, tools=[read_file], telemetry=False)

    async def whole() -> str:
        return str((await agent.arun("What does note.txt say?")).content)

    async def by_pieces() -> str:
        return "".join([str(event.content) async for event in agent.arun("What does note.txt say?", stream=True)])

    return by_pieces if streamed else whole


run("agno", prepare)
