"""Which teammates get their own trees, and how these are made."""

import logging
from pathlib import Path

from deskmate.config import Settings, environment
from deskmate.core.policy.isolation import Isolation, isolation_of, wanted_isolation
from deskmate.core.team.roster_records import Joined
from deskmate.runtime.team_state import TeamState
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.trees.own_tree import TreeSetup
from deskmate.workspace.trees.team_trees import TeamTrees
from deskmate.workspace.trees.tree_places import TreePlaces

_LOG = logging.getLogger(__name__)


def placed(joined: Joined, settings: Settings, places: TreePlaces) -> Joined:
    """Return a new teammate with where it works. Raises Refused if it must have its own tree and cannot.

    If it cannot have one and somebody chose that, the user is told why, once. The lead is told in any case.
    """
    wanted = wanted_isolation(joined.isolation, settings.isolation, joined.agent_type)
    obstacle = "" if wanted is Isolation.SHARED else places.refusal()
    found = isolation_of(joined.name, wanted, obstacle)
    is_chosen = joined.isolation is not None or "isolation" in settings.model_fields_set
    if obstacle and is_chosen and obstacle not in places.told:
        places.told.add(obstacle)
        _LOG.warning("Teammates work in your folder, without their own copies of the repository: %s", obstacle)
    isolation = found if found is Isolation.OWN else None
    return joined.model_copy(update={"isolation": isolation, "shared_because": obstacle or None})


def trees_of(
    team_state: TeamState,
    settings: Settings,
    places: TreePlaces,
    records: Path,
    sandbox: Sandbox,
    skills: tuple[Path, ...] = (),
) -> TeamTrees:
    """Return the trees of a team. `records`: the folder that has its records. `skills`: folders of skills."""
    setup = TreeSetup(settings.tree.setup, tuple(settings.tree.sparse))
    team, redaction = team_state.roster.state.team, team_state.writer.redaction
    return TeamTrees(places, team, records, environment(), sandbox, redaction, setup, skills)
