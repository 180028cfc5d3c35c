"""Removing teams.

Only teams that this user began here are removed, and only while no process runs them. Faces first show what would be
deleted and ask. The engine deletes them.
"""

import os
import time
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path

from deskmate.app.handover.tree_removal import prune_trees
from deskmate.config import environment, state_folder
from deskmate.core.log.names import LEAD
from deskmate.core.values import frozen
from deskmate.errors import Held, Refused
from deskmate.queries.stream_reader import Reading, telling, title_at, workspace_at
from deskmate.queries.team_view import SeenTeam, look_at_teams
from deskmate.queries.tree_view import SeenTree
from deskmate.stores.engines.engine import teams_from
from deskmate.stores.jsonl_store import TASKS, TEAMS
from deskmate.trust.chosen_engine import engine_at
from deskmate.trust.folders import known_team
from deskmate.trust.team_signature import Signing
from deskmate.workspace.checkpoints.choice import forget_checkpoints

_DAY_SECONDS = 86400


@frozen
class Removable:
    """A team that may be removed, and what is removed with it.

    `open`: teams that its lead created from it. `closed`: archive folders of teams that the lead closed.
    """

    name: str
    title: str
    open: tuple[str, ...]
    closed: tuple[str, ...]


def has_teams(folder: Path | None) -> bool:
    """Return whether there is any team to remove."""
    place = workspace_at(folder)
    with telling(place):
        return bool(engine_at(place).teams())


def removable(folder: Path | None, names: Iterable[str]) -> tuple[Removable, ...]:
    """Return these teams with all that would be removed. Raises Refused for a team that may not be removed."""
    place = workspace_at(folder)
    with telling(place):
        found = [_removable(place, known_team(place, name)) for name in dict.fromkeys(names)]
    # A team that is removed with its first team is not removed a second time.
    inner = {name for one in found for name in one.open}
    return tuple(one for one in found if one.name not in inner)


def prunable(folder: Path | None, days: float | None) -> tuple[tuple[Removable, ...], tuple[str, ...]]:
    """Return the teams that no model answered and that completed no task, and why others of that kind are kept.

    With `days`, also teams to which nothing was written for that many days.
    """
    place, oldest = workspace_at(folder), None if days is None else time.time() - days * _DAY_SECONDS
    teams, found, kept = look_at_teams(place), list[Removable](), list[str]()
    for team in teams:
        family = [team, *(one for one in teams if one.home == team.name)]
        if team.home is None and not team.damage and not team.live and _is_spent(family, oldest):
            try:
                found.append(_removable(place, team.name))
            except Refused as error:
                kept.append(str(error))
    return tuple(found), tuple(kept)


def _is_spent(family: Iterable[SeenTeam], oldest: float | None) -> bool:
    family = tuple(family)
    useless = not any(team.spent.calls or team.done_tasks for team in family)
    return useless or (oldest is not None and max(team.written for team in family) < oldest)


def _removable(place: Path, team: str) -> Removable:
    engine = engine_at(place)
    inner = tuple(teams_from(engine, team))
    for name in (team, *inner):
        _check(place, name)
    return Removable(team, title_at(place, team), inner, tuple(engine.archived_from(team)))


def _check(place: Path, team: str) -> None:
    """Raise Refused for a team that somebody else began or that a process runs."""
    if not Signing(state_folder(environment()), place).signed(team):
        raise Refused(
            f"You did not start team '{team}' here, so it is not removed",
            f"To delete it yourself, run: rm -r {place / TEAMS / team} {place / TASKS / team}",
        )
    reading = Reading(place, team)
    for member in (LEAD, *reading.seats()):
        if (holder := reading.holder(member)) is not None:
            raise Refused(f"Team '{team}' is running in {holder}", "Stop it first, then remove it.")


async def remove(folder: Path | None, team: Removable) -> tuple[SeenTree, ...]:
    """Delete a team. Return the trees of its teammates that are kept, because they have work that is nowhere else.

    Its branch is kept, too. Raises Refused if a process runs it by now, StoreError or ToolError if the disk refuses.
    """
    place = workspace_at(folder)
    engine = engine_at(place)
    async with AsyncExitStack() as stack:
        for name in (team.name, *team.open):
            _check(place, name)
            store = engine.open(name)
            stack.callback(store.close)
            try:
                await stack.enter_async_context(store.hold(LEAD, f"process {os.getpid()}, which removes it"))
            except Held as error:
                raise Refused(f"Team '{name}' is running in {error.note}", "Stop it first, then remove it.") from error
        for name in team.open:
            engine.remove(name)
        forget_checkpoints(place, team.name, state_folder(environment()), environment())
        engine.remove(team.name, team.closed)
    closed = (name.rpartition("-")[0] for name in team.closed)
    pruned = [await prune_trees(place, name) for name in dict.fromkeys([team.name, *team.open, *closed])]
    return tuple(tree for one in pruned for tree in one.kept)
