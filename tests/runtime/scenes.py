"""One teammate in its play: the launchers that play it, the parts a model has, and the lead's hand."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio

from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.prompt.prompts import Prompt
from deskmate.core.team.members import Joined, Member
from deskmate.core.team.messages import ShutdownRequest, ShutdownResponse
from deskmate.errors import ModelRejected
from deskmate.models.scripted import Script, Step
from deskmate.ports import Launcher, Store, Workspace
from deskmate.runtime.agent import Agent
from deskmate.runtime.events import Arrived, Changed, Feed
from deskmate.runtime.supervisor import Supervisor
from deskmate.runtime.task_groups import task_group
from tests.runtime import SOON, until
from tests.runtime.desks import Floor, turns

STOP = "lead:9.0"
Part = Callable[[str], Awaitable[None]]

# -- launchers --------------------------------------------------------------------------------------


async def fails(name: str) -> None:
    raise RuntimeError("boom")


class Stage:
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
            self.feed.tell(Changed(name, "working"))
        try:
            await (self._parts.pop(0) if self._parts else for_ever)(name)
        finally:
            self.playing.remove(name)


async def for_ever(name: str) -> None:
    await anyio.sleep_forever()


@dataclass
class Inline:
    """Plays a teammate in this process, in the workspace of the floor."""

    floor: Floor

    async def play(self, name: str) -> None:
        team_state = self.floor.team_state
        async with team_state.writer.store.hold(name, "a test", wait=True):
            parts, started = self.floor.team_parts.teammate((await team_state.roster.refresh()).members[name])
            agent = await Agent.seat(team_state, started, replace(parts, workspace=self.floor.workspace))
            await agent.play()


class Broken:
    """A launcher that cannot play anyone."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor

    async def play(self, name: str) -> None:
        raise RuntimeError("boom")


class Deaf(Inline):
    """A launcher whose player starts, never hears anything and ends only when it is made to."""

    async def play(self, name: str) -> None:
        async with self.floor.store.hold(name, "a test", wait=True):
            self.floor.team_state.feed.tell(Changed(name, "working"))
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


# -- the scene --------------------------------------------------------------------------------------


@dataclass
class Scene:
    """Alice at her desk, and the lead's hand."""

    floor: Floor
    over: anyio.Event = field(default_factory=anyio.Event)

    @property
    def alice(self) -> Member:
        return self.floor.team_state.roster.state.members["alice"]

    @property
    def end(self) -> tuple[str, str, bool]:
        """How she ended: the word, the reason, whether she agreed."""
        return self.alice.status.word, self.alice.status.detail, self.alice.agreed

    @property
    def calls(self) -> int:
        """How often her model was called."""
        return len(self.floor.scripted.prompts)

    async def until(self, word: str, detail: str = "") -> None:
        """Return once that is her status, and she waits."""
        await until(lambda: (self.alice.status.word, self.alice.status.detail) == (word, detail))
        await turns()

    async def ask(self, request_id: str = STOP, sender: str = LEAD) -> None:
        """Ask her to stop, and return once her agent and her supervisor know of it."""
        arrived = sum(isinstance(told, Arrived) for told in self.floor.told)
        await self.floor.send(ShutdownRequest(request_id=request_id), sender=sender, to="alice")
        await until(lambda: sum(isinstance(told, Arrived) for told in self.floor.told) > arrived or self.over.is_set())
        await turns()

    async def pass_by(self, seconds: float) -> None:
        self.floor.clock.advance(seconds)
        await turns(200)

    async def answers(self) -> list[ShutdownResponse]:
        """Return what the lead was answered."""
        messages = [letter.message for letter in await self.floor.letters(LEAD)]
        return [message for message in messages if isinstance(message, ShutdownResponse)]


@asynccontextmanager
async def scene(
    script: Script,
    *,
    workspace: Workspace | None = None,
    store: Store | None = None,
    launcher: Callable[[Floor], Launcher] = Inline,
    mode: Mode = Mode.BYPASS,
    attended: bool = False,
    plan: bool | None = None,
    task: bool = False,
    agent_type: AgentType = AgentType.GENERAL,
) -> AsyncIterator[Scene]:
    """Let alice play beside the test, with a task of her own or without; in the end her seat must be free."""
    floor = await Floor.opened(script, store=store, workspace=workspace, mode=mode, attended=attended)
    if task:
        await floor.team_state.board.create(LEAD, "parse")
    await floor.team_state.roster.join(Joined(name="alice", prompt="begin", plan=plan, agent_type=agent_type, at=0.0))
    played = Scene(floor)

    async def keep() -> None:
        await Supervisor(floor.team_state, "alice", launcher(floor)).keep()
        played.over.set()

    with anyio.fail_after(SOON):
        async with task_group() as tasks:
            tasks.start_soon(keep)
            yield played
            tasks.cancel_scope.cancel()
        async with floor.store.hold("alice", "whoever comes next"):
            pass
