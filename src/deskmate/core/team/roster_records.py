"""Roster records: who joined, what each member is doing, what is permitted.

A status is a record, never mail: every face sees it at once, and it costs nobody a turn.
"""

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import AfterValidator

from deskmate.core.log.facts import Fact, Foreign, reader
from deskmate.core.log.names import USER, known_name
from deskmate.core.log.records import Json
from deskmate.core.policy.permissions import Effect, Mode, PermissionRule
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.team.caps import CapsSet
from deskmate.core.team.handshakes import PlanVerdict
from deskmate.core.team.status import WaitsOn
from deskmate.errors import BadInput


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
    """The team began with the lead as its first member. `home`: the team its lead came from.

    `fork_of`: the team whose conversation was copied. `copied`: how many entries of the lead are from there.
    """

    type: Literal["team_founded"] = "team_founded"
    team: TeamName
    description: str = ""
    home: TeamName | None = None
    fork_of: TeamName | None = None
    copied: int | None = None
    at: float


class TeamDescribed(Fact):
    """The team is described in a file. This is recorded before anybody joins, so that a start that is cut can go on.

    `text`: the whole file, so that it is not needed again. `words`: what the lead is told first.
    """

    type: Literal["team_described"] = "team_described"
    file: str
    text: str
    words: str = ""
    at: float


class Joined(Fact):
    """A teammate joined. This record is enough: the supervisor starts every member that has not left.

    `plan`: it submits a plan first. `mode` is what it may do after that. `custom_type`: the name of its agent type, if
    a file described it. `instructions`, `tools`, `skills`, `colour` are from that file, so that it is not needed again.
    `isolation`: `own` if it works in its own copy of the repository. `shared_because`: why it has none, although it
    would have got one. `host`, `labels`: on which other machine it must run, if it must. `first_host`: the one that
    was chosen when it joined. With `launcher` host, it runs on hosts.
    """

    type: Literal["member_joined"] = "member_joined"
    name: Name
    agent_type: AgentType = AgentType.GENERAL
    custom_type: str | None = None
    instructions: str | None = None
    tools: tuple[str, ...] | None = None
    skills: tuple[str, ...] | None = None
    colour: str | None = None
    role: str = ""
    prompt: str = ""
    model: str | None = None
    mode: Mode | None = None
    plan: bool | None = None
    launcher: str = "inline"
    isolation: str | None = None
    shared_because: str | None = None
    host: str | None = None
    labels: tuple[str, ...] | None = None
    first_host: str | None = None
    at: float
    cause: str | None = None


class MemberWorking(Fact):
    """A member began a turn. `plan`: the answer to its plan with which it continues.

    `plans`, here and below: it was spawned to plan first, and none of its plans is approved yet.
    """

    type: Literal["member_working"] = "member_working"
    name: Name
    plan: PlanVerdict | None = None
    plans: bool | None = None
    at: float


class MemberIdle(Fact):
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


class MemberWaiting(Fact):
    """A member waits for something outside."""

    type: Literal["member_waiting"] = "member_waiting"
    name: Name
    on: WaitsOn
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


class MemberLeft(Fact):
    """A member left for good, after hearing this much mail. `agreed`: it was asked to leave and agreed."""

    type: Literal["member_left"] = "member_left"
    name: Name
    reason: str = ""
    agreed: bool = False
    heard: int = 0
    at: float


class MemberPlaced(Fact):
    """The lead wants a teammate to run on a host, another machine. None: on its own machine."""

    type: Literal["member_placed"] = "member_placed"
    name: Name
    host: str | None = None
    at: float


class MemberRecalled(Fact):
    """The lead wants a teammate to run nowhere for now. Its host ends it, and says so with `member_returned`."""

    type: Literal["member_recalled"] = "member_recalled"
    name: Name
    at: float


class MemberReturned(Fact):
    """A host does not run a teammate any more that was placed there with record `placed`, and that has not left.

    `error`: what its process ended with. Without one, the host has no room for it, or was asked to end it.
    `records_changed`: the process found that the member's records were truncated or changed.
    """

    type: Literal["member_returned"] = "member_returned"
    name: Name
    placed: int
    error: str | None = None
    records_changed: bool | None = None
    at: float


PlaceRecord = MemberPlaced | MemberRecalled | MemberReturned
RestRecord = MemberIdle | MemberWaiting | MemberParked
StatusRecord = MemberWorking | RestRecord


class PolicySet(Fact):
    """The lead's process or the user changed what is permitted, for the team or for one member.

    `delegate`: whether the lead leaves files and commands to others. `sandbox`: how far commands are confined from now
    on. `attended`: a process starts to run the lead, and whether a person is there. `caps`: the limits that the user
    set. They apply until the next such process starts. `before_plan`: the mode that follows plan mode, if it is not the
    one that this replaces.
    """

    type: Literal["policy_set"] = "policy_set"
    by: Name
    member: Name | None = None
    mode: Mode | None = None
    before_plan: Mode | None = None
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


Event = (
    TeamFounded
    | TeamDescribed
    | Joined
    | MemberWorking
    | MemberIdle
    | MemberWaiting
    | MemberParked
    | MemberLeft
    | PlaceRecord
    | PolicySet
    | RosterLossAccepted
)
KINDS: tuple[type[Event], ...] = (
    TeamFounded,
    TeamDescribed,
    Joined,
    MemberWorking,
    MemberIdle,
    MemberWaiting,
    MemberParked,
    MemberLeft,
    MemberPlaced,
    MemberRecalled,
    MemberReturned,
    PolicySet,
    RosterLossAccepted,
)
read_event: Callable[[Json], Event | Foreign] = reader(*KINDS)
