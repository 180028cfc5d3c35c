"""AgentHarness: one agent, the lead of a team, on a store in memory.

The streams and tools are real. The model (`ScriptedModel`) and the time (`FakeClock`) are inputs of the test.
`restarted` returns the next process of the same team. `ScriptedWorkspace` is a workspace in memory whose commands do
what the test says. For a teammate with a supervisor, use `teammate_harness`.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import anyio
import anyio.lowlevel

from deskmate.app.build import TeamParts
from deskmate.app.handover.tree_parts import TreeParts
from deskmate.config import ModelSettings, Prices, Settings
from deskmate.core.agent.actions import Rest, Stop
from deskmate.core.agent.entries import Did, Entry, read_entry
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import LEAD, ROSTER, USER, log, mail
from deskmate.core.log.records import Record
from deskmate.core.policy.permissions import Mode
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.core.prompt.prompts import Delta, Prompt, Reply, ResultBlock, TextBlock, Usage
from deskmate.core.prompt.skills import Skill
from deskmate.core.prompt.system_prompt import Environment
from deskmate.core.team.caps import Caps
from deskmate.core.team.messages import Envelope, Interrupt, Message, PermissionResponse, Plain, read_envelope
from deskmate.core.team.roster_records import (
    MemberWaiting,
    PolicySet,
    StatusRecord,
    read_event,
)
from deskmate.core.team.status import status_detail, status_word
from deskmate.errors import ModelRejected
from deskmate.models.scripted import Script, Step
from deskmate.ports import AskHost, Model, Ran, Store, Workspace
from deskmate.runtime.agent import Agent
from deskmate.runtime.agent_parts import HookRunner
from deskmate.runtime.events import Changed, Feed, TeamEvent
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing import FakeClock, Say, ScriptedModel, Use
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from tests.fact_loop import wait_for
from tests.runtime.team_process import SOON, until
from tests.tools.tool_desk import MemoryWorkspace

# A dollar for each token that goes out, nothing for one that goes in.
PRICED = "openai:priced"
DOLLAR = Usage(output=1)
_PRICES = {PRICED: ModelSettings(prices=Prices(input=0.0, output=1_000_000.0))}

Deed = Callable[[], Awaitable[Ran]]


async def run_forever() -> Ran:
    await anyio.sleep_forever()
    raise AssertionError("it never ends by itself")


class EndlessModel(ScriptedModel):
    """A model that says these parts and then nothing, for ever."""

    def __init__(self, *parts: Delta) -> None:
        super().__init__([])
        self._parts = parts

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Reply, None]:
        for part in self._parts:
            yield part
        await anyio.sleep_forever()


async def turns(count: int = 50) -> None:
    """Let everyone else have that many turns, whatever is being cancelled meanwhile."""
    with anyio.CancelScope(shield=True):
        for _ in range(count):
            await anyio.lowlevel.checkpoint()


@dataclass
class ScriptedWorkspace(MemoryWorkspace):
    """A workspace in memory. Commands do what `commands` says, others print `ran`; `running`: those not yet ended.

    `prints`: what commands have printed as soon as they run.
    """

    commands: dict[str, Deed] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)
    prints: dict[str, str] = field(default_factory=dict)

    async def run(
        self,
        command: str,
        *,
        timeout_seconds: float,
        blob: str,
        printed: LiveOutput | None = None,
        ask_host: AskHost | None = None,
    ) -> Ran:
        self.running.append(command)
        if printed and command in self.prints:
            printed.look = lambda: (self.prints[command], None)
        try:
            if command in self.commands:
                return await self.commands[command]()
            return await super().run(command, timeout_seconds=timeout_seconds, blob=blob)
        finally:
            self.running.remove(command)


@dataclass
class AgentHarness:
    """One process of a team whose lead follows a script.

    `turn` and `playing` let the lead work. `say`, `answer` and `interrupt` are what the user does. `entries`,
    `results`, `letters` and `statuses` read the streams.
    """

    model: Model
    store: Store = field(default_factory=MemoryStore)
    workspace: Workspace = field(default_factory=ScriptedWorkspace)
    clock: FakeClock = field(default_factory=FakeClock)
    caps: Caps = field(default_factory=Caps)
    skills: Mapping[str, Skill] = field(default_factory=dict)
    checkpoint: Callable[[int, str], Coroutine[Any, Any, None]] | None = None
    profiles: Mapping[str, AgentProfile] = field(default_factory=dict)
    hooks: HookRunner | None = None

    def __post_init__(self) -> None:
        writer, feed = LogWriter(self.store, self.clock), Feed()
        roster = Roster(writer)
        self.team_state = TeamState(
            writer, roster, Board(writer, roster), Budget(writer, self.caps, roster=roster), feed
        )
        self.told: list[TeamEvent] = []
        feed.listen(self.told.append)

    @classmethod
    async def opened(
        cls,
        script: Script | Model,
        *,
        mode: Mode = Mode.BYPASS,
        attended: bool = False,
        store: Store | None = None,
        workspace: Workspace | None = None,
        caps: Caps | None = None,
        skills: Mapping[str, Skill] | None = None,
        profiles: Mapping[str, AgentProfile] | None = None,
        hooks: HookRunner | None = None,
    ) -> Self:
        """Found a team whose lead, and whose subagents, play a script."""
        harness = cls(
            _model(script),
            store or MemoryStore(),
            workspace or ScriptedWorkspace(),
            caps=caps or Caps(),
            skills=skills or {},
            profiles=profiles or {},
            hooks=hooks,
        )
        await harness.team_state.roster.found("team")
        await harness.permit(mode=mode, attended=attended)
        return harness

    def restarted(self, script: Script | Model, caps: Caps | None = None, store: Store | None = None) -> "AgentHarness":
        """Return the next process of this team."""
        return replace(self, model=_model(script), caps=caps or self.caps, store=store or self.store)

    @property
    def scripted(self) -> ScriptedModel:
        assert isinstance(self.model, ScriptedModel)
        return self.model

    @property
    def bench(self) -> ScriptedWorkspace:
        assert isinstance(self.workspace, ScriptedWorkspace)
        return self.workspace

    # -- the lead -----------------------------------------------------------------------------------

    @property
    def team_parts(self) -> TeamParts:
        settings = Settings(file=Path("settings.toml"), state=Path("state"), models=_PRICES)
        return TeamParts(
            sandbox=Sandbox(Level.NONE),
            team="team",
            models=lambda _: self.model,
            settings=settings,
            team_state=self.team_state,
            workspace=self.workspace,
            environment=Environment(workspace=self.workspace.root, attended=self.team_state.roster.state.attended),
            notes=("AGENTS.md", ""),
            skills=dict(self.skills),
            profiles=self.profiles,
            trees=TreeParts(settings, Path(self.workspace.root), {}),
            checkpoint=self.checkpoint,
            hooks=self.hooks,
        )

    async def lead(self) -> Agent:
        return await Agent.seat(self.team_state, self.team_parts.started(), self.team_parts.lead)

    async def turn(self, words: str | None = None) -> Rest | Stop:
        """Let the lead play until it has nothing left to do, the user having said this."""
        if words is not None:
            await self.say(words)
        with anyio.fail_after(SOON):
            return await (await self.lead()).play(until_rest=True)

    @asynccontextmanager
    async def playing(self, words: str | None = None) -> AsyncIterator[Agent]:
        """Let the lead play beside the test; at the end the process dies."""
        if words is not None:
            await self.say(words)
        agent = await self.lead()
        async with task_group() as tasks:
            tasks.start_soon(agent.play)
            yield agent
            tasks.cancel_scope.cancel()

    # -- the user -----------------------------------------------------------------------------------

    async def send(self, message: Message, *, sender: str = USER, to: str = LEAD) -> None:
        await Mailbox(sender, self.team_state.writer, self.team_state.roster).send(to, message)

    async def say(self, words: str) -> None:
        await self.send(Plain(content=words))

    async def interrupt(self, sender: str = USER) -> None:
        await self.send(Interrupt(), sender=sender)

    async def answer(self, request_id: str, *, approve: bool, content: str = "") -> None:
        await self.send(PermissionResponse(request_id=request_id, approve=approve, content=content))

    async def permit(self, **policy: object) -> None:
        await self.team_state.roster.permit(PolicySet.model_validate({"by": USER, "at": 0.0, **policy}))

    # -- what stands in the streams -----------------------------------------------------------------

    async def entries(self, name: str = LEAD) -> list[Entry]:
        found = [read_entry(item.body) for item in await self.store.read(log(name)) if isinstance(item, Record)]
        return [entry for entry in found if not isinstance(entry, Foreign)]

    async def results(self, name: str = LEAD) -> list[tuple[str, bool, str]]:
        """Return what the calls of an agent came to: id, whether it went well, text."""
        return [(entry.call, entry.ok, entry.text) for entry in await self.entries(name) if isinstance(entry, Did)]

    async def letters(self, name: str = USER) -> list[Envelope]:
        found = [read_envelope(item.body) for item in await self.store.read(mail(name)) if isinstance(item, Record)]
        return [envelope for envelope in found if not isinstance(envelope, Foreign)]

    async def statuses(self) -> list[str]:
        """Return what the roster was told that members are doing, in order."""
        events = [read_event(item.body) for item in await self.store.read(ROSTER) if isinstance(item, Record)]
        return [_status(event) for event in events if isinstance(event, StatusRecord)]

    # -- waiting for facts --------------------------------------------------------------------------

    async def until_status(self, word: str, detail: str | None = None) -> None:
        """Return once this is the lead's latest status, on the feed and on the roster."""

        def told() -> bool:
            changes = [told for told in self.told if isinstance(told, Changed) and told.member == LEAD]
            return (
                bool(changes)
                and status_word(changes[-1].status) == word
                and detail in (None, status_detail(changes[-1].status))
            )

        await until(told)
        with anyio.fail_after(SOON):
            while status_word((await self.team_state.roster.refresh()).members[LEAD].status) != word:
                await anyio.lowlevel.checkpoint()

    async def passing_until(self, fact: Callable[[], object]) -> None:
        """Let time pass until something holds."""
        with anyio.fail_after(SOON):
            while not fact():
                await anyio.lowlevel.checkpoint()
                await wait_for(lambda: self.clock.sleeping or fact())
                if not fact():
                    self.clock.advance(1.0)


def _model(script: Script | Model) -> Model:
    return ScriptedModel(script) if callable(script) or isinstance(script, Sequence | Mapping) else script


def _status(event: StatusRecord) -> str:
    match event:
        case MemberWaiting(on=on):
            return f"waiting({on})"
        case _:
            return event.type.removeprefix("member_")


# -- scripts ----------------------------------------------------------------------------------------


def uses(tool: str, text: str = "", **arguments: object) -> Say:
    """Return a step that asks for one tool."""
    return Say(text, [Use(tool, arguments)])


def is_subagent(prompt: Prompt) -> bool:
    return "with one job" in prompt.system


def lead_and_subagent(lead: Sequence[Step], errand: Sequence[Step]) -> Script:
    """Return a script with a part for the lead and one for its subagents."""
    parts = {False: iter(lead), True: iter(errand)}

    def step(prompt: Prompt) -> Step:
        who = is_subagent(prompt)
        return next(parts[who], ModelRejected(f"the part of the {'subagent' if who else 'lead'} is used up"))

    return step


def last_told(prompt: Prompt) -> list[str]:
    """Return what the model was told last: results and words."""
    return [block.text for block in prompt.passages[-1].blocks if isinstance(block, TextBlock | ResultBlock)]
