"""The roster: its members and their status, the permission policy, and the rules for its records.

`roster_records` has the records and `roster_fold` folds them. `runtime.streams` appends only what these rules allow.
"""

from collections.abc import Mapping, Set
from dataclasses import field
from typing import assert_never

from deskmate.core.log.names import IN_CHARGE, LEAD, USER, confusion, new_name, same_name
from deskmate.core.log.persistent_map import Seen
from deskmate.core.policy.isolation import Isolation
from deskmate.core.policy.permissions import Mode, PermissionRule
from deskmate.core.policy.tool_table import AgentKind, AgentType, tools_of
from deskmate.core.team.caps import CapsSet
from deskmate.core.team.handshakes import PlanVerdict
from deskmate.core.team.roster_records import (
    Event,
    Joined,
    MemberIdle,
    MemberLeft,
    MemberParked,
    MemberPlaced,
    MemberRecalled,
    MemberReturned,
    MemberWaiting,
    MemberWorking,
    PolicySet,
    RosterLossAccepted,
    TeamDescribed,
    TeamFounded,
)
from deskmate.core.team.status import Idle, Left, Parked, Status, Waiting, Working
from deskmate.core.values import frozen
from deskmate.errors import BadName


@frozen
class Member:
    """A member with a mailbox, as the roster shows it. `since`: the record by which it joined.

    `status_in`, `status_at`: the record that told its status, and when. `heard`: how much mail it had heard then.
    `known`, `only_user`: as in `MemberParked`, while it is parked. `worked_in`: the record by which it last began to
    work. `reports`: by record, the words of its latest turns that had no other result. `verdict`: the answer to its
    latest plan, told in record `verdict_in`. `owes_plan`: it was spawned to plan first, and none of its plans is
    approved yet. `base_tools`: its only tools for files and commands, None for all that its type allows. `host`: the
    other machine that it runs on or was last placed on, in record `placed_in`. `recalled`, `returned`: how that ended.
    """

    name: str
    kind: AgentKind
    agent_type: AgentType
    role: str
    colour: str
    joined: Joined | None
    status: Status
    status_in: int = 0
    status_at: float = 0.0
    heard: int = 0
    known: int = 0
    only_user: bool = False
    since: int = 0
    worked_in: int = 0
    words: str = ""
    peers: tuple[str, ...] = ()
    reports: tuple[tuple[int, str], ...] = ()
    rests_on: tuple[tuple[int, int], ...] = ()
    held: bool = False
    verdict: PlanVerdict | None = None
    verdict_in: int = 0
    owes_plan: bool = False
    base_tools: tuple[str, ...] | None = None
    host: str = ""
    placed_in: int = 0
    recalled: bool = False
    returned: MemberReturned | None = None

    def tools(self, *, planning: bool = False, delegate: bool = False) -> tuple[str, ...]:
        """Return the names of the tools it has, whatever its permissions."""
        return tools_of(self.kind, self.agent_type, planning=planning, delegate=delegate, base=self.base_tools)

    @property
    def isolated(self) -> bool:
        """Whether it works in a tree of its own."""
        return self.joined is not None and self.joined.isolation == Isolation.OWN

    @property
    def here(self) -> bool:
        """Whether this member has not left."""
        return not isinstance(self.status, Left)

    @property
    def busy(self) -> bool:
        """Whether it is in a turn, which may wait for something. Waiting for the answer to a plan ends a turn."""
        match self.status:
            case Working():
                return True
            case Waiting(on=on):
                return on != "plan"
            case Idle() | Parked() | Left():
                return False
            case unreachable:
                assert_never(unreachable)

    @property
    def waits_for_user(self) -> bool:
        """Whether only the user can let it continue. The lead can also answer the plan of a teammate."""
        return self.status == Waiting("permission") or (self.name == LEAD and self.status == Waiting("plan"))

    @property
    def takes_any_task(self) -> bool:
        """Whether it takes free tasks without a role by itself. A lead and read-only members do not."""
        return self.kind is AgentKind.TEAMMATE and self.agent_type is AgentType.GENERAL

    @property
    def interrupted(self) -> bool:
        """Whether the user interrupted it and nobody has written to it since."""
        return self.held and isinstance(self.status, Idle)


