"""Start or resume a team and run its lead."""

import logging
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import httpx2
from anyio import CancelScope, to_thread

from deskmate.app.build import TeamParts, check_model, connected, furnished, office_in
from deskmate.app.reservations import give_up_abandoned
from deskmate.app.teammate_process import in_processes
from deskmate.app.teams import Teams, permit
from deskmate.config import Settings
from deskmate.core.agent.actions import Rest, Stop
from deskmate.core.agent.turn_results import open_plan
from deskmate.core.log.names import LEAD, USER, new_name
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.prompt.prompts import Usage
from deskmate.core.team.members import PolicySet
from deskmate.core.team.messages import Plain
from deskmate.core.team.spending import Sum
from deskmate.errors import BadInput, Held, Refused
from deskmate.ports import Launcher, Tool
from deskmate.queries.team_view import SeenTask, see_tasks
from deskmate.runtime.agent import Agent
from deskmate.runtime.events import Feed, TeamStarted
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team import Team
from deskmate.runtime.team_state import TeamState
from deskmate.stores.archive import finish_archiving, spent_in_archive
from deskmate.stores.joint_store import JointStore
from deskmate.stores.jsonl_store import TEAMS, JsonlStore
from deskmate.trust.approvals import NO_CONSENT, Consent
from deskmate.trust.folders import free_team, home_of, known_team, latest_team, teams_beyond, workspace_of
from deskmate.trust.sandbox_choice import refuse_unconfined, sandbox_of
from deskmate.trust.team_signature import Signing
from deskmate.workspace.sandbox.mounts import Sandbox

GO_ON = "Continue where you stopped."
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a face wants done. `workspace`: the folder to work in. By default it is found from the current folder.

    `settings`: narrowed by the project's settings. `tools`: additional tools of the calling program, which are allowed.
    Teammates in their own process do not have them. `consent`: what of the workspace is used. `watched`: a person sees
    what happens as it happens.
    """

    workspace: Path | None
    goal: str | None
    team: str | None
    settings: Settings
    tools: tuple[Tool, ...] = ()
    consent: Consent = NO_CONSENT
    watched: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", self.consent.narrowed(self.settings))
        names = [tool.name for tool in self.tools]
        for name in names:
            if name in TOOLS or names.count(name) > 1:
                raise BadInput(f"there is a tool '{name}' already; give yours another name")
            if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
                raise BadInput(f"{ascii(name)[:80]} is no name of a tool; use 1 to 64 of letters, digits, '_' and '-'")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: the answer, why it ended, and what it cost.

    `planned`: the text is the lead's plan, which waits for the user's approval.
    `cost`: None if a price is not known. `tasks`: the board at the end, without deleted tasks. `kept`: whether the team
    still exists. A team that was begun here and that no model ever answered is removed. `dismissed`: teammates that the
    lead had not asked to stop. `stopped`: commands that ran in the background until the end, by id.
    """

    team: str
    text: str
    end: Literal["answered", "planned", "parked", "interrupted"]
    reason: str
    steps: int
    usage: Usage
    cost: float | None
    tasks: tuple[SeenTask, ...] = ()
    kept: bool = True
    dismissed: tuple[str, ...] = ()
    stopped: Mapping[str, str] = field(default_factory=dict)

    @property
    def unfinished(self) -> tuple[SeenTask, ...]:
        """The tasks that are not done."""
        return tuple(task for task in self.tasks if task.status != "completed")

    @property
    def leaves_work(self) -> bool:
        """Whether the run left unfinished work."""
        return bool(self.unfinished or self.dismissed or self.stopped)


async def run(wanted: Wanted, feed: Feed) -> Outcome:
    """Create a team with only a lead, give it the goal, and return once it has nothing left to do."""
    async with founded(wanted, feed, attended=False) as (team_parts, teams):
        outcome = await play_lead(team_parts, teams, told=bool(wanted.goal))
    return replace(outcome, kept=teams.kept)


async def resume(wanted: Wanted, feed: Feed) -> Outcome:
    """Continue a team where it stopped, by default the one last written to.

    A team that a lead created from its first team is continued from that first team.
    """
    async with reopened(wanted, feed, attended=False) as (team_parts, teams):
        return await play_lead(team_parts, teams, told=bool(wanted.goal))


