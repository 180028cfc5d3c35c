"""What each member is doing now, and since when.

It is made from events, so it knows nothing of what began before the screen was opened. Then a screen shows less.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from deskmate.app import Changed, Printed, Recorded, Streamed, TeamEvent
from deskmate.core.agent.entries import Began, Did, Said
from deskmate.core.log.names import call_id
from deskmate.core.prompt.prompts import CallDelta, RetryDelta, TextDelta, ThinkingDelta
from deskmate.core.team.status import Working
from deskmate.faces.common.items.call_summaries import begun
from deskmate.faces.common.items.transcript_items import CallItem, CallState, CommandItem, ShownItem


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that a member does. `since`: when it began. `printed`: what its command has printed so far."""

    words: str
    since: float
    printed: str = ""


class Activity:
    """What the members of a team are doing. `now`: returns the time."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._calls: dict[str, dict[str, str]] = {}
        self._running: dict[str, dict[str, Deed]] = {}
        self._speaking: dict[str, Deed] = {}
        self._commands: dict[str, float] = {}

    def hear(self, event: TeamEvent) -> None:
        """Take in an event. It neither waits nor raises."""
        match event:
            case Streamed(member, TextDelta()):
                self._speak(member, "writing")
            case Streamed(member, ThinkingDelta()):
                self._speak(member, "thinking")
            case Streamed(member, CallDelta(tool)):
                self._speak(member, f"preparing {tool}")
            case Streamed(member, RetryDelta()):
                self._speak(member, "waiting for the model")
            case Recorded(member, number, Said() as said):
                self._speaking.pop(member, None)
                calls = enumerate(said.calls)
                self._calls[member] = {call_id(member, number, n): begun(one.tool, one.arguments) for n, one in calls}
            case Recorded(member, _, Began() as began):
                self._begin(member, began)
            case Recorded(member, _, Did() as did):
                self._running.get(member, {}).pop(did.call, None)
            case Printed(member, call, text) if deed := self._running.get(member, {}).get(call):
                self._running[member][call] = replace(deed, printed=text)
            case Changed(member, status) if not isinstance(status, Working):
                self._speaking.pop(member, None)
                self._running.pop(member, None)

    def _speak(self, member: str, words: str) -> None:
        before = self._speaking.get(member)
        if before is None or before.words != words:
            self._speaking[member] = Deed(words, self._now())

    def _begin(self, member: str, began: Began) -> None:
        known, running = self._calls.get(member, {}), self._running.setdefault(member, {})
        for call in began.calls:
            if call in known:
                running[call] = Deed(known[call], self._now())

    def run(self, key: str, *, is_over: bool) -> None:
        """Note that a command of the user runs, by the key of its item, or that it is over."""
        if is_over:
            self._commands.pop(key, None)
        else:
            self._commands.setdefault(key, self._now())

    def of(self, member: str) -> Deed | None:
        """Return what a member is doing: the call that runs longest, or what its model does; None if unknown."""
        running = self._running.get(member)
        return next(iter(running.values())) if running else self._speaking.get(member)

    @property
    def has_clock(self) -> bool:
        """Whether anything is going on whose duration is shown."""
        return any(self._running.values()) or bool(self._speaking) or bool(self._commands)

    def with_clock(self, member: str, item: ShownItem) -> ShownItem:
        """Return an item of a member. A call that runs gets its duration, and what it has printed."""
        if isinstance(item, CommandItem) and (since := self._commands.get(item.key)) is not None:
            return replace(item, seconds=int(self._now() - since))
        deed = self._running.get(member, {}).get(item.key)
        if deed is None or not isinstance(item, CallItem) or item.state is not CallState.RUNNING:
            return item
        return replace(item, seconds=int(self._now() - deed.since), text=deed.printed)
