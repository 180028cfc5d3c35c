"""Where a teammate works: in the folder of the user, or in its own copy of the repository."""

from enum import StrEnum

from deskmate.core.policy.tool_table import AgentType
from deskmate.errors import Refused


class Isolation(StrEnum):
    """Where a teammate works: in the folder of the user, in a tree of its own, or that if it is possible."""

    SHARED = "shared"
    OWN = "own"
    AUTO = "auto"


def wanted_isolation(asked: str | None, usual: Isolation, agent_type: AgentType) -> Isolation:
    """Return what to try for a new teammate. `asked`: by who starts it. `usual`: what the settings say.

    A teammate that only reads needs no tree.
    """
    return Isolation(asked or usual) if agent_type is AgentType.GENERAL else Isolation.SHARED


def isolation_of(name: str, wanted: Isolation, obstacle: str) -> Isolation:
    """Return where a teammate works. `obstacle`: why nobody can have a tree here, empty if everybody can.

    Raises Refused if it must have a tree and cannot.
    """
    if obstacle and wanted is Isolation.OWN:
        raise Refused(f"'{name}' cannot have its own copy of the repository: {obstacle}", "Leave isolation out.")
    return Isolation.SHARED if obstacle or wanted is Isolation.SHARED else Isolation.OWN
