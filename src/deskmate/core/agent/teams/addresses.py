"""The names of members of the home for a lead that leads another team: `alice@main`."""

from dataclasses import replace

from deskmate.core.log.names import LEAD, agent_id
from deskmate.core.team.members import RosterState


def addressed(roster: RosterState) -> RosterState:
    """Return a roster with the names of its teammates as the lead writes them from another team."""
    members = (
        member if name == LEAD else replace(member, name=agent_id(name, roster.team))
        for name, member in roster.members.items()
    )
    return replace(roster, members={member.name: member for member in members})


def split(names: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of members of the current team, and those of the home without their team."""
    here = frozenset(name for name in names if "@" not in name)
    return here, frozenset(name.partition("@")[0] for name in names if "@" in name)
