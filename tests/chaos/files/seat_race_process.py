"""Let eight processes start for one seat at once, again and again; print each race's outcomes as a line of JSON.

Each process opens its own store. The winner stays until all have told; then it ends, or is killed.
"""

import json
import os
import signal
import sys
from pathlib import Path

import anyio

from deskmate.errors import Held
from deskmate.stores.jsonl_store import JsonlStore

RACERS = 8


async def start(workspace: Path, note: str, tell: int, stay: int) -> None:
    store = JsonlStore.open(workspace, "team", create=True)
    try:
        async with store.hold("lead", note):
            os.write(tell, json.dumps(["held", note]).encode() + b"\n")
            os.read(stay, 1)
    except Held as error:
        os.write(tell, json.dumps(["refused", error.note]).encode() + b"\n")


def racer(workspace: Path, note: str, go: int, tell: int, stay: int) -> int:
    if pid := os.fork():
        return pid
    try:
        os.read(go, 1)
        anyio.run(start, workspace, note, tell, stay)
    finally:
        os._exit(0)


def race(workspace: Path, number: int) -> list[list[str]]:
    go, tell, stay = os.pipe(), os.pipe(), os.pipe()
    racers = [racer(workspace, f"{number}/{index}", go[0], tell[1], stay[0]) for index in range(RACERS)]
    os.write(go[1], bytes(RACERS))
    os.close(tell[1])
    with open(tell[0]) as told:
        outcomes = [json.loads(told.readline()) for _ in racers]
    if number % 2:
        for pid in racers:
            os.kill(pid, signal.SIGKILL)
    os.write(stay[1], bytes(RACERS))
    for pid in racers:
        os.waitpid(pid, 0)
    for fd in (*go, *stay):
        os.close(fd)
    return outcomes


if __name__ == "__main__":
    # Load what an event loop needs once, not in each of the racers.
    anyio.run(anyio.sleep, 0)
    for number in range(int(sys.argv[2])):
        print(json.dumps(race(Path(sys.argv[1]), number)), flush=True)
