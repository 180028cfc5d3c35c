"""The session of a screen on a team that another process runs.

It reads and writes the team's streams as every command of the user does: mail, answers, policy. It never holds a seat,
so it writes no transcript and no status.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn

import anyio

from deskmate.app.build import team_state_of
from deskmate.app.session import Session
from deskmate.app.session_events import Event, EventSource
from deskmate.app.shown_team import ShownTeam
from deskmate.app.teams import permit
from deskmate.app.user_actions import open_team
from deskmate.config import Settings, choose_model, environment
from deskmate.core.log.names import BOARD, LEAD, ROSTER, USER, log
from deskmate.core.team.members import Member
from deskmate.core.team.roster_records import PolicySet
from deskmate.core.team.status import Status
from deskmate.errors import BadSettings, Refused
from deskmate.ports import Workspace
from deskmate.queries.stream_reader import Reading, reading_of, telling
from deskmate.runtime.events import Changed, Feed, Recorded, Seated, TeamStarted
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState
from deskmate.trust.folders import home_of, open_store, spent_elsewhere
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
    with telling(reading.workspace), open_store(reading.workspace, reading.team) as store:
        elsewhere = spent_elsewhere(reading.workspace, reading.team)
        team_state = team_state_of(store, settings, feed, elsewhere)
        workspace = LocalWorkspace(
            reading.workspace,
            reading.team,
            USER,
            environ=environment(),
            sandbox=await anyio.to_thread.run_sync(sandbox_of, settings),
            redaction=team_state.writer.redaction,
        )
        session = AttachedSession(reading, home, settings, team_state, workspace)
        await session.begin()
        async with task_group() as tasks:
            tasks.start_soon(session.keep)
            with session.events:
                yield session
            tasks.cancel_scope.cancel()


class AttachedSession(Session):
    """A team that another process runs, and a user who looks at it. What only that process can do raises Refused."""

    def __init__(
        self, reading: Reading, home: str, settings: Settings, team_state: TeamState, workspace: Workspace
    ) -> None:
        self._reading, self._home, self._settings, self._state = reading, home, settings, team_state
        self._shown = ShownTeam(team_state)
        self.events, self.find = EventSource(self), workspace.find
        team_state.feed.listen(self.events.hear)
        self._listeners = [self.events.look]
        self._looked, self._turn = anyio.Event(), anyio.Lock()
        self._told: dict[str, int] = {}
        self._statuses: dict[str, Status] = {}

    async def begin(self) -> None:
        """Look for the first time. What is there already is not told on the feed."""
        await self._shown.look()
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
                if await anyio.to_thread.run_sync(self._reading.holder) is None:
                    raise Refused(
                        f"The process that ran team '{self.team}' has ended",
                        f"To continue the team, run: deskmate --team {self._home}",
                    )

    async def look(self) -> None:
        """Read what is new, tell it on the feed, and call the listeners."""
        async with self._turn:
            await self._shown.look()
            for member in self.members:
                await self._follow(member)
        self._tell()

    async def _written(self) -> None:
        """Return once something may be new since the last look."""
        since = {ROSTER: self._state.roster.state.number, BOARD: self._state.board.state.number}
        logs = {log(name): number for name, number in self._told.items()}
        shown = {**self._shown.mail.since, **self._shown.questions.since}
        await self._state.writer.store.changed({**shown, **since, **logs})

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
    def home(self) -> str:
        """The lead's first team."""
        return self._home

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
        """Return once a member's transcript may have something after a number."""
        await self._state.writer.store.changed({log(name): after})

    # -- what only the process that runs the team can do ------------------------------------------

    async def play(self) -> NoReturn:
        """Raise Refused: another process runs the lead."""
        raise self._elsewhere("run the lead")

    async def play_to_rest(self, *, told: bool = False) -> NoReturn:
        """Raise Refused: another process runs the lead."""
        raise self._elsewhere("run the lead")

    async def stream(self, text: str | None) -> AsyncGenerator[Event, None]:
        """Raise Refused: the end of a turn is known in the process that runs the lead."""
        raise self._elsewhere("wait for the end of a turn")
        yield

    def choose_model(self, name: str) -> NoReturn:
        """Raise Refused: the models are in the other process."""
        raise self._elsewhere("change the model")

    async def make_room(self, focus: str = "") -> NoReturn:
        """Raise Refused: only the process that runs the lead writes its transcript."""
        raise self._elsewhere("summarise the conversation")

    def _elsewhere(self, what: str) -> Refused:
        return Refused(
            f"Only {self.holder or 'the process that runs the team'} can {what}",
            "Do this in the window of that process.",
        )

    # -- what is set ------------------------------------------------------------------------------

    async def _permit(self, policy: PolicySet) -> None:
        # The first team first: the lead must never return to more than was last permitted.
        if self.team != self._home and policy.member in (None, LEAD):
            with open_team(self.workspace, self._home) as at_home:
                await permit(at_home.roster, policy)
        await permit(self._state.roster, policy)
        self._tell()

    @property
    def _team_state(self) -> TeamState:
        return self._state
