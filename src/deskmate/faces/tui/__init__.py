"""The terminal UI: a team on one screen.

opening       from what was typed to an exit code
show          the demo on a screen
app           what people do there: typing, answering, interrupting, leaving
team_screen   its panels, which of them has the keys, when they are drawn
help          every key and command
watching      whose transcript is shown, read and live
pieces        a transcript as people see it
live          what is being said this moment
conversation  the panel of it, over layout and painting
members       who is there: a list, or a strip
board, post   the panels of tasks and of mail, over outline and rows
questions     the panel of what waits for a word, over asked, guard, sheet and standing
draft         what is being typed
head, keys    the first line and the last
lines         texts in cells of a terminal; naming, titles and theme beside it
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deskmate.faces.common.conversation_start import Sitting


def carry_out(sitting: "Sitting") -> int:
    """Open the team that is wanted on a screen; return the exit code. Raises DeskmateError."""
    from deskmate.faces.tui.tui_start import open_screen

    return open_screen(sitting)
