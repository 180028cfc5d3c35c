"""The loop: listen, decide, do one thing, record it.

`core.agent.decide` decides what to do next, as a pure function of the streams. This file only carries it out.
Lead, teammates and subagents are all this agent. They differ in their member, their tools and their transcript.
"""

import logging
from dataclasses import replace

import anyio

from deskmate.core.agent.actions import Act, Action, Compact, EndRun, Park, Rest, Settle, Stop, Think
from deskmate.core.agent.entries import (
    AgentParked,
    Entry,
    Noticed,
    Overflowed,
    Started,
    SummaryDropped,
    SummaryRequested,
)
from deskmate.core.agent.inbox import has_unheard
from deskmate.core.agent.notices import unnoticed_words
from deskmate.core.agent.open_calls import OUTCOME_UNKNOWN
from deskmate.core.agent.rules.decide import WORDS, decide
from deskmate.core.agent.rules.end_of_run import end_of_run
from deskmate.core.agent.tool_results import Result
from deskmate.core.agent.view import Origin, View
from deskmate.core.log.names import BOARD, ROSTER
from deskmate.core.policy.tool_table import TOOLS, AgentKind, AgentType
from deskmate.core.prompt.compaction import is_full
from deskmate.core.team.handshakes import plans_among
from deskmate.core.team.members import Member, is_planning
from deskmate.core.team.roster_records import Joined, MemberParked
from deskmate.core.team.status import WORKING, Left, Parked, Waiting, Working
from deskmate.errors import Conflict, ModelError, PromptTooLong, Refused, StoreCorrupt, StoreError
from deskmate.runtime.agent_parts import AgentParts
from deskmate.runtime.departure import leave
from deskmate.runtime.events import Changed, Recorded
from deskmate.runtime.perform.background import BackgroundJobs
from deskmate.runtime.perform.mail_watch import MailWatch
from deskmate.runtime.perform.model_calls import ModelCalls
from deskmate.runtime.perform.status_reporter import StatusReporter
from deskmate.runtime.perform.step_scope import StepScope
from deskmate.runtime.perform.team_duties import TeamDuties
from deskmate.runtime.perform.tool_calls import Calls
from deskmate.runtime.perform.wait_times import WaitTimes
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState

_LOG = logging.getLogger(__name__)


