"""The hosts, as the process of a lead uses them: it places the teammates of one team there, and watches them.

The lead's own supervisor decides whether a teammate is started, ended or parked, wherever it runs. This is only the
launcher: to start a teammate, it records on the roster where it is to run. The host ends it when the roster says so.
"""

import logging
import math
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import assert_never

import anyio
from anyio import to_thread

from deskmate.app.hosts.host_registry import HostRegistry
from deskmate.core.agent.entries import read_entry
from deskmate.core.hosts.host_records import TeamCalled, limits_of
from deskmate.core.hosts.host_texts import no_host_text
from deskmate.core.hosts.placement import (
    HOST,
    NoHost,
    OnHost,
    OnLead,
    SeenHost,
    WaitForHost,
    Wish,
    is_active,
    place,
    seen_hosts,
)
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import HOSTS, ROSTER, agent_id, log
from deskmate.core.log.records import Record
from deskmate.core.team.caps import Caps
from deskmate.core.team.members import Member
from deskmate.core.team.roster_records import Joined, MemberPlaced, MemberRecalled
from deskmate.errors import NoHostFits, PlayerFailed, Refused, StoreCorrupt, StoreError
from deskmate.ports import Launcher
from deskmate.runtime.events import Changed, Recorded
from deskmate.runtime.task_groups import first_of, task_group
from deskmate.runtime.team_state import TeamState
from deskmate.stores.engines.engine import Engine

_LOG = logging.getLogger(__name__)
LOOK_SECONDS = 2.0
# A host ends a process within ten seconds.
RECALL_SECONDS = 15.0
# A teammate that was not refused is on the roster within this time.
JOIN_SECONDS = 30.0


