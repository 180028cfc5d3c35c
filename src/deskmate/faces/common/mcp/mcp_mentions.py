"""Resources and prompts of MCP servers that the user names: `@server:uri`, and `/mcp__server__prompt WORDS`.

Both are attached to the message as data, in the frame of an attached file. Nothing is read that the user did not name.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from deskmate.app import environment, redaction_of
from deskmate.core.prompt.user_frames import UserFile
from deskmate.errors import Refused, ToolError

if TYPE_CHECKING:
    from deskmate.app.parts.mcp_servers import TeamServers
    from deskmate.app.sessions.team_session import TeamSession

_MOST, _MOST_CHARS = 5, 20_000
_MENTION = re.compile(r"(?:^|(?<=\s))@(?P<server>[A-Za-z0-9_-]+):(?P<uri>\S+)")
_PUNCTUATION = ",.;!?)"
_PROMPT = re.compile(r"mcp__(?P<server>[A-Za-z0-9_-]+?)__(?P<prompt>.+)")


def resources_in(text: str, servers: "TeamServers") -> tuple[tuple[str, str], ...]:
    """Return server and URI of each resource that a text names, each once."""
    found = ((match["server"], match["uri"].rstrip(_PUNCTUATION)) for match in _MENTION.finditer(text))
    return tuple(dict.fromkeys(one for one in found if one[0] in servers.entries))


async def attached_resources(
    resources: Iterable[tuple[str, str]], servers: "TeamServers"
) -> tuple[tuple[UserFile, ...], tuple[str, ...]]:
    """Return resources as attached to a message, and why others are not."""
    attached, left_out = list[UserFile](), list[str]()
    for server, uri in resources:
        try:
            if len(attached) == _MOST:
                raise ToolError(f"a message has at most {_MOST} resources")
            attached.append(_file(f"{server}:{uri}", await servers.read_resource(server, uri)))
        except ToolError as error:
            left_out.append(f"{server}:{uri} is not attached: {error}")
    return tuple(attached), tuple(left_out)


async def prompt_message(name: str, words: str, session: "TeamSession") -> str:
    """Return the message that a prompt of a server makes. Raises Refused if there is no such prompt."""
    found, servers = _PROMPT.fullmatch(name), session.servers
    if found is None or servers is None or found["server"] not in servers.entries:
        raise Refused(f"There is no MCP server for /{name[:80]}", "To see the servers, type /mcp")
    try:
        text = await servers.get_prompt(found["server"], found["prompt"], words)
    except ToolError as error:
        raise Refused(error.message) from error
    file = _file(name, text)
    return f"Do what the prompt {name} asks for, which I chose. It is attached.\n\n{file.frame}"


def _file(path: str, text: str) -> UserFile:
    # Secrets are hidden before it is cut: a part of one would not be recognised.
    text = redaction_of(environ=environment()).text(text)
    count = f"{len(text):,} characters"
    if len(text) <= _MOST_CHARS:
        return UserFile(path, text, count)
    return UserFile(path, text[:_MOST_CHARS], f"the first {_MOST_CHARS:,} of {count}")
