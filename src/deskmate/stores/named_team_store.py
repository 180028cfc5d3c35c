"""The store of a team that a lead created from its first team.

The lead's own streams and the user's mailbox stay in the first team, called home. All others are the team's own. So
the runtime sees one `ports.Store` and never which team has a stream.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import anyio

from deskmate.core.log.names import LEAD, USER, is_call, mail, split_stream
from deskmate.core.log.records import Item, Json, Make
from deskmate.ports import Seat, Store

T = TypeVar("T")


class NamedTeamStore:
    """The streams of one team, whose lead has its first team in the store `home`, under the name `home_name`.

    `<stream>@<home_name>` is a stream of the first team.
    """

    def __init__(self, home: Store, home_name: str, team: Store) -> None:
        self._home, self._home_name, self._team = home, home_name, team

    async def append(self, stream: str, *records: Json, expect: int | None = None, sync: bool = True) -> list[int]:
        """Append records and return their numbers. `Store` has the details."""
        store, name = self._at(stream)
        return await store.append(name, *records, expect=expect, sync=sync)

    async def read(self, stream: str, after: int = 0, *, sync: bool = True) -> Sequence[Item]:
        """Return everything after the number `after`. `Store` has the details."""
        store, name = self._at(stream)
        return await store.read(name, after, sync=sync)

    async def decide(self, stream: str, after: int, make: Make[T], *, sync: bool = True) -> tuple[int | None, T]:
        """Append what `make` decides on everything after `after`. `Store` has the details."""
        store, name = self._at(stream)
        return await store.decide(name, after, make, sync=sync)

    async def changed(self, since: Mapping[str, int]) -> None:
        """Return once any of these streams has something after its number."""
        parts: dict[Store, dict[str, int]] = {}
        for stream, number in since.items():
            store, name = self._at(stream)
            parts.setdefault(store, {})[name] = number
        # Mostly one: only the lead and the screens of its user wait in both.
        if len(parts) == 1:
            for store, part in parts.items():
                await store.changed(part)
        else:
            await _first(parts)

    def hold(self, name: str, note: str, *, wait: bool = False) -> AbstractAsyncContextManager[Seat]:
        """Hold a seat. The lead's, and those that limit calls, are in its first team. `Store` has the details."""
        return (self._home if name == LEAD or "/" in name else self._team).hold(name, note, wait=wait)

    def _at(self, stream: str) -> tuple[Store, str]:
        plain, at, team = stream.partition("@")
        if at and team == self._home_name:
            return self._home, plain
        return (self._home if _stays(stream) else self._team), stream


def _stays(stream: str) -> bool:
    """Return whether a stream is always in the first team: transcripts of lead and subagents, the user's mail."""
    _, owner = split_stream(stream)
    own = owner == LEAD or (is_call(owner) and owner.partition(":")[0] == LEAD)
    return stream == mail(USER) or (own and stream != mail(LEAD))


async def _first(parts: Mapping[Store, Mapping[str, int]]) -> None:
    """Return once one of these stores has something new."""
    try:
        async with anyio.create_task_group() as tasks:

            async def wait(store: Store, part: Mapping[str, int]) -> None:
                await store.changed(part)
                tasks.cancel_scope.cancel()

            for store, part in parts.items():
                tasks.start_soon(wait, store, part)
    except BaseExceptionGroup as group:
        # Callers catch an error by its class.
        raise group.exceptions[0] from group
