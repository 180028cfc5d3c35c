"""The terminal UI: a team on one screen.

tui_start        from arguments to exit code
demo_screen      the demo on a screen
screen_app       what people do on the screen
team_screen      the panels, focus, and when they are drawn
rewind_screen    the points to go back to
help_screen      every key and command
watched_member   whose transcript is shown
member_activity  what each member is doing now
clipboard        copy a text and say so
theme            colours
key_target       who gets what is typed
terminal_keys    keys that Textual does not tell apart
panels           the panels of the screen
drawing          lines, rows and items
questions        questions to the user, and how they are answered
draft            what is being typed
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deskmate.app import RunRequest


def carry_out(request: "RunRequest", *, attaches: bool = False) -> int:
    """Open the requested team on a screen and return the exit code. Raises DeskmateError.

    `attaches`: another process runs the team.
    """
    from deskmate.faces.tui.tui_start import open_screen

    return open_screen(request, attaches=attaches)