class TeamHosts:
    """The hosts for one team. `caps`: those of the settings of the lead, which apply on hosts too."""

    def __init__(self, team_state: TeamState, engine: Engine, caps: Caps) -> None:
        self._team_state, self._engine, self._caps = team_state, engine, caps
        self._clock = team_state.writer.clock
        self._registry: HostRegistry | None = None
        self._needed, self._refreshing = anyio.Event(), anyio.Lock()
        self._called = 0
        # Chosen, and not on the roster yet, with the time until this counts.
        self._chosen: dict[str, tuple[str, float]] = {}
        self._bells: dict[str, anyio.Event] = {}
        # What was known when they were last rung.
        self._rung_members: dict[str, Member] = {}
        self._rung_roster = 0
        self._rung_hosts: tuple[int, frozenset[str]] = (0, frozenset())
        self._told: dict[str, int] = {}

    # -- choosing ---------------------------------------------------------------------------------

    async def look(self) -> list[SeenHost]:
        """Return the hosts as they are now."""
        registry = await self._registered(create=False)
        if registry is None:
            return []
        await registry.refresh()
        await registry.look_at_seats()
        return self._hosts()

    async def placing(self, joined: Joined) -> Joined:
        """Return a new teammate with the host that it will run on, if there are hosts. Raises Refused if none fits."""
        if joined.cause in self._team_state.roster.state.causes:
            # The call runs again, and the teammate is there.
            return joined
        wish = Wish(joined.host or "", frozenset(joined.labels or ()))
        hosts = await self.look()
        match place(hosts, wish):
            case OnHost(host=host):
                # Several may be started at once, and none of them is on the roster yet.
                self._chosen[joined.name] = host, self._clock.monotonic() + JOIN_SECONDS
                return joined.model_copy(update={"launcher": HOST, "first_host": host})
            case OnLead():
                return joined
            case WaitForHost() | NoHost():
                raise Refused(no_host_text(hosts, wish), "To start it on your machine, set host to lead.")
            case unreachable:
                assert_never(unreachable)

    async def _registered(self, *, create: bool) -> HostRegistry | None:
        if self._registry is None:
            store = await to_thread.run_sync(partial(self._engine.hosts, create=create))
            if store is not None and self._registry is None:
                self._registry = HostRegistry(self._engine, store, self._clock)
        return self._registry

    def _hosts(self, without: str = "") -> list[SeenHost]:
        """Return the hosts as last read. `without`: a member that does not count, because it is to be placed."""
        if self._registry is None:
            return []
        roster = self._team_state.roster.state
        chosen: dict[str, set[str]] = {}
        for name, (host, until) in self._chosen.items():
            if self._clock.monotonic() < until:
                chosen.setdefault(host, set()).add(agent_id(name, roster.team))
        left_out = {agent_id(without, roster.team)} if without else set()
        found = seen_hosts(self._registry.state, self._registry.held, [roster])
        return [replace(host, members=(host.members | chosen.get(host.name, frozenset())) - left_out) for host in found]

    # -- running ----------------------------------------------------------------------------------

    async def play(self, name: str, local: Launcher) -> None:
        """Run a teammate on hosts until it leaves, or with `local` on this machine. `Launcher.play` has the details."""
        self._needed.set()
        await self._registered(create=True)
        self._told[name] = await self._last_entry(name)
        try:
            while (member := await self._placed(name)) is not None:
                async with task_group() as tasks:
                    tasks.start_soon(self._tell_entries, name)
                    is_over = await self._follow(member)
                    tasks.cancel_scope.cancel()
                await self._tell_new_entries(name)
                if is_over:
                    return
            await local.play(name)
        finally:
            with anyio.CancelScope(shield=True), suppress(StoreError):
                await self._recall(name)

    async def _placed(self, name: str) -> Member | None:
        """Place a teammate on a host and return it, or None if it is to run on this machine. Raises NoHostFits."""
        began, roster = self._clock.monotonic(), self._team_state.roster
        while True:
            await self.look()
            member = (await roster.refresh()).members[name]
            hosts, wish = self._hosts(without=name), Wish.of(member)
            waited = self._clock.monotonic() - began
            match place(hosts, wish, member.host, waited):
                case OnHost(host=host):
                    return await self._put(member, host)
                case OnLead():
                    if member.host:
                        await roster.place(MemberPlaced(name=name, at=self._clock.timestamp()))
                    return None
                case WaitForHost(seconds=seconds):
                    await self._news(name, seconds)
                case NoHost():
                    lost = f"Its host {member.host} cannot run it any more. " if member.host else ""
                    raise NoHostFits(lost + no_host_text(hosts, wish))
                case unreachable:
                    assert_never(unreachable)

    async def _put(self, member: Member, host: str) -> Member:
        name = member.name
        if member.placed_in and member.host != host:
            _LOG.warning("%s continues on host %s: host %s is gone or drains", name, host, member.host)
        self._chosen[name] = host, math.inf
        try:
            placed = MemberPlaced(name=name, host=host, at=self._clock.timestamp())
            return (await self._team_state.roster.place(placed)).members[name]
        finally:
            del self._chosen[name]

    async def _follow(self, placed: Member) -> bool:
        """Return whether a teammate has left, once its host does not run it any more. Raises why it failed."""
        name, status = placed.name, placed.status_in
        # Its status on the roster is from an earlier process.
        self._team_state.starting.begin(name)
        while True:
            member = self._team_state.roster.state.members[name]
            if member.status_in != status:
                status = member.status_in
                self._team_state.feed.tell(Changed(name, member.status))
            if not member.here:
                async with self._team_state.writer.store.hold(name, "the lead, to see it gone", wait=True):
                    return True
            if (returned := member.returned) is not None:
                if returned.error is None:
                    return False
                words = f"on host {member.host}: {returned.error}"
                raise StoreCorrupt(words) if returned.records_changed else PlayerFailed(words)
            if member.placed_in != placed.placed_in or self._is_lost(member.host):
                return False
            await self._news(name)

    def _is_lost(self, name: str) -> bool:
        return next((host.state == "lost" for host in self._hosts() if host.name == name), True)

    async def _recall(self, name: str) -> None:
        """Let the host end a teammate, and return once it has, or can be expected to have."""
        roster = self._team_state.roster
        if not is_active((await roster.refresh()).members[name]):
            return
        with suppress(Refused), self._clock.move_on_after(RECALL_SECONDS):
            member = (await roster.place(MemberRecalled(name=name, at=self._clock.timestamp()))).members[name]
            while member.here and member.returned is None and not self._is_lost(member.host):
                before = roster.state.number
                await self._team_state.writer.store.changed({ROSTER: before})
                async with self._refreshing:
                    # Many wait for the same news, and one of them reads it.
                    if roster.state.number == before:
                        await roster.refresh()
                member = roster.state.members[name]

    # -- what faces hear of it --------------------------------------------------------------------

    async def _last_entry(self, name: str) -> int:
        items = await self._team_state.writer.store.read(log(name), sync=False)
        return items[-1].number if items else 0

    async def _tell_entries(self, name: str) -> None:
        while True:
            await self._team_state.writer.store.changed({log(name): self._told[name]})
            await self._tell_new_entries(name)

    async def _tell_new_entries(self, name: str) -> None:
        for item in await self._team_state.writer.store.read(log(name), self._told[name], sync=False):
            self._told[name] = item.number
            entry = read_entry(item.body) if isinstance(item, Record) else None
            if entry is not None and not isinstance(entry, Foreign):
                self._team_state.feed.tell(Recorded(name, item.number, entry))

    # -- watching ---------------------------------------------------------------------------------

    async def keep(self) -> None:
        """Watch hosts and roster for all teammates, once one of them needs it, until cancelled."""
        await self._needed.wait()
        registry = await self._registered(create=True)
        assert registry is not None, "it was created"
        async with task_group() as tasks:
            tasks.start_soon(self._watch_seats, registry)
            while True:
                await self._call(registry)
                # As of the last ring: others in this process may have read further since.
                await first_of(
                    partial(self._team_state.writer.store.changed, {ROSTER: self._rung_roster}),
                    partial(registry.store.changed, {HOSTS: self._rung_hosts[0]}),
                )
                await registry.refresh()
                await self._team_state.roster.refresh()
                self._ring(registry)

    async def _watch_seats(self, registry: HostRegistry) -> None:
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            await registry.look_at_seats()
            self._ring(registry)

    async def _call(self, registry: HostRegistry) -> None:
        """Ask the hosts to look at this team, unless they know that they should."""
        team = self._team_state.roster.state.team
        call = registry.state.calls.get(team)
        if not self._called or call is None or call.number != self._called:
            called = TeamCalled(
                team=team,
                limits=limits_of(self._caps),
                seconds=self._team_state.budget.seconds,
                at=self._clock.timestamp(),
            )
            self._called = await registry.record(called)
            await registry.refresh()

    def _ring(self, registry: HostRegistry) -> None:
        """Wake those who wait for news of a member that the roster says something new about, or all for the hosts'."""
        roster, hosts = self._team_state.roster.state, (registry.state.number, registry.held)
        for name in [*self._bells]:
            if hosts != self._rung_hosts or roster.members.get(name) is not self._rung_members.get(name):
                self._bells.pop(name).set()
        self._rung_members, self._rung_roster, self._rung_hosts = dict(roster.members), roster.number, hosts

    async def _news(self, name: str, seconds: float = math.inf) -> None:
        """Return once there may be news of a member or of the hosts, or after this time."""
        bell = self._bells.setdefault(name, anyio.Event())
        await first_of(bell.wait, *([partial(self._clock.sleep, seconds)] if seconds < math.inf else []))
