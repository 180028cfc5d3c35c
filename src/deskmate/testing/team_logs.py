"""The truth at a model call, folded from the files of a team: for a provider that hears of agents only by HTTP.

Whose prompt it is follows from its system prompt, which is a function of the first entry of a transcript. Others may
write between the making of a prompt and this look at their files. So who joined is judged by what was there when the
same agent asked before: it has had a whole step to learn of that. Files are only read, each from where the last look
ended.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deskmate.core import boards, rosters
from deskmate.core.briefs import brief
from deskmate.core.entries import Entry, Noticed, Said, Started, read_entry
from deskmate.core.facts import Foreign
from deskmate.core.members import EMPTY as NOBODY
from deskmate.core.members import Roster
from deskmate.core.memory import EMPTY as NOTHING
from deskmate.core.memory import Memory, remember
from deskmate.core.names import LEAD, USER
from deskmate.core.prompts import CallBlock, Prompt, Spoke
from deskmate.core.records import STAMP_KEYS, Item, Record
from deskmate.core.tasks import EMPTY as NO_TASKS
from deskmate.core.tasks import Board
from deskmate.errors import DeskmateError
from deskmate.stores.jsonl import SUFFIX, TASKS, TEAMS
from deskmate.stores.lines import Items, Position, walk
from deskmate.testing.truth import History, Numbered, Truth, letters_in, planners, written_to

# A path in a system prompt; the workspace is one.
_PATH = re.compile(r"(?<!\S)(/\S*[^\s.,;:])")


class Replaced(Exception):
    """Somebody put another file in the place of a log."""


@dataclass
class LogFile:
    """The items in the file of a stream."""

    path: Path
    items: list[Item] = field(default_factory=list)
    _end: Position = field(default_factory=Position)
    _inode: int = 0

    def news(self) -> list[Item]:
        """Return what was written since the last look. Raises Replaced if it is another file by now, or a cut one."""
        try:
            with self.path.open("rb") as file:
                stat = os.fstat(file.fileno())
                if self._inode not in (0, stat.st_ino) or stat.st_size < self._end.offset:
                    raise Replaced
                self._inode = stat.st_ino
                file.seek(self._end.offset)
                data = file.read()
        except OSError:
            return []
        found = Items(self._end.last, self.path.name)
        for line in walk(self._end, data):
            found.add(line)
            self._end = line.end
        news = found.above()
        self.items += news
        return news

    def read(self) -> Sequence[Item]:
        """Return all that is there now."""
        self.news()
        return self.items


@dataclass
class Asker:
    """An agent that asks.

    `steps`: how many entries its transcript had when it last asked, and the last record of the roster then; `before`:
    that record as of the step before. A prompt that is sent again is judged by the same.
    """

    workspace: Path
    team: str
    name: str
    log: LogFile
    entries: list[Numbered] = field(default_factory=list)
    memory: Memory = NOTHING
    steps: tuple[int, int] = (0, 0)
    before: int = 0

    def look(self) -> None:
        """Take in what is new in the transcript."""
        for item in self.log.news():
            if entry := _entry(item):
                self.entries.append((item.number, entry))
                self.memory = remember(self.memory, item.number, entry)

    def joins_upto(self, roster: Roster) -> int:
        """Return the roster record up to which this agent has had the time to learn who joined."""
        if len(self.entries) > self.steps[0]:
            self.before = self.steps[1]
        self.steps = len(self.entries), roster.number
        return max(self.memory.noticed[0], self.before)

    @property
    def system(self) -> str | None:
        """The system prompt of this agent; nothing if its transcript does not say."""
        first = next((entry for _, entry in self.entries if not isinstance(entry, Noticed)), None)
        try:
            return brief(first.made_of) if isinstance(first, Started) else None
        except DeskmateError:
            return None

    def has_made(self, prompt: Prompt) -> bool:
        """Tell whether a prompt goes as far as the transcript: one of a process that was killed does not."""
        said = next((number for number, entry in reversed(self.entries) if isinstance(entry, Said) and entry.calls), 0)
        calls = list(_calls(prompt))
        return not calls or calls[-1].startswith(f"call_{said}_")


@dataclass
class Shared:
    """Roster and board of a team."""

    roster_log: LogFile
    board_log: LogFile
    roster: Roster = NOBODY
    board: Board = NO_TASKS

    def look(self) -> None:
        """Take in what is new."""
        self.roster = rosters.fold(self.roster, self.roster_log.news())
        self.board = boards.fold(self.board, self.board_log.news())


class TeamLogs:
    """All teams whose agents ask one provider."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._askers: dict[str, Asker | None] = {}
        self._teams: dict[tuple[Path, str], Shared] = {}
        self._mailboxes: dict[Path, LogFile] = {}

    def truth_of(self, prompt: Prompt) -> Truth | None:
        """Return the truth for the agent whose prompt this is; nothing if no team on this machine has it."""
        try:
            return self._look(prompt)
        except Replaced:
            self._forget()
            return None

    def _look(self, prompt: Prompt) -> Truth | None:
        if prompt.system not in self._askers:
            self._askers[prompt.system] = _find(prompt.system)
        asker = self._askers[prompt.system]
        if asker is None:
            return None
        asker.look()
        team = self._team(asker.workspace, asker.memory.away or asker.team)
        me = team.roster.members.get(asker.name)
        if me is None or not me.here or not asker.has_made(prompt):
            return None
        wanted = written_to(prompt, team.roster)
        if asker.name == LEAD:
            wanted |= planners(asker.entries) & team.roster.members.keys()
        letters = {name: letters_in(self._mail(asker, name)) for name in wanted}
        upto = asker.joins_upto(team.roster)
        history = History(team.roster_log.items, team.board_log.items)
        return Truth(me, asker.memory, asker.entries, team.roster, team.board, upto, letters, history)

    def _team(self, workspace: Path, name: str) -> Shared:
        roster, board = workspace / TEAMS / name / "roster.jsonl", workspace / TASKS / name / "board.jsonl"
        team = self._teams.setdefault((workspace, name), Shared(LogFile(roster), LogFile(board)))
        team.look()
        return team

    def _mail(self, asker: Asker, name: str) -> Sequence[Item]:
        away = asker.memory.away or asker.team
        team = (self._team(asker.workspace, away).roster.home or asker.team) if name == USER else away
        path = asker.workspace / TEAMS / team / f"{name}{SUFFIX['mail']}"
        return self._mailboxes.setdefault(path, LogFile(path)).read()


def _find(system: str) -> Asker | None:
    for workspace in map(Path, dict.fromkeys(_PATH.findall(system))):
        for path in (workspace / TEAMS).glob(f"*/*{SUFFIX['log']}"):
            asker = Asker(workspace, path.parent.name, path.name.removesuffix(SUFFIX["log"]), LogFile(path))
            asker.look()
            if asker.system == system:
                return asker
    return None


def _entry(item: Item) -> Entry | None:
    if not isinstance(item, Record):
        return None
    entry = read_entry({key: value for key, value in item.body.items() if key not in STAMP_KEYS})
    return None if isinstance(entry, Foreign) else entry


def _calls(prompt: Prompt) -> Iterator[str]:
    spoken = (block for passage in prompt.passages if isinstance(passage, Spoke) for block in passage.blocks)
    return (block.id for block in spoken if isinstance(block, CallBlock))
