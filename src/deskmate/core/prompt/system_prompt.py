"""The system prompt of an agent.

`made_of` gathers its parts once, for the agent's first entry. `brief` writes it out, so that every step has the same
bytes, even after a restart. The sentences are in `deskmate.texts`: `lead.md`, `teammate.md` and `subagent.md`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from deskmate.core.agent.work_mode import barred_text
from deskmate.core.log.names import LEAD
from deskmate.core.policy.tool_table import MCP_PREFIX, AgentKind, AgentType
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.prompt.frames import INSTRUCTIONS, NOTES, TEAM_NOTES, TYPES, USER_NOTES, escaped, unframed
from deskmate.core.prompt.skills import Skill
from deskmate.errors import BadInput
from deskmate.texts import filled

NOTES_CAP = 32 * 1024
# Of the notes of the user, and of those of the teams of a workspace.
KEPT_NOTES_CAP = 16 * 1024
# In characters. Agent types and skills after that are listed by name alone.
_TYPES_CAP = _SKILLS_CAP = 8_000
_EDITING = frozenset({"bash", "write_file", "edit_file"})
_READS = "You are read-only: you have no tools that change files or run commands."
READ_ONLY: Mapping[AgentKind, str] = {
    AgentKind.LEAD: _READS,
    AgentKind.TEAMMATE: f"{_READS} If something must be changed, tell the lead.",
    AgentKind.SUBAGENT: f"{_READS} If something must be changed, say so in your answer.",
}


class Environment(BaseModel):
    """Where an agent works. `attended`: a person is there to answer.

    `branch`: None outside a git repository, empty if nobody looked. `sandbox`: how far commands are confined, with a
    `network`, without, or with these hosts. `writable`: what they may write besides the workspace. `merges_into`: the
    branch for the work of an agent whose workspace is its own copy of the repository.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    workspace: str = "."
    platform: str = "unknown"
    shell: str = "unknown"
    date: str = "unknown"
    branch: str | None = None
    attended: bool = True
    sandbox: str = "none"
    network: bool | tuple[str, ...] = True
    writable: tuple[str, ...] = ()
    merges_into: str | None = None


class _Makings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = LEAD
    kind: AgentKind = AgentKind.LEAD
    role: str = ""
    team: str = ""
    members: dict[str, str] = {}
    tools: tuple[str, ...] = ()
    barred: tuple[str, ...] = ()
    notes: str = ""
    notes_file: str = "AGENTS.md"
    user_notes: str = ""
    team_notes: str = ""
    skills: dict[str, str] = {}
    custom_type: str = ""
    instructions: str = ""
    types: dict[str, str] = {}
    environment: Environment = Environment()


def made_of(
    *,
    name: str,
    kind: AgentKind,
    team: str,
    members: Mapping[str, str],
    tools: Sequence[str],
    environment: Environment,
    barred: Sequence[str] = (),
    role: str = "",
    notes: str = "",
    notes_file: str = "AGENTS.md",
    user_notes: str = "",
    team_notes: str = "",
    skills: Iterable[Skill] = (),
    custom_type: str = "",
    instructions: str = "",
    types: Iterable[AgentProfile] = (),
) -> dict[str, Any]:
    """Return everything that a system prompt is made of, as JSON.

    `members`: the other agents on the team, with their roles. `tools`: those it has, and the patterns of tools of MCP
    servers that its type names. `barred`: tools whose every call is denied. `notes`: the
    text of AGENTS.md; only its beginning is kept if it is longer than its cap. `user_notes`, `team_notes`: those of the
    user for all projects, and of earlier teams in this workspace. `custom_type`, `instructions`: the agent's own type
    and what its file tells it, if a file describes it. `types`: those that it may start.
    """
    return _Makings(
        name=name,
        kind=kind,
        role=role,
        team=team,
        members=dict(members),
        tools=tuple(tools),
        barred=tuple(barred),
        notes=_bounded(notes, NOTES_CAP),
        user_notes=_bounded(user_notes, KEPT_NOTES_CAP),
        team_notes=_bounded(team_notes, KEPT_NOTES_CAP),
        notes_file=notes_file,
        skills={skill.name: skill.description for skill in skills},
        custom_type=custom_type,
        instructions=instructions,
        types={profile.name: _about(profile) for profile in types},
        environment=environment,
    ).model_dump(mode="json")


def _about(profile: AgentProfile) -> str:
    return profile.description if profile.reach is AgentType.GENERAL else f"{profile.description} (only reads)"


def _bounded(notes: str, most: int) -> str:
    data = notes.encode(errors="replace")
    if len(data) <= most:
        return notes
    kept = data[:most].decode(errors="ignore")
    rest = " Read the file for the rest." if most == NOTES_CAP else ""
    return f"{kept}\n(cut here after {most // 1024} kB.{rest})"


