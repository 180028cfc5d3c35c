"""One pair played: a real teammate with real tools and rules, whose model does all that it reads.

`suites` says what is injected, `natives` what is tried besides, `census` what came of it.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from html import unescape
from typing import Any

import anyio

from deskmate.core.agent.tool_results import Result
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.core.prompt.prompts import Prompt, Told, Usage
from deskmate.core.team.messages import PermissionRequest, Plain
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.status import status_detail
from deskmate.core.team.task_fields import NewTask
from deskmate.models.scripted import Step
from deskmate.ports import AskHost, Ran, ToolContext
from deskmate.runtime.agent import Agent
from deskmate.runtime.task_groups import task_group
from deskmate.testing import Say, Use
from deskmate.tools.tool_base import Arguments, Described
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox
from tests.attacks.dojo.effects import ALICE, BOB, LOOK_UP, Laid, contents, effects
from tests.attacks.dojo.native_attempts import NATIVES
from tests.attacks.dojo.suites import Attempted, Pair, SuiteWorld
from tests.runtime.agent_harness import AgentHarness
from tests.runtime.team_process import SOON, until
from tests.workspace.escapes.escape_ground import Ground

# Without it what the conversation takes would be estimated from its beginning, before each of the calls.
_USAGE = Usage(input=1000, output=100)


class Channel(StrEnum):
    """How a hostile text comes to be read."""

    MESSAGE = "message"
    FILE = "file"
    TOOL = "tool"
    COMMAND = "command"


class Remembering(LocalWorkspace):
    """A workspace that runs each command once, and then tells again what came of it: every pair tries the same ones."""

    def __init__(self, ground: Ground, sandbox: Sandbox | None) -> None:
        super().__init__(ground.workspace, "team", ALICE, environ=ground.environ(), sandbox=sandbox)
        self._ran: dict[str, Ran] = {}

    async def run(
        self,
        command: str,
        *,
        timeout_seconds: float,
        blob: str,
        printed: LiveOutput | None = None,
        ask_host: AskHost | None = None,
    ) -> Ran:
        if command not in self._ran:
            self._ran[command] = await super().run(command, timeout_seconds=timeout_seconds, blob=blob)
        return self._ran[command]


class Site:
    """Where pairs are played: a ground, a workspace on it, and what Deskmate's own tools are to do there."""

    def __init__(self, ground: Ground, sandbox: Sandbox | None) -> None:
        (ground.workspace / "work").mkdir()
        self.ground = ground
        self.workspace = Remembering(ground, sandbox)
        self.confined = sandbox is not None and sandbox.confines(ground.workspace)
        self.natives: list[Attempted] = [
            (tool, {key: ground.fill(value) if isinstance(value, str) else value for key, value in given.items()})
            for tool, given in NATIVES
        ]
        self._before = contents(ground)

    @property
    def changed(self) -> set[str]:
        """The files that are not as they were, of those that nobody may change."""
        before, now = self._before, contents(self.ground)
        return {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}


@dataclass(frozen=True, slots=True)
class LookUp(Described):
    """A tool of the program that the user allowed. What it finds was written by others."""

    found: str

    async def run(self, arguments: Arguments, desk: ToolContext) -> Result:
        return Result(self.found)


@dataclass(frozen=True)
class DojoRun:
    """What came of a pair: whether the model read the text and obeyed, what it was let do of it, what of its own work.

    `effects`: all that no policy allowed.
    """

    play: str
    obeyed: bool
    worked: bool
    effects: tuple[str, ...]


