"""The branch of a team, merged into the user's branch."""

from pathlib import Path

from deskmate.core.values import frozen
from deskmate.queries.stream_reader import telling, workspace_at
from deskmate.queries.tree_view import places_at, team_with_branch
from deskmate.stores.engines.engine import teams_from
from deskmate.trust.chosen_engine import engine_at
from deskmate.trust.folders import current_folder
from deskmate.workspace.git.revisions import has_branches
from deskmate.workspace.trees.handover.branch_handover import HandedOver, Handover, NotHandedOver, PendingWork

__all__ = ["HandedOver", "Merged", "NotHandedOver", "PendingWork", "merge", "pending_works"]

# Where git keeps the branches of teams.
BRANCHES = "refs/heads/deskmate"


@frozen
class Merged:
    """How the hand-over of a team ended."""

    team: str
    end: HandedOver | NotHandedOver


def merge(folder: Path | None, team: str | None) -> Merged:
    """Merge the branch of a team into the user's branch, unless something of the user's would be lost.

    Raises Refused if there is nothing to merge, or nowhere.
    """
    place = workspace_at(folder)
    name = team_with_branch(place, team)
    return Merged(name, Handover(places_at(place), name, current_folder()).run())


def pending_works(folder: Path | None, home: str) -> list[tuple[str, PendingWork]]:
    """Return what is not in the user's branch yet, of a team and of the teams that its lead created, by team."""
    place = workspace_at(folder)
    places = places_at(place)
    # Without such a branch nothing is read, and git is not started: anybody may have made this repository.
    if not has_branches(places.checkout, BRANCHES) or places.lacks_repository():
        return []
    with telling(place):
        engine = engine_at(place)
        closed = (name.rpartition("-")[0] for name in engine.archived_from(home))
        teams = dict.fromkeys([home, *teams_from(engine, home), *closed])
    here = current_folder()
    found = ((team, Handover(places, team, here).pending()) for team in teams)
    return [(team, pending) for team, pending in found if pending is not None]
