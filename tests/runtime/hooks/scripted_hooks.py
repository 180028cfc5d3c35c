"""Hooks that answer what a test says, for agents of `AgentHarness`."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deskmate.core.hooks.hook_inputs import HookSession
from deskmate.core.hooks.hook_outputs import HookRun
from deskmate.core.hooks.hook_tables import Hook, HookTable, hooks_in

Answer = HookRun | Awaitable[HookRun]
Answers = Callable[[Hook, Mapping[str, Any]], Answer]


def table(*events: str, matcher: str = "", of_project: bool = False, is_async: bool = False) -> HookTable:
    """Return one hook for each of these events."""
    hook = {"type": "command", "async": is_async}
    described = {event: [{"matcher": matcher, "hooks": [{**hook, "command": event}]}] for event in events}
    return HookTable(hooks_in(described, "hooks.toml", of_project=of_project).hooks)


def says(**answer: Any) -> Answers:
    """Return hooks that print this JSON."""
    return lambda hook, _: HookRun(hook, 0, json.dumps(answer))


def blocks(reason: str) -> Answers:
    """Return hooks that end with exit code 2."""
    return lambda hook, _: HookRun(hook, 2, "", reason)


@dataclass
class ScriptedHooks:
    """A `HookRunner` whose hooks answer what `answers` says. `told`: what each was told, in order."""

    table: HookTable
    answers: Answers = field(default=lambda hook, _: HookRun(hook, 0))
    told: list[dict[str, Any]] = field(default_factory=list)
    session_told: bool = False

    async def run(self, hooks: tuple[Hook, ...], told: bytes, session: HookSession) -> tuple[HookRun, ...]:
        given = json.loads(told)
        self.told += [given] * len(hooks)
        ends = []
        for hook in hooks:
            answer = self.answers(hook, given)
            ends.append(answer if isinstance(answer, HookRun) else await answer)
        return tuple(ends)

    def new_only(self, failures: tuple[str, ...]) -> tuple[str, ...]:
        return failures

    def transcript_path(self, team: str, name: str) -> str:
        return f"/{team}/{name}"

    @property
    def events(self) -> list[str]:
        return [told["hook_event_name"] for told in self.told]
