"""From the text of an agent file, or from JSON, to an agent type.

Such a file is Markdown with front matter, as Claude Code has them in `.claude/agents`. The body is the prompt.
"""

import json
import re
from collections.abc import Iterator, Mapping

from deskmate.core.front_matter import FrontMatter, block_of, front_matter, words_of
from deskmate.core.log.names import new_name
from deskmate.core.policy.isolation import Isolation
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import COLOURS, AgentType
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.profiles.tool_words import chosen_tools
from deskmate.errors import BadInput, BadName

DESCRIPTION_CAP = 300
# In bytes of JSON. Calls that begin together are one record, so sixteen prompts must fit into one.
PROMPT_CAP = 30_000
_KNOWN = frozenset(
    {
        "name",
        "description",
        "tools",
        "disallowedTools",
        "skills",
        "model",
        "permissionMode",
        "isolation",
        "color",
        "colour",
        "hooks",
    }
)
# Other spellings. A limit that is passed over would give an agent more than its file says.
_SPELLINGS = {key.lower(): key for key in _KNOWN} | {"allowedtools": "tools"}
_MODES: Mapping[str, Mode] = {"bypasspermissions": Mode.BYPASS, **{mode.lower(): mode for mode in Mode}}
# A copy of the repository is not always possible, and nobody could change the file when it is not.
_ISOLATIONS: Mapping[str, Isolation] = {
    "worktree": Isolation.AUTO,
    "own": Isolation.AUTO,
    "auto": Isolation.AUTO,
    "shared": Isolation.SHARED,
}
_COLOURS: Mapping[str, str] = {
    "purple": "magenta",
    "orange": "bright_yellow",
    "pink": "bright_magenta",
    **{colour: colour for colour in COLOURS},
}
_MOST_SKILLS = 50
# Of a longer description, only the beginning can matter.
_READ_OF_DESCRIPTION = 4_000
# What follows is for a model that chooses between types. One sentence is enough here.
_EXAMPLES = re.compile(
    r"\s*(?:(?:(?:some\s+)?examples?\s*:?\s*)?<(?:example|commentary)\b|(?<!\w)(?:some\s+)?examples?\s*:\s*-\s).*",
    re.IGNORECASE | re.DOTALL,
)
_MODEL = re.compile(r"[!-~]{1,200}")


def read_agent_file(text: str, file: str, *, of_project: bool) -> AgentProfile:
    """Return the agent type that a file describes; raise BadInput that names the file and what is wrong with it."""
    found = front_matter(text)
    if found is None:
        raise BadInput(f"{file} has no front matter", "Start it with the lines ---, name:, description: and ---.")
    return _profile(found, file, of_project=of_project, hooks=block_of(text, "hooks"))


def read_agents(found: Mapping[str, object], place: str) -> dict[str, AgentProfile]:
    """Return the agent types that a JSON object describes by name, as for `claude --agents`. Raises BadInput."""
    types = [_given(name, fields, f"The agent '{name[:80]}' in {place}") for name, fields in found.items()]
    return {one.name: one for one in types}


def _given(name: str, fields: object, where: str) -> AgentProfile:
    if not isinstance(fields, dict):
        raise BadInput(f"{where} must be an object with `description` and `prompt`")
    written = {"name": name}
    for key, value in fields.items():
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            written[str(key)] = ", ".join(value)
        elif isinstance(value, str):
            written[str(key)] = value
        else:
            raise BadInput(f"{where}: {ascii(key)[:80]} must be a text or a list of texts")
    return _profile(FrontMatter(written, written.pop("prompt", "").strip()), where, of_project=False)


def _profile(found: FrontMatter, file: str, *, of_project: bool, hooks: str = "") -> AgentProfile:
    for key in found.fields:
        if key in found.repeated and key in _KNOWN:
            raise BadInput(f"{file} has {key} twice", "Delete one of the two lines.")
        meant = _SPELLINGS.get(re.sub("[-_]", "", key).lower(), key)
        if meant != key:
            raise BadInput(f"{file} has {key}, which is not read", f"Write {meant} instead.")
    missing = [key for key in ("name", "description") if not found.fields.get(key)]
    if missing:
        raise BadInput(f"{file} has no {' and no '.join(missing)}", "Add that to the front matter.")
    tools = chosen_tools(_words(found, "tools", file), _words(found, "disallowedTools", file) or ())
    return AgentProfile(
        name=_name(found.fields["name"], file),
        description=_description(found.fields["description"]),
        prompt=_prompt(found.body, file),
        tools=tools.names,
        skills=_skills(found.fields.get("skills")),
        model=_model(found.fields.get("model", "")),
        mode=_MODES.get(found.fields.get("permissionMode", "").lower()),
        isolation=_ISOLATIONS.get(found.fields.get("isolation", "").lower()),
        colour=_COLOURS.get((found.fields.get("color") or found.fields.get("colour", "")).lower()),
        file=file,
        of_project=of_project,
        flaws=(*tools.flaws, *_flaws(found.fields)),
        hooks=hooks,
    )


def _name(written: str, file: str) -> str:
    try:
        name = new_name(written.strip().replace(" ", "-").lower(), "agent type")
    except BadName as error:
        raise BadInput(f"{file}: {error}") from error
    if name in {one.lower() for one in AgentType}:
        raise BadInput(f"{file}: there is already an agent type '{name}'", "Choose another name.")
    return name


def _description(written: str) -> str:
    whole = " ".join(written[:_READ_OF_DESCRIPTION].replace("\\n", " ").split())
    words = _EXAMPLES.sub("", whole) or whole
    return words if len(words) <= DESCRIPTION_CAP else f"{words[: DESCRIPTION_CAP - 1]}…"


def _prompt(body: str, file: str) -> str:
    size = len(json.dumps(body, ensure_ascii=False).encode(errors="replace"))
    if size > PROMPT_CAP:
        raise BadInput(f"{file} has a prompt of {size:,} bytes, at most {PROMPT_CAP:,} are allowed", "Shorten it.")
    return body


def _words(found: FrontMatter, key: str, file: str) -> tuple[str, ...] | None:
    if key not in found.fields:
        return None
    if not found.fields[key]:
        raise BadInput(f"{file}: {key} is empty", f"Name tools there, or delete the line {key}:.")
    return words_of(found.fields[key])


def _skills(written: str | None) -> tuple[str, ...] | None:
    """Return the names of skills, None for all. An empty list means none."""
    if written is None or written == "*":
        return None
    return tuple(dict.fromkeys(word.strip().lower() for word in words_of(written)))[:_MOST_SKILLS]


def _model(written: str) -> str | None:
    return None if written.lower() in ("", "inherit") or not _MODEL.fullmatch(written) else written


def _flaws(fields: Mapping[str, str]) -> Iterator[str]:
    """Yield what of a file is not used."""
    known = {"permissionMode": _MODES, "isolation": _ISOLATIONS}
    for key, values in known.items():
        if (written := fields.get(key, "")) and written.lower() not in values:
            yield f"{key} {ascii(written)[:80]} is unknown, so the usual one applies"
    if not _MODEL.fullmatch(fields.get("model") or "inherit"):
        yield "the name of its model is malformed, so the model of the team is used"
    if "mcpServers" in fields:
        yield "mcpServers is not used: servers are in .mcp.json or your settings, and tools names their tools"
