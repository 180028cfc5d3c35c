"""A team and the person who talks to it.

Faces show a session and pass on what the user types. They keep no state. `runner` opens the team and runs the lead.
"""

import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import anyio

from deskmate.app.build import TeamParts, check_model
from deskmate.app.run_request import RunRequest
from deskmate.app.runner import GO_ON, Outcome, TurnStart, founded, reopened, seated, to_rest
from deskmate.app.session_events import Event, EventSource, TurnEnded
from deskmate.app.shown_team import ShownTeam
from deskmate.app.teams import Teams
from deskmate.app.user_answers import Answer, answer_to, broadcast
from deskmate.config import Settings
from deskmate.core.agent.actions import Rest
from deskmate.core.agent.entries import Entry
from deskmate.core.log.names import LEAD, USER, log
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.caps import Caps, CapsSet
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.members import Member, recipient_refusal
from deskmate.core.team.messages import Interrupt, Plain, ShutdownRequest
from deskmate.core.team.open_questions import Question
from deskmate.core.team.roster_records import PolicySet
from deskmate.core.team.spending import Spending, Sum, is_over
from deskmate.core.team.status import Parked, Waiting, status_word
from deskmate.core.team.tasks import BoardState
from deskmate.errors import Refused, UnknownRecipient
from deskmate.queries.member_view import Letter, entries_in
from deskmate.queries.stream_reader import title_at
from deskmate.queries.team_view import Permitted
from deskmate.runtime.agent import Agent
from deskmate.runtime.events import Feed
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.task_groups import first_of, task_group
from deskmate.runtime.team_state import TeamState

__all__ = ["Answer", "Session", "attended", "session_with"]

# Changes within this time are read together.
_BREATH_SECONDS = 0.05


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


