"""/merge and /diff of a team's branch, and what is said about its work at the end."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from deskmate.app.handover.team_handover import HandedOver, NotHandedOver, merge, pending_works
from deskmate.errors import DeskmateError, Refused
from deskmate.faces.common.error_log import error_lines
from deskmate.faces.common.terminal_text import clean, one_line
from deskmate.faces.common.text_tables import Cell, CleanLine, Sheet
from deskmate.queries.tree_view import SeenTree, look_at_diff

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession

# More lines would push everything else off the screen.
_MOST_LINES = 400
_TASK = re.compile(r"#[0-9]+")
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_HEADS = (
    "diff ",
    "index ",
    "--- ",
    "+++ ",
    "new file",
    "deleted file",
    "similarity",
    "rename ",
    "old mode",
    "new mode",
)


async def merge_lines(session: "TeamSession") -> list[str]:
    """Merge the branch of the session's team into the user's branch. Return what to show. Raises Refused."""
    end = (await to_thread.run_sync(merge, session.workspace, session.team)).end
    if isinstance(end, NotHandedOver):
        head, *rest = not_merged_lines(end)
        raise Refused(head, "\n".join(rest))
    return merged_lines(end)


async def branch_lines(session: "TeamSession", wanted: str) -> list[CleanLine] | None:
    """Return what the branch of the session's team changes, or None if members only work in the user's files.

    `wanted`: a task, such as `#3`, or a member with its own tree. None is also returned for anything else.
    """
    name = session.spelled(wanted)
    isolated = [one.name for one in session.members if one.isolated and ("@" not in one.name or one.name == name)]
    if not isolated or (wanted and name not in isolated and not _TASK.fullmatch(wanted)):
        return None
    team, name = session.place_of(name)
    look = partial(look_at_diff, session.workspace, team, name or None)
    lines = list(diff_cells((await look()).text))
    if len(lines) > _MOST_LINES:
        all_ = f"deskmate diff {team} {name}".rstrip()
        left = f"… {len(lines) - _MOST_LINES:,} more lines. To see them all: {all_}"
        lines = [*lines[:_MOST_LINES], (Cell(left),), *diff_cells((await look(stat=True)).text)]
    return lines or [(Cell("No changes that you do not have"),)]


def merged_lines(end: HandedOver) -> list[str]:
    """Return what was merged."""
    if not end.commits:
        return [f"{one_line(end.into)} already has everything of {end.branch}"]
    lines = [f"merged {end.branch} into {one_line(end.into)}: {_commits(end.commits)}, now at {end.commit[:12]}"]
    if end.snapshot:
        lines.append(f"Commit {end.snapshot[:12]} has what you had not committed when the team began.")
    return lines


def not_merged_lines(end: NotHandedOver) -> list[str]:
    """Return why a branch was not merged, and what the user can do."""
    lines = [f"{end.branch} was not merged into {one_line(end.into)}: {one_line(end.reason)}"]
    lines.append(f"Nothing was changed. To merge it yourself, run: {one_line(end.command)}")
    if "stash" in end.command:
        lines.append("After that, git stash pop brings your changes back.")
    return lines


def end_lines(folder: Path | None, team: str, choice: str, command: Callable[[str], str]) -> list[str]:
    """Return what becomes of work that is not in the user's branch at the end of a run. With `auto`, merge it.

    `choice`: the setting `merge`. `command`: returns the command that merges a team.
    """
    lines = list[str]()
    for name, pending in pending_works(folder, team):
        if choice == "auto":
            try:
                end = merge(folder, name).end
            except DeskmateError as error:
                lines += error_lines(error)
            else:
                lines += merged_lines(end) if isinstance(end, HandedOver) else not_merged_lines(end)
        else:
            where = f" in {one_line(pending.into)}" if pending.into else " in your branch"
            lines.append(
                f"{pending.branch} has {_commits(pending.commits)} that {_are(pending.commits)} not{where} yet"
            )
            lines.append(f"To merge them, run: {command(name)}")
    return lines


class MergeNotice:
    """Tells once that tasks were merged into the branch of a team, when nobody is busy."""

    def __init__(self, session: "TeamSession", note: Callable[[str], None]) -> None:
        self._session, self._note = session, note
        # What was merged before is no news.
        self._told = self._merged

    @property
    def _merged(self) -> frozenset[tuple[str, int]]:
        session = self._session
        return frozenset((session.team, task.id) for task in session.board.tasks.values() if task.merged)

    def look(self) -> None:
        """Tell what is new. It neither waits nor raises."""
        if self._session.settings.merge != "ask" or self._session.busy or not (new := self._merged - self._told):
            return
        self._told |= new
        tasks = ", ".join(f"#{task}" for _, task in sorted(new))
        self._note(
            f"{tasks} merged into deskmate/{self._session.team}. To see it: /diff. To have it in your files: /merge"
        )


def diff_cells(text: str) -> Iterator[CleanLine]:
    """Yield the lines of a diff, in the usual colours."""
    for line in clean(text).removesuffix("\n").split("\n") if text else ():
        is_head = line.startswith(_HEADS)
        yield (Cell(line, None if is_head else _COLOURS.get(line[:1])),)


def diff_lines(text: str, sheet: Sheet) -> list[str]:
    """Return the lines of a diff. Spaces at the end of a line stay, so that it can be applied as a patch."""
    return ["".join(map(sheet.paint, line)) for line in diff_cells(text)]


def kept_line(tree: SeenTree) -> str:
    """Return that a tree is kept, and why."""
    return f"kept the tree of {tree.member}@{tree.team}: {one_line(tree.held)} ({one_line(str(tree.path))})"


def free_words(count: int) -> str:
    """Return how many trees are free."""
    return f"{count} free tree{'' if count == 1 else 's'}"


def size_words(count: int) -> str:
    """Return a number of bytes in a unit that suits it."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count} B"


def _commits(count: int) -> str:
    return f"{count:,} commit{'' if count == 1 else 's'}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
