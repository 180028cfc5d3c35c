"""Start or resume a team and run its lead."""

import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import CancelScope

from deskmate.app.build import TeamParts, team_parts_of, team_state_of
from deskmate.app.commands.first_prompt import tell_first
from deskmate.app.image_files import read_images
from deskmate.app.parts.asked_models import sandbox_and_client
from deskmate.app.parts.member_launchers import launchers_of
from deskmate.app.parts.usable_types import logged_agent_types, with_usable_model
from deskmate.app.rewind.checkpointing import saving_of
from deskmate.app.run_request import RunRequest, check_request
from deskmate.app.sessions.abandoned_teams import give_up_abandoned
from deskmate.app.sessions.run_outcome import End, Outcome
from deskmate.app.team_files.team_set_up import resumed_request, set_up
from deskmate.app.teams import Teams, permit
from deskmate.app.user_answers import tell
from deskmate.config import Settings, environment, names_collector
from deskmate.core.agent.actions import Rest, Stop
from deskmate.core.agent.entries import Entry
from deskmate.core.agent.turn_results import edited_files, open_plan
from deskmate.core.goals import GoalRound
from deskmate.core.log.names import LEAD, agent_id, log, new_name
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.roster_records import PolicySet
from deskmate.core.team.spending import Sum
from deskmate.core.team.status import Parked, Waiting, status_detail
from deskmate.core.team.tasks import Task
from deskmate.core.values import frozen
from deskmate.errors import Held, Refused, StoreCorrupt, TeamRunning
from deskmate.models.chosen import Chosen
from deskmate.models.retry import Retrying
from deskmate.queries.member_view import entries_in
from deskmate.runtime.agent import Agent
from deskmate.runtime.events import Feed, TeamStarted
from deskmate.runtime.running_team import Keeper
from deskmate.runtime.schedules.schedule_watch import ScheduleWatch
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState
from deskmate.stores.jsonl_store import TEAMS
from deskmate.trust.chosen_engine import engine_at, use_store
from deskmate.trust.folders import FIRST_TEAM, free_team, home_of, known_team, latest_team, teams_beyond, workspace_of
from deskmate.trust.sandbox_choice import refuse_unconfined
from deskmate.trust.team_signature import Signing
from deskmate.workspace.sandbox.mounts import Sandbox

if TYPE_CHECKING:
    from deskmate.models.http.post_client import PostClient
    from deskmate.tools.result_tool import ResultTool

GO_ON = "Continue where you stopped."
_LOG = logging.getLogger(__name__)


async def run(request: RunRequest, feed: Feed) -> Outcome:
    """Start a team with only a lead, or continue one, and return once it has nothing left to do.

    A team that a lead created from its first team is continued from that first team.
    """
    opened = reopened if request.continues else founded
    async with opened(request, feed, attended=False) as (team_parts, teams):
        outcome = await play_lead(team_parts, teams, told=bool(request.goal), goal=request.until, wanted=request.result)
    return replace(outcome, kept=teams.kept)


@asynccontextmanager
async def founded(request: RunRequest, feed: Feed, *, attended: bool) -> AsyncIterator[tuple[TeamParts, Teams]]:
    """Create a team with only a lead and tell it the goal, if there is one. `attended`: a person can answer.

    If nothing was said to it or no model ever answered, the team is removed at the end.
    """
    place, settings = workspace_of(request.workspace), request.settings
    use_store(place, settings.store)
    if not request.workspace and not (place / TEAMS).exists() and (beyond := teams_beyond(place)):
        _LOG.warning("The workspace is now %s. %s. To continue there, run: %s", place, *beyond)
    # Before anything is created: unusable settings must leave nothing on disk.
    check_request(request)
    images = await read_images(request.images)
    sandbox, client = await sandbox_and_client(settings, to_any=attended or request.model is not None)
    mode = settings.mode_over(Mode.DEFAULT) or Mode.DEFAULT
    if not (attended and request.watched):
        refuse_unconfined(place, settings, sandbox, [mode])
    await give_up_abandoned(Signing(settings.state, place))
    async with client, new_home(place, request, feed) as teams:
        try:
            await _permit(teams.first, request, mode, sandbox, attended=attended)
            await set_up(teams.first, request, place)
            await tell_first(place, teams.home, teams.first, request, sandbox, images)
            yield await _team_parts(place, request, client, sandbox, teams), teams
        finally:
            with CancelScope(shield=True):
                await teams.drop_unused()


