"""/status, /context, /agents, /config and /doctor: how things are."""

import json
from typing import TYPE_CHECKING

import anyio.to_thread

from deskmate import __version__
from deskmate.app import choose_model
from deskmate.app.parts.provider_models import window_of
from deskmate.app.parts.usable_types import ListedTypes, list_types
from deskmate.core.log.names import LEAD
from deskmate.core.policy.tool_table import AgentType, base_tools_of
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.prompt.context_use import ContextUse, context_use
from deskmate.core.team.status import Parked
from deskmate.errors import BadSettings, UnknownRecipient
from deskmate.faces.common.health_lines import health_lines, health_of
from deskmate.faces.common.listings import dollars, sandbox_of
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import Cell, CleanLine, Sheet

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession
    from deskmate.core.team.members import Member

_TYPES = {
    AgentType.GENERAL: "reads, edits and runs commands",
    AgentType.EXPLORE: "only reads: finds things and reports",
    AgentType.PLAN: "only reads: makes a plan",
}


async def status_lines(session: "TeamSession") -> list[str]:
    """Return the state of the conversation, one line each."""
    permitted, spent = session.permitted, session.spent
    here = [member for member in session.members if member.here]
    counts = [f"{len(session.busy)} busy"] if session.busy else []
    counts += [f"{count} parked"] if (count := sum(isinstance(member.status, Parked) for member in here)) else []
    counts += [f"{len(session.questions)} waiting for your answer"] if session.questions else []
    members = f"{len(here)} ({', '.join(counts)})" if counts else str(len(here))
    used, window = await _used(session, LEAD)
    goes_on = [f"also: {session.home} goes on, the first team of the lead"] if session.team != session.home else []
    return [
        f"team: {session.team}{f' ({session.title})' if session.title else ''}",
        *goes_on,
        f"workspace: {session.workspace}",
        f"model: {session.model}",
        f"mode: {permitted.mode.value}{', the lead delegates' if permitted.delegates else ''}",
        f"commands: {sandbox_of(permitted.sandbox)}",
        f"members: {members}",
        f"context: {_share(used.tokens, window)}",
        f"cost: {dollars(spent)} for {spent.calls:,} model call{'' if spent.calls == 1 else 's'}",
        f"settings: {session.settings.file}",
        f"deskmate {__version__}",
    ]


async def context_lines(session: "TeamSession", name: str, sheet: Sheet) -> list[CleanLine]:
    """Return how full a member's context is, and with what. Raises UnknownRecipient."""
    name = session.spelled(name)
    used, window = await _used(session, name)
    parts = sheet.lines([[kind, f"{count:,}"] for kind, count in used.parts.items()], gives=0, indent="  ")
    head = Cell(one_line(f"{name}: {_share(used.tokens, window)}"))
    note = "Near the end of the window, old results are cleared or everything is summarised."
    now = " To do it now: /compact" if name == LEAD else ""
    return [(head,), *parts, (Cell(f"{note}{now}"),)]


async def _used(session: "TeamSession", name: str) -> tuple[ContextUse, int]:
    model = _model_of(session, name)
    return context_use(await session.entries(name)), window_of(model, session.settings)


def _model_of(session: "TeamSession", name: str) -> str:
    member: Member | None = next((one for one in session.members if one.name == name), None)
    if member is None:
        here = ", ".join(one.name for one in session.members if one.here)
        raise UnknownRecipient(f"'{name[:80]}' is not on this team", f"On the team: {here}")
    return (member.joined.model if member.joined else None) or session.model


def _share(tokens: int, window: int) -> str:
    return f"about {tokens:,} of {window:,} tokens, {100 * tokens // window} %"


async def session_type_lines(session: "TeamSession", sheet: Sheet) -> list[CleanLine]:
    """Return the agent types that the lead of a conversation can start."""
    listed = await anyio.to_thread.run_sync(list_types, session.workspace, session.settings, session.consent)
    return agent_type_lines(listed, sheet)


def agent_type_lines(listed: ListedTypes, sheet: Sheet) -> list[CleanLine]:
    """Return the agent types: those that are built in, those of files, and what is wrong with other files."""
    rows = [
        [agent_type.value, f"{about} ({', '.join(base_tools_of(agent_type))})"] for agent_type, about in _TYPES.items()
    ]
    lines = sheet.lines(rows, gives=1)
    for profile in listed.trusted:
        lines += _type_lines(profile, profile.file, sheet)
    for profile, approval in listed.untrusted:
        lines += _type_lines(profile, f"{profile.file} ({approval}, not trusted)", sheet)
    # Not narrowed to the sheet: the end of a problem says how to fix it.
    lines += [(Cell(one_line(f"not used: {problem}")),) for problem in listed.problems]
    if listed.untrusted:
        lines.append((Cell("To review and trust agent files, run: deskmate trust"),))
    return lines


def _type_lines(profile: AgentProfile, origin: str, sheet: Sheet) -> list[CleanLine]:
    tools = "all" if profile.tools is None else ", ".join(profile.tools) or "none for files and commands"
    facts = [f"tools: {tools}", f"model: {profile.model or 'that of the team'}"]
    facts += [] if profile.skills is None else [f"skills: {', '.join(profile.skills) or 'none'}"]
    facts += [f"mode: {profile.mode}, or that of the lead if it is narrower"] if profile.mode else []
    notes = [(Cell(f"  note: {one_line(flaw)}"),) for flaw in profile.flaws]
    head = sheet.lines([[Cell(profile.name, profile.colour), origin]], gives=1)
    below = sheet.lines([[words] for words in (profile.description, *facts)], gives=0, indent="  ")
    return [*head, *below, *notes]


def config_lines(session: "TeamSession") -> list[str]:
    """Return where the settings are, and everything that is set. Keys are not shown."""
    settings = session.settings
    there = "" if settings.file.exists() else " (this file does not exist)"
    lines = [f"your settings: {settings.file}{there}"]
    if (project := session.workspace / ".deskmate/settings.toml").exists():
        lines.append(f"settings of this project, which can only narrow yours: {project}")
    # Only what differs from the defaults: everything else is in the documentation.
    shown = settings.model_dump(
        mode="json",
        exclude_defaults=True,
        exclude={"file", "state", "claude_folder", "warnings", "addresses", "key_places", "mcp"},
    )
    lines.append(f"model = {json.dumps(session.model)} ({_origin_of_model(session)})")
    lines += [
        f"{name} = {json.dumps(value, ensure_ascii=False)}"
        for name, value in shown.items()
        if name not in ("model", "anthropic", "openai", "providers", "colour")
    ]
    for provider, at in settings.described_providers.items():
        what = [f"base_url = {at.base_url}"] if at.base_url else []
        what += [f"wire = {at.wire}"] if at.wire else []
        what += ["a key is set"] if at.key else []
        lines += [f"{provider}: {', '.join(what)}"] if what else []
    return [*lines, "Change the file, then start again. /mode, /model and /budget change this conversation."]


def _origin_of_model(session: "TeamSession") -> str:
    """Return where the model that is asked now comes from."""
    settings = session.settings
    try:
        at_start = choose_model(settings)
    except BadSettings:
        # A program brings its own model, which needs no key.
        return "given at the start"
    if session.model != at_start:
        return "chosen with /model"
    return "the default for your key" if settings.model is None else "set by --model, DESKMATE_MODEL or your settings"


async def doctor_lines(session: "TeamSession", cells: int | None) -> list[str]:
    """Return what `deskmate doctor TEAM` prints."""
    health = await anyio.to_thread.run_sync(health_of, session.workspace, session.team)
    return list(health_lines(health.all, Sheet(cells, colour=False)))
