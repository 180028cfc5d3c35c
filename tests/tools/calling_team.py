"""CallingTeam: members call tools as models do, with raw arguments and through the journal.

Everything below the model is real: `Calls`, streams in memory, board, roster, mail and transcripts. Use it for what a
model reads of a call.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deskmate.core.agent.entries import Call, Did, Said, Started
from deskmate.core.agent.memory import Memory
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import LEAD, call_id
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.team.caps import Caps
from deskmate.core.team.members import Member
from deskmate.core.team.messages import Message
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.tasks import Task
from deskmate.ports import Store
from deskmate.runtime.agent_parts import AgentParts
from deskmate.runtime.departure import leave
from deskmate.runtime.events import Feed
from deskmate.runtime.perform.calls.tool_calls import Calls
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.team_state import TeamState
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import FakeClock, ScriptedModel
from deskmate.tools import spec, tools_for
from tests.runtime.team_process import envelopes
from tests.tools.tool_desk import FakeJobs, MemoryWorkspace


@dataclass(frozen=True)
class CallingMember:
    """One member: what it remembers, its mail, and the calls it makes."""

    transcript: Transcript
    mail: Mailbox
    calls: Calls

    @property
    def memory(self) -> Memory:
        return self.transcript.memory

    async def ask(self, tool: str, arguments: Mapping[str, Any]) -> Did:
        """Ask for a tool; return what is recorded of the call."""
        said = await self.transcript.record(Said(calls=(Call(tool=tool, arguments=dict(arguments)),)))
        id_ = call_id(self.transcript.name, said, 0)
        await self.calls.run((id_,))
        _, did = self.transcript.entries[-1]
        assert isinstance(did, Did)
        assert did.call == id_
        return did

    async def told(self, tool: str, **arguments: Any) -> str:
        """Ask for a tool that does what is asked; return what the model reads."""
        did = await self.ask(tool, arguments)
        assert did.ok, did.text
        return did.text

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Ask for a tool that refuses; return what the model reads."""
        did = await self.ask(tool, arguments)
        assert not did.ok, did.text
        return did.text

    async def hear(self) -> list[tuple[str, Message]]:
        """Hear what is new; return who wrote and what."""
        heard = await self.mail.hear(self.transcript)
        return [(letter.sender, letter.message) for letter in envelopes(heard)] if heard else []


class CallingTeam:
    """A team and its members, each seated once it is looked for."""

    def __init__(self, team: str, store: Store | None = None) -> None:
        writer = LogWriter(store or MemoryStore(), FakeClock())
        roster = Roster(writer)
        self.team_state = TeamState(writer, roster, Board(writer, roster), Budget(writer, Caps()), Feed())
        self.team = team
        self._seated: dict[str, CallingMember] = {}

    @classmethod
    async def gathered(cls, *names: str, team: str = "web", store: Store | None = None) -> "CallingTeam":
        asking = cls(team, store)
        await asking.team_state.roster.found(team)
        await asking.join(*names)
        return asking

    async def join(self, *names: str) -> None:
        for name in names:
            await self.team_state.roster.join(Joined(name=name, at=0.0))

    async def seat(self, name: str = LEAD, *, planning: bool = False) -> CallingMember:
        """Return a member at its desk; there for the first time, it begins its transcript."""
        if name not in self._seated:
            team_state, transcript = self.team_state, await Transcript.load(self.team_state.writer, name)
            await transcript.record(Started(name=name, planning=planning))
            mail = Mailbox(name, team_state.writer, team_state.roster)
            self._seated[name] = CallingMember(transcript, mail, self._calls(name, transcript, mail))
        return self._seated[name]

    def _calls(self, name: str, transcript: Transcript, mail: Mailbox) -> Calls:
        def me() -> Member:
            return self.team_state.roster.state.members[name]

        async def errand(call: str, prompt: str, profile: AgentProfile) -> Result:
            return Result(f"{profile.name} did: {prompt}")

        # All there are: who may use which is for the rules of permission, which come before.
        tools = tools_for(me().kind, TOOLS)
        parts = AgentParts(
            ScriptedModel([]), {tool.name: tool for tool in tools}, tuple(map(spec, tools)), MemoryWorkspace()
        )
        return Calls(
            team_state=self.team_state,
            me=me,
            mail=mail,
            transcript=transcript,
            parts=parts,
            background=FakeJobs(),
            run_subagents=errand,
        )

    async def leave(self, name: str) -> None:
        """Let a member leave for good."""
        team_state = self.team_state
        await leave(
            (await self.seat(name)).transcript, team_state.writer, team_state.roster, team_state.board, reason="done"
        )

    async def add(self, *subjects: str, **fields: Any) -> None:
        """Let the lead put tasks on the board."""
        for subject in subjects:
            await (await self.seat()).told("TaskCreate", subject=subject, **fields)

    def task(self, id_: int) -> Task:
        return self.team_state.board.state.tasks[id_]
