"""The model, tools, workspace and prompt of each agent."""

import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread

from deskmate.app.handover.tree_parts import TreeParts
from deskmate.app.parts.asked_models import asked_model
from deskmate.app.parts.hook_parts import hooks_of, merge_hooks_of
from deskmate.app.parts.provider_models import check_price
from deskmate.app.parts.server_parts import hosts_of, servers_of
from deskmate.app.parts.web_tools import web_tools
from deskmate.config import Settings, environment, local_zone
from deskmate.core.agent.entries import Noticed, Started
from deskmate.core.agent.work_mode import has_tool, work_mode_of
from deskmate.core.hosts.placement import HOST
from deskmate.core.log.names import LEAD, log
from deskmate.core.policy.tool_table import MCP_PREFIX, AgentKind, AgentType
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.prompt.skills import Skill
from deskmate.core.prompt.system_prompt import Environment, made_of
from deskmate.core.team.members import Member
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.spending import EMPTY, Spending
from deskmate.core.team.status import WORKING
from deskmate.core.values import frozen
from deskmate.errors import BadSettings, Refused, StoreCorrupt
from deskmate.models.chosen import Chosen
from deskmate.models.metered import Metered
from deskmate.models.prices import reported_price
from deskmate.models.slotted import Slotted
from deskmate.models.timed import Timed
from deskmate.ports import Model, Store, Tool, Workspace
from deskmate.queries.stream_reader import Reading
from deskmate.runtime.agent import Agent
from deskmate.runtime.agent_parts import AgentParts, HookRunner, LeadTeams
from deskmate.runtime.events import Feed
from deskmate.runtime.running_team import Keeper, TreeWatch
from deskmate.runtime.schedules.schedule_watch import ScheduleWatch
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState
from deskmate.tools import ToolSet
from deskmate.trust.approvals import NO_CONSENT, Consent
from deskmate.trust.known_secrets import redaction_of
from deskmate.trust.project_files import environment_of, notes_of, skill_folders, skills_of
from deskmate.trust.user_notes import team_notes, user_notes
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox

if TYPE_CHECKING:
    from deskmate.app.handover.tree_parts import MemberTrees
    from deskmate.app.hosts.host_parts import HostParts
    from deskmate.core.prompt.user_frames import UserCommand
    from deskmate.mcp.team_servers import TeamServers
    from deskmate.models.http.post_client import ServerClient


