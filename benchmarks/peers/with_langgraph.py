"""The run as LangGraph does it. Its tracing is off, as it is unless an environment variable turns it on."""

from pathlib import Path

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from timed import Once, run

ASKED = {"messages": [{"role": "user", "content": "What does note.txt say?"}]}


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


def prepare(base_url: str, model: str, streamed: bool) -> Once:
    """Return one run of an agent with one tool."""
    chat = ChatOpenAI(model=model, base_url=base_url, api_key="none")
    agent = create_agent(chat, [read_file])

    async def whole() -> str:
        return str((await agent.ainvoke(ASKED))["messages"][-1].content)

    async def by_pieces() -> str:
        return "".join([str(piece.content) async for piece, _ in agent.astream(ASKED, stream_mode="messages")])

    return by_pieces if streamed else whole


run("langgraph", prepare)
