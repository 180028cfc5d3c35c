"""BoardTeam: members who use the task tools on one board and one roster in memory.

`BoardDesk` remembers the tasks of each result. `use_again` runs the last call again, as after a crash.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, cast

from deskmate.core.agent.memory import Memory
from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import BOARD, LEAD
from deskmate.core.log.records import Json, Record
from deskmate.core.policy.permissions import Attempt
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.team import members
from deskmate.core.team.members import Member
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.spending import Sum
from deskmate.core.team.tasks import Task
from deskmate.errors import Refused, ToolError
from deskmate.ports import MemberTree, Tool, ToolContext
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import FakeClock
from deskmate.tools import tools_for
from tests.tools.tool_desk import MemoryWorkspace


class BoardTeam:
    """A team: its lead and who has joined, each at a desk of its own. `home`: the first team of its lead."""

    def __init__(self, name: str = "web", home: "BoardTeam | None" = None) -> None:
        self.name, self.home = name, home
        self.writer = LogWriter(MemoryStore(), FakeClock())
        self.roster = Roster(self.writer)
        self.board = Board(self.writer, self.roster)
        self._sat: dict[str, BoardDesk] = {}

    async def open(self, *names: str) -> None:
        await self.roster.found(self.name, home=self.home.name if self.home else None)
        for name in names:
            await self.roster.join(Joined(name=name, role=f"{name}'s role", at=self.writer.clock.timestamp()))

    def __getitem__(self, name: str) -> "BoardDesk":
        return self._sat.setdefault(name, BoardDesk(self, name))

    def task(self, id_: int) -> Task:
        return self.board.state.tasks[id_]

    async def events(self) -> list[Json]:
        """Return all that was ever written to the board."""
        return [item.body for item in await self.writer.store.read(BOARD) if isinstance(item, Record)]


@dataclass
class BoardDesk:
    """A member's desk. It remembers the tasks of each result, as a transcript would."""

    desks: BoardTeam
    name: str
    workspace: MemoryWorkspace = field(default_factory=MemoryWorkspace)
    tree: MemberTree | None = None
    memory: Memory = field(default_factory=Memory)
    spent: Mapping[str, Sum] = field(default_factory=dict)
    call: str = ""
    again: bool = False
    said: "count[int]" = field(default_factory=lambda: count(1))

    @property
    def me(self) -> Member:
        return self.roster.members[self.name]

    @property
    def home(self) -> "BoardDesk | None":
        home = self.desks.home
        return replace(home[self.name], call=self.call, again=self.again) if home and self.name == LEAD else None

    @property
    def board(self) -> Board:
        return self.desks.board

    @property
    def roster(self) -> members.RosterState:
        return self.desks.roster.state

    async def use(self, name: str, **arguments: Any) -> Result:
        """Run a tool in a new call."""
        self.call, self.again = f"{self.name}:{next(self.said)}.0", False
        return await self._run(name, arguments)

    async def use_again(self, name: str, **arguments: Any) -> Result:
        """Run a tool in the last call, as after a crash that left it without a result."""
        self.again = True
        return await self._run(name, arguments)

    async def attempt(self, name: str, **arguments: Any) -> Attempt:
        """Return what the permission rules see of a call."""
        tool = self.tool(name)
        return await tool.attempt(tool.arguments.model_validate(arguments), cast("ToolContext", self))

    def tool(self, name: str) -> Tool:
        (tool,) = tools_for(AgentKind.LEAD if self.name == "lead" else AgentKind.TEAMMATE, [name])
        return tool

    async def _run(self, name: str, arguments: Mapping[str, Any]) -> Result:
        tool = self.tool(name)
        try:
            result = await tool.run(tool.arguments.model_validate(arguments), cast("ToolContext", self))
        except (ToolError, Refused) as error:
            return Result(str(error), ok=False)
        told = {**self.memory.tasks, **result.tasks}
        tasks = {task: epoch for task, epoch in told.items() if epoch is not None}
        self.memory = replace(self.memory, tasks=tasks)
        return result


async def add(desks: BoardTeam, *subjects: str, **arguments: Any) -> None:
    for subject in subjects:
        await desks["lead"].use("TaskCreate", subject=subject, **arguments)


def refused(text: str, team: str | None = None) -> Result:
    return Result(text, ok=False, team=team)
