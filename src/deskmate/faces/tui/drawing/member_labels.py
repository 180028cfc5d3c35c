"""Names of members and subagents on a screen."""

from deskmate.faces.common.listings import sender_of
from deskmate.faces.tui.drawing.styled_lines import words


def called(name: str) -> str:
    """Return a member's name for display. A subagent's own name is the id of the call that started it."""
    sender = words(sender_of(name))
    return sender if sender_of(name) == name else f"{sender} (subagent)"
