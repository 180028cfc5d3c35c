"""One way to time them all: the same warm-up, the same clocks, the same line of output.

It stands alone: the peers import it in an environment of theirs, where neither Deskmate nor this package is.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version

WARM_UPS = 5
Once = Callable[[], Awaitable[str]]


async def timed(once: Once, runs: int) -> dict[str, list[int]]:
    """Run it so often, after some that do not count; return wall and processor time of each, in nanoseconds."""
    wall, cpu = list[int](), list[int]()
    for number in range(WARM_UPS + runs):
        began, worked = time.perf_counter_ns(), time.process_time_ns()
        words = await once()
        took, work = time.perf_counter_ns() - began, time.process_time_ns() - worked
        assert "42" in words, words
        if number >= WARM_UPS:
            wall.append(took)
            cpu.append(work)
    return {"wall": wall, "cpu": cpu}


def run(package: str, prepare: Callable[[str, str, bool], Once]) -> None:
    """Time what `prepare` makes of address, model and whether to stream; print the times and the package's version."""
    base_url, model, manner, runs = sys.argv[1:]

    async def main() -> dict[str, list[int]]:
        return await timed(prepare(base_url, model, manner == "streamed"), int(runs))

    print(json.dumps({**asyncio.run(main()), "version": version(package)}))
