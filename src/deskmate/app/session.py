"""A team and the person who talks to it.

Faces above show it and hand over what is typed; nothing of it is theirs. `running` opens the team and plays the lead.
"""

import secrets
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import anyio

from deskmate.app.build import TeamParts, check_model
from deskmate.app.mail_feed import MailFeed
from deskmate.app.runner import GO_ON, Outcome, Wanted, founded, reopened, seated, to_rest
from deskmate.app.teams import Teams
from deskmate.app.user_answers import Answer, answer_to, broadcast
from deskmate.core.agent.entries import Entry
from deskmate.core.log.names import BOARD, LEAD, ROSTER, USER, log
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.caps import Caps, CapsSet
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.members import Member, PolicySet, recipient_refusal
from deskmate.core.team.messages import Interrupt, Plain, ShutdownRequest
from deskmate.core.team.open_questions import Question
from deskmate.core.team.spending import OVER, Sum
from deskmate.errors import Refused, UnknownRecipient
from deskmate.queries.member_view import Letter, entries_in
from deskmate.queries.stream_reader import title_at
from deskmate.queries.team_view import SeenMember, SeenTask, see_member, see_tasks
from deskmate.runtime.agent import Agent
from deskmate.runtime.events import Feed
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.question_list import QuestionList
from deskmate.runtime.task_groups import task_group

__all__ = ["Answer", "Mode", "Permitted", "Question", "Session", "Shake", "attended", "session_with"]

# What happens within this is looked at together.
_BREATH_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Permitted:
    """What is permitted: the mode of the team, those of members that have another, the rules.

    `own`: rules of the user's settings, which hold in every team. `sandbox`: how far commands are confined. `planning`:
    who is in plan mode. `delegates`: the lead leaves the work itself to its teammates.
    """

    mode: Mode
    modes: dict[str, Mode]
    rules: tuple[str, ...]
    own: tuple[str, ...]
    sandbox: str
    planning: tuple[str, ...] = ()
    delegates: bool = False


@asynccontextmanager
async def attended(wanted: Wanted, feed: Feed, *, continues: bool = False) -> AsyncIterator["Session"]:
    """Open the team that is wanted with a person there, and have it played for as long as this is open.

    With `continues` that is the team of that name, or the one last written to; otherwise a new team is begun, with that
    name if there is one. What is asked waits for an answer, also when this is closed.
    """
    opened = reopened if continues else founded
    async with (
        opened(wanted, feed, attended=True) as (team_parts, teams),
        session_with(team_parts, teams) as session,
        task_group() as tasks,
    ):
        tasks.start_soon(session.play)
        yield session
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def session_with(team_parts: TeamParts, teams: Teams) -> AsyncIterator["Session"]:
    """Yield a session of a team that was opened; its lead is seated and yet to be played."""
    async with seated(team_parts, teams) as agent, task_group() as tasks:
        session = Session(team_parts, teams, agent)
        await session.look()
        tasks.start_soon(session.keep)
        yield session
        tasks.cancel_scope.cancel()