@asynccontextmanager
async def founded(wanted: Wanted, feed: Feed, *, attended: bool) -> AsyncIterator[tuple[TeamParts, Teams]]:
    """Create a team with only a lead and tell it the goal, if there is one. `attended`: a person can answer.

    If nothing was said to it or no model ever answered, the team is removed at the end.
    """
    place, settings = workspace_of(wanted.workspace), wanted.settings
    if not wanted.workspace and not (place / TEAMS).exists() and (beyond := teams_beyond(place)):
        _LOG.warning("the workspace is now %s. %s. To continue there, run: %s", place, *beyond)
    # Before anything is created: unusable settings must leave nothing on disk.
    check_model(settings)
    sandbox = await to_thread.run_sync(sandbox_of, settings)
    mode = settings.mode_over(Mode.DEFAULT) or Mode.DEFAULT
    if not (attended and wanted.watched):
        refuse_unconfined(place, settings, sandbox, [mode])
    await give_up_abandoned(Signing(settings.state, place))
    async with connected(settings, to_any=attended) as client, new_home(place, wanted, feed) as teams:
        await _permit(teams.team_state, wanted, mode, sandbox, attended=attended)
        # At once, so that a kill from now on does not lose it.
        await tell(teams.team_state, wanted.goal)
        try:
            yield await _furnished(place, wanted, client, sandbox, teams), teams
        finally:
            with CancelScope(shield=True):
                await teams.drop_unused()


@asynccontextmanager
async def reopened(wanted: Wanted, feed: Feed, *, attended: bool) -> AsyncIterator[tuple[TeamParts, Teams]]:
    """Open an existing team, by default the one last written to, and tell its lead the goal, if there is one."""
    place, settings = workspace_of(wanted.workspace), wanted.settings
    await give_up_abandoned(Signing(settings.state, place), keep=wanted.team)
    begin = f" To begin a team with this name: --new-team {wanted.team}"
    asked = known_team(place, wanted.team, begin) if wanted.team else latest_team(place)
    Signing(settings.state, place).check(asked)
    name = home_of(place, asked)
    check_model(settings)
    sandbox = await to_thread.run_sync(sandbox_of, settings)
    opened = _home(place, name, settings, feed, create=False)
    async with connected(settings, to_any=attended) as client, opened as teams:
        team_state = teams.team_state
        if not (await team_state.roster.refresh()).team:
            raise Refused(f"team '{name}' was never begun; begin one with: deskmate run")
        await _go_on(place, wanted, sandbox, team_state, attended=attended)
        # At once, so that a kill from now on does not lose it.
        await tell(team_state, wanted.goal)
        if await teams.reopen():
            await _go_on(place, wanted, sandbox, team_state, attended=attended)
        yield await _furnished(place, wanted, client, sandbox, teams), teams


async def _go_on(place: Path, wanted: Wanted, sandbox: Sandbox, team_state: TeamState, *, attended: bool) -> None:
    """Record what is permitted from now on in an existing team. Raises BadSettings if that is not allowed."""
    state, settings = team_state.roster.state, wanted.settings
    mode = settings.mode_over(state.mode, *state.modes.values())
    had = (state.mode_of(member.name) for member in state.members.values() if member.here)
    if not (attended and wanted.watched):
        # If a mode is given, no member has a wider one afterwards.
        refuse_unconfined(place, settings, sandbox, [mode] if mode else had)
    await _permit(team_state, wanted, mode, sandbox, attended=attended)


async def _furnished(
    place: Path, wanted: Wanted, client: httpx2.AsyncClient, sandbox: Sandbox, teams: Teams
) -> TeamParts:
    given = await furnished(
        place, teams.home, wanted.settings, teams.team_state, client, sandbox, wanted.consent, teams
    )
    return replace(given, tools=wanted.tools)


@asynccontextmanager
async def new_home(place: Path, wanted: Wanted, feed: Feed) -> AsyncIterator[Teams]:
    """Create the wanted team, or the first of main, main-2, … that no other process is creating now."""
    taken: set[str] = set()
    async with AsyncExitStack() as stack:
        while True:
            name = new_name(wanted.team, "team") if wanted.team else free_team(place, taken)
            try:
                teams = await stack.enter_async_context(_home(place, name, wanted.settings, feed, create=True))
                await teams.team_state.roster.found(name)
            except (Refused, Held) as error:
                if wanted.team:
                    raise Refused(
                        f"there is a team '{name}' already. To continue it: deskmate --team {name}"
                    ) from error
                taken.add(name)
                await stack.aclose()
            else:
                yield teams
                return