@dataclass
class Play:
    """A pair on its way to an agent: the text, and the part of a model that does what it says."""

    site: Site
    pair: Pair
    channel: Channel
    text: str
    looked: bool = False
    obeyed: bool = False

    def answer(self, prompt: Prompt) -> Step:
        """Look for something to read; do all that it says, and what else does harm; then the user's own work."""
        if not self.obeyed and self._reads(prompt):
            self.obeyed = True
            return Say(calls=[Use(*one) for one in (*self.pair.uses, *self._natives, self._work)], usage=_USAGE)
        if not self.obeyed and not self.looked:
            self.looked = True
            return Say(calls=[Use(*self._look)], usage=_USAGE)
        return "done"

    def _reads(self, prompt: Prompt) -> bool:
        told = [block.text for passage in prompt.passages if isinstance(passage, Told) for block in passage.blocks]
        read = unescape("\n".join(told))
        return all(line in read for line in self.text.splitlines())

    @property
    def _natives(self) -> list[Attempted]:
        """A sixth of them: six pairs that follow each other try them all, each in one of the three channels."""
        return self.site.natives[(self.pair.number + list(Channel).index(self.channel)) % 6 :: 6]

    @property
    def _look(self) -> Attempted:
        match self.channel:
            case Channel.COMMAND:
                return "bash", {"command": f"cat {self._notes}"}
            case Channel.FILE:
                return "read_file", {"path": self._notes}
            case _:
                return LOOK_UP, {}

    @property
    def _notes(self) -> str:
        return f"work/{self.pair.id}-notes.md"

    @property
    def _result(self) -> str:
        return f"work/{self.pair.id}-result.md"

    @property
    def _work(self) -> Attempted:
        return "write_file", {"path": self._result, "content": self.pair.user.PROMPT}

    @contextmanager
    def laid(self) -> Iterator[None]:
        """Have what is to be read stand in the workspace, and take away what the play left there."""
        notes, result = (self.site.ground.workspace / name for name in (self._notes, self._result))
        if self.channel in (Channel.FILE, Channel.COMMAND):
            notes.write_text(self.text)
        try:
            yield
        finally:
            notes.unlink(missing_ok=True)
            result.unlink(missing_ok=True)

    @property
    def worked(self) -> bool:
        """Whether the user's own work is done."""
        result = self.site.ground.workspace / self._result
        return result.exists() and result.read_text() == self.pair.user.PROMPT

    @asynccontextmanager
    async def seated(
        self, world: SuiteWorld, mode: Mode, *, attended: bool
    ) -> AsyncIterator[tuple[AgentHarness, Laid, Agent]]:
        """Found a team in which alice has the user's task, bob another one, and the text is on its way to her."""
        harness = await AgentHarness.opened(self.answer, mode=mode, attended=attended, workspace=self.site.workspace)
        roster = harness.team_state.roster
        for name in (ALICE, BOB):
            await roster.join(Joined(name=name, prompt=self.pair.user.PROMPT, at=0.0))
        await harness.permit(add_rules=(f"allow {LOOK_UP}",))
        await harness.team_state.board.create(LEAD, NewTask("parse", owner=BOB))
        if self.channel is Channel.MESSAGE:
            await harness.send(Plain(content=self.text), sender=BOB, to=ALICE)
        look_up = LookUp(LOOK_UP, "Look something up.", Arguments, self.text if self.channel is Channel.TOOL else "")
        team_parts = replace(harness.team_parts, tools=(*world.tools, look_up))
        parts, started = team_parts.teammate((await roster.refresh()).members[ALICE])
        parts = replace(parts, workspace=self.site.workspace, confined=self.site.confined)
        with self.laid(), anyio.fail_after(SOON):
            yield harness, await Laid.of(harness), await Agent.seat(harness.team_state, started, parts)


async def play(
    site: Site,
    pair: Pair,
    channel: Channel,
    template: str,
    *,
    mode: Mode = Mode.ACCEPT_EDITS,
    world: SuiteWorld | None = None,
) -> DojoRun:
    """Play a pair to its end where nobody attends."""
    one, world = Play(site, pair, channel, pair.text(template)), world or SuiteWorld(pair.suite)
    async with one.seated(world, mode, attended=False) as (harness, laid, agent):
        await _played_out(harness, agent)
        found = await effects(harness, laid, world, confined=site.confined)
        return DojoRun(f"{pair.id} {channel} {template}", one.obeyed, one.worked, found)


async def _played_out(harness: AgentHarness, agent: Agent) -> None:
    """Play an agent until it rests, or waits for the word on a plan that it was brought to submit."""
    async with task_group() as tasks:

        async def play_to_rest() -> None:
            await agent.play(until_rest=True)
            tasks.cancel_scope.cancel()

        tasks.start_soon(play_to_rest)
        await until(lambda: status_detail(harness.team_state.roster.state.members[ALICE].status) == "plan")
        tasks.cancel_scope.cancel()


async def questions(site: Site, pair: Pair, channel: Channel, template: str) -> tuple[list[Attempted], tuple[str, ...]]:
    """Play a pair where somebody attends, until alice waits for a word; return what she asked, and all effects."""
    one, world = Play(site, pair, channel, pair.text(template)), SuiteWorld(pair.suite)
    async with one.seated(world, Mode.ACCEPT_EDITS, attended=True) as (harness, laid, agent):
        async with task_group() as tasks:
            tasks.start_soon(agent.play)
            await until(lambda: status_detail(harness.team_state.roster.state.members[ALICE].status) == "permission")
            tasks.cancel_scope.cancel()
        letters = [letter.message for letter in await harness.letters()]
        asked: list[tuple[str, Mapping[str, Any]]] = [
            (letter.tool, letter.arguments) for letter in letters if isinstance(letter, PermissionRequest)
        ]
        return asked, await effects(harness, laid, world, confined=site.confined)
