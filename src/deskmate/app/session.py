"""A team and the person who talks to it.

Faces show a session and pass on what the user types. They keep no state. `runner` opens the team and runs the lead.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from deskmate.app.build import TeamParts
from deskmate.app.rewind.rewinding import Rewinder, rewinder_of
from deskmate.app.run_request import RunRequest
from deskmate.app.runner import TurnStart, founded, reopened, seated, to_rest
from deskmate.app.session_events import Event, TurnEnded
from deskmate.app.sessions.run_outcome import Outcome
from deskmate.app.sessions.shown_team import ShownTeam
from deskmate.app.sessions.team_session import TeamSession
from deskmate.app.teams import Teams
from deskmate.app.user_answers import Answer
from deskmate.config import Settings
from deskmate.core.agent.actions import Rest
from deskmate.core.goals import Goal, GoalRound
from deskmate.core.log.names import LEAD, log
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.roster_records import PolicySet
from deskmate.core.team.status import Parked, Waiting
from deskmate.errors import Refused
from deskmate.runtime.agent import Agent
from deskmate.runtime.events import Feed
from deskmate.runtime.task_groups import first_of, task_group
from deskmate.runtime.team_state import TeamState
from deskmate.trust.approvals import Consent

__all__ = ["Answer", "Session", "attended", "session_with"]

# Changes within this time are read together.
_BREATH_SECONDS = 0.05

if TYPE_CHECKING:
    from deskmate.mcp.team_servers import TeamServers


@asynccontextmanager
async def attended(request: RunRequest, feed: Feed) -> AsyncIterator["Session"]:
    """Open the requested team with a user present, and run it while this is open. Questions wait for an answer."""
    opened = reopened if request.continues else founded
    async with (
        opened(request, feed, attended=True) as (team_parts, teams),
        session_with(team_parts, teams) as session,
        task_group() as tasks,
    ):
        tasks.start_soon(session.play)
        yield session
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def session_with(team_parts: TeamParts, teams: Teams) -> AsyncIterator["Session"]:
    """Yield a session of an open team. Its lead has its seat but does not run yet."""
    async with seated(team_parts, teams) as agent, task_group() as tasks:
        session = Session(team_parts, teams, agent)
        await session.look()
        tasks.start_soon(session.keep)
        with session.events:
            yield session
        tasks.cancel_scope.cancel()


class Session(TeamSession):
    """A team that runs while this is open, and its user. `stream` and `ask` wait for what is done about a text."""

    def __init__(self, team_parts: TeamParts, teams: Teams, agent: Agent) -> None:
        super().__init__(teams.current, team_parts.workspace)
        self._team_parts, self._teams, self._agent = team_parts, teams, agent
        self._ends: dict[str, int] = {}
        agent.listen(self._tell)

    async def play(self) -> None:
        """Run the lead for as long as this runs."""
        await self._agent.play()

    async def play_to_rest(self, *, told: bool = False) -> Outcome:
        """Run the lead until it has nothing left to do and all teammates have left. Return the outcome.

        `told`: the user has said something just now. Without that, the answer is to what the user said last.
        """
        return await to_rest(self._teams, self._agent, told=told)

    async def ask(self, text: str | None, *, images: Sequence[str | Path] = ()) -> Outcome:
        """Say something to the lead, and return the outcome once nobody is working any more.

        That is also the case if everybody who works waits for the answer to a question. Then `outcome.end` is `asking`.
        After `answer`, None waits for the rest. `images`: as for `say`. Raises RunStopped if the lead cannot continue.
        """
        async with aclosing(self.stream(text, images=images)) as events:
            (end,) = [event async for event in events if isinstance(event, TurnEnded)]
        return end.outcome.checked()

    async def stream(self, text: str | None, *, images: Sequence[str | Path] = ()) -> AsyncGenerator[Event, None]:
        """Say something to the lead, and yield what happens until nobody is working. The last event is TurnEnded.

        None says nothing and waits. `images`: files with images to send with the text. Raises Refused if another
        `stream` or `ask` of this session is running, and BadInput as `say` does.
        """
        start = await TurnStart.of(self._teams, self._agent, self._ends)
        self._ends = start.entries
        if text is None:
            start = replace(start, answer_after=self._agent.transcript.asked_at)
        async with aclosing(self.events.of_turn(partial(self.say, images=images), text)) as events:
            async for event in events:
                yield event
        yield TurnEnded(await start.outcome(self._teams, self._agent, self._end()))

    def _end(self) -> Rest:
        if parked := self._agent.transcript.memory.parked:
            return Rest(Parked(parked.reason))
        return Rest(Waiting("permission")) if any(one.shake is not Shake.PLAN for one in self.questions) else Rest()

    async def keep(self) -> NoReturn:
        """Look whenever something was written, for as long as this runs."""
        while True:
            seen = [self._shown.changed, *([self._shown_home.changed] if self._shown_home else [])]
            await first_of(*seen, partial(self._teams.left, self._shown.team_state))
            await self._team_state.writer.clock.sleep(_BREATH_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Read what is new, and call the listeners."""
        # One look at a time: two would read the same mail.
        async with self._turn:
            await self._shown.look()
            # Again if the lead goes to another team meanwhile: everything shown must be of one team.
            while self._shown.team_state is not self._team_state:
                self._shown = ShownTeam(self._team_state)
                await self._shown.look()
            await self._look_at_home()
        self._tell()

    # -- what is seen -----------------------------------------------------------------------------

    @property
    def workspace(self) -> Path:
        """The workspace folder."""
        return Path(self._team_parts.workspace.root)

    @property
    def settings(self) -> Settings:
        """The settings that it was opened with."""
        return self._team_parts.settings

    @property
    def consent(self) -> Consent:
        """Which files of the workspace it uses."""
        return self._team_parts.consent

    @property
    def servers(self) -> "TeamServers | None":
        """The MCP servers that its agents use."""
        return self._team_parts.servers

    @property
    def confined(self) -> bool:
        """Whether commands in the workspace are confined to it."""
        return self._team_parts.lead.confined

    @property
    def home(self) -> str:
        """The lead's first team. Its name resumes this session."""
        return self._teams.home

    @property
    def kept(self) -> bool:
        """Whether the team still exists after closing. It is removed if nothing was said or no model answered."""
        return self._teams.kept

    @property
    def model(self) -> str:
        """The model of all agents that have none of their own."""
        return self._team_parts.models(None).name

    async def lead_rests(self, *, team: bool = False) -> bool:
        """Return whether the lead has heard all, has nothing left to do and shows it. `team`: nor has anybody else."""
        rests = await self._agent.rests()
        async with self._turn:
            roster = await self._team_state.roster.refresh()
            # After the roster: a member that is shown as waiting has asked before.
            await self._shown.questions.refresh()
            await self._look_at_home()
        return rests and not roster.members[LEAD].busy and (not team or await self._agent.team_rests())

    async def changed(self, name: str, after: int) -> None:
        """Return once a member's transcript may have something after a number, or the lead works in another team."""
        state, name = self._at(name)
        left = partial(self._teams.left, self._team_state)
        await first_of(partial(state.writer.store.changed, {log(name): after}), left)

    def rewinder(self) -> Rewinder:
        """Return what restores files and forks the conversation. Raises Refused if there are no checkpoints here."""
        parts = self._team_parts
        return rewinder_of(self.workspace, self.home, self.settings, parts.sandbox, parts.team_state.writer.redaction)

    # -- what is set ------------------------------------------------------------------------------

    def choose_model(self, name: str) -> str:
        """Change the model of all agents that have none of their own. Return its full name.

        A teammate in its own process keeps the model it started with. Raises BadSettings if it cannot be used.
        """
        return self._team_parts.choose_model(name)

    @property
    def goal(self) -> Goal | None:
        """The goal of the lead, if it has or had one."""
        return self._agent.transcript.memory.goal

    async def set_goal(self, goal: GoalRound) -> None:
        """Set what must be so before the lead may end its work, or end its goal. A lead at rest begins at once."""
        await self._agent.set_goal(goal)

    async def make_room(self, focus: str = "") -> None:
        """Request a summary of the lead's conversation. Raises Refused if the lead has said nothing yet."""
        if not self._agent.transcript.last_words:
            raise Refused("The lead has not said anything yet, so there is nothing to summarise")
        await self._agent.make_room(focus)

    async def _permit(self, policy: PolicySet, *, at_home: bool = False) -> None:
        await self._teams.permit(policy, at_home=at_home)
        self._tell()

    @property
    def _team_state(self) -> TeamState:
        return self._teams.current

    @property
    def _home_state(self) -> TeamState | None:
        return None if self._teams.current is self._teams.first else self._teams.first
