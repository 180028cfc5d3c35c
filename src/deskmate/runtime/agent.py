"""The loop: listen, decide, do one thing, record it.

`core.agent.rules` decides what to do next, as pure functions of the streams. This file only carries it out, with the
help of `perform`. Lead, teammates and subagents are all this agent. They differ in their member, their tools and their
transcript.
"""

from collections.abc import Callable

import anyio

from deskmate.core.agent.actions import Act, Action, Compact, EndRun, Park, Rest, Settle, Stop, Think
from deskmate.core.agent.entries import Entry, Noticed, Started, SummaryRequested
from deskmate.core.agent.rules.decide import decide
from deskmate.core.agent.rules.end_of_run import end_of_run
from deskmate.core.agent.rules.goal_rules import goal_check
from deskmate.core.agent.tool_results import Result
from deskmate.core.agent.view import Origin, View
from deskmate.core.goals import GoalRound, goal_set_text
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.team.members import Member
from deskmate.core.team.status import WORKING, Parked
from deskmate.errors import Conflict, StoreCorrupt, StoreError
from deskmate.runtime.agent_parts import AgentParts
from deskmate.runtime.events import Recorded
from deskmate.runtime.perform.agent_work import AgentWork
from deskmate.runtime.perform.parking import give_up, leave_team, note_corrupt, park
from deskmate.runtime.perform.surroundings import is_resting, is_turn_over, listen, see, tell_end, wait_for_news
from deskmate.runtime.perform.working_steps import act, between_steps, compact, offer_untasked, take_in_work, think
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.team_state import TeamState


class Agent:
    """Runs one member. Its creator must hold the member's seat. The transcript begins with its `Started`."""

    def __init__(self, work: AgentWork) -> None:
        self._work = work
        # What the agent saw when it came to rest, as long as it waits for news.
        self._resting: View | None = None
        self._seen: View | None = None
        self._listeners: list[Callable[[], None]] = []
        self._finishing = anyio.Event()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call a listener each time the agent comes to rest. It must neither wait nor raise."""
        self._listeners.append(listener)

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
        return cls(AgentWork.of(team_state, transcript, parts, _run_subagent, subagent))

    @property
    def transcript(self) -> Transcript:
        """Everything the agent heard, said and did."""
        return self._work.transcript

    async def rests(self) -> bool:
        """Return whether the agent has heard all its mail and has nothing left to do by itself."""
        return await is_resting(self._work)

    async def team_rests(self) -> bool:
        """Return whether this lead waits for news, and nobody on the team will bring any by itself."""
        view = self._resting
        return view is not None and await is_turn_over(self._work, view) and self._resting is view

    async def make_room(self, focus: str = "") -> None:
        """Request a summary of the conversation once nothing runs. It keeps above all what `focus` says."""
        await self._work.transcript.record(SummaryRequested(focus=focus))
        self._work.bell.ring()

    async def set_goal(self, goal: GoalRound) -> None:
        """Set what must be so before this lead may end its work, or end its goal."""
        await self._work.transcript.record(Noticed(text=goal_set_text(goal), goal=goal))
        self._work.bell.ring()

    async def play(self, *, until_rest: bool = False, finishing: anyio.Event | None = None) -> Rest | Stop:
        """Run until the agent leaves, or with `until_rest` until it has nothing left to do. Return how it ended.

        Once `finishing` is set, return after the step that runs then. The next process continues there.
        """
        async with (work := self._work).tasks.open():
            work.tasks.start_soon(work.mail_watch.keep, work.transcript.memory.cursors)
            if finishing is not None:
                self._finishing = finishing
                work.tasks.start_soon(work.bell.ring_after, finishing)
            try:
                return await self._go_on(until_rest)
            except (StoreCorrupt, Conflict) as error:
                await note_corrupt(self._work, error)
                raise
            finally:
                await tell_end(self._work, self._seen)

    async def _go_on(self, until_rest: bool) -> Rest | Stop:
        while not self._finishing.is_set():
            work = self._work = self._work.in_current_team(_run_subagent)
            starting = await listen(work)
            view = self._seen = await see(work, starting, ends_at_rest=until_rest)
            work.step.set_alarms(view)
            action = decide(view)
            if isinstance(action, Rest):
                if await offer_untasked(work, action):
                    continue
                await work.status.show(action.status)
                left = work.team_state.budget.seconds_left
                action = goal_check(view, action) or (end_of_run(view, action, left) if until_rest else action)
            try:
                end = await self._do(action, view)
            except StoreError:
                raise
            except Exception as error:
                await give_up(work, error)
            else:
                if end is not None:
                    return end
        return Rest()

    async def _do(self, action: Action, view: View) -> Rest | Stop | None:
        """Carry out an action. Return how the agent ended, if it did."""
        work, team_state = self._work, self._work.team_state
        origin = Origin(view, work.transcript.entries, team_state.writer.store.read)
        match action:
            case Think():
                if not await take_in_work(work):
                    await think(work, origin)
            case Act(calls=calls):
                await act(work, calls)
            case Settle(calls=calls, text=text, ok=ok):
                await work.calls.settle(calls, text, ok=ok)
            case Compact():
                await compact(work, origin)
            case Park(reason=reason):
                await park(work, reason)
            case Rest():
                await self._rest(view, action)
            case EndRun(status=status):
                return Rest(status)
            case Stop():
                await leave_team(work, action)
                return action
            case other:
                await between_steps(work, other, origin)
        return None

    async def _rest(self, view: View, rest: Rest) -> None:
        self._resting = view
        for listener in self._listeners:
            listener()
        await wait_for_news(self._work, view, rest)
        self._resting = None


async def _run_subagent(
    team_state: TeamState, parts: AgentParts, call: str, prompt: str, profile: AgentProfile
) -> Result:
    """Run a subagent to its end and return its answer. One that began before continues where it was."""
    assert parts.subagents is not None, "who has the tool has subagents"
    own, started = parts.subagents(call, prompt, profile)
    member = Member(call, AgentKind.SUBAGENT, profile.reach, "", "", None, WORKING, base_tools=profile.tools)
    agent = await Agent.seat(team_state, started, own, member)
    end = await agent.play(until_rest=True)
    if isinstance(end, Rest) and isinstance(end.status, Parked):
        return Result(f"The subagent could not continue: {end.status.reason}", ok=False)
    return Result(agent.transcript.answer() or "(the subagent ended without an answer)")