@frozen
class RosterState:
    """The fold of the roster stream.

    `before_plan`: the mode before plan mode, by member; the empty name is for the team. `described`: the file that
    the team is made from, if it is.
    """

    team: str = ""
    description: str = ""
    home: str | None = None
    founded: float = 0.0
    members: Mapping[str, Member] = field(default_factory=dict)
    mode: Mode = Mode.DEFAULT
    modes: Mapping[str, Mode] = field(default_factory=dict)
    before_plan: Mapping[str, Mode] = field(default_factory=dict)
    described: TeamDescribed | None = None
    rules: tuple[PermissionRule, ...] = ()
    attended: bool = False
    delegate: bool = False
    sandbox: str = ""
    caps: CapsSet | None = None
    number: int = 0
    causes: Seen[int] = field(default_factory=Seen)
    damaged: Set[int] = frozenset()
    skipped: tuple[str, ...] = ()

    @property
    def away(self) -> str:
        """The name of this team if its lead has another home team; empty if this is the home."""
        return self.team if self.home else ""

    @property
    def teammates(self) -> list[Member]:
        """All spawned members in the order they joined, including those that left."""
        return [member for member in self.members.values() if member.kind is AgentKind.TEAMMATE]

    @property
    def has_company(self) -> bool:
        """Whether the team has teammates that have not left."""
        return any(member.here for member in self.teammates)

    def here(self, name: str) -> bool:
        """Tell whether a message to this name can be heard: an agent that has not left, or the user."""
        return name == USER or (name in self.members and self.members[name].here)

    def spelled(self, name: str) -> str:
        """Return a member's or the user's name as spelled here if only its case differs; any other name unchanged."""
        if name in self.members:
            return name
        return next((one for one in (*self.members, USER) if same_name(one, name)), name)

    def is_away(self, name: str) -> bool:
        """Tell whether a member is placed on another machine than the lead's."""
        return name in self.members and bool(self.members[name].host)

    def mode_of(self, name: str) -> Mode:
        """Return the permission mode of a member, or of a subagent, whose name is the id of a member's call."""
        return self.modes.get(name.partition(":")[0], self.mode)

    def plans(self, name: str) -> bool:
        """Tell whether a member is in plan mode, as far as the roster shows."""
        member = self.members.get(name)
        return is_planning(self, name, owes_plan=member is not None and member.owes_plan)


def is_planning(roster: RosterState, name: str, *, owes_plan: bool) -> bool:
    """Tell whether an agent is in plan mode: it owes a plan since it was spawned, or its permission mode is plan."""
    return owes_plan or roster.mode_of(name) is Mode.PLAN


def mode_approved(roster: RosterState, name: str, verdict: PlanVerdict) -> Mode | None:
    """Return the mode that a member gets when its plan is approved; None if it has that mode already.

    That is the mode it had before plan mode, or one in which edits are accepted.
    """
    had = roster.mode_of(name)
    mode = had
    if had is Mode.PLAN:
        mode = roster.before_plan.get(name) or roster.before_plan.get("") or Mode.DEFAULT
    if verdict.accept_edits and verdict.by == USER and Mode.ACCEPT_EDITS.wider_than(mode):
        mode = Mode.ACCEPT_EDITS
    return None if mode is had else mode


EMPTY = RosterState()


def refusal(roster: RosterState, event: Event) -> str | None:
    """Return why the roster does not allow an event; None if it does."""
    match event:
        case TeamFounded():
            founded = f"Team '{roster.team}' already exists. Continue with it, or choose another name."
            return founded if roster.team else None
        case TeamDescribed():
            return "This team is already described in a file." if roster.described else None
        case Joined(name=name):
            return _join_refusal(roster, name)
        case MemberWorking() | MemberIdle() | MemberWaiting() | MemberParked() | MemberLeft():
            return _status_refusal(roster, event.name)
        case MemberPlaced(name=name) | MemberRecalled(name=name):
            return _status_refusal(roster, name)
        case MemberReturned(name=name, placed=placed):
            return _status_refusal(roster, name) or _return_refusal(roster.members[name], placed)
        case PolicySet(by=by):
            return None if by in IN_CHARGE else f"'{by}' cannot change permissions. Ask the lead."
        case RosterLossAccepted(by=by, number=number):
            return _accept_refusal(roster, by, number)


def _join_refusal(roster: RosterState, name: str) -> str | None:
    try:
        new_name(name)
    except BadName as error:
        return str(error)
    if name not in roster.members:
        return None
    # Shortened, so that a number still fits after the longest name.
    others = (f"{name[:56]}-{n}" for n in range(2, 100))
    free = (other for other in others if other not in roster.members and not confusion(other, roster.members))
    advice = next((f"Try '{other}'." for other in free), "Choose another.")
    return f"The name '{name}' was used in this team before, and no name is used twice. {advice}"


def _status_refusal(roster: RosterState, name: str) -> str | None:
    if name not in roster.members:
        return f"'{name}' is not on the roster. Only members have a status."
    return None if roster.members[name].here else f"'{name}' has left. Nothing more is recorded about it."


def _return_refusal(member: Member, placed: int) -> str | None:
    # A host that was cut off does not know yet that the member was placed elsewhere.
    is_current = member.placed_in == placed and member.returned is None
    return None if is_current else f"'{member.name}' is not placed by record {placed} any more."


def _accept_refusal(roster: RosterState, by: str, number: int) -> str | None:
    if by != USER:
        return f"Only a person can accept the damage at record {number}. Ask the user."
    return (
        None
        if number in roster.damaged
        else f"Record {number} of the roster is not damaged. There is nothing to accept."
    )


def who_is_here(roster: RosterState) -> str:
    """Return a sentence that names everyone who can be written to."""
    here = [member.name for member in roster.members.values() if member.here]
    return f"On the team: {', '.join([*here, USER])}."


def recipient_refusal(roster: RosterState, name: str) -> str | None:
    """Return why nobody of this name can be written to, and who can; None if the name is fine."""
    if roster.here(name):
        return None
    what = "has left" if name in roster.members else "is not on this team"
    return f"'{name[:80]}' {what}. {who_is_here(roster)}"
