"""What changed, for a screen. The model sees such a diff only of what others changed."""

from deskmate.core.line_changes import hunk_lines
from deskmate.tools.clip import clip, cut, lines_of

_MAX_LINE_CHARS = 500


def diff(path: str, old: str, new: str) -> str:
    """Return the unified diff of two texts, empty if their lines are the same."""
    lines = [cut(line, _MAX_LINE_CHARS) for line in hunk_lines(lines_of(old), lines_of(new))]
    return clip([f"--- {path}", f"+++ {path}", *lines], "See the file itself") if lines else ""
