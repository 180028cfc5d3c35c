"""Deskmate's agent in this process, put together as the app does it: what `agents` asks its questions of."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from benchmarks.stub import Stub
from deskmate.app.build import TeamParts, team_parts_of
from deskmate.app.parts.asked_models import client_of
from deskmate.config import load
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentKind, AgentType
from deskmate.core.profiles.agent_profiles import BUILT_IN
from deskmate.core.team.caps import Caps
from deskmate.core.team.members import Member
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import PolicySet
from deskmate.core.team.status import Working
from deskmate.ports import Store
from deskmate.runtime.agent import Agent
from deskmate.runtime.agent_parts import AgentParts
from deskmate.runtime.events import Feed
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock
from deskmate.runtime.team_state import TeamState
from deskmate.workspace.sandbox.mounts import Level, Sandbox

TEAM = "bench"


@dataclass(frozen=True)
class Desk:
    """An office with one lead, whose model is the stand-in."""

    team_state: TeamState
    team_parts: TeamParts

    def prepare(self, prompt: str) -> Callable[[], Awaitable[str]]:
        """Return one run: a fresh agent with one tool goes to its end, in a transcript of its own; its words."""
        parts, first = self.team_parts.subagent(f"{LEAD}:1.0", prompt, BUILT_IN[AgentType.GENERAL])
        parts, numbers = _with_one_tool(parts), count(1)

        async def once() -> str:
            name = f"{LEAD}:{next(numbers)}.0"
            member = Member(name, AgentKind.SUBAGENT, AgentType.GENERAL, "", "", None, Working())
            started = first.model_copy(update={"name": name})
            agent = await Agent.seat(self.team_state, started, parts, member)
            await agent.play(until_rest=True)
            return agent.transcript.last_words

        return once

    async def lead(self) -> Agent:
        """Return the lead, its transcript as it stands."""
        return await Agent.seat(self.team_state, self.team_parts.started(), _with_one_tool(self.team_parts.lead))

    async def tell(self, words: str) -> None:
        """Say something to the lead."""
        await Mailbox(USER, self.team_state.writer, self.team_state.roster).send(LEAD, Plain(content=words))


@asynccontextmanager
async def desk(folder: Path, store: Store, at: Stub, model: str, *, wire: str = "openai") -> AsyncIterator[Desk]:
    """Lend a desk in a folder, its team founded there unless it was before; the lead's seat is held meanwhile.

    `wire`: the format in which the stand-in is spoken to, by the name of its provider.
    """
    places = {"OPENAI_BASE_URL": f"{at.url}/v1", "ANTHROPIC_BASE_URL": at.url}
    settings = load({"HOME": str(folder), "OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none", **places})
    writer = LogWriter(store, SystemClock())
    roster = Roster(writer)
    team_state = TeamState(
        writer, roster, Board(writer, roster), Budget(writer, Caps(steps=settings.max_steps)), Feed()
    )
    async with store.hold(LEAD, f"process {os.getpid()}"):
        if not (await team_state.roster.refresh()).team:
            await team_state.roster.found(TEAM)
            policy = PolicySet(by=LEAD, mode=Mode.DONT_ASK, attended=False, at=writer.clock.timestamp())
            await team_state.roster.permit(policy)
        chosen = settings.model_copy(update={"model": f"{wire}:{model}"})
        async with client_of(chosen) as client:
            yield Desk(team_state, team_parts_of(folder, TEAM, chosen, team_state, client, Sandbox(Level.NONE)))


def _with_one_tool(parts: AgentParts) -> AgentParts:
    """Return a kit with as many tools as the peers have."""
    name = "read_file"
    return replace(
        parts, tools={name: parts.tools[name]}, specs=tuple(spec for spec in parts.specs if spec.name == name)
    )
