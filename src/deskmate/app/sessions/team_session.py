"""What every session has: a team, what is seen of it, and what the user says, answers and sets.

Faces show any of them. `Session` runs the team, and `AttachedSession` looks at a team that another process runs.
"""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from deskmate.app.image_files import keep_images, read_images
from deskmate.app.parts.provider_models import check_model
from deskmate.app.rewind.rewinding import Rewinder
from deskmate.app.runner import GO_ON
from deskmate.app.session_events import EventSource
from deskmate.app.sessions.mentioned_files import MentionedFiles, read_mentioned
from deskmate.app.sessions.shown_team import ShownTeam
from deskmate.app.user_answers import Answer, answer_to, broadcast
from deskmate.config import Settings
from deskmate.core.agent.entries import Entry
from deskmate.core.log.names import LEAD, USER, log
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.caps import Caps, CapsSet
from deskmate.core.team.members import Member, recipient_refusal
from deskmate.core.team.messages import Interrupt, Plain, ShutdownRequest
from deskmate.core.team.open_questions import Question
from deskmate.core.team.roster_records import PolicySet
from deskmate.core.team.spending import Spending, Sum, is_over
from deskmate.core.team.status import Parked, status_word
from deskmate.core.team.tasks import BoardState
from deskmate.errors import Refused, UnknownRecipient
from deskmate.ports import Workspace
from deskmate.queries.member_view import Letter, entries_in
from deskmate.queries.stream_reader import title_at
from deskmate.queries.team_view import Permitted
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.team_state import TeamState
from deskmate.trust.approvals import NO_CONSENT, Consent

if TYPE_CHECKING:
    from deskmate.app.commands.lead_shell import LeadShell


