"""The same, folded from files.

The system prompt identifies the agent, because it is a function of the first entry of a transcript. Other processes
may write between making a prompt and this look at the files. So joins are judged by what was there when the same agent
last asked: it has had a whole step to learn of them. Files are only read, each from where the last look ended.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from deskmate.core.agent.entries import Entry, Noticed, Said, Started, read_entry
from deskmate.core.agent.memory import EMPTY as NOTHING
from deskmate.core.agent.memory import Memory, remember
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import LEAD, USER, is_call
from deskmate.core.log.records import BESIDE_ENTRY, Item, Record
from deskmate.core.policy.tool_table import AgentKind, AgentType, base_tools_of
from deskmate.core.prompt.prompts import CallBlock, Prompt, Spoke
from deskmate.core.prompt.system_prompt import brief, reads_only
from deskmate.core.team import board_fold, roster_fold
from deskmate.core.team.members import EMPTY as NOBODY
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.messages import Envelope
from deskmate.core.team.status import WORKING
from deskmate.core.team.tasks import EMPTY as NO_TASKS
from deskmate.core.team.tasks import BoardState
from deskmate.errors import DeskmateError
from deskmate.stores.jsonl_store import SUFFIX, TASKS, TEAMS
from deskmate.stores.line_format import Items, Position, walk
from deskmate.testing.knowledge.truth import Numbered, TeamHistory, Truth, letters_in, planners, written_to

# A path in a system prompt. The workspace is one.
_PATH = re.compile(r"(?<!\S)(/\S*[^\s.,;:])")


class Replaced(Exception):
    """A log file was replaced by another."""


@dataclass
class LogFile:
    """The items in the file of a stream."""

    path: Path
    items: list[Item] = field(default_factory=list)
    _end: Position = field(default_factory=Position)
    _inode: int = 0

    def news(self) -> list[Item]:
        """Return what was written since the last look. Raises Replaced if the file was replaced or cut."""
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
        """Return all items that are there now."""
        self.news()
        return self.items


@dataclass
class Asker:
    """An agent that asks.

    `steps`: how many entries its transcript had when it last asked, and the last record of the roster then. `before`:
    that record at the step before. A prompt that is sent again is judged by the same record.
    """

    workspace: Path
    team: str
    log: LogFile
    entries: list[Numbered] = field(default_factory=list)
    memory: Memory = NOTHING
    steps: tuple[int, int] = (0, 0)
    before: int = 0

    def look(self) -> None:
        """Read what is new in the transcript."""
        for item in self.log.news():
            if entry := _entry(item):
                self.entries.append((item.number, entry))
                self.memory = remember(self.memory, item.number, entry)

    def joins_upto(self, roster: RosterState) -> int:
        """Return the roster record up to which this agent has had time to learn who joined."""
        if len(self.entries) > self.steps[0]:
            self.before = self.steps[1]
        self.steps = len(self.entries), roster.number
        return max(self.memory.noticed[0], self.before)

    @property
    def name(self) -> str:
        """The name it started with: a member's, or the call that a subagent serves."""
        return self.memory.name

    @property
    def _started(self) -> Started | None:
        first = next((entry for _, entry in self.entries if not isinstance(entry, Noticed)), None)
        return first if isinstance(first, Started) else None

    @cached_property
    def system(self) -> str | None:
        """The system prompt of this agent, or None if its transcript does not say. Call `look` first."""
        try:
            return brief(self._started.made_of) if self._started else None
        except DeskmateError:
            return None

    def member(self, roster: RosterState) -> Member | None:
        """Return the member, or None if it has left or the member it serves has."""
        owner = roster.members.get(self.name.partition(":")[0])
        if owner is None or not owner.here or not is_call(self.name):
            return owner if owner and owner.here else None
        tools = self._started.made_of.get("tools", ()) if self._started else ()
        agent_type = AgentType.EXPLORE if reads_only(tools) else AgentType.GENERAL
        base = tuple(tool for tool in base_tools_of(agent_type) if tool in tools)
        limited = None if base == base_tools_of(agent_type) else base
        return Member(self.name, AgentKind.SUBAGENT, agent_type, "", "", None, WORKING, base_tools=limited)

    def has_made(self, prompt: Prompt) -> bool:
        """Return whether a prompt is as recent as the transcript. One from a killed process is not."""
        said = next((number for number, entry in reversed(self.entries) if isinstance(entry, Said) and entry.calls), 0)
        calls = list(_calls(prompt))
        if calls:
            return calls[-1].startswith(f"call_{said}_")
        # Subagents with the same system prompt differ in their task.
        return not is_call(self.name) or any(text in str(prompt.passages[:1]) for text in self._job(said))

    def _job(self, said: int) -> list[str]:
        return [repr(self._started.prompt)[1:-1]] if self._started and not said else [""]


