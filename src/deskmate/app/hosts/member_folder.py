"""The folder in which the process of a teammate is started on a host."""

from pathlib import Path

from deskmate.config import Settings
from deskmate.core.team.members import Member
from deskmate.runtime.team_state import TeamState


async def member_folder(workspace: Path, settings: Settings, team_state: TeamState, member: Member) -> Path:
    """Return the folder that a member works in on this host, prepared for its process.

    Called before each start of that process. Raises PlayerFailed if the folder cannot be prepared.
    """
    return workspace
