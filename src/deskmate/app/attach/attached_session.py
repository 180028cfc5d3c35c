"""The session of a screen on a team that another process runs.

It reads and writes the team's streams as every command of the user does: mail, answers, policy. It never holds a seat,
so it writes no transcript and no status.
"""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn

import anyio

from deskmate.app.build import team_state_of
from deskmate.app.sessions.shown_team import ShownTeam
from deskmate.app.sessions.team_session import TeamSession
from deskmate.app.teams import permit
from deskmate.app.user_actions import open_team
from deskmate.config import Settings, choose_model, environment
from deskmate.core.log.names import BOARD, LEAD, ROSTER, USER, agent_id, log
from deskmate.core.team.members import Member
from deskmate.core.team.roster_records import PolicySet
from deskmate.core.team.status import Status
from deskmate.core.values import frozen
from deskmate.errors import BadSettings, Refused, StoreError
from deskmate.ports import Workspace
from deskmate.queries.stream_reader import Reading, reading_of, telling
from deskmate.runtime.events import Changed, Feed, Recorded, Seated, TeamStarted
from deskmate.runtime.task_groups import first_of, task_group
from deskmate.runtime.team_state import TeamState
from deskmate.trust.chosen_engine import engine_at
from deskmate.trust.folders import home_of, open_store
from deskmate.trust.sandbox_choice import sandbox_of
from deskmate.trust.team_signature import Signing
from deskmate.workspace.local_workspace import LocalWorkspace

# Nothing is written if the process that runs the team is killed, so its seat is checked this often.
_SEAT_SECONDS = 3.0
_BREATH_SECONDS = 0.05


@asynccontextmanager
async def attached(
    folder: Path | None, team: str | None, settings: Settings, feed: Feed
) -> AsyncIterator["AttachedSession"]:
    """Open a session on a team that another process runs, by default the one last written to.

    Raises Refused if no process runs it, if somebody else began it, and when that process ends.
    """
    reading = reading_of(folder, team)
    signing = Signing(settings.state, reading.workspace)
    signing.check(reading.team)
    home = home_of(reading.workspace, reading.team)
    # A lead that has created another team works there.
    reading = Reading(reading.workspace, signing.team_from(home) or home) if reading.team == home else reading
    if reading.holder() is None:
        raise Refused(
            f"Team '{reading.team}' is not running, so there is nothing to attach to",
            f"To continue it, run: deskmate --team {home}",
        )
    with telling(reading.workspace), ExitStack() as stores:

        def opened(team: str) -> TeamState:
            # They stay open as long as this: a screen may still be reading from a team that the lead has left.
            store = stores.enter_context(open_store(reading.workspace, team))
            return team_state_of(store, settings, feed, engine_at(reading.workspace).spent_in_archive(home))

        team_state = opened(reading.team)
        sandbox = await anyio.to_thread.run_sync(sandbox_of, settings)
        workspace = LocalWorkspace(
            reading.workspace,
            reading.team,
            USER,
            environ=environment(),
            sandbox=sandbox,
            redaction=team_state.writer.redaction,
        )
        lead_in = LeadInTeams(home, lambda: signing.team_from(home) or home, opened)
        confined = sandbox.confines(reading.workspace)
        session = AttachedSession(reading, lead_in, settings, team_state, workspace, confined=confined)
        await session.begin()
        async with task_group() as tasks:
            tasks.start_soon(session.keep)
            with session.events:
                yield session
            tasks.cancel_scope.cancel()


@frozen
class LeadInTeams:
    """Where a lead works. `home`: its first team. `current`: returns its team now. `opened`: opens one of its teams."""

    home: str
    current: Callable[[], str]
    opened: Callable[[str], TeamState]


