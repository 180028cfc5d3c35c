"""What a message of the user has beside its words: commands, notes and files, as frames.

The lead reads the frames. People read what was run, what it printed, and which files were attached.
"""

import re
from typing import TypeAlias

from deskmate.core.prompt.frames import clean, framed, harmless
from deskmate.core.values import frozen

_COMMAND, _NOTE, _FILE = "user-command", "user-note", "user-file"
_FRAME = re.compile(
    rf'\n\n<(?P<tag>{_COMMAND}|{_NOTE}|{_FILE})(?P<attributes>(?: \w+="[^"]*")*)>(?P<body>.*?)</(?P=tag)>', re.DOTALL
)
_TAG = re.compile(rf"<(?=[\s/]*(?:{_COMMAND}|{_NOTE}|{_FILE})\b)", re.IGNORECASE)
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


@frozen
class UserFile:
    """A text file that the user attached. `lines`: how many it has, or which of them are in the text."""

    path: str
    text: str
    lines: str

    @property
    def title(self) -> str:
        """Which file, and how much of it."""
        return f"@{self.path}, {self.lines}"

    @property
    def frame(self) -> str:
        """The file as the lead reads it. Only what looks like a frame is changed, so that the text is exact."""
        head = framed(_FILE, "", {"path": self.path, "lines": self.lines}).removesuffix(f"</{_FILE}>")
        return f"{head}\n{harmless(clean(self.text), _TAG)}\n</{_FILE}>"


Addition: TypeAlias = UserCommand | UserNote | UserFile


def parted(content: str) -> tuple[str, tuple[Addition, ...]]:
    """Return the words of a message of the user, and what was added to them."""
    found = list(_FRAME.finditer(content))
    return (content[: found[0].start()], tuple(map(_addition, found))) if found else (content, ())


def _addition(found: re.Match[str]) -> Addition:
    # Imported here, because it takes half a megabyte, and few messages have such a frame.
    from html import unescape

    set_ones = {name: unescape(value) for name, value in _ATTRIBUTE.findall(found["attributes"])}
    if found["tag"] == _FILE:
        return UserFile(set_ones.get("path", ""), found["body"].strip("\n"), set_ones.get("lines", ""))
    body = unescape(found["body"])
    if found["tag"] == _NOTE:
        return UserNote(set_ones.get("file", ""), body)
    status = set_ones.get("exit_status", "")
    return UserCommand(set_ones.get("command", ""), body, int(status) if re.fullmatch(r"-?\d{1,4}", status) else None)
