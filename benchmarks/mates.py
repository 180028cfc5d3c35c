"""Teammates to ask questions of: played in this process as the app plays them, or in one of their own.

`team` and `makespan` stand on this. The model is handed in, or is the stand-in at a `Stub`.
"""

import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.desk import TEAM, desk
from benchmarks.stub import TALKS, Stub
from deskmate.app.teammate_process import in_processes
from deskmate.config import state_folder
from deskmate.core.log.names import ROSTER, USER
from deskmate.core.prompt.prompts import Delta, Prompt, Reply, TextBlock, Usage
from deskmate.core.team.members import RosterState
from deskmate.core.team.messages import Message
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.status import Idle
from deskmate.ports import Launcher, Model, ModelLimits
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_players import TeamPlayers
from deskmate.runtime.team_state import TeamState
from deskmate.stores.engines.engine_table import engine_of
from deskmate.stores.jsonl_store import TEAMS
from deskmate.trust.team_signature import Signing

PROMPT = "You are one of many. Wait until somebody writes to you, then answer in a word."
COUNTED = Usage(input=100, output=10)
NOBODY = Stub(port=9)


class Noting:
    """A model that notes when it is asked; what it answers, and how long that takes, is handed in."""

    name = f"openai:{TALKS}"
    limits = ModelLimits(200_000, 32_000)

    def __init__(self, answer: Callable[[Prompt], Awaitable[Reply]]) -> None:
        self._answer = answer
        self.asked: list[int] = []

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        self.asked.append(time.monotonic_ns())
        yield await self._answer(prompt)


async def at_once(_: Prompt) -> Reply:
    """Answer in a word."""
    return Reply((TextBlock("Noted."),), usage=COUNTED)


@dataclass(frozen=True)
class Mates:
    """A team whose lead says nothing, and whoever it has been given as teammates."""

    team_state: TeamState
    folder: Path

    async def join(self, name: str, prompt: str = PROMPT, *, launcher: str = "inline") -> None:
        """Add a teammate, in the words of the roster alone: whoever keeps the team has it played."""
        at = self.team_state.writer.clock.timestamp()
        await self.team_state.roster.join(Joined(name=name, role="hand", prompt=prompt, launcher=launcher, at=at))

    def process_of(self, name: str) -> int:
        """Return the process that plays a teammate, as the note in its seat has it."""
        return int((self.folder / TEAMS / TEAM / f"{name}.seat").read_text().split()[-1])

    async def rested(self, names: Iterable[str]) -> None:
        """Return once all of them are idle."""
        wanted = set(names)
        await until(
            self.team_state, lambda roster: all(isinstance(roster.members[name].status, Idle) for name in wanted)
        )

    async def left(self, name: str) -> None:
        """Return once it has left."""
        await until(self.team_state, lambda roster: not roster.members[name].here)


async def until(team_state: TeamState, holds: Callable[[RosterState], bool]) -> None:
    """Return once something holds of the roster."""
    while not holds(await team_state.roster.refresh()):
        await team_state.writer.store.changed({ROSTER: team_state.roster.state.number})


async def write(team_state: TeamState, name: str, message: Message) -> int:
    """Write to a member as the user; return when that began."""
    began = time.monotonic_ns()
    await Mailbox(USER, team_state.writer, team_state.roster).send(name, message)
    return began


@asynccontextmanager
async def mates(
    folder: Path, *, model: Model | None = None, at: Stub = NOBODY, url: str | None = None
) -> AsyncIterator[Mates]:
    """Lend a team in a folder, or in the store of a URL; with the block every agent of it ends."""
    with closing(engine_of(url, folder)) as engine, closing(engine.open(TEAM, create=True)) as store:
        # A teammate's process works only in a team that its user signed, with the key it finds in this environment.
        Signing(state_folder(os.environ), folder).sign(TEAM)
        async with desk(folder, store, at, TALKS) as ours, task_group() as tasks:
            team_parts = replace(ours.team_parts, models=lambda _: model) if model else ours.team_parts
            launchers: dict[str, Launcher] = {"inline": team_parts, "process": in_processes(team_parts)}
            tasks.start_soon(TeamPlayers(ours.team_state, launchers, tasks).keep)
            yield Mates(ours.team_state, folder)
            tasks.cancel_scope.cancel()


def resident(process: int | None = None) -> float:
    """Return how much memory a process has resident now, in megabytes; this one if none is named."""
    pages = Path(f"/proc/{process or 'self'}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6
