"""The phrases by which a prompt tells a fact.

The checks recognise facts only by these phrases. Tests render every such text of the product and read it here, so a
phrase that changes on one side only is found.
"""

import re
from collections.abc import Iterator, Mapping, Set
from functools import lru_cache

from deskmate.core.prompt.task_lines import one_line
from deskmate.core.team.members import Member
from deskmate.testing.knowledge.prompt_parts import PromptParts, own_words

_STATUS = re.compile(r"(?:: | is | )(working|idle|waiting|parked|left)\b(?! the team)")
_CAME_OR_WENT = re.compile(r"(?:- )?([\w-]+)(?: \(.*\))? (joined|left) the team\.?")
_INTERRUPTED = re.compile(r"The user interrupted ([\w@-]+)\.")
_TASK = re.compile(r'#(\d+) (?:by .*?)?\[(pending|in progress|completed|deleted)(?:, role "[^"]*")?\]')
_ENDED = re.compile(r"[\w-]+ (completed|deleted) task #(\d+) ")
_CREATED = re.compile(r"Created #(\d+) ")
_HERE = re.compile(r"\bOn the team: ([\w-]+(?:, [\w-]+)*)")
_CUT = re.compile(r"… and (\d+) more (?:members\b(?! changed)|joined the team)[^\n]*")
_CUT_NEWS = re.compile(r"… and \d+ more (?:members changed|left the team)")

ATTENDED = "that the user is there"
# How a prompt says that a mode is on, and that it is off.
MODES: Mapping[str, tuple[re.Pattern[str], re.Pattern[str]]] = {
    "plan mode": (
        re.compile(r"\bplan mode\b(?! is over)", re.IGNORECASE),
        re.compile(r"\bplan mode is over\b", re.IGNORECASE),
    ),
    "delegating": (re.compile(r"\b[Yy]ou delegate\b"), re.compile(r"\bno longer delegate\b")),
    "that it is read-only": (re.compile(r"\bread-only\b|\bonly reads?\b"), re.compile(r"(?!)")),
    ATTENDED: (
        re.compile(r"\b[Tt]he user is (?:here|there|present)\b"),
        re.compile(r"\brun is unattended\b"),
    ),
}


def statuses_told(text: str, members: Mapping[str, Member]) -> Iterator[tuple[str, str]]:
    """Yield the name and status of each member in a text of ours: a status word of the roster, or `joined`."""
    for line in own_words(text).splitlines():
        if found := _CAME_OR_WENT.fullmatch(line.strip()):
            yield found[1], found[2]
        elif found := _INTERRUPTED.match(line):
            yield found[1], "idle"
        elif status := _status(line.strip().removeprefix("- "), members):
            yield status


def _status(line: str, members: Mapping[str, Member]) -> tuple[str, str] | None:
    name = re.split(r"[ :,]", line, maxsplit=1)[0]
    if name not in members:
        return None
    role = f"{name} ({one_line(members[name].role)})"
    found = _STATUS.match(line, len(role) if line.startswith(role) else len(name))
    return (name, found[1]) if found else None


def tasks_told(text: str) -> Iterator[tuple[int, str]]:
    """Yield the id and status of each task in a text of ours, line by line."""
    for line in text.splitlines():
        if found := _ENDED.match(line):
            yield int(found[2]), found[1]
        elif found := _TASK.search(line):
            yield int(found[1]), found[2]


def created_told(text: str) -> int | None:
    """Return the number of the task that a result says was created."""
    found = _CREATED.match(text)
    return int(found[1]) if found else None


def here_told(text: str) -> Iterator[set[str]]:
    """Yield each set of names that a text says are on the team."""
    return (set(found[1].split(", ")) for found in _HERE.finditer(text))


def left_out(text: str, offered: Set[str]) -> int:
    """Return how many members the lists in a text leave out, if it names a tool on offer that shows them."""
    cuts = (found for found in _CUT.finditer(text) if offered & set(re.findall(r"\w+", found[0])))
    return sum(int(found[1]) for found in cuts)


def leaves_out_news(text: str) -> bool:
    """Return whether a notice says that it does not report everything that happened on the team."""
    return _CUT_NEWS.search(text) is not None


@lru_cache(maxsize=4096)
def _last(pattern: re.Pattern[str], text: str) -> int:
    """Return where a pattern is last found in a text, or -1. Each request repeats the texts of the one before."""
    return max((found.start() for found in pattern.finditer(text)), default=-1)


def mode_told(parts: PromptParts, mode: str) -> bool | None:
    """Return what a prompt last said about a mode: True for on, False for off, None for nothing."""
    said: bool | None = None
    for part in parts.parts:
        if part.source in ("system", "start", "notice", "summary"):
            text = parts.system if part.source == "system" else part.text
            on, off = (_last(pattern, text) for pattern in MODES[mode])
            if on >= 0 or off >= 0:
                said = on > off
    return said
