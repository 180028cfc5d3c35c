"""The roster folded from its records.

A fold never raises. A record that breaks a rule, is damaged or is unknown changes nothing and is noted. `members` has
the rules and the values.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple, assert_never

from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import LEAD
from deskmate.core.log.records import Damaged, Item
from deskmate.core.policy.permissions import Mode, PermissionRule
from deskmate.core.policy.tool_table import COLOURS, AgentKind, AgentType, colour_of
from deskmate.core.team.members import Member, RosterState, refusal
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
    PlaceRecord,
    PolicySet,
    RosterLossAccepted,
    StatusRecord,
    TeamDescribed,
    TeamFounded,
    parse_rule,
    read_event,
)
from deskmate.core.team.status import Idle, Left, Parked, Waiting, Working

_NOTES, _REPORTS = 20, 10


def fold(roster: RosterState, items: Iterable[Item]) -> RosterState:
    """Return the roster after these items. Records that the rules refuse are skipped and noted."""
    draft = _Draft(dict(roster.members), dict(roster.modes), dict.fromkeys(roster.rules), set(roster.damaged))
    roster = replace(roster, members=draft.members, modes=draft.modes, damaged=draft.damaged)
    for item in items:
        if isinstance(item, Damaged):
            if item.kind == "lost":
                draft.damaged.add(item.number)
            roster = replace(roster, number=item.number)
            continue
        event = read_event(item.body)
        why = event.reason if isinstance(event, Foreign) else _held(roster, event) or refusal(roster, event)
        if why or isinstance(event, Foreign):
            notes = (*roster.skipped, f"record {item.number}: {why}")[-_NOTES:]
            roster = replace(roster, number=item.number, skipped=notes)
        else:
            roster = replace(_apply(roster, draft, event, item.number), number=item.number)
    return replace(roster, rules=tuple(draft.rules), damaged=frozenset(draft.damaged))


class _Draft(NamedTuple):
    """The parts of a roster that grow. A fold changes them in place, so that a record never costs a full copy."""

    members: dict[str, Member]
    modes: dict[str, Mode]
    rules: dict[PermissionRule, None]
    damaged: set[int]


def _held(roster: RosterState, event: Event) -> str | None:
    return f"a repeat of {event.cause}" if isinstance(event, Joined) and event.cause in roster.causes else None


def _apply(roster: RosterState, draft: _Draft, event: Event, number: int) -> RosterState:
    match event:
        case TeamFounded(team=team, description=description, home=home, at=at):
            lead = Member(
                name=LEAD,
                kind=AgentKind.LEAD,
                agent_type=AgentType.GENERAL,
                role=LEAD,
                colour="",
                joined=None,
                status=Idle(),
                status_in=number,
                status_at=at,
            )
            # Members that joined earlier are kept: the record of the first founding may be lost.
            others = dict(draft.members)
            draft.members.clear()
            draft.members.update({LEAD: lead, **others})
            return replace(roster, team=team, description=description, home=home, founded=at)
        case TeamDescribed():
            return replace(roster, described=event)
        case Joined():
            return _join(roster, draft, event, number)
        case PolicySet():
            return _permit(roster, draft, event)
        case MemberPlaced() | MemberRecalled() | MemberReturned():
            draft.members[event.name] = _with_place(draft.members[event.name], event, number)
            return roster
        case RosterLossAccepted(number=accepted):
            draft.damaged.discard(accepted)
            return roster
        case _:
            draft.members[event.name] = _with_status(draft.members[event.name], event, number)
            return roster


def _join(roster: RosterState, draft: _Draft, event: Joined, number: int) -> RosterState:
    usual = colour_of(len(draft.members) - (LEAD in draft.members))
    draft.members[event.name] = Member(
        name=event.name,
        kind=AgentKind.TEAMMATE,
        agent_type=event.agent_type,
        role=event.role,
        colour=event.colour if event.colour in COLOURS else usual,
        joined=event,
        status=Working(),
        status_in=number,
        status_at=event.at,
        since=number,
        worked_in=number,
        owes_plan=bool(event.plan),
        base_tools=event.tools,
        host=event.first_host or "",
    )
    if event.mode:
        draft.modes[event.name] = event.mode
    return replace(roster, causes=roster.causes.put(event.cause, number)) if event.cause else roster


def _with_status(member: Member, event: StatusRecord | MemberLeft, number: int) -> Member:
    member = replace(member, status_in=number, status_at=event.at, known=0, only_user=False)
    if not isinstance(event, MemberLeft):
        member = replace(member, owes_plan=bool(event.plans))
    match event:
        case MemberWorking(plan=verdict):
            member = replace(member, status=Working(), worked_in=number)
            is_news = verdict is not None and verdict != member.verdict
            return replace(member, verdict=verdict, verdict_in=number) if is_news else member
        case MemberIdle(words=words, peers=peers):
            reports = (*member.reports, (number, words))[-_REPORTS:] if event.only_words else member.reports
            member = replace(member, status=Idle(), heard=event.heard, words=words, peers=peers, reports=reports)
            return replace(member, rests_on=event.rests_on or (), held=bool(event.held))
        case MemberWaiting(on=on):
            return replace(member, status=Waiting(on), heard=event.heard)
        case MemberParked(reason=reason, known=known, only_user=only_user):
            member = replace(member, status=Parked(reason), heard=event.heard)
            return replace(member, known=known or 0, only_user=bool(only_user))
        case MemberLeft(reason=reason, agreed=agreed):
            return replace(member, status=Left(reason, agreed), heard=event.heard)
        case unreachable:
            assert_never(unreachable)


def _with_place(member: Member, event: PlaceRecord, number: int) -> Member:
    match event:
        case MemberPlaced(host=host):
            return replace(member, host=host or "", placed_in=number, recalled=False, returned=None)
        case MemberRecalled():
            return replace(member, recalled=True)
        case MemberReturned():
            return replace(member, returned=event)
        case unreachable:
            assert_never(unreachable)


def _permit(roster: RosterState, draft: _Draft, event: PolicySet) -> RosterState:
    for rule in map(parse_rule, event.remove_rules):
        draft.rules.pop(rule, None)
    draft.rules.update(dict.fromkeys(map(parse_rule, event.add_rules)))
    said: dict[str, Any] = {"attended": event.attended, "delegate": event.delegate, "sandbox": event.sandbox}
    roster = replace(roster, **{name: value for name, value in said.items() if value is not None})
    if event.attended is not None:
        roster = replace(roster, caps=event.caps)
    elif event.caps is not None:
        roster = replace(roster, caps=roster.caps.then(event.caps) if roster.caps else event.caps)
    had = roster.mode_of(event.member) if event.member else roster.mode
    if event.mode is Mode.PLAN and had is not Mode.PLAN:
        roster = replace(roster, before_plan={**roster.before_plan, event.member or "": event.before_plan or had})
    if event.mode and event.member:
        draft.modes[event.member] = event.mode
        return roster
    return replace(roster, mode=event.mode) if event.mode else roster
