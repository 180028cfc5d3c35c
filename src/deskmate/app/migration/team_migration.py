"""Which teams are copied together, and who may not use them meanwhile."""

import os
from contextlib import AsyncExitStack
from pathlib import Path

from deskmate.app.migration.stream_copy import Copied, copy_team
from deskmate.config import Settings
from deskmate.core.log.names import LEAD
from deskmate.errors import Held, Refused, TeamRunning
from deskmate.queries.stream_reader import Reading, team_at, telling, workspace_at
from deskmate.stores.engines.engine import Engine, teams_from
from deskmate.stores.engines.engine_url import shown_url
from deskmate.trust.chosen_engine import engine_at, use_store
from deskmate.trust.folders import home_of
from deskmate.trust.team_signature import Signing

FILES = "files"


def place_of(to: str) -> str:
    """Return what messages call a store, without its password."""
    return "the workspace" if to == FILES else shown_url(to)


async def migrate(folder: Path | None, team: str, to: str, settings: Settings) -> tuple[Copied, ...]:
    """Copy a team, and those that its lead created from it, from the chosen store to another.

    `to`: the URL of a store, or `files` for the workspace. The team stays where it was. Raises Refused, TeamRunning if
    a process runs it, BadSettings for a URL that cannot be used, StoreError.
    """
    place = workspace_at(folder)
    use_store(place, settings.store)
    url = None if to == FILES else to
    if url == settings.store:
        raise Refused(f"Team '{team}' is in that store already", "Name another one with --to.")
    with telling(place):
        home = home_of(place, team_at(place, team))
        source = engine_at(place)
        streams = {name: _streams(place, name) for name in (home, *teams_from(source, home))}
        Signing(settings.state, place).check(home)
    use_store(place, url)
    return tuple([await _copied(place, name, streams[name], source, settings) for name in streams])


def _streams(place: Path, team: str) -> list[str]:
    reading = Reading(place, team)
    streams = reading.streams()
    if reading.damage:
        raise Refused(reading.damage[0], f"To see what is damaged, run: deskmate doctor {team}")
    return streams


async def _copied(place: Path, team: str, streams: list[str], source: Engine, settings: Settings) -> Copied:
    note, target = f"process {os.getpid()}, which copies it", engine_at(place)
    async with AsyncExitStack() as stack:
        old = source.open(team)
        stack.callback(old.close)
        new = target.open(team, create=True)
        stack.callback(new.close)
        for store in (old, new):
            try:
                await stack.enter_async_context(store.hold(LEAD, note))
            except Held as error:
                raise TeamRunning(team, error.note) from error
        # Before the first record, as for a new team.
        Signing(settings.state, place).claim(team, has_blobs=True)
        return await copy_team(team, streams, old, new)
