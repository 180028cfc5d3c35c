"""Deskmate's agent in this process, put together as the app does it: what `agents` asks its questions of."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from benchmarks.stub import Stub
from deskmate.app.build import Furniture, connected, furnished
from deskmate.config import load
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentType, Kind
from deskmate.core.team.caps import Caps
from deskmate.core.team.members import Member, PolicySet, Status
from deskmate.core.team.messages import Plain
from deskmate.ports import Store
from deskmate.runtime.agent import Agent
from deskmate.runtime.agent_parts import Kit
from deskmate.runtime.events import Feed
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.budget import Purse
from deskmate.runtime.streams.log_writer import Pen
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock
from deskmate.runtime.team_state import Office
from deskmate.workspace.sandbox.mounts import Level, Sandbox

TEAM = "bench"


@dataclass(frozen=True)
class Desk:
    """An office with one lead, whose model is the stand-in."""

    office: Office
    furniture: Furniture

    def prepare(self, prompt: str) -> Callable[[], Awaitable[str]]:
        """Return one run: a fresh agent with one tool goes to its end, in a transcript of its own; its words."""
        kit, first = self.furniture.subagent(f"{LEAD}:1.0", prompt, AgentType.GENERAL)
        kit, numbers = _with_one_tool(kit), count(1)

        async def once() -> str:
            name = f"{LEAD}:{next(numbers)}.0"
            member = Member(name, Kind.SUBAGENT, AgentType.GENERAL, "", "", None, Status("working"))
            started = first.model_copy(update={"name": name})
            agent = await Agent.seat(self.office, started, kit, member)
            await agent.play(until_rest=True)
            return agent.last_words

        return once

    async def lead(self) -> Agent:
        """Return the lead, its transcript as it stands."""
        return await Agent.seat(self.office, self.furniture.started(), _with_one_tool(self.furniture.lead))

    async def tell(self, words: str) -> None:
        """Say something to the lead."""
        await Mailbox(USER, self.office.pen, self.office.roster).send(LEAD, Plain(content=words))


@asynccontextmanager
async def desk(folder: Path, store: Store, at: Stub, model: str) -> AsyncIterator[Desk]:
    """Lend a desk in a folder, its team founded there unless it was before; the lead's seat is held meanwhile."""
    settings = load({"HOME": str(folder), "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{at.url}/v1"})
    pen = Pen(store, SystemClock())
    roster = Roster(pen)
    office = Office(pen, roster, Board(pen, roster), Purse(pen, Caps(steps=settings.max_steps)), Feed())
    async with store.hold(LEAD, f"process {os.getpid()}"):
        if not (await office.roster.refresh()).team:
            await office.roster.found(TEAM)
            policy = PolicySet(by=LEAD, mode=Mode.DONT_ASK, attended=False, at=pen.clock.timestamp())
            await office.roster.permit(policy)
        chosen = settings.model_copy(update={"model": f"openai:{model}"})
        async with connected(chosen) as client:
            yield Desk(office, await furnished(folder, TEAM, chosen, office, client, Sandbox(Level.NONE)))


def _with_one_tool(kit: Kit) -> Kit:
    """Return a kit with as many tools as the peers have."""
    name = "read_file"
    return replace(kit, tools={name: kit.tools[name]}, specs=tuple(spec for spec in kit.specs if spec.name == name))