@asynccontextmanager
async def reopened(request: RunRequest, feed: Feed, *, attended: bool) -> AsyncIterator[tuple[TeamParts, Teams]]:
    """Open an existing team, by default the one last written to, and tell its lead the goal, if there is one."""
    place, settings = workspace_of(request.workspace), request.settings
    use_store(place, settings.store)
    await give_up_abandoned(Signing(settings.state, place), keep=request.team)
    if request.team and not request.numbered:
        asked = known_team(
            place, request.team, f"To start a team with this name, run: deskmate --new-team {request.team}"
        )
    else:
        asked = latest_team(place, request.team)
    Signing(settings.state, place).check(asked)
    name = home_of(place, asked)
    check_request(request)
    images = await read_images(request.images)
    sandbox, client = await sandbox_and_client(settings, to_any=attended or request.model is not None)
    async with client, _home(place, name, settings, feed, create=False) as teams:
        first = teams.first
        if not (await first.roster.refresh()).team:
            raise Refused(f"Team '{name}' was never started", 'To start a team, run: deskmate run "GOAL"')
        request = await resumed_request(first, request)
        await _go_on(place, request, sandbox, first, attended=attended)
        await set_up(first, request, place)
        await tell_first(place, name, first, request, sandbox, images)
        if await teams.reopen():
            await _go_on(place, request, sandbox, teams.current, attended=attended)
        yield await _team_parts(place, request, client, sandbox, teams), teams


async def _go_on(place: Path, request: RunRequest, sandbox: Sandbox, team_state: TeamState, *, attended: bool) -> None:
    """Record what is permitted from now on in an existing team. Raises BadSettings if that is not allowed."""
    state, settings = team_state.roster.state, request.settings
    mode = settings.mode_over(state.mode, *state.modes.values())
    had = (state.mode_of(member.name) for member in state.members.values() if member.here)
    if not (attended and request.watched):
        # If a mode is given, no member has a wider one afterwards.
        refuse_unconfined(place, settings, sandbox, [mode] if mode else had)
    await _permit(team_state, request, mode, sandbox, attended=attended)


async def _team_parts(
    place: Path, request: RunRequest, client: "PostClient", sandbox: Sandbox, teams: Teams
) -> TeamParts:
    """Return what the agents of a team work with. First end what an earlier process of the lead left running."""
    settings = request.settings
    given = team_parts_of(place, teams.home, settings, teams.current, client, sandbox, request.consent)
    await given.sweep(LEAD)
    if request.tools or request.model is not None:
        # What a program brought along is only in this process.
        given = replace(given, hosts=None)
    if given.hosts is not None:
        given.hosts.known = await given.hosts.of_team(teams.current).look()
    if (model := request.model) is not None:
        by_name, own = given.models, Chosen(Retrying(model, teams.first.writer.clock))
        given = replace(given, models=lambda name: by_name(name) if name else own)
    save = saving_of(place, teams.home, settings, sandbox, teams.first.writer.redaction)
    profiles = logged_agent_types(place, settings, request.consent.definitions)
    return replace(
        given,
        teams=teams,
        tools=request.tools,
        lead_tools=request.lead_tools,
        checkpoint=save,
        profiles={**profiles, **{name: with_usable_model(one, settings) for name, one in request.types.items()}},
        added=request.added,
    )


@asynccontextmanager
async def new_home(place: Path, request: RunRequest, feed: Feed) -> AsyncIterator[Teams]:
    """Create the requested team, or the first of main, main-2, … that no other process is creating now."""
    taken: set[str] = set()
    first = new_name(request.team, "team") if request.team else FIRST_TEAM
    is_fixed = request.team is not None and not request.numbered
    async with AsyncExitStack() as stack:
        while True:
            name = first if is_fixed else free_team(place, taken, first)
            try:
                teams = await stack.enter_async_context(_home(place, name, request.settings, feed, create=True))
                await teams.first.roster.found(name)
            except (Refused, Held) as error:
                if is_fixed:
                    raise Refused(
                        f"There is already a team '{name}'", f"To continue it, run: deskmate --team {name}"
                    ) from error
                taken.add(name)
                await stack.aclose()
            else:
                yield teams
                return


