"""Roster records and their rules, member status, permission policy.

A status is a record, never mail: every face sees it at once, and it costs nobody a turn. `runtime.streams` appends only
what these rules allow.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import AfterValidator

from deskmate.core.log.facts import Fact, Foreign, reader
from deskmate.core.log.names import IN_CHARGE, USER, confusion, known_name, new_name, same_name
from deskmate.core.log.persistent_map import Seen
from deskmate.core.log.records import Json
from deskmate.core.policy.permissions import Effect, Mode, PermissionRule
from deskmate.core.policy.tool_table import AgentKind, AgentType
from deskmate.core.team.caps import CapsSet
from deskmate.core.team.handshakes import PlanVerdict
from deskmate.errors import BadInput, BadName

Word = Literal["working", "idle", "waiting", "parked", "left"]


def parse_rule(text: str) -> PermissionRule:
    """Return the rule written as `allow bash(git diff *)`; raise BadInput for any other text."""
    effect, _, rest = text.partition(" ")
    if effect not in set(Effect):
        raise BadInput(
            f"{ascii(text)[:80]} is not a rule", "Write allow, ask or deny, then a tool, such as: allow bash(ls *)"
        )
    return PermissionRule.parse(Effect(effect), rest)


def _is_rule(text: str) -> str:
    parse_rule(text)
    return text


def _is_team(name: str) -> str:
    return known_name(name, "team")


Name = Annotated[str, AfterValidator(known_name)]
TeamName = Annotated[str, AfterValidator(_is_team)]
RuleText = Annotated[str, AfterValidator(_is_rule)]


class TeamFounded(Fact):
    """The team began with the lead as its first member. `home`: the team its lead came from."""

    type: Literal["team_founded"] = "team_founded"
    team: TeamName
    description: str = ""
    home: TeamName | None = None
    at: float


class Joined(Fact):
    """A teammate joined. This record is enough: the supervisor starts every member that has not left.

    `plan`: it hands in a plan first. `mode` is what it may do after that.
    """

    type: Literal["member_joined"] = "member_joined"
    name: Name
    agent_type: AgentType = AgentType.GENERAL
    role: str = ""
    prompt: str = ""
    model: str | None = None
    mode: Mode | None = None
    plan: bool | None = None
    launcher: str = "inline"
    isolation: str | None = None
    at: float
    cause: str | None = None


class Working(Fact):
    """A member began a turn. `plan`: the answer to its plan with which it continues.

    `plans`, here and below: it was spawned to plan first, and none of its plans is approved yet.
    """

    type: Literal["member_working"] = "member_working"
    name: Name
    plan: PlanVerdict | None = None
    plans: bool | None = None
    at: float


class Idle(Fact):
    """A member ended a turn: its last words, a line per message it sent, and how much mail it had heard.

    `only_words`: it completed and sent nothing, so the words are its only result. `rests_on`: the task it leaves
    unfinished, with its epoch; it took any other task in progress since then, and works on that. `held`: the user
    interrupted it, and it takes no task until the user or lead writes.
    """

    type: Literal["member_idle"] = "member_idle"
    name: Name
    words: str = ""
    peers: tuple[str, ...] = ()
    only_words: bool = False
    rests_on: tuple[tuple[int, int], ...] | None = None
    held: bool | None = None
    plans: bool | None = None
    heard: int = 0
    at: float


class Waiting(Fact):
    """A member waits for something outside."""

    type: Literal["member_waiting"] = "member_waiting"
    name: Name
    on: Literal["permission", "plan", "retry", "background"]
    plans: bool | None = None
    heard: int = 0
    at: float


class MemberParked(Fact):
    """A member waits for mail above number `known` from the lead or the user, or (`only_user`) from the user."""

    type: Literal["member_parked"] = "member_parked"
    name: Name
    reason: str
    plans: bool | None = None
    heard: int = 0
    known: int | None = None
    only_user: bool | None = None
    at: float


class Left(Fact):
    """A member left for good, after hearing this much mail. `agreed`: it was asked to leave and agreed."""

    type: Literal["member_left"] = "member_left"
    name: Name
    reason: str = ""
    agreed: bool = False
    heard: int = 0
    at: float


class PolicySet(Fact):
    """The lead's process or the user changed what is permitted, for the team or for one member.

    `delegate`: whether the lead leaves files and commands to others. `sandbox`: how far commands are confined from now
    on. `attended`: a process starts to run the lead, and whether a person is there. `caps`: the limits that the user
    set. They apply until the next such process starts.
    """

    type: Literal["policy_set"] = "policy_set"
    by: Name
    member: Name | None = None
    mode: Mode | None = None
    add_rules: tuple[RuleText, ...] = ()
    remove_rules: tuple[RuleText, ...] = ()
    attended: bool | None = None
    delegate: bool | None = None
    sandbox: str | None = None
    caps: CapsSet | None = None
    at: float


class RosterLossAccepted(Fact):
    """A person accepted that the record of this number is lost."""

    type: Literal["accepted"] = "accepted"
    by: Name = USER
    number: int
    at: float


Event = TeamFounded | Joined | Working | Idle | Waiting | MemberParked | Left | PolicySet | RosterLossAccepted
KINDS: tuple[type[Event], ...] = (
    TeamFounded,
    Joined,
    Working,
    Idle,
    Waiting,
    MemberParked,
    Left,
    PolicySet,
    RosterLossAccepted,
)
read_event: Callable[[Json], Event | Foreign] = reader(*KINDS)


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """What a member is doing, since when, and in which record. `known`, `only_user`: as in `MemberParked`."""

    word: Word
    detail: str = ""
    since: float = 0.0
    number: int = 0
    heard: int = 0
    known: int = 0
    only_user: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """A member with a mailbox, as the roster shows it. `since`: the record by which it joined.

    `worked_in`: the record by which it last began to work. `reports`: by record, the words of its latest turns that had
    no other result. `verdict`: the answer to its latest plan, told in record `verdict_in`. `owes_plan`: it was spawned
    to plan first, and none of its plans is approved yet.
    """

    name: str
    kind: AgentKind
    agent_type: AgentType
    role: str
    colour: str
    joined: Joined | None
    status: MemberStatus
    since: int = 0
    worked_in: int = 0
    words: str = ""
    peers: tuple[str, ...] = ()
    reports: tuple[tuple[int, str], ...] = ()
    rests_on: tuple[tuple[int, int], ...] = ()
    held: bool = False
    agreed: bool = False
    verdict: PlanVerdict | None = None
    verdict_in: int = 0
    owes_plan: bool = False

    @property
    def here(self) -> bool:
        """Whether this member has not left."""
        return self.status.word != "left"

    @property
    def takes_any_task(self) -> bool:
        """Whether it takes free tasks without a role by itself. A lead and read-only members do not."""
        return self.kind is AgentKind.TEAMMATE and self.agent_type is AgentType.GENERAL

    @property
    def interrupted(self) -> bool:
        """Whether the user interrupted it and nobody has written to it since."""
        return self.held and self.status.word == "idle"


@dataclass(frozen=True, slots=True)
class RosterState:
    """The fold of the roster stream.

    `before_plan`: the mode before plan mode, by member; the empty name is for the team.
    """

    team: str = ""
    description: str = ""
    home: str | None = None
    founded: float = 0.0
    members: Mapping[str, Member] = field(default_factory=dict)
    mode: Mode = Mode.DEFAULT
    modes: Mapping[str, Mode] = field(default_factory=dict)
    before_plan: Mapping[str, Mode] = field(default_factory=dict)
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

    def here(self, name: str) -> bool:
        """Tell whether a message to this name can be heard: an agent that has not left, or the user."""
        return name == USER or (name in self.members and self.members[name].here)

    def spelled(self, name: str) -> str:
        """Return a member's or the user's name as spelled here if only its case differs; any other name unchanged."""
        if name in self.members:
            return name
        return next((one for one in (*self.members, USER) if same_name(one, name)), name)

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
        case Joined(name=name):
            return _join_refusal(roster, name)
        case Working(name=name) | Idle(name=name) | Waiting(name=name) | MemberParked(name=name) | Left(name=name):
            return _status_refusal(roster, name)
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