def brief(makings: Mapping[str, Any]) -> str:
    """Return the system prompt of an agent that was started with these parts.

    Raises BadInput if they are not what `made_of` returns.
    """
    try:
        parts = _Makings.model_validate(makings)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise BadInput(
            f"Cannot write a system prompt from this: {where}: {first['msg']}", "Pass what made_of returns."
        ) from error
    only_reads = ("read-only",) if reads_only(parts.tools) else ()
    where = "own-tree" if parts.environment.merges_into else "shared-tree"
    return filled(parts.kind, _values(parts), {*parts.tools, *only_reads, where})


def reads_only(tools: Iterable[str]) -> bool:
    """Tell whether an agent with these tools only reads. It is not known what a tool of an MCP server does."""
    return not any(tool in _EDITING or tool.startswith(MCP_PREFIX) for tool in tools)


def _values(parts: _Makings) -> dict[str, str]:
    """Return the values for the placeholders of the texts `lead`, `teammate` and `subagent`."""
    others = [f"{name} ({_line(role)})" if role else name for name, role in parts.members.items()]
    return {
        "name": parts.name,
        "team": parts.team,
        "role": f" Your role: {_line(parts.role)}." if parts.role else "",
        "workspace": _line(parts.environment.workspace),
        "branch": _line(parts.environment.merges_into or ""),
        "members": ", ".join(others) or "nobody yet",
        "skills": "\n".join(_listed(parts.skills, _SKILLS_CAP)),
        "types": "\n".join([f"<{TYPES}>", *_listed(parts.types, _TYPES_CAP), f"</{TYPES}>"]) if parts.types else "",
        "instructions": _instructions(parts),
        "environment": "\n".join([_environment(parts.environment), *_limits(parts)]),
        "notes": _notes(parts),
        "user_notes": _kept_notes(USER_NOTES, parts.user_notes),
        "team_notes": _kept_notes(TEAM_NOTES, parts.team_notes),
    }


def _environment(where: Environment) -> str:
    git = {None: ", no git repository", "": ""}.get(where.branch, f", git branch {where.branch}")
    person = (
        "The user is here." if where.attended else "This run is unattended: decide for yourself and ask no questions."
    )
    facts = f"Environment: {where.platform}, shell {where.shell}{git}. Date: {where.date}. {person}"
    return _line(" ".join(filter(None, [facts, _confinement(where)])))


def _limits(parts: _Makings) -> list[str]:
    """Return what this agent cannot do while it works, or until it is told otherwise."""
    # A lead that delegates has no such tools either, and is told so in other words.
    reads = reads_only(parts.tools) and (parts.kind is not AgentKind.LEAD or "read_file" in parts.tools)
    barred = [tool for tool in parts.barred if tool in parts.tools]
    return [
        *([READ_ONLY[parts.kind]] if reads else []),
        *([barred_text(barred, attended=parts.environment.attended)] if barred else []),
    ]


def _confinement(where: Environment) -> str:
    if where.sandbox == "none":
        return ""
    confined = where.sandbox == "bubblewrap"
    folder = "a /tmp" if confined else "a $TMPDIR"
    places = ", ".join(["the workspace", *where.writable])
    guarded = " Git's settings and hooks cannot be changed." if confined else ""
    return (
        f"Commands run in a sandbox: they can write only in {places} and in {folder} that is new for each command, "
        f"and {_reach(where.network, asks=confined and where.attended)}.{guarded}"
    )


def _reach(network: bool | tuple[str, ...], *, asks: bool) -> str:
    if network is True:
        return "can use the network"
    if not network:
        return "can reach only hosts that the user allows" if asks else "cannot use the network"
    others = " (the user is asked about others)" if asks else ""
    return f"can reach only these hosts, through a proxy: {', '.join(network)}{others}"


def _notes(parts: _Makings) -> str:
    notes = unframed(parts.notes).strip()
    return f'<{NOTES} file="{escaped(_line(parts.notes_file))}">\n{notes}\n</{NOTES}>' if notes else ""


def _kept_notes(tag: str, notes: str) -> str:
    text = unframed(notes).strip()
    return f"<{tag}>\n{text}\n</{tag}>" if text else ""


def _instructions(parts: _Makings) -> str:
    body = unframed(parts.instructions).strip()
    of_type = f' type="{escaped(_line(parts.custom_type))}"' if parts.custom_type else ""
    tag = f"<{INSTRUCTIONS}{of_type}>"
    return f"{tag}\n{body}\n</{INSTRUCTIONS}>" if body else ""


def _listed(texts: Mapping[str, str], cap: int) -> Iterator[str]:
    """Yield a line for each agent type or skill, and one line with the names of those that do not fit."""
    left, unfitting = cap, []
    for name, text in texts.items():
        line = f"- {name}: {_line(text)}"
        left -= len(line)
        if left >= 0:
            yield line
        else:
            unfitting.append(name)
    if unfitting:
        yield f"- and without a description here: {', '.join(unfitting)}"


def _line(text: str) -> str:
    """Return a text as one line, so that no line break in it can imitate another part of the prompt."""
    return " ".join(unframed(text).splitlines())
