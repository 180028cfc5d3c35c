"""Furnishing: the model, the tools, the workspace and the brief that each agent is given."""

import platform
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import httpx2

from deskmate.app.places import branch_of, notes_for, skills_in
from deskmate.config import Settings, choose_fallback, choose_model
from deskmate.core.briefs import Environment, made_of
from deskmate.core.entries import Started
from deskmate.core.members import Member
from deskmate.core.names import LEAD
from deskmate.core.policy import Mode
from deskmate.core.prompts import Usage
from deskmate.core.roles import AgentType, Kind, tools_of
from deskmate.core.skills import Skill
from deskmate.errors import BadSettings
from deskmate.models.http import new_client
from deskmate.models.limits import limits_of
from deskmate.models.metered import Metered
from deskmate.models.prices import price
from deskmate.models.retrying import Retrying
from deskmate.ports import Limits, Model, Workspace
from deskmate.runtime.agent import Kit
from deskmate.runtime.office import Office
from deskmate.tools import spec, tools_for
from deskmate.workspaces.local import LocalWorkspace

OUTPUT_TOKENS = 32_000


@dataclass(frozen=True, slots=True)
class Furniture:
    """What the agents of one team are given."""

    team: str
    model: Model
    settings: Settings
    office: Office
    workspace: Workspace
    environment: Environment
    notes: tuple[str, str]
    skills: dict[str, Skill]

    @property
    def lead(self) -> Kit:
        """The lead's kit."""
        return self._kit(LEAD, Kind.LEAD, AgentType.GENERAL)

    def started(self) -> Started:
        """Return the lead's first entry."""
        return Started(name=LEAD, made_of=self._makings(LEAD, Kind.LEAD, self.lead))

    def teammate(self, member: Member) -> tuple[Kit, Started]:
        """Return the kit of a teammate and its first entry."""
        joined = member.joined
        planning = joined is not None and joined.mode is Mode.PLAN
        workspace = LocalWorkspace(Path(self.workspace.root), self.team, member.name)
        kit = replace(self._kit(member.name, Kind.TEAMMATE, member.agent_type, planning=planning), workspace=workspace)
        makings = self._makings(member.name, Kind.TEAMMATE, kit, member.role)
        return kit, Started(
            name=member.name, prompt=joined.prompt if joined else "", planning=planning, made_of=makings
        )

    def subagent(self, call: str, prompt: str, agent_type: AgentType) -> tuple[Kit, Started]:
        """Return the kit of a subagent and its first entry."""
        kit = self._kit(call, Kind.SUBAGENT, agent_type)
        return kit, Started(name=call, prompt=prompt, made_of=self._makings(call, Kind.SUBAGENT, kit))

    def _kit(self, name: str, kind: Kind, agent_type: AgentType, *, planning: bool = False) -> Kit:
        names = [tool for tool in tools_of(kind, agent_type) if self.skills or tool != "Skill"]
        tools = tools_for(kind, [*names, *(["ExitPlanMode"] if planning and "ExitPlanMode" not in names else [])])
        paid = partial(self.office.purse.spend, name)
        return Kit(
            model=Metered(self.model, partial(price, overrides=self.settings.prices), paid),
            tools={tool.name: tool for tool in tools},
            specs=tuple(map(spec, tools)),
            workspace=self.workspace,
            skills=self.skills,
            subagents=self.subagent if kind is Kind.LEAD else None,
        )

    def _makings(self, name: str, kind: Kind, kit: Kit, role: str = "") -> dict[str, object]:
        file, notes = self.notes
        roster = self.office.roster.state
        return made_of(
            name=name,
            kind=kind,
            role=role,
            team=self.team,
            members={other.name: other.role for other in roster.members.values() if other.here and other.name != name},
            tools=tuple(kit.tools),
            environment=self.environment,
            notes=notes,
            notes_file=file,
            skills=self.skills.values(),
        )


def check_model(settings: Settings) -> None:
    """Raise BadSettings where no model can be asked, or a cap on its cost could never be reached."""
    for name in (choose_model(settings), choose_fallback(settings)):
        if name and settings.max_cost is not None and price(name, Usage(), settings.prices) is None:
            raise BadSettings(
                f"what {name} costs is not known, so --max-cost cannot hold; set its prices under "
                f'[models."{name}"] in {settings.file}, or leave the cap out'
            )


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield the client that all models are asked through; raise BadSettings where the environment allows none."""
    try:
        client = new_client(secure=_secure(settings))
    except (ImportError, ValueError, OSError) as error:
        raise BadSettings(
            f"no connection can be made: {error}; look at HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE in the environment"
        ) from error
    async with client:
        yield client


async def furnished(
    place: Path,
    team: str,
    settings: Settings,
    office: Office,
    client: httpx2.AsyncClient,
    folder: Path | None = None,
) -> Furniture:
    """Return what the agents of a team are given, having ended what the lead before this process left running.

    `folder`: where in the workspace the user stands, whose notes are read; its top if not given.
    """
    workspace = LocalWorkspace(place, team, LEAD)
    await workspace.sweep()
    return Furniture(
        team=team,
        model=_model(settings, client, office),
        settings=settings,
        office=office,
        workspace=workspace,
        environment=_environment(place),
        notes=notes_for(folder or place, place),
        skills=skills_in(settings.skills_folder),
    )


def _secure(settings: Settings) -> bool:
    names = filter(None, (choose_model(settings), choose_fallback(settings)))
    return not all((settings.provider_of(name).base_url or "").startswith("http://") for name in names)


def _model(settings: Settings, client: httpx2.AsyncClient, office: Office) -> Model:
    fallback = choose_fallback(settings)
    return Retrying(
        _provider(choose_model(settings), settings, client),
        office.pen.clock,
        fallback=None if fallback is None else _provider(fallback, settings, client),
    )


def _provider(name: str, settings: Settings, client: httpx2.AsyncClient) -> Model:
    provider, _, model = name.partition(":")
    at = settings.provider_of(name)
    key = at.key.get_secret_value() if at.key else None
    where = {"base_url": at.base_url} if at.base_url else {}
    if provider == "anthropic":
        # Only who is asked pays for importing its wire.
        from deskmate.models.anthropic import AnthropicModel

        thinking = settings.thinking_tokens or 0
        limits = _limits(name, settings, thinking)
        return AnthropicModel(client, model, key=key or "none", limits=limits, thinking_tokens=thinking, **where)
    from deskmate.models.openai import OpenAIModel

    return OpenAIModel(client, model, key=key, limits=_limits(name, settings), **where)


def _limits(name: str, settings: Settings, thinking: int = 0) -> Limits:
    own = settings.models.get(name)
    limits = limits_of(name, window=own.window if own else None)
    # A provider counts all that an answer may have against the window: a step that needs more goes on in the next.
    wanted = max(OUTPUT_TOKENS, thinking + OUTPUT_TOKENS // 4)
    output = own.output if own and own.output else min(limits.output, wanted, limits.window // 4)
    return Limits(limits.window, output)


def _environment(place: Path) -> Environment:
    return Environment(
        workspace=str(place),
        platform=f"{platform.system()} {platform.machine()}",
        shell="bash",
        date=time.strftime("%Y-%m-%d"),
        branch=branch_of(place),
        attended=False,
    )
