"""The names of members of the home for a lead that leads another team: `alice@main`."""

from dataclasses import replace

from deskmate.core.log.names import LEAD, USER, agent_id
from deskmate.core.team.members import RosterState
from deskmate.core.team.messages import Envelope


def addressed(roster: RosterState) -> RosterState:
    """Return a roster with the names of its teammates as the lead writes them from another team."""
    members = (
        member if name == LEAD else replace(member, name=agent_id(name, roster.team))
        for name, member in roster.members.items()
    )
    return replace(roster, members={member.name: member for member in members})


def from_team(envelope: Envelope, team: str | None) -> Envelope:
    """Return mail with its sender as the lead writes it. `team`: that of the mailbox, if the lead is in another one."""
    is_here = team is None or envelope.sender == USER
    return envelope if is_here else replace(envelope, sender=agent_id(envelope.sender, str(team)))


def split(names: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of members of the current team, and those of the home without their team."""
    here = frozenset(name for name in names if "@" not in name)
    return here, frozenset(name.partition("@")[0] for name in names if "@" in name)
