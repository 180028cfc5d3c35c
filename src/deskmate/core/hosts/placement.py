"""Which host a teammate runs on, as a pure rule over what hosts offer and what the teammate needs."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Literal, TypeAlias

from deskmate.core.hosts.host_fold import Host, HostsState
from deskmate.core.log.names import LEAD, agent_id
from deskmate.core.team.members import Member, RosterState
from deskmate.core.values import frozen

HostWord: TypeAlias = Literal["up", "draining", "lost"]
# Spawned for hosts: the launcher of a teammate that may run on any of them.
HOST = "host"
# A host that was started again, or a network that was cut for a moment, is back within this time.
WAIT_SECONDS = 30.0


@frozen
class SeenHost:
    """A host as a lead sees it now. `members`: who runs there or is placed there, written `name@team`."""

    name: str
    labels: Set[str]
    slots: int
    state: HostWord
    members: Set[str] = frozenset()
    load: float | None = None
    machine: str = ""

    @property
    def free(self) -> int:
        """How many more teammates it can run."""
        return max(self.slots - len(self.members), 0)


@frozen
class Wish:
    """Where a teammate should run. `host`: a host by name, or `lead` for the machine of the lead. Empty: anywhere."""

    host: str = ""
    labels: Set[str] = frozenset()

    @classmethod
    def of(cls, member: Member) -> "Wish":
        """Return what a teammate was spawned with."""
        joined = member.joined
        return cls((joined.host if joined else None) or "", frozenset((joined.labels if joined else None) or ()))


@frozen
class OnHost:
    """Run it on this host."""

    host: str


@frozen
class OnLead:
    """Run it on the machine of the lead, as if there were no hosts."""


@frozen
class WaitForHost:
    """No host fits now. Look again when the hosts change, or after this time."""

    seconds: float


@frozen
class NoHost:
    """No host fits."""


Choice: TypeAlias = OnHost | OnLead | WaitForHost | NoHost


def place(hosts: Sequence[SeenHost], wish: Wish, last: str = "", waited: float = WAIT_SECONDS) -> Choice:
    """Return where a teammate runs. `last`: the host it was on. `waited`: for how many seconds no host fitted.

    It stays on its host if that fits. Otherwise it gets the host with the most free slots, the least busy one of
    several. Only if no host is up at all, one that wishes nothing runs on the machine of its lead.
    """
    if wish.host == LEAD:
        return OnLead()
    fitting = [host for host in hosts if fits(host, wish)]
    if fitting:
        return OnHost(min(fitting, key=lambda host: (host.name != last, -host.free, host.load or 0.0, host.name)).name)
    if waited < WAIT_SECONDS and last:
        return WaitForHost(WAIT_SECONDS - waited)
    is_free_to_choose = not wish.host and not wish.labels
    return OnLead() if is_free_to_choose and not any(host.state == "up" for host in hosts) else NoHost()


def fits(host: SeenHost, wish: Wish) -> bool:
    """Tell whether a host can take one more teammate that wishes this."""
    is_named = wish.host in ("", host.name)
    return is_named and host.state == "up" and host.free > 0 and wish.labels <= host.labels


def is_active(member: Member) -> bool:
    """Tell whether a teammate is placed on a host now, and nobody has ended that."""
    return member.here and bool(member.host and member.placed_in) and not member.recalled and member.returned is None


def seen_hosts(state: HostsState, held: Set[str], rosters: Iterable[RosterState] = ()) -> list[SeenHost]:
    """Return the hosts as they are now, by name. `held`: whose seat is held. `rosters`: count who is placed there."""
    placed: dict[str, set[str]] = {}
    for roster in rosters:
        for member in roster.teammates:
            if is_active(member) or (member.here and member.host and not member.placed_in):
                placed.setdefault(member.host, set()).add(agent_id(member.name, roster.team))
    return [_seen(name, host, held, placed) for name, host in sorted(state.hosts.items())]


def _seen(name: str, host: Host, held: Set[str], placed: Mapping[str, Set[str]]) -> SeenHost:
    state: HostWord = "lost" if name not in held else "draining" if host.draining else "up"
    came = host.came
    # Nobody knows what still runs on a lost host, and its teammates are placed elsewhere.
    running = host.members if state != "lost" else frozenset[str]()
    members = frozenset(running | placed.get(name, frozenset()))
    return SeenHost(name, frozenset(came.labels), came.slots, state, members, host.load, came.machine)
