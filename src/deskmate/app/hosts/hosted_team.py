"""The teammates of one team that run on this host.

The roster says who is placed here. Each gets one process for each placement. Why it ended goes to the roster
too, and the lead decides what to do then. Nobody runs here without a lead.
"""

import logging
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from deskmate.app.build import team_parts_of, team_state_of
from deskmate.app.hosts.host_slots import Slots
from deskmate.app.teammate_process import in_processes
from deskmate.config import Settings
from deskmate.config.project_settings import Limits, limited_by
from deskmate.core.hosts.host_fold import TeamCall
from deskmate.core.hosts.placement import is_active
from deskmate.core.log.names import LEAD, ROSTER
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.members import Member
from deskmate.core.team.roster_records import MemberReturned
from deskmate.core.values import frozen
from deskmate.errors import Conflict, DeskmateError, Refused, StoreCorrupt, StoreError
from deskmate.runtime.events import Feed
from deskmate.runtime.perform.agent_work import Bell
from deskmate.runtime.task_groups import first_of, task_group
from deskmate.runtime.team_state import TeamState
from deskmate.stores.engines.engine import Engine
from deskmate.trust.approvals import Consent
from deskmate.trust.sandbox_choice import refuse_unconfined
from deskmate.workspace.sandbox.mounts import Sandbox

if TYPE_CHECKING:
    from deskmate.models.http.post_client import ServerClient

_LOG = logging.getLogger(__name__)
LOOK_SECONDS = 2.0
# A lead whose connection broke takes its seat back within this time, if it still runs.
LED_SECONDS = 5.0


@frozen
class HostSetup:
    """What all teammates on a host are run with: the folder, the settings and the approvals of this machine."""

    place: Path
    settings: Settings
    consent: Consent
    sandbox: Sandbox
    client: "ServerClient"
    engine: Engine


@frozen
class _Running:
    """A process of a member. `placed_in`: the record that placed it here."""

    placed_in: int
    scope: anyio.CancelScope


class HostedTeam:
    """Runs the teammates of one team that are placed here.

    `draining`: once it is set, nobody is started, and everybody ends after the step that runs then.
    """

    def __init__(
        self, setup: HostSetup, host: str, team: str, call: TeamCall, slots: Slots, draining: anyio.Event
    ) -> None:
        self.call = call
        self._setup, self._host, self._team = setup, host, team
        self._slots, self._draining = slots, draining
        self._settings = setup.settings
        self._running: dict[str, _Running] = {}
        self._seen = dict[str, int]()
        self._checked = set[Mode]()
        self._moved = Bell()

    async def keep(self) -> None:
        """Return once nobody leads the team any more, or when this host drains and nobody runs here."""
        setup = self._setup
        told = self.call.called.limits
        limits = Limits.model_validate({name: told[name] for name in Limits.model_fields if name in told})
        self._settings = limited_by(setup.settings, limits, setup.settings.widest_mode)
        store = await to_thread.run_sync(setup.engine.open, self._team)
        with closing(store):
            team_state = team_state_of(store, self._settings, Feed(), seconds=self.call.called.seconds)
            async with task_group() as tasks, task_group() as members:
                tasks.start_soon(self._watch_lead, members.cancel_scope)
                while not (self._draining.is_set() and not self._running):
                    self._moved.renew()
                    await team_state.roster.refresh()
                    self._match(team_state, members)
                    number = team_state.roster.state.number
                    waits = [self._moved.wait] if self._draining.is_set() else [self._moved.wait, self._draining.wait]
                    await first_of(partial(store.changed, {ROSTER: number}), *waits)
                tasks.cancel_scope.cancel()

    async def _watch_lead(self, scope: anyio.CancelScope) -> None:
        """End everybody once nobody has led the team for some seconds."""
        clock, alone = self._slots.clock, 0.0
        look = await to_thread.run_sync(self._setup.engine.look, self._team, _ignore)
        seen = clock.monotonic()
        while alone < LED_SECONDS:
            await clock.sleep(LOOK_SECONDS)
            holder = await to_thread.run_sync(look.holder, LEAD)
            now = clock.monotonic()
            alone = 0.0 if holder is not None else alone + now - seen
            seen = now
        scope.cancel()

    def _match(self, team_state: TeamState, members: TaskGroup) -> None:
        """Start who is placed here, and end who is not any more."""
        roster = team_state.roster.state
        here = {one.name: one for one in roster.teammates if is_active(one) and one.host == self._host}
        for name, running in self._running.items():
            # A member that leaves ends by itself, in good order.
            if roster.members[name].here and (name not in here or here[name].placed_in != running.placed_in):
                running.scope.cancel()
        for name, member in here.items():
            if name not in self._running and self._seen.get(name) != member.placed_in:
                self._seen[name] = member.placed_in
                running = self._running[name] = _Running(member.placed_in, anyio.CancelScope())
                members.start_soon(self._run, team_state, member, running)

    async def _run(self, team_state: TeamState, member: Member, running: _Running) -> None:
        ended = MemberReturned(name=member.name, placed=member.placed_in, at=0.0)
        try:
            if not self._draining.is_set() and self._slots.take(member.name, self._team):
                with running.scope:
                    ended = await self._play(team_state, member, ended)
        finally:
            with anyio.CancelScope(shield=True):
                del self._running[member.name]
                with suppress(Refused, StoreError):
                    await self._slots.free(member.name, self._team)
                    at = team_state.writer.clock.timestamp()
                    await team_state.roster.place(ended.model_copy(update={"at": at}))
            self._moved.ring()

    async def _play(self, team_state: TeamState, member: Member, ended: MemberReturned) -> MemberReturned:
        """Run the process of a member to its end, and return what became of it."""
        setup, name = self._setup, member.name
        try:
            await self._slots.tell_taken(name, self._team)
            self._check_mode(team_state.roster.state.mode_of(name))
            parts = team_parts_of(
                setup.place, self._team, self._settings, team_state, setup.client, setup.sandbox, setup.consent, name
            )
            launcher = replace(in_processes(parts), hear=_ignore_line, finishing=self._draining)
            await launcher.play(name)
        except (StoreCorrupt, Conflict) as error:
            return ended.model_copy(update={"error": f"{error!s:.300}", "records_changed": True})
        except StoreError:
            raise
        except Exception as error:
            if not isinstance(error, DeskmateError):
                _LOG.exception("%s failed", name)
            return ended.model_copy(update={"error": f"{error!s:.300}"})
        return ended

    def _check_mode(self, mode: Mode) -> None:
        """Raise BadSettings if this machine must not run a mode. Warns once."""
        if mode not in self._checked:
            refuse_unconfined(self._setup.place, self._settings, self._setup.sandbox, [mode])
            self._checked.add(mode)


def _ignore(words: str, kind: str = "other") -> None:
    """Ignore what cannot be read: those who work with it say so."""


def _ignore_line(line: bytes) -> None:
    """Ignore what a process prints: all that counts is in the store."""
