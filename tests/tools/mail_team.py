"""MailTeam: members who send mail with tools, on real rosters, mailboxes and transcripts in memory.

`MailDesk` runs one call after another. `begin` journals a call without running it, as before a crash.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

from deskmate.core.agent.entries import Began, Call, Said, Started
from deskmate.core.agent.memory import Memory
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import LEAD, USER, call_id
from deskmate.core.policy.permissions import Mode
from deskmate.core.profiles.agent_profiles import AgentProfile, profile_of
from deskmate.core.team import members
from deskmate.core.team.members import Member
from deskmate.core.team.messages import Envelope, Message
from deskmate.core.team.roster_records import Joined, PolicySet
from deskmate.ports import Tool, ToolContext
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import FakeClock
from deskmate.tools import tools_for
from tests.runtime.team_process import TeamProcess, envelopes


class MailTeam:
    """A team named `web`, in one process."""

    def __init__(self) -> None:
        store = MemoryStore()
        self.process = TeamProcess(lambda: store, FakeClock())
        self._desks: dict[str, MailDesk] = {}

    @classmethod
    async def gathered(cls, *names: str) -> "MailTeam":
        team = cls()
        await team.process.roster.found("web")
        await team.process.join(*names)
        return team

    async def desk(self, name: str, *, planning: bool = False) -> "MailDesk":
        """Return a member's desk; seated there for the first time, it begins its transcript."""
        if name not in self._desks:
            transcript = await self.process.transcript(name)
            await transcript.record(Started(name=name, planning=planning))
            self._desks[name] = MailDesk(
                transcript, self.process.roster, self.process.mailbox(name), self.process.board
            )
        return self._desks[name]

    async def letters(self, name: str) -> list[Envelope]:
        """Let a member hear what is new; return that."""
        desk = await self.desk(name)
        heard = await desk.mail.hear(desk.transcript)
        return envelopes(heard) if heard else []

    async def hear(self, name: str) -> list[tuple[str, Message]]:
        """Let a member hear what is new; return who wrote and what."""
        return [(letter.sender, letter.message) for letter in await self.letters(name)]

    async def ask_to_stop(self, name: str) -> str:
        """Let the lead ask a member to leave, and the member hear it; return the id of the request."""
        lead = await self.desk(LEAD)
        await lead.send(type="shutdown_request", recipient=name)
        await self.hear(name)
        return lead.call

    async def permit(self, mode: Mode, member: str | None = None) -> None:
        await self.process.roster.permit(PolicySet(by=USER, member=member, mode=mode, at=0.0))


@dataclass
class MailDesk:
    """The desk of one member, for one call after another."""

    transcript: Transcript
    live_roster: Roster
    mail: Mailbox
    board: Board
    call: str = ""

    fixed: tuple[str, ...] = ()
    again: bool = False
    profiles: dict[str, AgentProfile] = field(default_factory=dict)
    home: ToolContext | None = None

    @property
    def me(self) -> Member:
        return self.roster.members[self.transcript.name]

    @property
    def memory(self) -> Memory:
        return self.transcript.memory

    @property
    def roster(self) -> members.RosterState:
        return self.live_roster.state

    async def join(self, joined: Joined) -> Member:
        return await self.live_roster.join(joined)

    def profile_of(self, name: str) -> AgentProfile:
        return profile_of(name, self.profiles)

    async def run_subagent(self, prompt: str, profile: AgentProfile) -> Result:
        return Result(f"{profile.name} did: {prompt}")

    async def begin(self, name: str, /, **arguments: Any) -> Callable[[], Awaitable[Result]]:
        """Journal a call; return what runs it, as often as one likes, and records nothing."""
        tool, given = self._tool(name), dict(arguments)
        read = tool.arguments.model_validate(given)
        said = await self.transcript.record(Said(calls=(Call(tool=name, arguments=given),)))
        self.call = call_id(self.transcript.name, said, 0)
        desk = cast("ToolContext", self)
        self.fixed = tool.fix(read, desk)
        await self.transcript.record(Began(calls=(self.call,), fixed={self.call: list(self.fixed)}))
        return lambda: tool.run(read, desk)

    async def use(self, name: str, /, **arguments: Any) -> Result:
        """Run a call from its journal to its recorded result."""
        run = await self.begin(name, **arguments)
        result = await run()
        await self.transcript.record(result.did(self.call))
        return result

    async def send(self, **arguments: Any) -> Result:
        return await self.use("SendMessage", **arguments)

    def _tool(self, name: str) -> Tool:
        (tool,) = tools_for(self.me.kind, [name])
        return tool
