"""What a client that acts for the user may do to a team.

A client may be an agent. It must not reach more through a team than the person allowed it.
"""

from pathlib import Path

from deskmate.core.policy.permissions import Mode
from deskmate.errors import Refused
from deskmate.queries.stream_reader import teams_at
from deskmate.queries.team_view import look_at_policy, look_at_teams


def refuse_wider(folder: Path | None, team: str, widest: Mode) -> None:
    """Raise Refused if a member of a team works in a mode wider than `widest`. It would do anything it is told."""
    seen = look_at_policy(folder, team)
    modes = {"the team": Mode(seen.mode), **{f"'{name}'": Mode(mode) for name, mode in seen.modes.items()}}
    for who, mode in modes.items():
        if mode.wider_than(widest):
            raise Refused(
                f"In team '{seen.team}', {who} works in permission mode {mode}, which is wider than {widest}",
                "You can look at this team and interrupt it, but not tell it what to do.",
            )


def refuse_more(folder: Path | None, most: int) -> None:
    """Raise Refused if `most` teams of a workspace run already. A cap on costs is for each of them."""
    running = [team.name for team in look_at_teams(folder) if team.live] if teams_at(folder) else []
    if len(running) >= most:
        raise Refused(
            f"{len(running)} teams run here, and at most {most} may do so at once",
            "Wait until one of them has stopped, or stop one.",
        )
