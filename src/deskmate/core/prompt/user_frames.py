"""What the user did beside a message: commands and notes, which a message to the lead has as frames.

The lead reads the frames. People read what was run and what it printed.
"""

import re
from html import unescape
from typing import TypeAlias

from deskmate.core.prompt.frames import framed
from deskmate.core.values import frozen

_COMMAND, _NOTE = "user-command", "user-note"
_FRAME = re.compile(
    rf'\n\n<(?P<tag>{_COMMAND}|{_NOTE})(?P<attributes>(?: \w+="[^"]*")*)>(?P<body>[^<]*)</(?P=tag)>', re.DOTALL
)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


@frozen
class UserCommand:
    """A command that the user ran. `status`: its exit status, negative for a signal; None while it runs."""

    command: str
    output: str
    status: int | None = None

    @property
    def title(self) -> str:
        """The command, as it is typed in a shell."""
        return f"$ {self.command}"

    @property
    def ending(self) -> str:
        """How it failed; empty if it did not, or still runs."""
        if not self.status:
            return ""
        return f"exit status {self.status}" if self.status > 0 else f"stopped by signal {-self.status}"

    @property
    def text(self) -> str:
        """What it printed, and how it failed."""
        return "\n".join(filter(None, (self.output, self.ending)))

    @property
    def frame(self) -> str:
        """The command as the lead reads it."""
        return framed(_COMMAND, self.output, {"command": self.command, "exit_status": str(self.status)})


@frozen
class UserNote:
    """A note that the user added to a file."""

    file: str
    text: str

    @property
    def title(self) -> str:
        """Where it was added."""
        return f"# added to {self.file}"

    @property
    def frame(self) -> str:
        """The note as the lead reads it."""
        return framed(_NOTE, self.text, {"file": self.file})


Addition: TypeAlias = UserCommand | UserNote


def parted(content: str) -> tuple[str, tuple[Addition, ...]]:
    """Return the words of a message of the user, and what was added to them."""
    found = list(_FRAME.finditer(content))
    return (content[: found[0].start()], tuple(map(_addition, found))) if found else (content, ())


def _addition(found: re.Match[str]) -> Addition:
    set_ones = {name: unescape(value) for name, value in _ATTRIBUTE.findall(found["attributes"])}
    body = unescape(found["body"])
    if found["tag"] == _NOTE:
        return UserNote(set_ones.get("file", ""), body)
    status = set_ones.get("exit_status", "")
    return UserCommand(set_ones.get("command", ""), body, int(status) if re.fullmatch(r"-?\d{1,4}", status) else None)