class AttachedSession(TeamSession):
    """A team that another process runs, and a user who looks at it. What only that process can do raises Refused."""

    def __init__(
        self,
        reading: Reading,
        lead_in: LeadInTeams,
        settings: Settings,
        team_state: TeamState,
        workspace: Workspace,
        *,
        confined: bool,
    ) -> None:
        super().__init__(team_state, workspace, USER)
        self._confined = confined
        self._reading, self._lead_in, self._settings, self._state = reading, lead_in, settings, team_state
        self._at_home = self._opened_home()
        self._moved = anyio.Event()
        self._told: dict[str, int] = {}
        self._statuses: dict[str, Status] = {}

    async def begin(self) -> None:
        """Look for the first time. What is there already is not told on the feed."""
        await self._shown.look()
        await self._look_at_home()
        for member in self.members:
            entries = await self.entries(member.name)
            self._told[member.name] = entries[-1][0] if entries else 0
        self._state.feed.tell(TeamStarted(self.team))
        for member in self.members:
            self._meet(member)
        self._tell()

    async def keep(self) -> NoReturn:
        """Look whenever something was written. Raises Refused once no process runs the team."""
        checked = time.monotonic()
        while True:
            with anyio.move_on_after(_SEAT_SECONDS):
                await self._written()
                await self._state.writer.clock.sleep(_BREATH_SECONDS)
            await self.look()
            if time.monotonic() - checked >= _SEAT_SECONDS:
                checked = time.monotonic()
                await self._go_along()
                if await anyio.to_thread.run_sync(self._reading.holder) is None:
                    raise Refused(
                        f"The process that ran team '{self.team}' has ended",
                        f"To continue the team, run: deskmate --team {self._lead_in.home}",
                    )

    async def look(self) -> None:
        """Read what is new, tell it on the feed, and call the listeners."""
        heard = self._told.get(LEAD)
        try:
            await self._look()
        except StoreError:
            # The files of a team that was dismissed are gone before the lead says so.
            if not await self._go_along():
                raise
        if self._told.get(LEAD) != heard:
            await self._go_along()
        self._tell()

    async def _look(self) -> None:
        async with self._turn:
            await self._shown.look()
            await self._look_at_home()
            for member in self.members:
                await self._follow(member)

    async def _go_along(self) -> bool:
        """Look at the team that the lead works in now. Return whether that is another one than before."""
        async with self._turn:
            team = await anyio.to_thread.run_sync(self._lead_in.current)
            if team == self._reading.team:
                return False
            state = await anyio.to_thread.run_sync(self._lead_in.opened, team)
            shown = ShownTeam(state)
            await shown.look()
            self._reading, self._state, self._shown = Reading(self.workspace, team), state, shown
            self._at_home = await anyio.to_thread.run_sync(self._opened_home)
            await self._look_at_home()
            # The transcript of the lead is the same one. Other members are others, even if their names are the same.
            self._told = {name: number for name, number in self._told.items() if name == LEAD}
            self._statuses = {}
            self._state.feed.tell(TeamStarted(team))
            self._moved.set()
            self._moved = anyio.Event()
        await self._look()
        return True

    async def _written(self) -> None:
        """Return once something may be new since the last look."""
        since = {ROSTER: self._state.roster.state.number, BOARD: self._state.board.state.number}
        logs = {log(name): number for name, number in self._told.items() if "@" not in name}
        shown = {**self._shown.mail.since, **self._shown.questions.since}
        here = partial(self._state.writer.store.changed, {**shown, **since, **logs})
        if (home := self._at_home) is None or self._shown_home is None:
            await here()
            return
        names = (member.name for member in home.roster.state.teammates if member.here)
        at_home = {log(name): self._told.get(agent_id(name, self.home), 0) for name in names}
        await first_of(here, self._shown_home.changed, partial(home.writer.store.changed, at_home))

    async def _follow(self, member: Member) -> None:
        """Tell what a member has done since, as the process that runs it tells its own screen."""
        self._meet(member)
        for number, entry in await self.entries(member.name, self._told.get(member.name, 0)):
            self._told[member.name] = number
            self._state.feed.tell(Recorded(member.name, number, entry))
        if self._statuses.get(member.name) != member.status:
            self._statuses[member.name] = member.status
            self._state.feed.tell(Changed(member.name, member.status))

    def _meet(self, member: Member) -> None:
        if member.name not in self._statuses:
            self._statuses[member.name] = member.status
            self._told.setdefault(member.name, 0)
            if member.colour:
                self._state.feed.tell(Seated(member.name, member.colour))

    # -- what is seen -----------------------------------------------------------------------------

    @property
    def holder(self) -> str:
        """The process that runs the team, such as `process 4711`, or empty if it has just ended."""
        return self._reading.holder() or ""

    @property
    def workspace(self) -> Path:
        """The workspace folder."""
        return self._reading.workspace

    @property
    def settings(self) -> Settings:
        """The user's settings. The process that runs the team may have been started with others."""
        return self._settings

    @property
    def confined(self) -> bool:
        """Whether commands in the workspace are confined to it."""
        return self._confined

    @property
    def home(self) -> str:
        """The lead's first team."""
        return self._lead_in.home

    @property
    def kept(self) -> bool:
        """Whether the team still exists after closing. Another process has it, so it does."""
        return True

    @property
    def model(self) -> str:
        """The model of the settings. The process that runs the team may use another one."""
        try:
            return choose_model(self._settings)
        except BadSettings:
            return "unknown"

    async def lead_rests(self, *, team: bool = False) -> bool:
        """Return whether the lead shows that it rests. `team`: so does everybody else."""
        await self.look()
        return not self.busy if team else LEAD not in self.busy

    async def changed(self, name: str, after: int) -> None:
        """Return once a member's transcript may have something after a number, or the lead works in another team."""
        state, name = self._at(name)
        await first_of(partial(state.writer.store.changed, {log(name): after}), self._moved.wait)

    # -- what only the process that runs the team can do ------------------------------------------

    def choose_model(self, name: str) -> NoReturn:
        """Raise Refused: the models are in the other process."""
        raise self._elsewhere("change the model")

    def rewinder(self) -> NoReturn:
        """Raise Refused: members may write in the other process while files are restored."""
        raise self._elsewhere("restore files")

    async def make_room(self, focus: str = "") -> NoReturn:
        """Raise Refused: only the process that runs the lead writes its transcript."""
        raise self._elsewhere("summarise the conversation")

    def _elsewhere(self, what: str) -> Refused:
        return Refused(
            f"Only {self.holder or 'the process that runs the team'} can {what}",
            "Do this in the window of that process.",
        )

    # -- what is set ------------------------------------------------------------------------------

    async def _permit(self, policy: PolicySet, *, at_home: bool = False) -> None:
        if at_home and self._at_home:
            await permit(self._at_home.roster, policy)
            self._tell()
            return
        # The first team first: the lead must never return to more than was last permitted.
        if self.team != self._lead_in.home and policy.member in (None, LEAD):
            with open_team(self.workspace, self._lead_in.home) as first:
                await permit(first.roster, policy)
        await permit(self._state.roster, policy)
        self._tell()

    @property
    def _team_state(self) -> TeamState:
        return self._state

    @property
    def _home_state(self) -> TeamState | None:
        return self._at_home

    def _opened_home(self) -> TeamState | None:
        """Return the lead's first team, if this is another one."""
        if self._reading.team == self.home:
            return None
        first = self._lead_in.opened(self.home)
        self._state.budget.count(first.budget)
        return first