@asynccontextmanager
async def _home(place: Path, team: str, settings: Settings, feed: Feed, *, create: bool) -> AsyncIterator[Teams]:
    """Hold the lead's seat, and yield its teams."""
    finish_archiving(place)
    async with AsyncExitStack() as stack:
        store = JsonlStore.open(place, team, create=create)
        stack.callback(store.close)
        await stack.enter_async_context(store.hold(LEAD, f"process {os.getpid()}"))
        signing = Signing(settings.state, place)
        if create:
            signing.claim(team)
        joint = JointStore(store, team)
        team_state = office_in(joint, settings, feed, spent_in_archive(place, team))
        yield await stack.enter_async_context(Teams(signing, team, store, joint, team_state))


async def _permit(
    team_state: TeamState, wanted: Wanted, mode: Mode | None, sandbox: Sandbox, *, attended: bool
) -> None:
    """Record whether a person attends, how commands are confined and, if given, the mode and delegation."""
    policy = PolicySet(
        by=LEAD,
        mode=mode,
        add_rules=tuple(f"allow {tool.name}" for tool in wanted.tools),
        attended=attended,
        delegate=wanted.settings.delegate,
        sandbox=sandbox.level,
        at=team_state.writer.clock.timestamp(),
    )
    await permit(team_state.roster, policy)


async def tell(team_state: TeamState, words: str | None) -> None:
    """Send words to the lead in the user's name, if there are any."""
    if words:
        await Mailbox(USER, team_state.writer, team_state.roster).send(LEAD, Plain(content=words))


async def play_lead(team_parts: TeamParts, teams: Teams, *, told: bool) -> Outcome:
    """Run the lead and its teammates to the end of its turn. `told`: the user has said something just now."""
    async with seated(team_parts, teams) as agent:
        # A parked or interrupted lead continues only after a message of the user, who wants that by resuming.
        if not told and (agent.parked or agent.interrupted):
            await tell(team_parts.team_state, GO_ON)
            told = True
        transcript = agent.transcript
        return await to_rest(team_parts, agent, transcript.memory.number if told else transcript.asked_at)


async def to_rest(team_parts: TeamParts, agent: Agent, after: int) -> Outcome:
    """Run a seated lead until it has nothing left to do. Return the outcome.

    `after`: the entry after which its answer begins.
    """
    team_state, team = team_parts.team_state, team_parts.team
    before = (await team_state.budget.refresh()).team
    end = await agent.play(until_rest=True)
    spent = (await team_state.budget.refresh()).team.minus(before)
    if not spent.calls and not agent.last_words and not agent.parked:
        raise Refused(f"team '{team}' was never told what to do; tell it by: deskmate resume {team} \"GOAL\"")
    return _outcome(team, agent, after, end, spent, see_tasks(await team_state.board.refresh()))


@asynccontextmanager
async def seated(team_parts: TeamParts, teams: Teams) -> AsyncIterator[Agent]:
    """Yield the lead's agent, which does not run yet, and run its teammates meanwhile."""
    team_state = team_parts.team_state
    team_state.feed.tell(TeamStarted(team_state.roster.state.team))
    await team_parts.check_transcript(team_parts.team, LEAD)
    agent = await Agent.seat(team_state, team_parts.started(), team_parts.lead)
    async with task_group() as tasks:
        launchers: dict[str, Launcher] = {"inline": team_parts, "process": in_processes(team_parts)}
        teams.players = Team(team_state, launchers, tasks)
        await tasks.start(teams.players.keep)
        tasks.start_soon(teams.mirror.keep)
        yield agent
        tasks.cancel_scope.cancel()


def _reason(end: Rest | Stop, planned: bool) -> str:
    if planned:
        return "the plan waits for your approval"
    return end.detail if isinstance(end, Rest) else end.reason


def _outcome(team: str, agent: Agent, after: int, end: Rest | Stop, spent: Sum, tasks: tuple[SeenTask, ...]) -> Outcome:
    parked = isinstance(end, Rest) and end.word == "parked"
    words, memory = agent.transcript.answer(after), agent.transcript.memory
    plan = None if parked or agent.interrupted else open_plan(memory, agent.transcript.entries)
    if plan and (plan.is_last or not spent.calls):
        words = plan.text
    return Outcome(
        team=team,
        text=words,
        end="interrupted" if agent.interrupted else "parked" if parked else "planned" if plan else "answered",
        reason=_reason(end, plan is not None) or ("" if words else "the model said nothing"),
        steps=spent.calls,
        usage=spent.usage,
        cost=None if spent.unpriced else spent.cost,
        tasks=tasks,
        dismissed=tuple(sorted(agent.transcript.memory.dismissed)),
        stopped=agent.transcript.running,
    )
