"""Members as items, and names and statuses as people see them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from deskmate.core.hosts.placement import is_active
from deskmate.core.team.members import Member
from deskmate.core.team.spending import Spending, Sum
from deskmate.core.team.status import Status, status_detail, status_word
from deskmate.core.team.tasks import BoardState
from deskmate.core.values import frozen

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession


@frozen
class MemberItem:
    """A member. `task`: what it has in progress. `spent`: what it and its subagents spent."""

    member: Member
    task: int | None
    spent: Sum

    @property
    def name(self) -> str:
        """Its name."""
        return self.member.name


def member_items(members: Iterable[Member], board: BoardState, spending: Spending) -> list[MemberItem]:
    """Return members as items, in order."""
    return [MemberItem(one, board.working.get(one.name), spending.of(one.name)) for one in members]


def session_items(session: "TeamSession") -> list[MemberItem]:
    """Return the members of all teams of a lead as items, in the order in which they joined."""
    places = [(one, *session.place_of(one.name)) for one in session.members]
    return [
        MemberItem(one, session.boards[team].working.get(name), session.spent_by(one.name))
        for one, team, name in places
    ]


def status_text(status: Status) -> str:
    """Return what a member is doing, and why if that is known."""
    word, detail = status_word(status), status_detail(status)
    return f"{word}: {detail}" if detail else word


def member_status(member: Member) -> str:
    """Return what a member is doing, and on which host if it runs on one."""
    text = status_text(member.status)
    return f"{text}, on {member.host}" if is_active(member) else text


def role_of(member: Member) -> str:
    """Return a member's role, or "" if it only repeats the name."""
    return member.role if member.role != member.name else ""


def colours_of(members: Iterable[Member]) -> dict[str, str]:
    """Return the colours of members by name. Members without a colour are left out."""
    return {member.name: member.colour for member in members if member.colour}


def colours_of_team(session: "TeamSession", team: str) -> dict[str, str]:
    """Return the colours of the members of one of the lead's teams, by their names there."""
    members = (one for one in session.members if one.colour and session.place_of(one.name)[0] == team)
    return {one.name.partition("@")[0]: one.colour for one in members}


def sender_of(name: str) -> str:
    """Return the member that a name stands for. For a subagent, that is the member that started it."""
    return name.partition(":")[0]


def shown_name(name: str) -> str:
    """Return a name for display. A subagent's own name is the id of the call that started it."""
    sender = sender_of(name)
    return name if sender == name else f"{sender} (subagent)"
