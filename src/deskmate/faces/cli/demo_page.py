"""The last page of the demo: what was seen, counted from the files, and where to look."""

import json
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deskmate.app import program_name
from deskmate.core.agent.entries import Said
from deskmate.core.agent.open_calls import INTERRUPTED
from deskmate.core.log.names import LEAD, USER
from deskmate.core.team.tasks import TaskStatus
from deskmate.faces.common.terminal_text import clean, one_line
from deskmate.queries.member_view import look_at_transcript
from deskmate.queries.team_view import look_at_board

_PATTERNS = {
    "transcript": ".teams/*/*_transcript.jsonl",
    "message": ".teams/*/*_inbox.jsonl",
    "task": ".tasks/*/board.jsonl",
    "other": ".teams/*/*.jsonl",
}


@dataclass(frozen=True, slots=True)
class Records:
    """The files of records, as they were at a time."""

    files: Mapping[Path, bytes]

    @classmethod
    def of(cls, folder: Path) -> "Records":
        """Return the records of all teams in a folder."""
        found = {path for pattern in _PATTERNS.values() for path in folder.glob(pattern)}
        return cls({path: path.read_bytes() for path in sorted(found)})

    @property
    def count(self) -> int:
        """How many records there are. What was cut off in the middle is none."""
        return sum(data.count(b"\n") for data in self.files.values())

    @property
    def words(self) -> str:
        """The same in words."""
        return f"{self.count} records in {len(self.files)} files"

    def is_start_of(self, other: "Records") -> bool:
        """Return whether everything here is still there, unchanged."""
        return all(other.files.get(path, b"").startswith(data) for path, data in self.files.items())

    def lines(self, ending: str) -> Iterator[dict[str, Any]]:
        """Yield the records of the files with this ending. Skips what was cut off in the middle."""
        for path, data in self.files.items():
            for line in data.splitlines() if path.name.endswith(ending) else ():
                try:
                    yield json.loads(line)
                except ValueError:
                    continue


@dataclass(frozen=True, slots=True)
class LastPage:
    """The page. `passed`: the application's own tests pass, all tasks are done, and nothing was lost or done twice."""

    lines: tuple[str, ...]
    passed: bool


@dataclass(frozen=True, slots=True)
class Effects:
    """How often each thing was done: tasks completed, messages sent and results of calls, by id.

    `cut_off`: calls that never gave a result, because their process died.
    """

    tasks: Counter[int]
    messages: Counter[str]
    results: Counter[str]
    cut_off: int

    @classmethod
    def of(cls, records: Records, team: str) -> "Effects":
        """Count the effects in records. Mail: that of this team, and of the user."""
        mail = {
            path: data
            for path, data in records.files.items()
            if team == path.parent.name or path.name.startswith(f"{USER}_")
        }
        did = [line for line in records.lines("_transcript.jsonl") if line["type"] == "did"]
        return cls(
            Counter(line["task"] for line in records.lines("board.jsonl") if line["type"] == "task_completed"),
            Counter(line["id"] for line in Records(mail).lines("_inbox.jsonl") if "id" in line),
            Counter(line["call"] for line in did),
            sum(line["text"] == INTERRUPTED for line in did),
        )

    @property
    def repeated(self) -> list[int | str]:
        """The ids of what was done more than once."""
        counts: tuple[Counter[int] | Counter[str], ...] = (self.tasks, self.messages, self.results)
        return [id_ for counted in counts for id_, count in counted.items() if count > 1]

    @property
    def are_single(self) -> bool:
        """Whether nothing was done twice."""
        return not self.repeated


def last_page(folder: Path, at_kill: Records, pids: tuple[int, int] | None) -> LastPage:
    """Return the page. `at_kill`: the records when the team was killed. `pids`: who was killed and who continued."""
    tests = subprocess.run(["sh", "check.sh"], cwd=folder, capture_output=True, text=True, check=False)
    board, records = look_at_board(folder, None), Records.of(folder)
    effects, kept = Effects.of(records, board.team), at_kill.is_start_of(records)
    done = all(task.status is TaskStatus.COMPLETED for task in board.board.tasks.values())
    passed = tests.returncode == 0 and done and kept and effects.are_single
    verdict = "pass" if tests.returncode == 0 else "fail"
    output = [one_line(line) for line in clean(tests.stderr).splitlines() if line.strip("- ")]
    lines = [
        f"lead: {_last_words(folder, board.team)}",
        "",
        "What you just saw:",
        "",
        *(
            f"  #{task.id} {task.status.replace('_', ' '):<11} {task.owner or '-':<9} {one_line(task.subject)}"
            for task in board.board.tasks.values()
        ),
        "",
        f"  The application's own tests, run once more, {verdict}: {' '.join(output[-2:])}",
        *(_kill_lines(at_kill, effects, pids, kept=kept) if pids else ()),
        "",
        *_ways_on(folder, board.team),
    ]
    return LastPage(tuple(lines), passed)


def _last_words(folder: Path, team: str) -> str:
    entries = look_at_transcript(folder, team, LEAD).entries
    return one_line(next((entry.text for _, entry in reversed(entries) if isinstance(entry, Said)), ""))


def _kill_lines(at_kill: Records, effects: Effects, pids: tuple[int, int], *, kept: bool) -> Iterator[str]:
    killed, resumed = pids
    yield f"  kill -9 ended process {killed} halfway. Process {resumed} continued where it had stopped."
    still = "and all of them are still there" if kept else "and not all of them are still there"
    yield f"  {'Nothing' if kept else 'SOMETHING'} was lost: {at_kill.words} had been written, {still}."
    if not effects.are_single:
        yield f"  SOMETHING was done twice: {', '.join(map(str, effects.repeated))}."
        return
    yield (
        f"  Nothing was done twice: {len(effects.tasks)} tasks completed, {len(effects.messages)} messages sent, "
        f"{len(effects.results)} tool calls answered, each once."
    )
    if effects.cut_off:
        yield f"  The kill cut off {effects.cut_off} of these tool calls: the answer says so, and a new call was made."


def _ways_on(folder: Path, team: str) -> Iterator[str]:
    path = Path(shlex.split(program_name())[0])
    ways = {
        "git diff --stat rest": "what the team changed",
        f"deskmate board {team}": "the tasks",
        f"deskmate inbox lead {team}": "what the lead was told",
        f"deskmate tail frontend {team}": "a transcript, with the kill in the middle",
        f"deskmate cost {team}": "what a model at $3 and $15 per million tokens would have cost",
    }
    yield "Look around:"
    yield ""
    if path.is_absolute():
        yield f'  export PATH={shlex.quote(str(path.parent))}:"$PATH"'
    yield f"  cd {shlex.quote(str(folder))}"
    for command, about in ways.items():
        yield f"  # {about}"
        yield f"  {command}"
    yield ""
    yield "Your turn:"
    yield ""
    yield "  cd YOUR/PROJECT && deskmate"