class Session:
    """A team and the person at its desk. What is seen is as of the last look; `listen` tells when there was one."""

    def __init__(self, team_parts: TeamParts, teams: Teams, agent: Agent) -> None:
        self._team_parts, self._teams, self._agent = team_parts, teams, agent
        self._team_state = team_state = team_parts.team_state
        self._mailbox = Mailbox(USER, team_state.writer, team_state.roster)
        self._questions, self._post = QuestionList(team_state), MailFeed(team_state)
        self._listeners: list[Callable[[], None]] = []
        self._looked, self._turn = anyio.Event(), anyio.Lock()

    def listen(self, listener: Callable[[], None]) -> None:
        """Let a listener know when something may look otherwise than before. It must neither wait nor raise."""
        self._listeners.append(listener)

    async def looked(self) -> None:
        """Return after the next look."""
        await self._looked.wait()

    async def play(self) -> None:
        """Let the lead go on for as long as this runs."""
        await self._agent.play()

    async def play_to_rest(self) -> Outcome:
        """Let the lead go on until it has nothing left to do and everybody has left; return what that came to."""
        return await to_rest(self._team_parts, self._agent, self._agent.transcript.asked_at)

    async def keep(self) -> NoReturn:
        """Look again whenever something was written, for as long as this runs."""
        team_state = self._team_state
        while True:
            since = {ROSTER: team_state.roster.state.number, BOARD: team_state.board.state.number}
            await team_state.writer.store.changed({**self._post.since, **self._questions.since, **since})
            await team_state.writer.clock.sleep(_BREATH_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Read what is new, and tell the listeners."""
        team_state = self._team_state
        # One look at a time: two would read the same mail.
        async with self._turn:
            turn = None
            while turn != team_state.roster.turn:
                # Again where the lead went to another team meanwhile: what is seen is of one.
                turn = team_state.roster.turn
                await team_state.roster.refresh()
                await team_state.board.refresh()
                await team_state.budget.refresh()
                await self._questions.refresh()
                await self._post.refresh()
        self._tell()

    def _tell(self) -> None:
        self._looked.set()
        self._looked = anyio.Event()
        for listener in self._listeners:
            listener()

    # -- what is seen -----------------------------------------------------------------------------

    @property
    def workspace(self) -> Path:
        """The folder that is worked in."""
        return Path(self._team_parts.workspace.root)

    @property
    def team(self) -> str:
        """The team that the lead works in."""
        return self._team_state.roster.state.team

    @property
    def home(self) -> str:
        """The team that the lead came from, by which this is gone on with."""
        return self._teams.home

    @property
    def title(self) -> str:
        """The first words that the user said at home; nothing before there are any."""
        return title_at(self.workspace, self.home)

    @property
    def kept(self) -> bool:
        """Whether the team is there once this is closed. One that nothing was said to, or no model answered, is not."""
        return self._teams.kept

    @property
    def model(self) -> str:
        """The model of everybody who has none of their own."""
        return self._team_parts.models(None).name

    @property
    def members(self) -> tuple[SeenMember, ...]:
        """Everybody on the team, in the order they joined, those who left included."""
        board, spent = self._team_state.board.state, self._team_state.budget.state
        return tuple(see_member(member, board, spent) for member in self._team_state.roster.state.members.values())

    @property
    def busy(self) -> tuple[str, ...]:
        """Those who are in the middle of something."""
        here = self._team_state.roster.state.members.values()
        return tuple(member.name for member in here if _is_busy(member))

    @property
    def tasks(self) -> tuple[SeenTask, ...]:
        """The board, by number."""
        return see_tasks(self._team_state.board.state)

    @property
    def questions(self) -> tuple[Question, ...]:
        """What waits for a word of the user, in the order it was asked."""
        return self._questions.open

    @property
    def letters(self) -> tuple[Letter, ...]:
        """The mail that was written last, the oldest first."""
        return self._post.letters

    @property
    def spent(self) -> Sum:
        """What all came to."""
        return self._team_state.budget.state.team

    @property
    def caps(self) -> Caps:
        """The caps on what the team spends."""
        return self._team_state.budget.caps

    @property
    def seconds(self) -> float:
        """How long this session has lasted, as far as the cap on time counts it."""
        return self._team_state.budget.seconds

    @property
    def permitted(self) -> Permitted:
        """What is permitted now."""
        roster = self._team_state.roster.state
        rules, own = (
            tuple(f"{rule.effect} {rule}" for rule in some) for some in (roster.rules, self._team_parts.settings.rules)
        )
        planning = tuple(name for name, member in roster.members.items() if member.here and roster.plans(name))
        return Permitted(roster.mode, dict(roster.modes), rules, own, roster.sandbox, planning, roster.delegate)

    async def lead_rests(self) -> bool:
        """Tell whether the lead has heard all that was said to it, has nothing left to do, and shows that.

        Who is busy and what is asked is seen anew, nobody being told.
        """
        rests = await self._agent.rests()
        async with self._turn:
            roster = await self._team_state.roster.refresh()
            # Behind the roster: who is seen there to wait for a word has asked before.
            await self._questions.refresh()
        return rests and not _is_busy(roster.members[LEAD])

    async def entries(self, name: str, after: int = 0) -> list[tuple[int, Entry]]:
        """Return a member's transcript behind a number."""
        return list(entries_in(await self._team_state.writer.store.read(log(name), after, sync=False)))

    async def changed(self, name: str, after: int) -> None:
        """Return once a member's transcript may have something behind a number."""
        await self._team_state.writer.store.changed({log(name): after})

    # -- what is said -----------------------------------------------------------------------------

    def spelled(self, name: str) -> str:
        """Return the name of a member as the team spells it, however its case was typed."""
        return self._team_state.roster.state.spelled(name)

    async def say(self, text: str, to: str = LEAD) -> None:
        """Say something to a member; raise UnknownRecipient, naming who is there."""
        await self._mailbox.send(to, Plain(content=text))

    async def say_to_all(self, text: str) -> tuple[str, ...]:
        """Say something to every agent on the team; return who was reached."""
        return await broadcast(self._mailbox, self._team_state.roster.state, text)

    async def interrupt(self, name: str = LEAD) -> None:
        """Cut what a member does; it rests until somebody in charge writes to it."""
        await self._mailbox.send(name, Interrupt())

    async def go_on(self, name: str) -> None:
        """Have a member go on that was parked or interrupted; raise Refused for one that is neither."""
        member = self._teammate(name)
        if member.status.word != "parked" and not member.held:
            raise Refused(
                f"'{name}' is {member.status.word}, neither parked nor interrupted; say something to it instead"
            )
        await self.say(GO_ON, name)

    def capped(self, name: str) -> str | None:
        """Return which cap keeps a member from answering, whatever is said to it."""
        return self._team_state.budget.over(name, steps=0)

    async def set_cap(self, **cap: Any) -> list[str]:
        """Set one of the caps, by its field, for as long as this session lasts; return who could go on then.

        Every process of the team reads it. Raises BadSettings for a cap on money where a price is not known.
        """
        if "cost" in cap:
            check_model(self._team_parts.settings.model_copy(update={"max_cost": cap["cost"]}))
        await self._permit(PolicySet(by=USER, caps=CapsSet(**cap), at=self._now()))
        members = self._team_state.roster.state.members.values()
        parked = [one for one in members if one.status.word == "parked" and one.status.detail.startswith(OVER)]
        free = [one.name for one in parked if not self.capped(one.name)]
        # The lead sees on the roster that its caps changed; teammates look there only when they are woken.
        for name in free:
            if name != LEAD:
                await self.say(GO_ON, name)
        self._tell()
        return free

    async def stop(self, name: str) -> None:
        """Ask a teammate to leave; raise Refused for who cannot be asked."""
        name = self._team_state.roster.state.spelled(name)
        if name in (LEAD, USER):
            raise Refused(f"'{name}' cannot be asked to leave; name a teammate")
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
        """Answer a question, the first answer to it counts; `always` also adds the rule that the question names.

        To a plan `always` is a yes after which edits are accepted. Raises Refused if the question is not open any more,
        and for `always` if no rule can cover the question.
        """
        message = answer_to(question, answer, words)
        rule = question.rule if answer == "always" else None
        # By its id a namesake in the next team would take this for the answer to a question of its own.
        if question.key not in {one.key for one in self.questions}:
            raise Refused(f"what '{question.member}' asked is not open any more; look at what is")
        try:
            with self._questions.closing(question):
                await self._mailbox.answer(question.member, message)
        finally:
            self._tell()
        if rule:
            await self._permit(PolicySet(by=USER, add_rules=(rule,), at=self._now()))

    async def set_mode(self, mode: Mode, name: str | None = None) -> None:
        """Let another mode hold for the team and the lead's home, or for one member.

        Raises UnknownRecipient for one that is not there.
        """
        if name is not None:
            name = self._teammate(name).name
        await self._permit(PolicySet(by=USER, member=name, mode=mode, at=self._now()))

    async def delegate(self, delegates: bool) -> None:
        """Let the lead leave the work itself to its teammates, or do it itself again; at its home too."""
        await self._permit(PolicySet(by=USER, delegate=delegates, at=self._now()))

    async def drop_rules(self, rules: Iterable[str]) -> None:
        """Take rules back, also at the lead's home."""
        await self._permit(PolicySet(by=USER, remove_rules=tuple(rules), at=self._now()))

    def choose_model(self, name: str) -> str:
        """Ask another model from now on, for everybody who has none of their own; return its full name.

        Who plays in a process of its own keeps the one it began with. Raises BadSettings where it cannot be asked.
        """
        return self._team_parts.choose_model(name)

    def make_room(self, focus: str = "") -> None:
        """Have the lead's conversation summarised; raise Refused where nothing was said yet."""
        if not self._agent.last_words:
            raise Refused("the lead has said nothing yet that could be summarised")
        self._agent.make_room(focus)

    async def _permit(self, policy: PolicySet) -> None:
        await self._teams.permit(policy)
        self._tell()

    def _now(self) -> float:
        return self._team_state.writer.clock.timestamp()


def _is_busy(member: Member) -> bool:
    return member.status.word == "working" or (member.status.word == "waiting" and member.status.detail != "plan")
