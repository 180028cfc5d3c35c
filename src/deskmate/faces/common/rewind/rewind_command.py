"""/rewind: checkpoints listed, compared and restored. The lines are the same for every face."""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from deskmate.app.rewind.rewinding import Preview, Restored, RewindPoint
from deskmate.core.prompt.user_frames import UserCommand
from deskmate.errors import Refused
from deskmate.faces.common.chat.chat_commands import COMMANDS
from deskmate.faces.common.chat.mode_command import usage_error
from deskmate.faces.common.handover.tree_reports import diff_cells
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import Cell, CleanLine, Sheet, ago

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession
    from deskmate.faces.common.chat.user_commands import UserCommands

_MOST_FILES = 20
_MOST_LINES = 400
_SECRET, _TOO_LARGE = "it has a secret", "it is too large, filtered or unreadable"
_NOT_SAVED = "it is too large, filtered, unreadable, ignored or in another repository"
WAYS = ("diff", "force", "conversation", "both")


async def rewind_lines(
    session: "TeamSession", words: list[str], commands: "UserCommands", sheet: Sheet
) -> list[CleanLine]:
    """List the checkpoints of a session, or carry out `N [diff|force|conversation|both]`. Raises Refused."""
    rewinder = session.rewinder()
    if not words:
        points = await rewinder.points()
        hint = [(Cell("/rewind N restores the files of point N. /rewind N diff shows what changed since"),)]
        return [*point_lines(session.home, points, sheet, time.time()), *(hint if points else [])]
    number, way = words[0], words[1] if words[1:] else ""
    if not number.isdecimal() or (way and way not in WAYS):
        raise usage_error(COMMANDS["rewind"])
    if way == "diff":
        return _diff(await rewinder.preview(int(number)), f"deskmate rewind {session.home} {number} --dry-run")
    lines = list[str]()
    if way != "conversation":
        _refuse_busy(session)
        restored = await rewinder.restore(int(number), force=way == "force")
        lines = restored_lines(restored)
        if restored.undo is not None:
            # What the lead read of these files is not true any more.
            commands.tell_next(UserCommand(f"/rewind {number}", "\n".join(lines), 0))
        lines += next_lines(restored, "type: /rewind", "force")
    return _plain([*lines, *(await _forked(session, int(number)) if way in ("conversation", "both") else [])])


def _refuse_busy(session: "TeamSession") -> None:
    if session.busy:
        raise Refused(
            f"{', '.join(session.busy)} would write while files are restored", "Wait, or stop it first: /interrupt"
        )


async def _forked(session: "TeamSession", number: int) -> list[str]:
    from deskmate.app.rewind.forking import fork

    forked = await fork(session.rewinder(), number, session.settings)
    return [
        f"Team {forked.team} has this conversation up to point {number}. This team stays as it is.",
        f"To continue there: /quit, then deskmate --team {forked.team}",
    ]


def _diff(seen: Preview, command: str) -> list[CleanLine]:
    lines = [*_plain(plan_lines(seen, force=False)), *diff_cells(seen.diff)]
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], *_plain([f"… {more:,} more lines. All: {command}"] if more > 0 else [])]


def _plain(texts: Sequence[str]) -> list[CleanLine]:
    return [(Cell(one_line(text)),) for text in texts]


def point_lines(team: str, points: Sequence[RewindPoint], sheet: Sheet, now: float) -> list[CleanLine]:
    """Return a line for each checkpoint: number, age, the message that followed, and how many files differ now."""
    if not points:
        return [(Cell(f"Team {team} has no checkpoints yet. One is made before the lead acts on your message."),)]
    rows: list[list[Cell | str]] = [["point", "made", "before", "files changed since"]]
    rows += [[str(one.number), f"{ago(now - one.at)} ago", before_text(one), changed_text(one)] for one in points]
    return [*sheet.lines(rows, gives=2, keeps=2), *_plain(left_out_lines(points))]


def left_out_lines(points: Sequence[RewindPoint]) -> list[str]:
    """Return a line for each file that some checkpoint does not have."""
    left_out = sorted({path for one in points for path in one.left_out})
    secret = sorted({path for one in points for path in one.secret})
    return [*_files("left out", left_out, _TOO_LARGE), *_files("left out", secret, _SECRET)]


def before_text(point: RewindPoint) -> str:
    """Return what a checkpoint was made before, on one line."""
    if point.undoes is not None:
        return f"(restoring point {point.undoes})"
    return one_line(point.words) or "(a message that cannot be read)"


def changed_text(point: RewindPoint) -> str:
    """Return how many files differ from a checkpoint now, and how many it does not have."""
    left_out = len(point.left_out) + len(point.secret)
    return f"{point.changed or 'none'}{f', {left_out} left out' if left_out else ''}"


def plan_lines(seen: Preview, *, force: bool) -> list[str]:
    """Return what restoring a checkpoint would do, file by file."""
    plan, secret = seen.plan, list(_files("left out", seen.secret, _SECRET))
    if plan.is_empty:
        return [f"Nothing differs from point {seen.number}", *secret]
    fate = "remove (not as the team wrote it)" if force else "keep (created since, not as the team wrote it)"
    return [
        *_files("restore", plan.write),
        *_files("remove (created by the team since)", plan.remove),
        *_files(fate, plan.doubtful),
        *_files("keep", [path for path in plan.kept if path not in seen.secret], _NOT_SAVED),
        *secret,
    ]


def restored_lines(restored: Restored) -> list[str]:
    """Return what was restored, file by file."""
    lines = [*_files("restored", restored.written), *_files("removed", restored.removed)]
    lines += [*_files("kept", restored.kept), *_files("could not be restored", restored.failed)]
    return [*lines, *_files("left out", restored.left_out, _NOT_SAVED), *_files("left out", restored.secret, _SECRET)]


def next_lines(restored: Restored, command: str, force: str) -> list[str]:
    """Return what the files are like after a restore, how to remove new ones, and how to undo it.

    `command`: what goes back to a point, without its number. `force`: the word that removes new files, too.
    """
    new = ", except for the kept ones, which are new" if restored.kept else ""
    if restored.undo is None:
        lines = [f"Nothing had to be restored for point {restored.number}."]
    else:
        others = restored.failed or restored.left_out or restored.secret
        lines = [f"{'Your other files' if others else 'Your files'} are as at point {restored.number}{new}."]
    if restored.kept:
        lines.append(f"To remove the kept files, {command} {restored.number} {force}")
    return lines if restored.undo is None else [*lines, f"To undo this, {command} {restored.undo}"]


def _files(what: str, paths: Sequence[str], why: str = "") -> Iterator[str]:
    yield from (f"{what}: {one_line(path)}{why and f', {why}'}" for path in paths[:_MOST_FILES])
    if len(paths) > _MOST_FILES:
        yield f"{what}: {len(paths) - _MOST_FILES:,} more files"
