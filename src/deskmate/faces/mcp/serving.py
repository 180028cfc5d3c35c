"""What a server was started with, and what it lets clients do."""

from pathlib import Path
from typing import Any

from deskmate.app.detached.client_limits import refuse_wider
from deskmate.core.policy.permissions import Mode
from deskmate.core.values import frozen


@frozen
class Serving:
    """What a server was started with.

    `flags`: settings from its command line. `widest`: the widest permission mode of its teams. `answers`: clients may
    answer questions. `read_only`: clients can only look. `trusts`: its teams use all files that need trust.
    """

    workspace: Path
    flags: dict[str, Any]
    widest: Mode
    answers: bool = False
    read_only: bool = False
    trusts: bool = False

    def check_mode(self, team: str) -> None:
        """Raise Refused if a team works in a wider mode than this server allows."""
        refuse_wider(self.workspace, team, self.widest)