@asynccontextmanager
async def _home(place: Path, team: str, settings: Settings, feed: Feed, *, create: bool) -> AsyncIterator[Teams]:
    """Hold the lead's seat, and yield its teams."""
    engine = engine_at(place)
    engine.finish_archiving()
    async with AsyncExitStack() as stack:
        store = engine.open(team, create=create)
        stack.callback(store.close)
        try:
            await stack.enter_async_context(store.hold(LEAD, f"process {os.getpid()}"))
        except Held as error:
            raise TeamRunning(team, error.note) from error
        signing = Signing(settings.state, place)
        if create:
            signing.claim(team)
        team_state = team_state_of(store, settings, feed, engine.spent_in_archive(team))
        yield await stack.enter_async_context(Teams(signing, team, store, team_state))


async def _permit(
    team_state: TeamState, request: RunRequest, mode: Mode | None, sandbox: Sandbox, *, attended: bool
) -> None:
    """Record whether a person attends, how commands are confined and, if given, the mode and delegation."""
    policy = PolicySet(
        by=LEAD,
        mode=mode,
        add_rules=request.tool_rules,
        remove_rules=request.old_tool_rules,
        attended=attended,
        delegate=request.settings.delegate,
        sandbox=sandbox.level,
        at=team_state.writer.clock.timestamp(),
    )
    await permit(team_state.roster, policy)


async def play_lead(
    team_parts: TeamParts,
    teams: Teams,
    *,
    told: bool,
    goal: GoalRound | None,
    wanted: "ResultTool | None" = None,
) -> Outcome:
    """Run the lead and its teammates to the end of its turn. `told`: the user has said something just now.

    `goal`: the goal that the lead gets, if it gets one. `wanted`: with it the lead must submit its result.
    """
    async with seated(team_parts, teams) as agent:
        if goal:
            await agent.set_goal(goal)
        outcome = await to_rest(teams, agent, told=told)
        return outcome if wanted is None else await _with_result(teams, agent, wanted, outcome)


async def _with_result(teams: Teams, agent: Agent, wanted: "ResultTool", outcome: Outcome) -> Outcome:
    from deskmate.app.sessions.wanted_result import with_result

    async def entries() -> Sequence[tuple[int, Entry]]:
        return agent.transcript.entries

    async def ask(words: str) -> Outcome:
        await tell(teams.current, words)
        return await to_rest(teams, agent, told=True)

    outcome = await with_result(outcome, wanted, entries, ask)
    missing = outcome.end == "answered" and not outcome.has_result
    return replace(outcome, reason=wanted.why_none) if missing else outcome


async def to_rest(teams: Teams, agent: Agent, *, told: bool) -> Outcome:
    """Run a seated lead until it has nothing left to do. Return the outcome.

    `told`: the user has said something just now. Without that, the answer is to what the user said last.
    """
    # A parked or interrupted lead continues only after a message of the user, who wants that by resuming.
    if not told and (agent.transcript.memory.parked or agent.transcript.memory.interrupted):
        await tell(teams.current, GO_ON)
        told = True
    start = await TurnStart.of(teams, agent, {})
    # The work that continues began earlier, so all that was changed belongs to it.
    start = start if told else replace(start, answer_after=agent.transcript.asked_at, entries={})
    end = await agent.play(until_rest=True)
    return await start.outcome(teams, agent, end)


@frozen
class TurnStart:
    """Where a turn began: what was spent, and the last entry of each member, by `name@team`.

    `answer_after`: the answer begins then.
    """

    spent: Sum
    entries: dict[str, int]
    answer_after: int

    @classmethod
    async def of(cls, teams: Teams, agent: Agent, known: Mapping[str, int]) -> "TurnStart":
        """Return where a turn of the lead begins if it begins now. `known`: the last entries of an earlier turn."""
        added = await _entries(teams, known)
        entries = {**known, **{id_: entries[-1][0] for id_, entries in added.items() if entries}}
        spent = (await teams.current.budget.refresh()).team
        return cls(spent, entries, agent.transcript.memory.number)

    async def outcome(self, teams: Teams, agent: Agent, end: Rest | Stop) -> Outcome:
        """Return what came of the turn. Raises Refused if the lead was never told what to do."""
        spent = (await teams.current.budget.refresh()).team.minus(self.spent)
        if not spent.calls and not agent.transcript.last_words and not agent.transcript.memory.parked:
            raise Refused(f"Team '{teams.home}' has no goal yet", f'Run: deskmate resume {teams.home} "GOAL"')
        tasks = tuple([task for one in teams.open for task in (await one.board.refresh()).current])
        since = await _entries(teams, self.entries)
        files = {path for id_, entries in since.items() for path in edited_files(id_.partition("@")[0], entries)}
        outcome = _outcome(teams.home, agent, self.answer_after, end, spent, tasks)
        members = tuple([member for one in teams.open for member in one.roster.state.members.values()])
        return replace(outcome, files=tuple(sorted(files)), members=members)


