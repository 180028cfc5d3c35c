"""ToolDesk: the tools of one agent, with files in memory and commands that the test scripts.

For tools of the team, use `board_team`, `mail_team` or `calling_team`.
"""

import posixpath
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from deskmate.core.agent.tool_results import Result
from deskmate.core.log.fingerprints import fingerprint
from deskmate.core.policy.permissions import Attempt
from deskmate.core.policy.redaction import SHAPES, Redaction
from deskmate.core.policy.tool_table import TOOLS, AgentKind
from deskmate.core.profiles.agent_profiles import AgentProfile, profile_of
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.core.prompt.skills import Skill
from deskmate.core.team.tasks import Revision
from deskmate.errors import ToolError
from deskmate.ports import AskHost, MemberTree, Ran, Tool, ToolContext, Workspace
from deskmate.tools import tools_for


@dataclass
class MemoryWorkspace:
    """Files in a dictionary; what is found, searched and run is said beforehand and written down."""

    files: dict[str, bytes] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)
    ran: Ran = field(default_factory=lambda: Ran(0, ""))
    asked: list[tuple[object, ...]] = field(default_factory=list)
    root: str = "/desk"
    at: list[Revision | None] = field(default_factory=lambda: [None])

    async def locate(self, path: str) -> tuple[str, bool]:
        whole = posixpath.normpath(posixpath.join(self.root, path))
        if whole == self.root:
            return ".", True
        inside = whole.startswith(f"{self.root}/")
        return whole.removeprefix(f"{self.root}/"), inside

    async def is_autorun(self, path: str) -> bool:
        return False

    async def read(self, path: str) -> bytes:
        name = await self._inside(path)
        if name not in self.files:
            raise ToolError(f"there is no file {path}")
        return self.files[name]

    async def write(self, path: str, data: bytes, *, known: str | None) -> None:
        name = await self._inside(path)
        stands = fingerprint(self.files[name]) if name in self.files else None
        if stands != known:
            raise ToolError(f"{path} is not as it was known")
        self.files[name] = data

    async def _inside(self, path: str) -> str:
        name, inside = await self.locate(path)
        if not inside:
            raise ToolError(f"{path} lies outside of the workspace")
        return name

    async def find(self, pattern: str) -> list[str]:
        self.asked.append((pattern,))
        return self.found

    async def search(self, pattern: str, path: str, glob: str) -> Ran:
        self.asked.append((pattern, path, glob))
        return self.ran

    async def run(
        self,
        command: str,
        *,
        timeout_seconds: float,
        blob: str,
        printed: LiveOutput | None = None,
        ask_host: AskHost | None = None,
    ) -> Ran:
        self.asked.append((command, timeout_seconds, blob))
        return self.ran

    async def revision(self) -> Revision | None:
        return self.at.pop(0) if len(self.at) > 1 else self.at[0]

    async def keep(self, blob: str, data: bytes) -> str:
        self.blobs[f".teams/main/blobs/{blob}"] = data
        return f".teams/main/blobs/{blob}"

    async def blob(self, path: str) -> bytes:
        return self.blobs[path]


@dataclass
class FakeJobs:
    """Work that was started: it runs when a test asks for its output."""

    work: dict[str, Callable[[str], Awaitable[Result]]] = field(default_factory=dict)
    waits: list[tuple[bool, float]] = field(default_factory=list)

    def start(self, kind: str, work: Callable[[str], Awaitable[Result]], printed: LiveOutput | None = None) -> str:
        id_ = f"{kind}{len(self.work):06x}"
        self.work[id_] = work
        return id_

    async def output(self, id_: str, *, block: bool, timeout_seconds: float) -> Result:
        self.waits.append((block, timeout_seconds))
        return await self._known(id_)(id_)

    async def stop(self, id_: str) -> Result:
        self._known(id_)
        del self.work[id_]
        return Result(f"{id_} is stopped.")

    def _known(self, id_: str) -> Callable[[str], Awaitable[Result]]:
        if id_ not in self.work:
            raise ToolError(f"nothing is called {id_}")
        return self.work[id_]


@dataclass
class ToolDesk:
    """A desk that remembers the files of each result, as a transcript would, and echoes errands."""

    workspace: Workspace
    kind: AgentKind = AgentKind.LEAD
    files: dict[str, str] = field(default_factory=dict)
    skills: Mapping[str, Skill] = field(default_factory=dict)
    profiles: Mapping[str, AgentProfile] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    background: FakeJobs = field(default_factory=FakeJobs)
    call: str = "lead:12.0"
    redaction: Redaction = SHAPES
    tree: MemberTree | None = None
    printed: LiveOutput = field(default_factory=LiveOutput)
    writers: dict[tuple[str, str], str] = field(default_factory=dict)

    async def writer_of(self, path: str, fingerprint: str) -> str | None:
        return self.writers.get((path, fingerprint))

    def ask_host(self, command: str, waiting: str) -> AskHost | None:
        return None

    def profile_of(self, name: str) -> AgentProfile:
        return profile_of(name, self.profiles)

    async def run_subagent(self, prompt: str, profile: AgentProfile) -> Result:
        return Result(f"{profile.name} did: {prompt}")

    async def use(self, name: str, **arguments: Any) -> Result:
        """Run a tool as an agent of this kind has it, and remember what it made known."""
        tool = self.tool(name)
        result = await tool.run(tool.arguments.model_validate(arguments), cast("ToolContext", self))
        self.files.update(result.files)
        return result

    async def attempt(self, name: str, **arguments: Any) -> Attempt:
        """Return what the permission rules see of a call."""
        tool = self.tool(name)
        return await tool.attempt(tool.arguments.model_validate(arguments), cast("ToolContext", self))

    def tool(self, name: str) -> Tool:
        """Return the tool of that name."""
        (tool,) = tools_for(self.kind, [name])
        return tool


def every_tool(kind: AgentKind = AgentKind.LEAD) -> tuple[Tool, ...]:
    """Return all the tools there are."""
    return tools_for(kind, TOOLS)
