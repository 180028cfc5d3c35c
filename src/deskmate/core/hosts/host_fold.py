"""The stream `hosts` folded: which hosts are there, what runs on each, and which teams have called.

A fold never raises. A record of a host that is not there changes nothing.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import field, replace
from typing import assert_never

from deskmate.core.hosts.host_records import (
    HostCame,
    HostDraining,
    HostEvent,
    HostFreed,
    HostLeft,
    HostLoaded,
    HostTook,
    TeamCalled,
    TeamDropped,
    read_host_event,
)
from deskmate.core.log.facts import Foreign
from deskmate.core.log.records import Damaged, Item
from deskmate.core.values import frozen


@frozen
class Host:
    """A host that came and has not left. `since`: the record by which it came. `members`: written `name@team`."""

    came: HostCame
    since: int
    members: Set[str] = frozenset()
    load: float | None = None
    draining: bool = False


@frozen
class TeamCall:
    """The last call of a team, and its record."""

    called: TeamCalled
    number: int


@frozen
class HostsState:
    """All hosts of a space by name, and the calls of teams that a lead runs, as far as the hosts know."""

    hosts: Mapping[str, Host] = field(default_factory=dict)
    calls: Mapping[str, TeamCall] = field(default_factory=dict)
    number: int = 0


EMPTY = HostsState()


def fold(state: HostsState, items: Iterable[Item]) -> HostsState:
    """Return the hosts after these items. What cannot be read has no effect."""
    hosts, calls, number = dict(state.hosts), dict(state.calls), state.number
    for item in items:
        number = item.number
        event = None if isinstance(item, Damaged) else read_host_event(item.body)
        if event is not None and not isinstance(event, Foreign):
            _apply(hosts, calls, event, number)
    return HostsState(hosts, calls, number)


def _apply(hosts: dict[str, Host], calls: dict[str, TeamCall], event: HostEvent, number: int) -> None:
    match event:
        case HostCame(name=name):
            hosts[name] = Host(event, number)
        case HostLeft(name=name):
            hosts.pop(name, None)
        case TeamCalled(team=team):
            calls[team] = TeamCall(event, number)
        case TeamDropped(team=team):
            calls.pop(team, None)
        case HostTook() | HostFreed() | HostLoaded() | HostDraining():
            if event.name in hosts:
                hosts[event.name] = _changed(hosts[event.name], event)
        case unreachable:
            assert_never(unreachable)


def _changed(host: Host, event: HostTook | HostFreed | HostLoaded | HostDraining) -> Host:
    match event:
        case HostTook(member=member):
            return replace(host, members=frozenset(host.members | {member}))
        case HostFreed(member=member):
            return replace(host, members=frozenset(host.members - {member}))
        case HostLoaded(load=load):
            return replace(host, load=load)
        case HostDraining():
            return replace(host, draining=True)
        case unreachable:
            assert_never(unreachable)
