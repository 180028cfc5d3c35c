"""What an agent knows of hooks, folded from its transcript as a part of its memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deskmate.core.agent.entries import Hooked
from deskmate.core.agent.open_calls import OpenCall
from deskmate.core.log.names import LEAD, USER
from deskmate.core.log.value_copies import each, replace
from deskmate.core.team.messages import Envelope, Plain

# Events at the end of a turn. A hook that blocks one makes the agent continue.
TURN_ENDS = frozenset({"Stop", "SubagentStop", "TeammateIdle"})
# A hook can make an agent continue so often in a row.
MOST_BLOCKS = 3
_STRENGTH = ("", "allow", "ask", "deny")


# Without slots, because each entry may make a copy: see `value_copies`.
@dataclass(frozen=True)
class HookMemory:
    """What hooks were told and what they want.

    `told`: events that hooks were told since the model last spoke. `prompts`: ids of the user's messages that they were
    not told yet. `alone_at`: the entry with such a message, if the agent had nothing else to answer. `ended`: calls
    that ended well since the model last spoke. `turn`: the answer that ended the turn, 0 while the agent works.
    `blocks`: how often in a row hooks made the agent continue. `stop`: why a hook wants the agent to stop.
    """

    told: frozenset[str] = frozenset()
    prompts: tuple[str, ...] = ()
    alone_at: int | None = None
    ended: Mapping[str, OpenCall] = field(default_factory=dict)
    turn: int = 0
    blocks: int = 0
    stop: str | None = None

    def after_words(self, number: int, *, is_over: bool) -> "HookMemory":
        """Return what is known after the model spoke. `is_over`: that was the end of its turn."""
        return HookMemory(turn=number if is_over else 0, blocks=self.blocks, stop=self.stop)

    def after_call(self, call: OpenCall) -> "HookMemory":
        """Return what is known after a call that ended well."""
        return replace(self, ended={**self.ended, call.id: call})

    def after_message(self, envelope: Envelope, number: int, *, owed: bool) -> "HookMemory":
        """Return what is known after a message that the agent must answer."""
        if (envelope.sender, envelope.recipient) != (USER, LEAD) or not isinstance(envelope.message, Plain):
            return replace(self, alone_at=None, blocks=0)
        alone_at = self.alone_at if self.prompts else None if owed else number
        return replace(self, prompts=(*self.prompts, envelope.id), alone_at=alone_at, blocks=0)

    def after_room(self) -> "HookMemory":
        """Return what is known after room was made in the context."""
        return replace(self, told=frozenset(key for key in self.told if not key.startswith("PreCompact ")))


NO_HOOKS = HookMemory()


def key_of(event: str, about: str) -> str:
    """Return the key of an event in `told`."""
    return f"{event} {about}"


def after_hooks(
    hooks: HookMemory, calls: Mapping[str, OpenCall], number: int, entry: Hooked, *, owed: bool
) -> tuple[HookMemory, Mapping[str, OpenCall], bool]:
    """Return what is known of hooks and calls after hooks ran, and whether the model has something to answer."""
    was_alone = hooks.alone_at == number - 1
    hooks = replace(hooks, alone_at=number if was_alone else None)
    if entry.late:
        return hooks, calls, owed
    hooks = replace(hooks, told=hooks.told | {key_of(entry.event, entry.about)}, stop=entry.stop or hooks.stop)
    if entry.event == "UserPromptSubmit":
        prompts = tuple(prompt for prompt in hooks.prompts if prompt != entry.about)
        hooks = replace(hooks, prompts=prompts)
        # Every message was withheld, and there is nothing else to answer.
        return hooks, calls, owed and not (entry.withheld and was_alone and not prompts)
    if entry.event == "PostToolUse":
        ended = {id_: call for id_, call in hooks.ended.items() if id_ != entry.about}
        return replace(hooks, ended=ended), calls, owed
    if entry.event in TURN_ENDS:
        if entry.decision == "deny":
            return replace(hooks, blocks=hooks.blocks + 1, turn=0), calls, True
        return replace(hooks, blocks=0), calls, owed
    return hooks, each(calls, (entry.about,), lambda call: _judged(call, entry)), owed


def _judged(call: OpenCall, entry: Hooked) -> OpenCall:
    """Return a call as hooks judged it: the strongest of their decisions counts."""
    arguments = call.arguments if entry.arguments is None else entry.arguments
    decision = entry.decision or ""
    if _STRENGTH.index(decision) <= _STRENGTH.index(call.hook):
        return _with(call, arguments, call.hook, call.hook_reason)
    reason = f"Not run: a {entry.event} hook refused it: {entry.reason}" if decision == "deny" else entry.reason or ""
    return _with(call, arguments, decision, reason)


def _with(call: OpenCall, arguments: Mapping[str, object], hook: str, reason: str) -> OpenCall:
    return replace(call, arguments=arguments, hook=hook, hook_reason=reason)
