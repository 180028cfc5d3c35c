"""The folder that a teammate works in on a host, and how it is isolated there."""

from pathlib import Path

from deskmate.config import Settings
from deskmate.core.policy.isolation import Isolation
from deskmate.core.team.members import Member
from deskmate.core.team.roster_records import Joined
from deskmate.errors import Refused
from deskmate.runtime.team_state import TeamState

_SHARED = "it may run on another machine"


async def member_folder(workspace: Path, settings: Settings, team_state: TeamState, member: Member) -> Path:
    """Return the folder that a member works in on this host, prepared for its process.

    Called before each start of that process. Raises PlayerFailed if the folder cannot be prepared.
    """
    return workspace


def needs_lead(joined: Joined) -> bool:
    """Tell whether a new teammate can only run on the machine of its lead. Then it does, unless somebody wants more."""
    return joined.isolation == Isolation.OWN


def isolated_on_hosts(joined: Joined) -> Joined:
    """Return a new teammate that may run on a host, with where it works there. Raises Refused if it cannot."""
    if needs_lead(joined):
        raise Refused(
            f"'{joined.name}' cannot have its own copy of the repository: {_SHARED}",
            "Leave isolation out, or set host to lead to run it on your machine.",
        )
    return joined.model_copy(update={"isolation": None, "shared_because": _SHARED})
