"""What a server was started with, and what it lets clients do."""

from pathlib import Path
from typing import Any

from deskmate.app.detached.client_limits import refuse_more, refuse_wider
from deskmate.core.policy.permissions import Mode
from deskmate.core.values import frozen

MOST_TEAMS = 8


@frozen
class Serving:
    """What a server was started with.

    `flags`: settings from its command line. `widest`: the widest permission mode of its teams. `answers`: clients may
    answer questions. `read_only`: clients can only look. `most_teams`: how many teams of the workspace may run at once.
    """

    workspace: Path
    flags: dict[str, Any]
    widest: Mode
    answers: bool = False
    read_only: bool = False
    most_teams: int = MOST_TEAMS

    def check_more(self) -> None:
        """Raise Refused if as many teams run as this server allows."""
        refuse_more(self.workspace, self.most_teams)

    def check_mode(self, team: str) -> None:
        """Raise Refused if a team works in a wider mode than this server allows."""
        refuse_wider(self.workspace, team, self.widest)
