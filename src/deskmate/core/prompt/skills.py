"""Instructions that an agent loads when it needs them.

The system prompt has only one line about each. The `Skill` tool reads the body when it is needed.
"""

from deskmate.core.front_matter import front_matter
from deskmate.core.log.names import known_name
from deskmate.core.values import frozen
from deskmate.errors import BadInput, BadName

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
    found = front_matter(text)
    if found is None:
        raise BadInput(
            f"{folder}/SKILL.md has no front matter", "Start it with the lines ---, name:, description: and ---."
        )
    missing = [key for key in ("name", "description") if not found.fields.get(key)]
    if missing:
        raise BadInput(f"{folder}/SKILL.md has no {' and no '.join(missing)}", "Add that to the front matter.")
    try:
        name = known_name(found.fields["name"], "skill")
    except BadName as error:
        raise BadInput(f"{folder}/SKILL.md: {error}") from error
    return Skill(name, found.fields["description"][:DESCRIPTION_CAP], found.body, folder)
