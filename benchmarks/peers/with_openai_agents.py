"""The run as the OpenAI Agents SDK does it. Its tracing is off, as its documentation shows."""

from pathlib import Path

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from timed import Once, run


@function_tool
def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


def prepare(base_url: str, model: str, streamed: bool) -> Once:
    """Return one run of an agent with one tool."""
    set_tracing_disabled(True)
    chat = OpenAIChatCompletionsModel(model, AsyncOpenAI(base_url=base_url, api_key="none"))
    agent = Agent("reader", model=chat, tools=[read_file])

    async def whole() -> str:
        return str((await Runner.run(agent, "What does note.txt say?")).final_output)

    async def by_pieces() -> str:
        result = Runner.run_streamed(agent, "What does note.txt say?")
        async for _ in result.stream_events():
            pass
        return str(result.final_output)

    return by_pieces if streamed else whole


run("openai-agents", prepare)
