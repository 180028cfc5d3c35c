"""Checkpoints, and what restoring one does, as lines for every face."""

from collections.abc import Iterator, Sequence

from deskmate.app.rewind.rewinding import Preview, Restored, RewindPoint
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import Cell, CleanLine, Sheet, ago

_MOST_FILES = 20


def point_lines(team: str, points: Sequence[RewindPoint], sheet: Sheet, now: float) -> list[CleanLine]:
    """Return a line for each checkpoint: number, age, the message that followed, and how many files differ now."""
    if not points:
        return [(Cell(f"Team {team} has no checkpoints yet. One is made before the lead acts on your message."),)]
    rows: list[list[Cell | str]] = [["point", "made", "before", "files changed since"]]
    rows += [[str(one.number), f"{ago(now - one.at)} ago", before_text(one), changed_text(one)] for one in points]
    return sheet.lines(rows, gives=2, keeps=2)


def before_text(point: RewindPoint) -> str:
    """Return what a checkpoint was made before, on one line."""
    if point.undoes is not None:
        return f"(restoring point {point.undoes})"
    return one_line(point.words) or "(a message that cannot be read)"


def changed_text(point: RewindPoint) -> str:
    """Return how many files differ from a checkpoint now, and how many it does not have."""
    left = f", {len(point.left_out)} not saved" if point.left_out else ""
    return f"{point.changed or 'none'}{left}"


def plan_lines(seen: Preview, *, force: bool) -> list[str]:
    """Return what restoring a checkpoint would do, file by file."""
    plan = seen.plan
    if plan.is_empty:
        return [f"Nothing differs from point {seen.number}"]
    fate = "remove (not as the team wrote it)" if force else "keep (created since, not as the team wrote it)"
    return [
        *_files("restore", plan.write),
        *_files("remove (created by the team since)", plan.remove),
        *_files(fate, plan.doubtful),
        *_files("keep (too large or unreadable, not saved)", plan.kept),
    ]


def restored_lines(restored: Restored, command: str) -> list[str]:
    """Return what was restored, and how to undo it. `command`: what goes back to a point, without its number."""
    lines = [*_files("restored", restored.written), *_files("removed", restored.removed)]
    lines += [*_files("kept", restored.kept), *_files("could not be restored", restored.failed)]
    if restored.undo is None:
        return [*lines, f"Nothing had to be restored for point {restored.number}"]
    return [*lines, f"Your files are as at point {restored.number}. To undo this: {command} {restored.undo}"]


def _files(what: str, paths: Sequence[str]) -> Iterator[str]:
    yield from (f"{what}: {one_line(path)}" for path in paths[:_MOST_FILES])
    if len(paths) > _MOST_FILES:
        yield f"{what}: {len(paths) - _MOST_FILES:,} more files"