async def _entries(teams: Teams, after: Mapping[str, int]) -> dict[str, list[tuple[int, Entry]]]:
    """Return the entries of each member after a number. A transcript that cannot be opened has none."""
    found: dict[str, list[tuple[int, Entry]]] = {}
    for team_state in teams.open:
        roster = await team_state.roster.refresh()
        for name in roster.members:
            # The lead has one transcript, whatever team it works in.
            id_ = agent_id(name, teams.home if name == LEAD else roster.team)
            with suppress(StoreCorrupt):
                items = await team_state.writer.store.read(log(name), after.get(id_, 0), sync=False)
                found[id_] = list(entries_in(items))
    return found


@asynccontextmanager
async def seated(team_parts: TeamParts, teams: Teams) -> AsyncIterator[Agent]:
    """Yield the lead's agent, which does not run yet, and run its teammates meanwhile."""
    team_state = team_parts.team_state
    team_state.feed.tell(TeamStarted(team_state.roster.state.team))
    await team_parts.check_transcript(team_parts.team, LEAD)
    await ScheduleWatch(teams.first).act()
    async with team_parts.serving(), task_group() as tasks:
        agent = await Agent.seat(team_state, team_parts.started(), team_parts.lead)
        await teams.play(
            tasks,
            lambda team_state: launchers_of(team_parts.in_team(team_state)),
            lambda team_state: _keepers(team_parts, team_state),
        )
        yield agent
        tasks.cancel_scope.cancel()


def _keepers(team_parts: TeamParts, team_state: TeamState) -> tuple[Keeper, ...]:
    keepers = team_parts.in_team(team_state).keepers()
    if not names_collector(environment()):
        return keepers
    from deskmate.app.parts.telemetry_parts import telemetry_of  # most users have no collector

    return (*keepers, *telemetry_of(team_state, team_parts.settings))


def _kind(agent: Agent, end: Rest | Stop, *, planned: bool) -> End:
    if agent.transcript.memory.interrupted:
        return "interrupted"
    if _is_parked(end):
        return "parked"
    if planned:
        return "planned"
    return "asking" if end == Rest(Waiting("permission")) else "answered"


def _is_parked(end: Rest | Stop) -> bool:
    return isinstance(end, Rest) and isinstance(end.status, Parked)


def _reason(end: Rest | Stop, kind: End) -> str:
    if kind == "planned":
        return "the plan waits for your approval"
    if kind == "asking":
        return "a question waits for your answer"
    return status_detail(end.status) if isinstance(end, Rest) else end.reason


def _outcome(team: str, agent: Agent, after: int, end: Rest | Stop, spent: Sum, tasks: tuple[Task, ...]) -> Outcome:
    words, memory = agent.transcript.answer(after), agent.transcript.memory
    plan = None if _is_parked(end) or memory.interrupted else open_plan(memory, agent.transcript.entries)
    if plan and (plan.is_last or not spent.calls):
        words = plan.text
    kind = _kind(agent, end, planned=plan is not None)
    return Outcome(
        team=team,
        text=words,
        end=kind,
        reason=_reason(end, kind) or ("" if words else "the model said nothing"),
        steps=spent.calls,
        usage=spent.usage,
        cost=None if spent.unpriced else spent.cost,
        tasks=tasks,
        dismissed=tuple(sorted([*memory.dismissed, *(agent_id(name, team) for name in memory.dismissed_at_home)])),
        goal=memory.goal,
        stopped=agent.transcript.running,
    )
