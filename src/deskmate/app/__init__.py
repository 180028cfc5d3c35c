"""The app: everything put together. Faces above say what is wanted; all else is below.

running      a team founded or gone on with, and its lead let play
playing      one teammate in a process of its own
teams        the team a lead founds, opened, closed and found again
furnishing   the model, tools, workspace and brief an agent is given
places       which folder, which team, which notes and skills

Nothing here decides what an agent does.
"""

from deskmate.app.playing import Part, play
from deskmate.app.running import Outcome, Wanted, resume, run
from deskmate.config import Settings, choose_model, load
from deskmate.core.entries import Entry
from deskmate.core.messages import BODY_CAP
from deskmate.core.prompts import CallDelta, Delta, RetryDelta, TextDelta, ThinkingDelta
from deskmate.core.roles import colour_of
from deskmate.runtime.feed import Arrived, Changed, Feed, Founded, Happening, Listener, Recorded, Seated, Streamed
from deskmate.runtime.lines import to_line

# What one message holds, with some room for how it is written.
GOAL_CAP = BODY_CAP - 1024

__all__ = [
    "GOAL_CAP",
    "Arrived",
    "CallDelta",
    "Changed",
    "Delta",
    "Entry",
    "Feed",
    "Founded",
    "Happening",
    "Listener",
    "Outcome",
    "Part",
    "Recorded",
    "RetryDelta",
    "Seated",
    "Settings",
    "Streamed",
    "TextDelta",
    "ThinkingDelta",
    "Wanted",
    "choose_model",
    "colour_of",
    "load",
    "play",
    "resume",
    "run",
    "to_line",
]
