"""Talk to a team and watch it work through typed events."""

import asyncio

from deskmate import StatusChanged, Team, TextFinished, ToolCalled, ToolReturned, TurnEnded


async def main() -> None:
    """Ask twice in one conversation."""
    async with Team("watched").session() as session:
        for question in ("Which files are here?", "And which of them is the largest?"):
            async for event in session.stream(question):
                match event:
                    case TextFinished(member, text):
                        print(f"{member}: {text}")
                    case ToolCalled(member, tool=tool):
                        print(f"{member} calls {tool}")
                    case ToolReturned(member, tool=tool, ok=False, text=why):
                        print(f"{member}: {tool} failed: {why}")
                    case StatusChanged(member, "parked", why):
                        print(f"{member} cannot continue: {why}")
                    case TurnEnded(outcome):
                        print(f"(steps: {outcome.steps})")


asyncio.run(main())
