"""The log of one member, and the memory folded from it.

Only the holder of the member's seat loads it. Every append also passes `expect`, so a process that lost its seat gets
a Conflict at its next entry.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import anyio

from deskmate.core.agent.answer import answer, asked_at, last_answer
from deskmate.core.agent.entries import Entry, Noticed, read_entry
from deskmate.core.agent.memory import EMPTY, Memory, remember
from deskmate.core.agent.notices import cut_text
from deskmate.core.agent.open_calls import INTERRUPTED, synced
from deskmate.core.agent.tool_results import Result
from deskmate.core.agent.turn_results import background_calls
from deskmate.core.log.facts import Foreign, slimmed
from deskmate.core.log.names import log
from deskmate.core.log.records import BESIDE_ENTRY, TIME_KEY, Damaged, Decision, Item
from deskmate.errors import StoreCorrupt
from deskmate.runtime.streams.log_writer import LogWriter

E = TypeVar("E", bound=Entry)
Listener = Callable[[int, Entry], None]


class Transcript:
    """A member's entries, and its memory of them. Create it with `load`."""

    def __init__(self, writer: LogWriter, name: str) -> None:
        self.name = name
        self._listener: Listener | None = None
        self._writer, self._stream = writer, log(name)
        self._last = 0
        self._in_doubt = False
        self._turn = anyio.Lock(fast_acquire=True)
        self.memory: Memory = EMPTY
        # The arguments of calls that are written redacted, by id. Only this process knows them.
        self.unwritten: dict[str, Mapping[str, object]] = {}
        self.entries: list[tuple[int, Entry]] = []
        self.damage: list[Damaged] = []
        self.foreign: list[tuple[int, Foreign]] = []

    @classmethod
    async def load(cls, writer: LogWriter, name: str, listener: Listener | None = None) -> "Transcript":
        """Return a member's transcript. Damage is listed, not skipped.

        The listener hears of every entry recorded from now on.
        """
        transcript = cls(writer, name)
        # As a writer reads: a last entry that lost only its newline to a power loss is completed, and counts. A reader
        # would leave it out, and the first append would find one entry more than it expects.
        _, found = await writer.store.decide(log(name), 0, lambda news: Decision(None, news))
        items = list(reversed(found))
        while items:
            # Free them one by one: a record takes more memory than the entry that is kept of it.
            transcript._add(items.pop())
        transcript._listener = listener
        return transcript

    @property
    def last_words(self) -> str:
        """The answer of the last turn, or an empty string."""
        return last_answer(self.entries)

    @property
    def asked_at(self) -> int:
        """The number of the entry with the user's last words."""
        return asked_at(self.entries)

    def answer(self, after: int = 0) -> str:
        """Return what the agent answered in all its turns after an entry."""
        return answer(self.entries, after)

    @property
    def running(self) -> dict[str, str]:
        """What the agent has in the background, by id: a command, or the prompt of a subagent."""
        return background_calls(self.name, self.entries, self.memory.background)

    async def record(self, *entries: Entry) -> int:
        """Append entries together, remember them and return the number of the last.

        Raises Conflict if another process writes here. After StoreUnavailable, none, all or the first few may be there.
        `memory` knows after the next one is recorded.
        """
        # One at a time: overlapping calls may end at once, and each entry must follow the one before.
        async with self._turn:
            await self._settle()
            return await self._append(*entries)

    async def record_made(self, make: Callable[[Memory], Awaitable[E | None]]) -> E | None:
        """Record what `make` returns for the memory, with no other entry in between. Return it, or None.

        `make` must not record anything itself.
        """
        async with self._turn:
            await self._settle()
            entry = await make(self.memory)
            if entry is not None:
                await self._append(entry)
        return entry

    async def _append(self, *entries: Entry) -> int:
        # Unless this ends well, nobody knows whether the entries were written. That includes cancellation.
        self._in_doubt = True
        now, sync = self._writer.clock.timestamp(), any(synced(entry, self.memory.calls) for entry in entries)
        bodies = [{**entry.body(), TIME_KEY: now} for entry in entries]
        for record in await self._writer.append(self._stream, *bodies, expect=self._last, sync=sync):
            self._add(record)
        self._in_doubt = False
        return self._last

    async def _settle(self) -> None:
        """Read whether an append in doubt was written. A record of another process makes the next append conflict."""
        if not self._in_doubt:
            return
        for item in await self._writer.store.read(self._stream, self._last):
            if not self._writer.wrote(item) and not (isinstance(item, Damaged) and item.kind == "torn"):
                return
            self._add(item)
        self._in_doubt = False

    async def was_changed(self) -> bool:
        """Return whether somebody cut or replaced this transcript, or added to it, since it was loaded."""
        try:
            return not all(map(self._writer.wrote, await self._writer.store.read(self._stream, self._last)))
        except StoreCorrupt:
            return True

    async def accept_cut(self) -> None:
        """Record that the end of this transcript is lost, so that the agent can continue. May be repeated.

        The lost end may have said that a call began, or how it ended. So no open call is run after this.
        """
        notice = Noticed(text=cut_text())
        is_noted = bool(self.entries) and self.entries[-1][1] == notice
        ends = [Result(INTERRUPTED, ok=False).did(id_) for id_ in self.memory.calls]
        if ends or not is_noted:
            await self.record(*ends, notice)

    async def make_last(self) -> None:
        """Return when every entry would survive a power loss."""
        await self._writer.store.read(self._stream, max(0, self._last - 1))

    def _add(self, item: Item) -> None:
        self._last = item.number
        if isinstance(item, Damaged):
            self.damage.append(item)
            return
        # Nobody who decides needs to know who wrote it, and when.
        entry = read_entry({key: value for key, value in item.body.items() if key not in BESIDE_ENTRY})
        if isinstance(entry, Foreign):
            self.foreign.append((item.number, Foreign(item.body, entry.reason)))
            return
        entry = slimmed(entry)
        self.entries.append((item.number, entry))
        self.memory = remember(self.memory, item.number, entry)
        if self._listener:
            self._listener(item.number, entry)
