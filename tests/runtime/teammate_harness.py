"""TeammateHarness: one teammate, alice, with its supervisor and a launcher that the test chooses.

`async with teammate(script) as alice:` lets her work beside the test. Built on `agent_harness`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio

from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.prompt.prompts import Prompt
from deskmate.core.team.members import Member
from deskmate.core.team.messages import ShutdownRequest, ShutdownResponse
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.status import Status, Working
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import ModelRejected
from deskmate.models.scripted import Script, Step
from deskmate.ports import Launcher, Model, Store, Workspace
from deskmate.runtime.agent import Agent
from deskmate.runtime.agent_parts import HookRunner
from deskmate.runtime.events import Arrived, Changed, Feed
from deskmate.runtime.supervisor import Supervisor
from deskmate.runtime.task_groups import task_group
from tests.runtime.agent_harness import AgentHarness, turns
from tests.runtime.team_process import SOON, until

STOP = "lead:9.0"
Part = Callable[[str], Awaitable[None]]

# -- launchers --------------------------------------------------------------------------------------


async def fails(name: str) -> None:
    raise RuntimeError("boom")


class ScriptedLauncher:
    """A launcher whose plays go as the test says: these parts one after the other, then one without an end.

    `feed`: where each play shows at once that it has started, if it does.
    """

    def __init__(self, *parts: Part) -> None:
        self._parts = list(parts)
        self.feed: Feed | None = None
        self.started: list[str] = []
        self.playing: list[str] = []

    async def play(self, name: str) -> None:
        self.started.append(name)
        self.playing.append(name)
        if self.feed:
            self.feed.tell(Changed(name, Working()))
        try:
            await (self._parts.pop(0) if self._parts else play_forever)(name)
        finally:
            self.playing.remove(name)


async def play_forever(name: str) -> None:
    await anyio.sleep_forever()


@dataclass
class InlineLauncher:
    """Plays a teammate in this process, in the workspace of the harness."""

    harness: AgentHarness

    async def play(self, name: str) -> None:
        team_state = self.harness.team_state
        async with team_state.writer.store.hold(name, "a test", wait=True):
            parts, started = self.harness.team_parts.teammate((await team_state.roster.refresh()).members[name])
            agent = await Agent.seat(team_state, started, replace(parts, workspace=self.harness.workspace))
            await agent.play()


class BrokenLauncher:
    """A launcher that cannot play anyone."""

    def __init__(self, harness: AgentHarness) -> None:
        self.harness = harness

    async def play(self, name: str) -> None:
        raise RuntimeError("boom")


class DeafLauncher(InlineLauncher):
    """A launcher whose player starts, never hears anything and ends only when it is made to."""

    async def play(self, name: str) -> None:
        async with self.harness.store.hold(name, "a test", wait=True):
            self.harness.team_state.feed.tell(Changed(name, Working()))
            await anyio.sleep_forever()


# -- what a model says ------------------------------------------------------------------------------


async def hangs(prompt: Prompt) -> Step:
    await anyio.sleep_forever()
    raise AssertionError("it never answers")


def plays(*steps: Step | Callable[[Prompt], Awaitable[Step]]) -> Script:
    """Return a script of steps, some of which may never come to their end."""
    left = iter(steps)

    async def play(prompt: Prompt) -> Step:
        step = next(left, ModelRejected("the script is used up"))
        return await step(prompt) if callable(step) else step

    return play


# -- the teammate --------------------------------------------------------------------------------------


@dataclass
class TeammateHarness:
    """Alice while she works, and what the lead does to her."""

    harness: AgentHarness
    over: anyio.Event = field(default_factory=anyio.Event)

    @property
    def alice(self) -> Member:
        return self.harness.team_state.roster.state.members["alice"]

    @property
    def end(self) -> Status:
        """How she ended."""
        return self.alice.status

    @property
    def calls(self) -> int:
        """How often her model was called."""
        return len(self.harness.scripted.prompts)

    async def until(self, status: Status) -> None:
        """Return once that is her status, and she waits."""
        await until(lambda: self.alice.status == status)
        await turns()

    async def ask(self, request_id: str = STOP, sender: str = LEAD) -> None:
        """Ask her to stop, and return once her agent and her supervisor know of it."""
        arrived = sum(isinstance(told, Arrived) for told in self.harness.told)
        await self.harness.send(ShutdownRequest(request_id=request_id), sender=sender, to="alice")
        await until(
            lambda: sum(isinstance(told, Arrived) for told in self.harness.told) > arrived or self.over.is_set()
        )
        await turns()

    async def pass_by(self, seconds: float) -> None:
        self.harness.clock.advance(seconds)
        await turns(200)

    async def answers(self) -> list[ShutdownResponse]:
        """Return what the lead was answered."""
        messages = [letter.message for letter in await self.harness.letters(LEAD)]
        return [message for message in messages if isinstance(message, ShutdownResponse)]


@asynccontextmanager
async def teammate(
    script: Script | Model,
    *,
    workspace: Workspace | None = None,
    store: Store | None = None,
    launcher: Callable[[AgentHarness], Launcher] = InlineLauncher,
    mode: Mode = Mode.BYPASS,
    attended: bool = False,
    plan: bool | None = None,
    task: bool = False,
    agent_type: AgentType = AgentType.GENERAL,
    hooks: HookRunner | None = None,
) -> AsyncIterator[TeammateHarness]:
    """Let alice play beside the test, with a task of her own or without; in the end her seat must be free."""
    harness = await AgentHarness.opened(
        script, store=store, workspace=workspace, mode=mode, attended=attended, hooks=hooks
    )
    if task:
        await harness.team_state.board.create(LEAD, NewTask("parse"))
    await harness.team_state.roster.join(Joined(name="alice", prompt="begin", plan=plan, agent_type=agent_type, at=0.0))
    played = TeammateHarness(harness)

    async def keep() -> None:
        await Supervisor(harness.team_state, "alice", launcher(harness)).keep()
        played.over.set()

    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            tasks.start_soon(keep)
            yield played
            tasks.cancel_scope.cancel()
        async with harness.store.hold("alice", "whoever comes next"):
            pass