class TeamSession(ABC):
    """A team and its user. Properties are as of the last look. `listen` tells when there was one.

    `events`: what happens, with `async for event in session.events`, from then on and as long as the session is open.
    `find`: returns the files that a glob pattern matches, without those that git ignores, most recently changed first.
    """

    def __init__(self, team_state: TeamState, files: Workspace, runs_as: str = LEAD) -> None:
        self._runs_as = runs_as
        self._shown, self._files = ShownTeam(team_state), files
        self.events, self.find = EventSource(self), files.find
        team_state.feed.listen(self.events.hear)
        self._listeners: list[Callable[[], None]] = [self.events.look]
        self._looked, self._turn = anyio.Event(), anyio.Lock()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call a listener whenever something may have changed. It must neither wait nor raise."""
        self._listeners.append(listener)

    async def looked(self) -> None:
        """Return after the next look."""
        await self._looked.wait()

    def _tell(self) -> None:
        self._looked.set()
        self._looked = anyio.Event()
        for listener in self._listeners:
            listener()

    # -- what each kind of session knows and does in its own way ----------------------------------

    @property
    @abstractmethod
    def workspace(self) -> Path:
        """The workspace folder."""

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """The settings that it was opened with."""

    @property
    def consent(self) -> Consent:
        """Which files of the workspace it uses, as far as this process knows."""
        return NO_CONSENT

    @property
    @abstractmethod
    def confined(self) -> bool:
        """Whether commands in the workspace are confined to it."""

    @property
    @abstractmethod
    def home(self) -> str:
        """The lead's first team. Its name resumes this session."""

    @property
    @abstractmethod
    def kept(self) -> bool:
        """Whether the team still exists after closing."""

    @property
    @abstractmethod
    def model(self) -> str:
        """The model of all agents that have none of their own."""

    @abstractmethod
    async def look(self) -> None:
        """Read what is new, and call the listeners."""

    @abstractmethod
    async def lead_rests(self, *, team: bool = False) -> bool:
        """Return whether the lead has nothing left to do and shows it. `team`: nor has anybody else."""

    @abstractmethod
    async def changed(self, name: str, after: int) -> None:
        """Return once a member's transcript may have something after a number, or the lead works in another team."""

    @abstractmethod
    def choose_model(self, name: str) -> str:
        """Change the model of all agents that have none of their own. Return its full name. Raises Refused."""

    @abstractmethod
    def rewinder(self) -> Rewinder:
        """Return what restores files and forks the conversation. Raises Refused."""

    @abstractmethod
    async def make_room(self, focus: str = "") -> None:
        """Request a summary of the lead's conversation. Raises Refused."""

    @abstractmethod
    async def _permit(self, policy: PolicySet) -> None:
        """Record what is permitted, also in the lead's first team, and call the listeners."""

    @property
    @abstractmethod
    def _team_state(self) -> TeamState:
        """The team that the lead works in."""

    # -- what is seen -----------------------------------------------------------------------------

    @property
    def team(self) -> str:
        """The team that the lead works in."""
        return self._team_state.roster.state.team

    @property
    def title(self) -> str:
        """The user's first words in the first team, or an empty string."""
        return title_at(self.workspace, self.home)

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

    async def entries(self, name: str, after: int = 0) -> list[tuple[int, Entry]]:
        """Return a member's entries after a number."""
        return list(entries_in(await self._team_state.writer.store.read(log(name), after, sync=False)))

    # -- what is said -----------------------------------------------------------------------------

    def spelled(self, name: str) -> str:
        """Return the name of a member as the team spells it, whatever case was typed."""
        return self._team_state.roster.state.spelled(name)

    async def say(self, text: str, to: str = LEAD, *, images: Sequence[str | Path] = ()) -> None:
        """Send text to a member, with the images in these files. Raises UnknownRecipient with who is there.

        Raises BadInput if an image is missing or no model can take it. Nothing is sent then.
        """
        if not images:
            await self._mailbox.send(to, Plain(content=text))
            return
        files = await read_images(images)
        name = self._teammate(to).name
        # A lead has its blobs in its first team, whatever team it works in.
        kept = await keep_images(self.workspace, self.home if name == LEAD else self.team, name, files)
        await self._mailbox.send(name, Plain(content=text, images=kept))

    async def mentioned(self, paths: Sequence[str]) -> MentionedFiles:
        """Return files of the workspace to attach to a message to the lead, and why others cannot be attached."""
        team_state = self._team_state
        rules = (*self.settings.rules, *team_state.roster.state.rules)
        return await read_mentioned(paths, self._files, rules, team_state.writer.redaction)

    @property
    def lead_shell(self) -> "LeadShell":
        """What judges and runs the shell commands of a prompt as the lead's own."""
        # Imported here because loading it would slow down every start.
        from deskmate.app.commands.lead_shell import LeadShell

        return LeadShell(self._team_state, self._files, self.settings.rules, self.confined, self._runs_as)

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

    async def set_mode(self, mode: Mode, name: str | None = None, *, before_plan: Mode | None = None) -> None:
        """Set the mode of the team and of the lead's first team, or of one member. Raises UnknownRecipient.

        `before_plan`: the mode that follows plan mode, if it is not the one that this replaces.
        """
        member = None if name is None else self._teammate(name).name
        await self._permit(PolicySet(by=USER, member=member, mode=mode, before_plan=before_plan, at=self._now()))

    async def delegate(self, delegates: bool) -> None:
        """Let the lead leave the work to its teammates, or do it itself again. Also applies to its first team."""
        await self._permit(PolicySet(by=USER, delegate=delegates, at=self._now()))

    async def drop_rules(self, rules: Iterable[str]) -> None:
        """Remove rules, also from the lead's first team."""
        await self._permit(PolicySet(by=USER, remove_rules=tuple(rules), at=self._now()))

    @property
    def _mailbox(self) -> Mailbox:
        return Mailbox(USER, self._team_state.writer, self._team_state.roster)

    def _now(self) -> float:
        return self._team_state.writer.clock.timestamp()