class Session:
    """A team and its user. Properties are as of the last look. `listen` tells when there was one.

    `events`: what happens, with `async for event in session.events`, from then on and as long as the session is open.
    `find`: returns the files that a glob pattern matches, without those that git ignores, most recently changed first.
    """

    def __init__(self, team_parts: TeamParts, teams: Teams, agent: Agent) -> None:
        self._team_parts, self._teams, self._agent = team_parts, teams, agent
        self._shown = ShownTeam(teams.current)
        self.events, self.find = EventSource(self), team_parts.workspace.find
        self._ends: dict[str, int] = {}
        teams.current.feed.listen(self.events.hear)
        agent.listen(self._tell)
        self._listeners: list[Callable[[], None]] = [self.events.look]
        self._looked, self._turn = anyio.Event(), anyio.Lock()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call a listener whenever something may have changed. It must neither wait nor raise."""
        self._listeners.append(listener)

    async def looked(self) -> None:
        """Return after the next look."""
        await self._looked.wait()

    async def play(self) -> None:
        """Run the lead for as long as this runs."""
        await self._agent.play()

    async def play_to_rest(self, *, told: bool = False) -> Outcome:
        """Run the lead until it has nothing left to do and all teammates have left. Return the outcome.

        `told`: the user has said something just now. Without that, the answer is to what the user said last.
        """
        return await to_rest(self._teams, self._agent, told=told)

    async def ask(self, text: str | None) -> Outcome:
        """Say something to the lead, and return the outcome once nobody is working any more.

        That is also the case if everybody who works waits for the answer to a question. Then `outcome.end` is `asking`.
        After `answer`, None waits for the rest. Raises RunStopped if the lead cannot continue.
        """
        async with aclosing(self.stream(text)) as events:
            (end,) = [event async for event in events if isinstance(event, TurnEnded)]
        return end.outcome.checked()

    async def stream(self, text: str | None) -> AsyncGenerator[Event, None]:
        """Say something to the lead, and yield what happens until nobody is working. The last event is TurnEnded.

        None says nothing and waits. Raises Refused if another `stream` or `ask` of this session is running.
        """
        start = await TurnStart.of(self._teams, self._agent, self._ends)
        self._ends = start.entries
        if text is None:
            start = replace(start, answer_after=self._agent.transcript.asked_at)
        async with aclosing(self.events.of_turn(self.say, text)) as events:
            async for event in events:
                yield event
        yield TurnEnded(await start.outcome(self._teams, self._agent, self._end()))

    def _end(self) -> Rest:
        if parked := self._agent.transcript.memory.parked:
            return Rest(Parked(parked.reason))
        return Rest(Waiting("permission")) if any(one.shake is Shake.PERMISSION for one in self.questions) else Rest()

    async def keep(self) -> NoReturn:
        """Look whenever something was written, for as long as this runs."""
        while True:
            await first_of(self._shown.changed, partial(self._teams.left, self._shown.team_state))
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
        self._tell()

    def _tell(self) -> None:
        self._looked.set()
        self._looked = anyio.Event()
        for listener in self._listeners:
            listener()

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
    def team(self) -> str:
        """The team that the lead works in."""
        return self._team_state.roster.state.team

    @property
    def home(self) -> str:
        """The lead's first team. Its name resumes this session."""
        return self._teams.home

    @property
    def title(self) -> str:
        """The user's first words in the first team, or an empty string."""
        return title_at(self.workspace, self.home)

    @property
    def kept(self) -> bool:
        """Whether the team still exists after closing. It is removed if nothing was said or no model answered."""
        return self._teams.kept

    @property
    def model(self) -> str:
        """The model of all agents that have none of their own."""
        return self._team_parts.models(None).name

    @property
    def members(self) -> tuple[Member, ...]:
        """All members in the order they joined, including those that left."""
        return tuple(self._team_state.roster.state.members.values())

    @property
    def busy(self) -> tuple[str, ...]:
        """The members that are busy."""
        return tuple(member.name for member in self.members if member.busy)

    @property
    def board(self) -> BoardState:
        """The board."""
        return self._team_state.board.state

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions that wait for the user, in the order they were asked."""
        return self._shown.questions.open if self._shown.team_state is self._team_state else ()

    @property
    def letters(self) -> tuple[Letter, ...]:
        """The latest mail, oldest first."""
        return self._shown.mail.letters if self._shown.team_state is self._team_state else ()

    @property
    def spent(self) -> Sum:
        """What the team has spent."""
        return self.spending.team

    @property
    def spending(self) -> Spending:
        """What the team and each member have spent."""
        return self._team_state.budget.state

    @property
    def caps(self) -> Caps:
        """The caps on what the team spends."""
        return self._team_state.budget.caps

    @property
    def seconds(self) -> float:
        """How long this session has lasted, as the cap on time counts it."""
        return self._team_state.budget.seconds

    @property
    def permitted(self) -> Permitted:
        """What is permitted now."""
        roster = self._team_state.roster.state
        rules, own = (tuple(f"{one.effect} {one}" for one in some) for some in (roster.rules, self.settings.rules))
        planning = tuple(name for name, member in roster.members.items() if member.here and roster.plans(name))
        return Permitted(roster.mode, dict(roster.modes), rules, own, roster.sandbox, planning, roster.delegate)

    async def lead_rests(self, *, team: bool = False) -> bool:
        """Return whether the lead has heard all, has nothing left to do and shows it. `team`: nor has anybody else."""
        rests = await self._agent.rests()
        async with self._turn:
            roster = await self._team_state.roster.refresh()
            # After the roster: a member that is shown as waiting has asked before.
            await self._shown.questions.refresh()
        return rests and not roster.members[LEAD].busy and (not team or await self._agent.team_rests())

    async def entries(self, name: str, after: int = 0) -> list[tuple[int, Entry]]:
        """Return a member's entries after a number."""
        return list(entries_in(await self._team_state.writer.store.read(log(name), after, sync=False)))

    async def changed(self, name: str, after: int) -> None:
        """Return once a member's transcript may have something after a number, or the lead works in another team."""
        state = self._team_state
        await first_of(partial(state.writer.store.changed, {log(name): after}), partial(self._teams.left, state))

    # -- what is said -----------------------------------------------------------------------------

    def spelled(self, name: str) -> str:
        """Return the name of a member as the team spells it, whatever case was typed."""
        return self._team_state.roster.state.spelled(name)

    async def say(self, text: str, to: str = LEAD) -> None:
        """Send text to a member. Raises UnknownRecipient with who is there."""
        await self._mailbox.send(to, Plain(content=text))

    async def say_to_all(self, text: str) -> tuple[str, ...]:
        """Send text to every member of the team. Return who was reached."""
        return await broadcast(self._mailbox, self._team_state.roster.state, text)

    async def interrupt(self, name: str = LEAD) -> None:
        """Interrupt a member. It rests until the user or the lead writes to it."""
        await self._mailbox.send(name, Interrupt())

    async def go_on(self, name: str) -> None:
        """Let a parked or interrupted member continue. Raises Refused if it is neither."""
        member = self._teammate(name)
        if not isinstance(member.status, Parked) and not member.held:
            word = status_word(member.status)
            raise Refused(f"'{name}' is {word}, not parked or interrupted", "Send it a message instead.")
        await self.say(GO_ON, name)

    def capped(self, name: str) -> str | None:
        """Return which cap keeps a member from answering, or None."""
        return self._team_state.budget.over(name, steps=0)

    async def set_cap(self, **cap: Any) -> list[str]:
        """Set one cap, by its field, for as long as this session lasts. Return the members that can continue now.

        Every process of the team reads it. Raises BadSettings for a cap on cost if a price is not known.
        """
        if "cost" in cap:
            check_model(self.settings.model_copy(update={"max_cost": cap["cost"]}))
        # Before the change is recorded: the lead may continue the moment it is, and would not count as parked any more.
        parked = [one for one in self.members if isinstance(one.status, Parked) and is_over(one.status.reason)]
        await self._permit(PolicySet(by=USER, caps=CapsSet(**cap), at=self._now()))
        free = [one.name for one in parked if not self.capped(one.name)]
        # The lead sees on the roster that the caps changed. Teammates look there only when they are woken.
        for name in free:
            if name != LEAD:
                await self.say(GO_ON, name)
        self._tell()
        return free

    async def stop(self, name: str) -> None:
        """Ask a teammate to leave. Raises Refused for the lead and the user."""
        name = self._team_state.roster.state.spelled(name)
        if name in (LEAD, USER):
            raise Refused(f"'{name}' cannot be asked to leave", "Name a teammate.")
        request = ShutdownRequest(request_id=f"{USER}:{secrets.token_hex(8)}")
        await self._mailbox.send(name, request, id_=request.request_id)

    def _teammate(self, name: str) -> Member:
        roster = self._team_state.roster.state
        name = roster.spelled(name)
        if (why := recipient_refusal(roster, name)) or name == USER:
            raise UnknownRecipient(why or "'user' is you")
        return roster.members[name]

    # -- what is answered and set -----------------------------------------------------------------

    async def answer(self, question: Question, answer: Answer, words: str = "") -> None:
        """Answer a question. The first answer counts. `always` also adds the rule that the question names.

        For a plan, `always` means yes and accept edits from then on. Raises Refused if the question is no longer open,
        and for `always` if no rule can cover the question.
        """
        message = answer_to(question, answer, words)
        rule = question.rule if answer == "always" else None
        # A member of the same name in the next team could take this as the answer to its own question.
        if question.key not in {one.key for one in self.questions}:
            raise Refused(f"The question of '{question.member}' is no longer open", "To see open questions: /questions")
        try:
            with self._shown.questions.closing(question):
                await self._mailbox.answer(question.member, message)
        finally:
            self._tell()
        if rule:
            await self._permit(PolicySet(by=USER, add_rules=(rule,), at=self._now()))

    async def set_mode(self, mode: Mode, name: str | None = None) -> None:
        """Set the mode of the team and of the lead's first team, or of one member. Raises UnknownRecipient."""
        member = None if name is None else self._teammate(name).name
        await self._permit(PolicySet(by=USER, member=member, mode=mode, at=self._now()))

    async def delegate(self, delegates: bool) -> None:
        """Let the lead leave the work to its teammates, or do it itself again. Also applies to its first team."""
        await self._permit(PolicySet(by=USER, delegate=delegates, at=self._now()))

    async def drop_rules(self, rules: Iterable[str]) -> None:
        """Remove rules, also from the lead's first team."""
        await self._permit(PolicySet(by=USER, remove_rules=tuple(rules), at=self._now()))

    def choose_model(self, name: str) -> str:
        """Change the model of all agents that have none of their own. Return its full name.

        A teammate in its own process keeps the model it started with. Raises BadSettings if it cannot be used.
        """
        return self._team_parts.choose_model(name)

    async def make_room(self, focus: str = "") -> None:
        """Request a summary of the lead's conversation. Raises Refused if the lead has said nothing yet."""
        if not self._agent.transcript.last_words:
            raise Refused("The lead has not said anything yet, so there is nothing to summarise")
        await self._agent.make_room(focus)

    async def _permit(self, policy: PolicySet) -> None:
        await self._teams.permit(policy)
        self._tell()

    @property
    def _team_state(self) -> TeamState:
        return self._teams.current

    @property
    def _mailbox(self) -> Mailbox:
        return Mailbox(USER, self._team_state.writer, self._team_state.roster)

    def _now(self) -> float:
        return self._team_state.writer.clock.timestamp()
