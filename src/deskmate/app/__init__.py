"""The app: everything put together. Faces above say what is wanted; all else is below.

running      a team founded or gone on with, and its lead let play
furnishing   the model, tools, workspace and brief an agent is given
places       which folder, which team, which notes and skills

Nothing here decides what an agent does.
"""

from deskmate.app.running import Outcome, Wanted, resume, run
from deskmate.config import Settings, choose_model, load
from deskmate.core.entries import Entry
from deskmate.core.messages import BODY_CAP
from deskmate.core.prompts import CallDelta, Delta, RetryDelta, TextDelta, ThinkingDelta
from deskmate.core.roles import colour_of
from deskmate.runtime.feed import Changed, Feed, Founded, Happening, Listener, Recorded, Streamed

# What one message holds, with some room for how it is written.
GOAL_CAP = BODY_CAP - 1024

__all__ = [
    "GOAL_CAP",
    "CallDelta",
    "Changed",
    "Delta",
    "Entry",
    "Feed",
    "Founded",
    "Happening",
    "Listener",
    "Outcome",
    "Recorded",
    "RetryDelta",
    "Settings",
    "Streamed",
    "TextDelta",
    "ThinkingDelta",
    "Wanted",
    "choose_model",
    "colour_of",
    "load",
    "resume",
    "run",
]
