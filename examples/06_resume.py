"""Stop a team in the middle and continue it later: everything it did is on disk."""

import asyncio

from deskmate import Team, tool

working = asyncio.Event()


@tool
async def measure() -> str:
    """Measure. This takes a while."""
    working.set()
    await asyncio.sleep(0.2)
    return "42 ms"


async def main() -> None:
    """Cancel the run while the tool works, then resume it. After `kill -9`, resume it in a new process."""
    team = Team("patient", tools=[measure])
    run = asyncio.create_task(team.run("Measure it once, and report the figure."))
    await working.wait()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    print("stopped")

    outcome = await team.resume()
    print(outcome.text)


asyncio.run(main())
