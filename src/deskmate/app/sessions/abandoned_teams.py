"""Teams in which nothing was ever said.

Such a team is removed by the process that created it, when that ends. If it was killed before, the next start removes
the team.
"""

import os
from contextlib import closing, suppress

from anyio import to_thread

from deskmate.core.log.names import LEAD, ROSTER
from deskmate.core.team import members, roster_fold
from deskmate.errors import Held, StoreError
from deskmate.ports import Store
from deskmate.stores.engines.engine import teams_from
from deskmate.trust.chosen_engine import engine_at
from deskmate.trust.team_signature import Signing


async def give_up_abandoned(signing: Signing, keep: str | None = None) -> None:
    """Remove the teams of this user in which nothing was ever said and whose process is gone, all but `keep`.

    A team that cannot be read or removed is left alone.
    """
    for team in engine_at(signing.workspace).teams():
        if team != keep and _is_reserved(signing, team):
            with suppress(Held, StoreError):
                await _give_up(signing, team)


def _is_reserved(signing: Signing, team: str) -> bool:
    engine = engine_at(signing.workspace)
    if not signing.signed(team) or engine.has_begun(team):
        return False
    return not teams_from(engine, team) and not engine.archived_from(team)


async def _give_up(signing: Signing, team: str) -> None:
    engine = engine_at(signing.workspace)
    with closing(engine.open(team)) as store:
        # Before the seat is taken, which leaves a file in the team's folder.
        if not await _is_alone(store):
            return
        async with store.hold(LEAD, f"process {os.getpid()}, which removes it"):
            # Check again, now that no other process can run it: something may have been said meanwhile.
            if _is_reserved(signing, team) and await _is_alone(store):
                await to_thread.run_sync(engine.remove, team)


async def _is_alone(store: Store) -> bool:
    """Return whether no teammate ever joined or is to join from a team file, as far as the roster can be read."""
    roster = roster_fold.fold(members.EMPTY, await store.read(ROSTER))
    return not roster.teammates and not roster.described and not roster.damaged