class Agent:
    """Runs one member. Its creator must hold the member's seat. The transcript begins with its `Started`."""

    def __init__(
        self, team_state: TeamState, transcript: Transcript, parts: AgentParts, subagent: Member | None = None
    ) -> None:
        self._team_state, self._transcript, self._parts, self._subagent = team_state, transcript, parts, subagent
        self.name = transcript.name
        self._mailbox = Mailbox(self.name, team_state.writer, team_state.roster)
        self._duties = TeamDuties(team_state, transcript, self._mailbox)
        self._mind = ModelCalls(transcript, parts, team_state.feed, team_state.writer.redaction)
        self._presence = StatusReporter(team_state, transcript, None if subagent else self.name)
        self._wakeups = anyio.Event()
        self._waits = WaitTimes(team_state.writer.clock)
        self._step = StepScope(team_state, transcript, self._ring)
        self._starting = frozenset[str]()

    @classmethod
    async def seat(
        cls, team_state: TeamState, started: Started, parts: AgentParts, subagent: Member | None = None
    ) -> "Agent":
        """Return the agent of a transcript. A transcript that has not begun gets `started` as its first entry."""

        def listener(number: int, entry: Entry) -> None:
            team_state.feed.tell(Recorded(started.name, number, entry))

        transcript = await Transcript.load(team_state.writer, started.name, listener)
        if all(isinstance(entry, Noticed) for _, entry in transcript.entries):
            await transcript.record(started)
        # The roster says who this agent is and what it may do.
        roster = await team_state.roster.refresh()
        if not subagent and roster.members[started.name].only_user:
            await transcript.accept_cut()
        return cls(team_state, transcript, parts, subagent)

    @property
    def last_words(self) -> str:
        """The answer of its last turn, or an empty string."""
        return self._transcript.last_words

    @property
    def transcript(self) -> Transcript:
        """Everything the agent heard, said and did."""
        return self._transcript

    @property
    def interrupted(self) -> bool:
        """Whether the agent rests because the user interrupted it."""
        return self._transcript.memory.interrupted

    @property
    def parked(self) -> bool:
        """Whether the agent cannot continue by itself."""
        return self._transcript.memory.parked is not None

    async def rests(self) -> bool:
        """Return whether the agent has heard all its mail and has nothing left to do by itself."""
        boxes = self._mailbox.boxes
        for name, stream in boxes.items():
            after = self._transcript.memory.cursors.get(name, 0)
            # A lead that has moved to another team has other mailboxes now.
            if self._mailbox.boxes != boxes or await self._team_state.writer.store.read(stream, after, sync=False):
                return False
        memory = self._transcript.memory
        # A parked agent continues by itself when the caps change.
        stays = memory.parked is not None and memory.parked.caps == str(self._team_state.budget.caps)
        if stays or memory.interrupted:
            return True
        roster = await self._team_state.roster.refresh()
        if plans_among(memory.requests.values()) and not is_planning(roster, self.name, owes_plan=memory.owes_plan):
            # It waits for an answer to its plan, which nobody has to give any more. It is about to take that in.
            return False
        return not (memory.owed or memory.demanded or memory.calls or memory.background or memory.focus is not None)

    async def make_room(self, focus: str = "") -> None:
        """Request a summary of the conversation once nothing runs. It keeps above all what `focus` says."""
        await self._transcript.record(SummaryRequested(focus=focus))
        self._ring()

    async def play(self, *, until_rest: bool = False) -> Rest | Stop:
        """Run until the agent leaves, or with `until_rest` until it has nothing left to do. Return how it ended."""
        async with task_group() as tasks:
            redaction = self._team_state.writer.redaction
            budget = self._team_state.budget
            self._jobs = BackgroundJobs(
                self.name, tasks, self._parts.workspace, self._ring, redaction, lambda: budget.seconds_left
            )
            parts = replace(self._parts, hires=self._hire)
            self._calls = Calls(
                self._team_state,
                lambda: self._member,
                self._mailbox,
                self._transcript,
                parts,
                self._jobs,
                self._run_subagent,
            )
            self._tasks = tasks
            watch = MailWatch(self._team_state, self._mailbox, self._step.by_mail, tasks)
            tasks.start_soon(watch.keep, self._transcript.memory.cursors)
            try:
                end = await self._go_on(until_rest)
            except (StoreCorrupt, Conflict) as error:
                await self._note_corrupt(error)
                raise
            tasks.cancel_scope.cancel()
        return end

    async def _note_corrupt(self, error: StoreError) -> None:
        """Record on the roster that a lead's transcript was cut or changed. Supervisors do this for teammates.

        Otherwise nobody may notice when the team is resumed. A lead in its second team cannot be recorded as parked,
        because its transcript belongs to its first team.
        """
        if self._is_lead and not self._team_state.roster.state.away and await self._transcript.was_changed():
            at = self._team_state.writer.clock.timestamp()
            await self._team_state.roster.status(MemberParked(name=self.name, reason=str(error), only_user=True, at=at))

    # -- the loop ---------------------------------------------------------------------------------

    async def _go_on(self, until_rest: bool) -> Rest | Stop:
        while True:
            await self._listen()
            view = await self._view(until_rest)
            self._step.set_alarms(view, self._tasks)
            action = decide(view)
            match action:
                case Stop(reason=reason, agreed=agreed):
                    team_state = self._team_state
                    await leave(
                        self._transcript,
                        team_state.writer,
                        team_state.roster,
                        team_state.board,
                        reason=reason,
                        agreed=agreed,
                    )
                    team_state.feed.tell(Changed(self.name, Left(reason, agreed)))
                    return action
                case Rest(status=status):
                    await self._presence.show(status)
                    step = end_of_run(view, action, self._team_state.budget.seconds_left) if until_rest else action
                    match step:
                        case EndRun():
                            return action
                        case Rest():
                            await self._wait(view, action)
                        case _:
                            await self._do(step, view)
                case _:
                    await self._do(action, view)

    async def _listen(self) -> None:
        """Read everything new: mail, ended background jobs, the shared streams."""
        self._wakeups = anyio.Event()
        # An agent about to leave would not answer this mail. Unheard mail goes back to its sender.
        while not self._transcript.memory.done and await self._mailbox.hear(self._transcript):
            pass
        if ended := self._jobs.ended(self._transcript.memory.background):
            await self._transcript.record(*ended)
        self._starting = self._team_state.starting.names
        # One after the other: there is mostly nothing new, and then three tasks cost more than the reads.
        await self._team_state.roster.refresh()
        await self._team_state.board.refresh()
        await self._team_state.budget.refresh()

    async def _view(self, ends_at_rest: bool) -> View:
        team_state, memory = self._team_state, self._transcript.memory
        limits = self._parts.model.limits
        view = View(
            me=self._member,
            memory=memory,
            board=team_state.board.state,
            roster=team_state.roster.state,
            attempts=await self._calls.attempts(),
            waited=self._waits.look(self._open_things()),
            unheard=await self._unheard(),
            starting=self._starting,
            over=team_state.budget.over(self.name, memory.steps),
            time_is_up=team_state.budget.time_is_up,
            caps=str(team_state.budget.caps),
            full=is_full(self._mind.tokens, limits.window, limits.output),
            confined=self._parts.confined,
            ends_at_rest=ends_at_rest,
            own_tools=frozenset(self._parts.tools.keys() - TOOLS.keys()),
            rules=self._parts.rules,
        )
        foreseen = await self._calls.foreseen(view)
        return replace(view, foreseen=foreseen) if foreseen else view

    def _open_things(self) -> list[str]:
        memory, roster = self._transcript.memory, self._team_state.roster.state
        words = [WORDS] if self._is_lead and unnoticed_words(roster, memory.noticed[0]) else []
        return [*memory.requests, *memory.demands, *words]

    async def _unheard(self) -> frozenset[str]:
        """Return the teammates that have unheard mail to act on. Empty unless this is a lead and nobody works."""
        roster = self._team_state.roster.state
        here = [member for member in roster.teammates if member.here] if self._is_lead else []
        if any(isinstance(member.status, Working) for member in here):
            return frozenset()
        inboxes = self._team_state.inboxes
        return frozenset([one.name for one in here if has_unheard(one, await inboxes.refresh(one.name))])

    @property
    def _is_lead(self) -> bool:
        return self._subagent is None and self._member.kind is AgentKind.LEAD

    @property
    def _member(self) -> Member:
        return self._subagent or self._team_state.roster.state.members[self.name]

    async def _wait(self, view: View, rest: Rest) -> None:
        """Return once something that this agent looks at may have changed since this view."""
        team_state, heard = self._team_state, self._transcript.memory.cursors
        since = {stream: heard.get(box, 0) for box, stream in self._mailbox.boxes.items()}
        # As it was when the agent decided to rest: others in this process may have read further since.
        since[BOARD] = view.board.number
        # If every member woke whenever another joins, leaves or rests, the cost would grow with the square of the team.
        if self._is_lead or rest.status in (Waiting("permission"), Waiting("plan")) or view.roster.damaged:
            since[ROSTER] = view.roster.number
        async with task_group() as tasks:

            async def changed() -> None:
                await team_state.writer.store.changed(since)
                tasks.cancel_scope.cancel()

            async def started() -> None:
                await team_state.starting.changed(view.starting)
                tasks.cancel_scope.cancel()

            tasks.start_soon(changed)
            if self._is_lead:
                tasks.start_soon(started)
            await self._wakeups.wait()
            tasks.cancel_scope.cancel()

    def _ring(self) -> None:
        self._wakeups.set()

    # -- doing ------------------------------------------------------------------------------------

    async def _do(self, action: Action, view: View) -> None:
        origin = Origin(view, self._transcript.entries, self._team_state.writer.store.read)
        try:
            match action:
                case Think():
                    await self._think(origin)
                case Act(calls=calls):
                    await self._act(calls)
                case Settle(calls=calls, text=text, ok=ok):
                    await self._calls.settle(calls, text, ok=ok)
                case Compact():
                    await self._compact(origin)
                case Park(reason=reason):
                    await self._park(reason)
                case Rest() | Stop() | EndRun():
                    raise AssertionError(f"{action} is carried out by the loop")
                case duty:
                    await self._duties.do(duty, self._member)
        except StoreError:
            raise
        except Exception as error:
            _LOG.exception("%s cannot continue", self.name)
            await self._give_up(error)

    async def _think(self, origin: Origin) -> None:
        await self._presence.show(WORKING)
        try:
            with self._step.cuttable() as scope:
                await self._mind.think(self._presence, origin)
            if scope.cancelled_caught:
                await self._mind.keep_what_was_whole(time_is_up=self._team_state.budget.time_is_up)
        except PromptTooLong:
            await self._transcript.record(Overflowed())
        except ModelError as error:
            await self._park(str(error))

    async def _act(self, ids: tuple[str, ...]) -> None:
        await self._presence.show(WORKING)
        with self._step.cuttable() as scope:
            await self._calls.run(ids)
        if scope.cancelled_caught:
            # The next decision skips the calls that were cut before they began.
            left = [call.id for call in self._transcript.memory.calls.values() if call.began and call.id in ids]
            await self._calls.cut(tuple(left), self._step.why)

    async def _compact(self, origin: Origin) -> None:
        await self._presence.show(WORKING)
        try:
            with self._step.cuttable():
                await self._mind.compact(self._presence, origin)
        except ModelError as error:
            await self._park(str(error))
        if origin.view.memory.focus is not None:
            await self._drop_summary()

    async def _drop_summary(self) -> None:
        """Record that the summary which the user wanted was not made. The user can ask again."""
        if self._transcript.memory.focus is not None:
            await self._transcript.record(SummaryDropped())

    async def _give_up(self, error: Exception) -> None:
        """Park because of a defect and retry nothing. Raises the error if the agent is parked already."""
        parked = self._transcript.memory.parked
        if parked and parked.caps == str(self._team_state.budget.caps):
            raise error
        why = f"internal error, {type(error).__name__}: {error!s:.500}"
        await self._calls.settle(tuple(self._transcript.memory.calls), f"Failed: {why}. {OUTCOME_UNKNOWN}")
        await self._drop_summary()
        await self._park(why)

    async def _park(self, reason: str) -> None:
        await self._transcript.record(AgentParked(reason=reason, caps=str(self._team_state.budget.caps)))
        if not self._subagent:
            await self._team_state.board.give_back(self.name, note=f"{self.name} was parked: {reason}")

    def _hire(self, joined: Joined) -> Joined:
        if self._transcript.memory.dismissed:
            raise Refused("This run is ending and your team was dismissed, so nobody can join. Give your final answer.")
        return self._parts.hires(joined)

    async def _run_subagent(self, call: str, prompt: str, agent_type: AgentType) -> Result:
        """Run a subagent to its end and return its answer. One that began before continues where it was."""
        assert self._parts.subagents is not None, "who has the tool has subagents"
        parts, started = self._parts.subagents(call, prompt, agent_type)
        member = Member(call, AgentKind.SUBAGENT, agent_type, "", "", None, WORKING)
        agent = await Agent.seat(self._team_state, started, parts, member)
        end = await agent.play(until_rest=True)
        if isinstance(end, Rest) and isinstance(end.status, Parked):
            return Result(f"The subagent could not continue: {end.status.reason}", ok=False)
        return Result(agent.transcript.answer() or "(the subagent ended without an answer)")
