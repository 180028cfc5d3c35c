"""Instructions that an agent loads when it needs them.

The system prompt has only one line about each. The `Skill` tool reads the body when it is needed.
"""

import re

from deskmate.core.log.names import known_name
from deskmate.core.values import frozen
from deskmate.errors import BadInput, BadName

_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(?P<front>.*?\n)---[ \t]*(?:\r?\n(?P<body>.*))?\Z", re.DOTALL)
_FIELD = re.compile(r"(?P<key>[A-Za-z_-]+):[ \t]*(?P<value>.*?)[ \t]*\r?")
_FOLD = re.compile(r"\r?\n[ \t]+")
_BLOCK = re.compile(r"[>|][+-]?(?:[ \t]+|\Z)")
DESCRIPTION_CAP = 300


@frozen
class Skill:
    """Instructions that an agent can load. `folder`: where the files it mentions are."""

    name: str
    description: str
    body: str
    folder: str


def read_skill(text: str, folder: str) -> Skill:
    """Return the skill a `SKILL.md` describes; raise BadInput that names what is missing."""
    found = _FRONT.match(text)
    if not found:
        raise BadInput(
            f"{folder}/SKILL.md has no front matter", "Start it with the lines ---, name:, description: and ---."
        )
    # A value may continue on the following lines, if they are indented.
    lines = [_FIELD.fullmatch(line) for line in _FOLD.sub(" ", found["front"]).split("\n")]
    fields = {line["key"]: _value(line["value"]) for line in lines if line}
    missing = [key for key in ("name", "description") if not fields.get(key)]
    if missing:
        raise BadInput(f"{folder}/SKILL.md has no {' and no '.join(missing)}", "Add that to the front matter.")
    try:
        name = known_name(fields["name"], "skill")
    except BadName as error:
        raise BadInput(f"{folder}/SKILL.md: {error}") from error
    return Skill(name, fields["description"][:DESCRIPTION_CAP], (found["body"] or "").strip(), folder)


def _value(written: str) -> str:
    """Return a value without YAML's quotes."""
    mark = _BLOCK.match(written)
    text = written[mark.end() :] if mark else written
    is_quoted = len(text) > 1 and text[0] in "\"'" and text[0] == text[-1]
    return text[1:-1] if is_quoted else text