@frozen
class TeamParts:
    """What the agents of a team work with. `team`: the lead's first team.

    `models`: returns the model of a name, or for None the model in the settings. `teams`: opens and closes teams for
    the lead. `tools`: tools of the calling program, for every agent that may do more than read. `lead_tools`: the same
    for the lead alone. `consent`: what of the workspace is used, for teammates in another process. `trees`: the
    trees of teammates. `checkpoint`: saves the files before a member acts. `memory`: notes of the user,
    and of earlier teams here. `profiles`: the agent types that files describe, where the lead runs. `skill_folders`:
    where the files of all skills are, with links resolved. `servers`: the MCP servers, if there are any. `hooks`: runs
    hooks, if there are any. `hosts`: the other machines that teammates of a lead can run on, if there can be any.
    """

    team: str
    models: Callable[[str | None], Model]
    settings: Settings
    team_state: TeamState
    workspace: Workspace
    environment: Environment
    notes: tuple[str, str]
    skills: dict[str, Skill]
    sandbox: Sandbox
    trees: TreeParts
    skill_folders: tuple[Path, ...] = ()
    memory: tuple[str, str] = ("", "")
    teams: LeadTeams | None = None
    tools: tuple[Tool, ...] = ()
    lead_tools: tuple[Tool, ...] = ()
    added: str = ""
    consent: Consent = NO_CONSENT
    checkpoint: Callable[[int, str], Coroutine[Any, Any, None]] | None = None
    profiles: Mapping[str, AgentProfile] = field(default_factory=dict)
    servers: "TeamServers | None" = None
    hooks: HookRunner | None = None
    hosts: "HostParts | None" = None

    def in_team(self, team_state: TeamState) -> "TeamParts":
        """Return the parts of another team of the same lead."""
        return replace(self, team_state=team_state)

    @property
    def lead(self) -> AgentParts:
        """The parts of the lead."""
        parts = self._parts(_THE_LEAD)
        if self.hosts is None:
            return parts
        return self.hosts.told(replace(parts, placing=self.hosts.of_team(self.team_state).placing))

    def started(self) -> Started:
        """Return the lead's first entry."""
        return Started(name=LEAD, made_of=self._makings(_THE_LEAD, self.lead, instructions=self.added))

    def teammate(self, member: Member) -> tuple[AgentParts, Started]:
        """Return the parts of a teammate and its first entry."""
        joined = member.joined
        planning = joined is not None and bool(joined.plan)
        skills = joined.skills if joined else None
        own_type = (joined.custom_type if joined else None) or ""
        parts = self._parts(member, model=joined.model if joined else None, skills=skills, custom_type=own_type)
        workspace, tree = self._trees.of(member.name) if member.isolated else (self._workspace(member.name), None)
        parts = replace(parts, workspace=workspace, tree=tree, confined=self.sandbox.confines(Path(workspace.root)))
        makings = self._makings(member, parts, instructions=(joined.instructions if joined else None) or "")
        return parts, Started(
            name=member.name,
            prompt=joined.prompt if joined else "",
            planning=planning,
            roster=self.team_state.roster.state.number,
            made_of=makings,
        )

    async def play(
        self, name: str, *, wait: bool = True, alone: bool = False, finishing: anyio.Event | None = None
    ) -> None:
        """Run a teammate in this process until it leaves. First end what an earlier process left running.

        `alone`: it is the only member in this process. If another process runs it, wait, or without `wait` raise Held.
        `finishing`: once it is set, return after the step that runs then.
        Raises StoreCorrupt if the end of its transcript is lost, unless the user lets it continue.
        """
        team_state = self.team_state
        async with team_state.writer.store.hold(name, f"process {os.getpid()}", wait=wait):
            member = (await team_state.roster.refresh()).members[name]
            if member.isolated:
                await self._trees.make(name, self.workspace)
            await self.sweep(name)
            if not member.only_user:
                await self.check_transcript(team_state.roster.state.team, name)
            async with self.serving() if alone else nullcontext():
                parts, started = self.teammate(member)
                agent = await Agent.seat(team_state, started, parts)
                if member.isolated and (failed := await self._trees.set_up(name)):
                    await agent.transcript.record(Noticed(text=failed))
                await agent.play(finishing=finishing)
            # Only now does nothing of it run any more.
            if member.isolated and not (await team_state.roster.refresh()).members[name].here:
                await self._trees.release(name)

    async def check_transcript(self, team: str, name: str) -> None:
        """Raise StoreCorrupt if a member's transcript was cut or changed and nobody accepted that."""
        reading = Reading(Path(self.workspace.root), team)
        written = await to_thread.run_sync(reading.ends_before, log(name))
        changed = self.team_state.roster.state.members[name].only_user
        if written or changed:
            why = f"ends before record {written}, which was written" if written else "was cut or changed during a run"
            raise StoreCorrupt(
                f"The transcript of '{name}' {why}",
                f"Restore the file from a copy if you have one. To continue, run: deskmate doctor {team} --accept",
            )

    async def sweep(self, name: str) -> None:
        """End what an earlier process of a member left running or unfinished. Call it while holding its seat."""
        if name == LEAD:
            await to_thread.run_sync(self.trees.remove_left)
        member = self.team_state.roster.state.members.get(name)
        if self.servers:
            await to_thread.run_sync(self.servers.sweep, name)
        await (self._trees.of(name)[0] if member and member.isolated else self._workspace(name)).sweep()

    def _workspace(self, name: str) -> LocalWorkspace:
        """Return a member's workspace. Its commands are listed in the folder of its team, the lead's first one."""
        team = self.team if name == LEAD else self.team_state.roster.state.team
        redaction = self.team_state.writer.redaction
        return LocalWorkspace(
            Path(self.workspace.root),
            team,
            name,
            environ=environment(),
            sandbox=self.sandbox,
            redaction=redaction,
            skills=self.skill_folders,
        )

    @property
    def _trees(self) -> "MemberTrees":
        return self.trees.of_team(self.team_state, Path(self.workspace.root), self.sandbox, self.skill_folders)

    def keepers(self) -> tuple[Keeper, ...]:
        """Return what merges and watches the work of teammates with trees of their own."""
        state, hooks = self.team_state, merge_hooks_of(self.team_state, self.hooks)
        trees = TreeWatch(state, lambda: self.trees.keepers(state, self._trees, hooks, self.workspace))
        # Schedules belong to the first team of a lead.
        is_first = self.teams is not None and self.teams.first is self.team_state
        clock = (ScheduleWatch(self.team_state),) if is_first else ()
        return (trees, *clock, *([self.hosts.of_team(self.team_state)] if self.hosts else []))

    def hires(self, joined: Joined) -> Joined:
        """Return a teammate as it will run. Raises Refused if its model or its isolation is not possible."""
        if joined.model:
            try:
                check_price(self.models(joined.model).name, self.settings)
            except BadSettings as error:
                raise Refused(str(error), "Leave out model to use your own model.") from error
        joined = self.trees.placed(joined)
        return joined if joined.launcher == HOST else joined.model_copy(update={"launcher": self.settings.launcher})

    def choose_model(self, name: str) -> str:
        """Change the model of all agents that have none of their own. Return its full name.

        Raises BadSettings if it cannot be used. A teammate in its own process keeps the model it started with.
        """
        set_, other = self.models(None), self.models(name)
        if not isinstance(set_, Chosen):
            raise Refused(f"The model {set_.name} cannot be changed here")
        check_price(other.name, self.settings)
        set_.choose(other)
        return other.name

    def subagent(self, call: str, prompt: str, profile: AgentProfile) -> tuple[AgentParts, Started]:
        """Return the parts of a subagent and its first entry."""
        me = Member(call, AgentKind.SUBAGENT, profile.reach, "", "", None, WORKING, base_tools=profile.tools)
        parts = self._parts(me, model=profile.model, skills=profile.skills, custom_type=profile.name)
        makings = self._makings(me, parts, instructions=profile.prompt)
        return parts, Started(name=call, prompt=prompt, made_of=makings)

    def _parts(
        self, me: Member, *, model: str | None = None, skills: Sequence[str] | None = None, custom_type: str = ""
    ) -> AgentParts:
        """Return the parts of an agent. `skills`: the names of its skills, None for all."""
        name, kind = me.name, me.kind
        own_skills = {name: one for name, one in self.skills.items() if skills is None or name in skills}
        names = [tool for tool in me.tools() if own_skills or tool != "Skill"]
        # Any member may be set to plan mode. The tool is offered only then.
        plan = [] if kind is AgentKind.SUBAGENT else ["ExitPlanMode"]
        tools = ToolSet(kind, [*names, *plan], self._own_tools(me), self._found_tools(me))
        budget, own = self.team_state.budget, self.settings.own_servers
        clock, over = self.team_state.writer.clock, partial(budget.over, name, steps=0)
        asked: Model = Timed(self.models(model), clock, lambda: budget.seconds_left, over)
        asked = Slotted(asked, partial(budget.slot, name)) if budget.caps.calls else asked
        return AgentParts(
            model=Metered(asked, partial(reported_price, self.settings.prices, own), partial(budget.spend, name)),
            tools=tools,
            specs=tools.specs,
            workspace=self.workspace,
            skills=own_skills,
            profiles=self.profiles,
            subagents=self.subagent if kind is AgentKind.LEAD else None,
            hires=self.hires,
            teams=self.teams if kind is AgentKind.LEAD else None,
            elsewhere=(lambda team_state: self.in_team(team_state).lead) if kind is AgentKind.LEAD else None,
            rules=self.settings.rules,
            checkpoint=self.checkpoint if kind is AgentKind.LEAD or (me.takes_any_task and not me.isolated) else None,
            hand_over=self.trees.hand_over(self.checkpoint) if kind is AgentKind.LEAD else None,
            confined=self.sandbox.confines(Path(self.workspace.root)),
            hooks=self.hooks,
            custom_type=custom_type,
            run_goal=self._run_goal if kind is AgentKind.LEAD else None,
            local_zone=local_zone,
        )

    async def _run_goal(self, command: str) -> "UserCommand":
        from deskmate.app.commands.lead_shell import LeadShell  # loading it would slow down every start

        confined = self.sandbox.confines(Path(self.workspace.root))
        return await LeadShell(self.team_state, self.workspace, self.settings.rules, confined).run_ordered(command)

    def _own_tools(self, me: Member) -> tuple[Tool, ...]:
        """Return the tools that not every agent has: for the web, of the calling program, and of MCP servers."""
        of_web = web_tools(self.settings.web)
        if me.agent_type is not AgentType.GENERAL:
            return of_web
        given = self.tools + self.lead_tools if me.kind is AgentKind.LEAD else self.tools
        of_servers = self.servers.tools_for(me).listed if self.servers else ()
        return (*of_web, *of_servers) if me.base_tools is not None else (*of_web, *given, *of_servers)

    def _found_tools(self, me: Member) -> Mapping[str, Tool]:
        """Return the tools of MCP servers that an agent must find before it can call them."""
        has_any = self.servers is not None and me.agent_type is AgentType.GENERAL
        return self.servers.tools_for(me).found if self.servers and has_any else {}

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Let MCP servers run until this is left. Make agents inside it: only then it is known which tools they get."""
        if self.servers is None:
            yield
            return
        async with task_group() as tasks:
            await self.servers.begin(tasks)
            yield
            tasks.cancel_scope.cancel()

    def _makings(self, me: Member, parts: AgentParts, *, instructions: str = "") -> dict[str, object]:
        file, notes = self.notes
        roster, name = self.team_state.roster.state, me.name
        work_mode = work_mode_of(me, roster, owes_plan=False, rules=parts.rules, confined=parts.confined)
        # Plan mode is temporary, and the system prompt is for the work after it.
        works = work_mode.model_copy(update={"planning": False})
        seen = {"workspace": parts.workspace.root, "merges_into": parts.tree.branch} if parts.tree else {}
        own = [tool.name for tool in self._own_tools(me)]
        # Its type may use these, whether or not their server has them now.
        named = [word for word in me.base_tools or () if word.startswith(MCP_PREFIX) and word not in own]
        return made_of(
            name=name,
            kind=me.kind,
            role=me.role,
            team=self.team if name == LEAD else roster.team,
            members={other.name: other.role for other in roster.members.values() if other.here and other.name != name},
            tools=[*(tool for tool in parts.tools if has_tool(works, me, tool, own)), *named],
            barred=work_mode.barred or (),
            environment=self.environment.model_copy(update=seen),
            notes=notes,
            notes_file=file,
            user_notes=self.memory[0],
            team_notes=self.memory[1],
            skills=parts.skills.values(),
            custom_type=parts.custom_type if instructions else "",
            instructions=instructions,
            types=self.profiles.values() if me.kind is AgentKind.LEAD else (),
        )


# With what its prompt needs. The roster may not be read yet.
_THE_LEAD = Member(LEAD, AgentKind.LEAD, AgentType.GENERAL, "", "", None, WORKING)


def team_state_of(
    store: Store, settings: Settings, feed: Feed, elsewhere: Spending = EMPTY, seconds: float = 0.0
) -> TeamState:
    """Return what the agents of one process share.

    `elsewhere`: what their lead's other teams have spent. `seconds`: how long the run took before this process.
    """
    writer = LogWriter(store, SystemClock(), redaction_of(settings))
    roster = Roster(writer)
    return TeamState(
        writer, roster, Board(writer, roster), Budget(writer, settings.caps, elsewhere, seconds, roster), feed.of_team()
    )


def team_parts_of(
    place: Path,
    team: str,
    settings: Settings,
    team_state: TeamState,
    client: "ServerClient",
    sandbox: Sandbox,
    consent: Consent = NO_CONSENT,
    member: str = LEAD,
) -> TeamParts:
    """Return what the agents of a team have in the process of `member`. `consent`: what is used of the workspace."""
    skills = skills_of(consent.definitions, place, settings.skill_folders)
    folders = skill_folders(skills.values(), place)
    return TeamParts(
        team=team,
        models=cache(partial(asked_model, settings, client, team_state.writer.clock)),
        settings=settings,
        team_state=team_state,
        workspace=LocalWorkspace(
            place,
            team,
            LEAD,
            environ=environment(),
            sandbox=sandbox,
            redaction=team_state.writer.redaction,
            skills=folders,
        ),
        environment=environment_of(place, sandbox, attended=team_state.roster.state.attended, trusted=consent.trusted),
        notes=notes_of(consent.definitions),
        memory=(user_notes(settings, place).text, team_notes(settings, place).text),
        skills=skills,
        skill_folders=folders,
        sandbox=sandbox,
        consent=consent,
        trees=TreeParts(settings, place, environment(), away=team_state.roster.state.is_away(member)),
        servers=servers_of(place, f"{team}/{member}", settings, consent, sandbox, team_state.writer.clock),
        hooks=hooks_of(place, team, settings, sandbox, consent),
        hosts=hosts_of(place, settings) if member == LEAD else None,
    )
