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
from deskmate.app.user_answers import Answer, answer_to, broadcast, mailbox_in
from deskmate.config import Settings
from deskmate.core.agent.entries import Entry
from deskmate.core.agent.teams.addresses import addressed
from deskmate.core.log.names import LEAD, USER, agent_id, log
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
from deskmate.runtime.team_state import TeamState
from deskmate.trust.approvals import NO_CONSENT, Consent

if TYPE_CHECKING:
    from deskmate.app.commands.lead_shell import LeadShell
    from deskmate.mcp.team_servers import TeamServers


class TeamSession(ABC):
    """A team and its user. Properties are as of the last look. `listen` tells when there was one.

    `events`: what happens, with `async for event in session.events`, from then on and as long as the session is open.
    `find`: returns the files that a glob pattern matches, but those that git ignores, most recently changed first.
    """

    def __init__(self, team_state: TeamState, files: Workspace, runs_as: str = LEAD) -> None:
        self._shown, self._files, self._runs_as = ShownTeam(team_state), files, runs_as
        self._shown_home: ShownTeam | None = None
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
    def servers(self) -> "TeamServers | None":
        """The MCP servers of this process, None if it has none."""
        return None

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
    async def _permit(self, policy: PolicySet, *, at_home: bool = False) -> None:
        """Record what is permitted, also in the lead's first team, and call the listeners. `at_home`: only there."""

    @property
    @abstractmethod
    def _team_state(self) -> TeamState:
        """The team that the lead works in."""

    @property
    @abstractmethod
    def _home_state(self) -> TeamState | None:
        """The lead's first team, while it works in another one."""

    async def _look_at_home(self) -> None:
        """Read what is new in the lead's first team, while it works in another one."""
        state, shown = self._home_state, self._shown_home
        if shown is None or shown.team_state is not state:
            shown = ShownTeam(state, is_home=True) if state else None
        if shown:
            await shown.look()
        self._shown_home = shown

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
        """All members in the order they joined, including those that left.

        While the lead works in a team that it created, the teammates in its first team follow as `name@team`.
        """
        home = self._home_state
        at_home = addressed(home.roster.state).teammates if home else []
        here = self._team_state.roster.state.members.values()
        return (*here, *(member for member in at_home if member.here))

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
        return tuple(sorted((one for team in self._seen for one in team.open_questions), key=lambda one: one.at))

    @property
    def letters(self) -> tuple[Letter, ...]:
        """The latest mail, oldest first."""
        letters = [letter for team in self._seen for letter in team.letters]
        return tuple(sorted(letters, key=lambda one: one.envelope.timestamp) if self._shown_home else letters)

    @property
    def _seen(self) -> tuple[ShownTeam, ...]:
        """The teams as last seen, the current one first. Empty if the lead has gone to another team since."""
        if self._shown.team_state is not self._team_state:
            return ()
        return (self._shown, self._shown_home) if self._shown_home else (self._shown,)

    @property
    def boards(self) -> dict[str, BoardState]:
        """The boards of the lead's teams, by team. That of the team it works in comes first."""
        states = [state for state in (self._team_state, self._home_state) if state]
        return {state.roster.state.team: state.board.state for state in states}

    def spent_by(self, name: str) -> Sum:
        """Return what a member and its subagents have spent."""
        state, name = self._at(name)
        return state.budget.state.of(name)

    def place_of(self, name: str) -> tuple[str, str]:
        """Return the team of a member and its name there: `name@team` may be in the lead's first team."""
        state, name = self._at(name)
        return state.roster.state.team, name

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
        return Permitted.of(self._team_state.roster.state, self.settings.rules)

    async def entries(self, name: str, after: int = 0) -> list[tuple[int, Entry]]:
        """Return a member's entries after a number."""
        state, name = self._at(name)
        return list(entries_in(await state.writer.store.read(log(name), after, sync=False)))

    def spelled(self, name: str) -> str:
        """Return the name of a member as the team spells it, whatever case was typed."""
        state, name = self._at(name)
        return name if state is self._team_state else agent_id(name, state.roster.state.team)

    def _at(self, name: str) -> tuple[TeamState, str]:
        """Return the team of a member and its name there: `name@team` may be in the lead's first team."""
        name, at, team = name.partition("@")
        home = self._home_state
        state = home if home and at and team.lower() == self.home else self._team_state
        whole = f"{name}{at}{team}" if at and team.lower() != state.roster.state.team else name
        return state, state.roster.state.spelled(whole)

    async def say(self, text: str, to: str = LEAD, *, images: Sequence[str | Path] = ()) -> None:
        """Send text to a member, with the images in these files. Raises UnknownRecipient with who is there.

        Raises BadInput if an image is missing or no model can take it. Nothing is sent then.
        """
        state, name = self._at(to)
        if not images:
            await mailbox_in(state).send(name, Plain(content=text))
            return
        files = await read_images(images)
        # A lead has its blobs in its first team, whatever team it works in.
        team = self.home if (name := self._teammate(to).name) == LEAD else state.roster.state.team
        kept = await keep_images(self.workspace, team, name, files)
        await mailbox_in(state).send(name, Plain(content=text, images=kept))

    async def mentioned(self, paths: Sequence[str]) -> MentionedFiles:
        """Return files of the workspace to attach to a message to the lead, and why others cannot be attached."""
        state = self._team_state
        rules = (*self.settings.rules, *state.roster.state.rules)
        return await read_mentioned(paths, self._files, rules, state.writer.redaction)

    @property
    def lead_shell(self) -> "LeadShell":
        """What judges and runs the shell commands of a prompt as the lead's own."""
        from deskmate.app.commands.lead_shell import LeadShell  # loading it would slow down every start

        return LeadShell(self._team_state, self._files, self.settings.rules, self.confined, self._runs_as)

    async def say_to_all(self, text: str) -> tuple[str, ...]:
        """Send text to every member of the team. Return who was reached."""
        return await broadcast(mailbox_in(self._team_state), self._team_state.roster.state, text)

    async def interrupt(self, name: str = LEAD) -> None:
        """Interrupt a member. It rests until the user or the lead writes to it."""
        state, name = self._at(name)
        await mailbox_in(state).send(name, Interrupt())

    async def go_on(self, name: str) -> None:
        """Let a parked or interrupted member continue. Raises Refused if it is neither."""
        member = self._teammate(name)
        if not isinstance(member.status, Parked) and not member.held:
            told = f"'{name}' is {status_word(member.status)}, not parked or interrupted"
            raise Refused(told, "Send it a message instead.")
        await self.say(GO_ON, name)

    def capped(self, name: str) -> str | None:
        """Return which cap keeps a member from answering, or None."""
        state, name = self._at(name)
        return state.budget.over(name, steps=0)

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
        state, name = self._at(name)
        if name in (LEAD, USER):
            raise Refused(f"'{name}' cannot be asked to leave", "Name a teammate.")
        request = ShutdownRequest(request_id=f"{USER}:{secrets.token_hex(8)}")
        await mailbox_in(state).send(name, request, id_=request.request_id)

    def _teammate(self, name: str) -> Member:
        state, name = self._at(name)
        roster = state.roster.state
        if (why := recipient_refusal(roster, name)) or name == USER:
            raise UnknownRecipient(why or "'user' is you")
        return roster.members[name]

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
            state, asker = self._at(question.member)
            shown = next(team for team in self._seen if team.team_state is state)
            with shown.questions.closing(question):
                await mailbox_in(state).answer(asker, message)
        finally:
            self._tell()
        if rule:
            await self._permit(PolicySet(by=USER, add_rules=(rule,), at=self._now()))

    async def set_mode(self, mode: Mode, name: str | None = None, *, before_plan: Mode | None = None) -> None:
        """Set the mode of the team and of the lead's first team, or of one member. Raises UnknownRecipient.

        `before_plan`: the mode that follows plan mode, if it is not the one that this replaces.
        """
        member = name and self._teammate(name).name
        at_home = name is not None and self._at(name)[0] is not self._team_state
        policy = PolicySet(by=USER, member=member, mode=mode, before_plan=before_plan, at=self._now())
        await self._permit(policy, at_home=at_home)

    async def delegate(self, delegates: bool) -> None:
        """Let the lead leave the work to its teammates, or do it itself again. Also applies to its first team."""
        await self._permit(PolicySet(by=USER, delegate=delegates, at=self._now()))

    async def drop_rules(self, rules: Iterable[str]) -> None:
        """Remove rules, also from the lead's first team."""
        await self._permit(PolicySet(by=USER, remove_rules=tuple(rules), at=self._now()))

    def _now(self) -> float:
        return self._team_state.writer.clock.timestamp()