@dataclass
class Shared:
    """Roster and board of a team."""

    roster_log: LogFile
    board_log: LogFile
    roster: RosterState = NOBODY
    board: BoardState = NO_TASKS

    def look(self) -> None:
        """Read what is new."""
        self.roster = roster_fold.fold(self.roster, self.roster_log.news())
        self.board = board_fold.fold(self.board, self.board_log.news())


class TeamLogs:
    """All teams whose agents ask one provider."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._askers: dict[Path, Asker] = {}
        self._teams: dict[tuple[Path, str], Shared] = {}
        self._mailboxes: dict[Path, LogFile] = {}

    def truth_of(self, prompt: Prompt) -> Truth | None:
        """Return the truth for the agent whose prompt this is, or None if no team on this machine has it."""
        try:
            return self._look(prompt)
        except Replaced:
            self._forget()
            return None

    def _look(self, prompt: Prompt) -> Truth | None:
        asker = self._asker(prompt)
        if asker is None:
            return None
        team = self._team(asker.workspace, self._away(asker) or asker.team)
        me = asker.member(team.roster)
        if me is None:
            return None
        away = self._away(asker)
        letters = self._letters(asker, prompt, team, away or asker.team)
        upto = asker.joins_upto(team.roster)
        history = TeamHistory(team.roster_log.items, team.board_log.items)
        before = asker.before or None
        return Truth(
            me,
            asker.memory,
            asker.entries,
            team.roster,
            team.board,
            upto,
            letters,
            history,
            before,
            home=self._home(asker, prompt) if away and asker.name == LEAD else None,
            scope=away,
        )

    def _home(self, asker: Asker, prompt: Prompt) -> Truth:
        """Return the truth about the home of a lead that works elsewhere."""
        team = self._team(asker.workspace, asker.team)
        known, letters = asker.memory.in_team(asker.team), self._letters(asker, prompt, team, asker.team)
        history = TeamHistory(team.roster_log.items, team.board_log.items)
        me = team.roster.members[LEAD]
        return Truth(me, known, asker.entries, team.roster, team.board, known.noticed[0], letters, history)

    def _letters(self, asker: Asker, prompt: Prompt, team: Shared, name: str) -> dict[str, dict[str, Envelope]]:
        """Return the mail in a team of those that the asker may have written to."""
        wanted = written_to(prompt, team.roster)
        if asker.name == LEAD:
            wanted |= planners(asker.entries) & team.roster.members.keys()
        return {one: letters_in(self._mail(asker, one, name)) for one in wanted}

    def _asker(self, prompt: Prompt) -> Asker | None:
        """Return the agent whose prompt this is, as it is now."""
        known = [asker for asker in self._askers.values() if asker.system == prompt.system]
        for asker in [*known, *self._new_askers(prompt.system)]:
            asker.look()
            if asker.has_made(prompt):
                return asker
        return None

    def _new_askers(self, system: str) -> Iterator[Asker]:
        """Yield the agents with this system prompt that were not known before."""
        for workspace in map(Path, dict.fromkeys(_PATH.findall(system))):
            teams, name = workspace / TEAMS, f"*{SUFFIX['log']}"
            for path in (*teams.glob(f"*/{name}"), *teams.glob(f"*/subagents/{name}")):
                team = path.relative_to(teams).parts[0]
                if path not in self._askers and (asker := _begun(Asker(workspace, team, LogFile(path)))):
                    self._askers[path] = asker
                    if asker.system == system:
                        yield asker

    def _away(self, asker: Asker) -> str:
        """Return the team that an agent works in away from home. For a subagent, that of the member it serves."""
        owner = asker.log.path.parents[1] / f"{asker.name.partition(':')[0]}{SUFFIX['log']}"
        if is_call(asker.name) and owner in self._askers:
            self._askers[owner].look()
            return self._askers[owner].memory.away
        return asker.memory.away

    def _team(self, workspace: Path, name: str) -> Shared:
        roster, board = workspace / TEAMS / name / "roster.jsonl", workspace / TASKS / name / "board.jsonl"
        team = self._teams.setdefault((workspace, name), Shared(LogFile(roster), LogFile(board)))
        team.look()
        return team

    def _mail(self, asker: Asker, name: str, team: str) -> Sequence[Item]:
        team = (self._team(asker.workspace, team).roster.home or asker.team) if name == USER else team
        path = asker.workspace / TEAMS / team / f"{name}{SUFFIX['mail']}"
        return self._mailboxes.setdefault(path, LogFile(path)).read()


def _begun(asker: Asker) -> Asker | None:
    asker.look()
    return asker if asker.system is not None else None


def _entry(item: Item) -> Entry | None:
    if not isinstance(item, Record):
        return None
    entry = read_entry({key: value for key, value in item.body.items() if key not in BESIDE_ENTRY})
    return None if isinstance(entry, Foreign) else entry


def _calls(prompt: Prompt) -> Iterator[str]:
    spoken = (block for passage in prompt.passages if isinstance(passage, Spoke) for block in passage.blocks)
    return (block.id for block in spoken if isinstance(block, CallBlock))
