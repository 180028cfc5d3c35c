"""The app: everything put together. Faces above say what is wanted; all else is below.

running      a team founded or gone on with, and its lead let play
session      a team and the person at its desk, for every face that has one
playing      one teammate in a process of its own
rehearsing   the demo: a team that plays a script
teams        the team a lead founds, opened, closed and found again
looking      who is on a team, its board, what it came to
listening    a member's mail and transcript
post         the mail of a team as it flows
acting       the user's hand: sending, stopping, the board, losses accepted
open_questions  what waits for the user in a team, answered from any shell
answers      what the user replies, and says to all
cleanup      teams removed for good, and which may be
checking     whether machine, settings and workspace are fit for a team
losses       what of a team cannot be read, and whom that stops
reading      the streams of a team as they stand, damaged or not
cuts         what shows that a file of records ends too early
furnishing   the model, tools, workspace and brief an agent is given
confining    the sandbox that commands get, and when a run refuses to begin without one
discretion   the secrets that this process knows, and who may read its memory
trusting     what the user approved of each workspace, and what counts by it
definitions  notes, settings and skills of a workspace, found and read
reservations names of teams that were taken and not used
signing      by what a team is known to be the user's own
places       which folder, which team

Nothing here decides what an agent does. Each name below is imported when it is first asked for: who only looks at a
board does not wait for models and tools.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from deskmate.core.log.names import ALL, LEAD, USER
from deskmate.core.team.messages import BODY_CAP

if TYPE_CHECKING:
    from deskmate.app.runner import Outcome, Wanted, resume, run
    from deskmate.app.teammate_process import Part, play
    from deskmate.config import Settings, choose_model, load, state_folder
    from deskmate.core.agent.entries import Entry
    from deskmate.core.agent.tool_results import Result
    from deskmate.core.policy.permissions import Attempt, Mode
    from deskmate.core.policy.tool_table import colour_of
    from deskmate.core.prompt.prompts import CallDelta, Delta, RetryDelta, TextDelta, ThinkingDelta
    from deskmate.core.team.open_questions import Question
    from deskmate.core.team.spending import Sum
    from deskmate.errors import ToolError
    from deskmate.ports import Desk
    from deskmate.runtime.event_lines import to_line
    from deskmate.runtime.events import Arrived, Changed, Feed, Founded, Happening, Listener, Recorded, Seated, Streamed
    from deskmate.tools.tool_base import Arguments, Described
    from deskmate.trust.known_secrets import redaction_of, seclude
    from deskmate.workspace.blob_folders import read_regular
    from deskmate.workspace.descriptors import raise_open_files

# What one message holds, with some room for how it is written.
GOAL_CAP = BODY_CAP - 1024

__all__ = [
    "ALL",
    "GOAL_CAP",
    "LEAD",
    "USER",
    "Arguments",
    "Arrived",
    "Attempt",
    "CallDelta",
    "Changed",
    "Delta",
    "Described",
    "Desk",
    "Entry",
    "Feed",
    "Founded",
    "Happening",
    "Listener",
    "Mode",
    "Outcome",
    "Part",
    "Question",
    "Recorded",
    "Result",
    "RetryDelta",
    "Seated",
    "Settings",
    "Streamed",
    "Sum",
    "TextDelta",
    "ThinkingDelta",
    "ToolError",
    "Wanted",
    "choose_model",
    "colour_of",
    "load",
    "play",
    "raise_open_files",
    "read_regular",
    "redaction_of",
    "resume",
    "run",
    "seclude",
    "state_folder",
    "to_line",
]

_WHERE = {
    "redaction_of": "trust.known_secrets",
    "seclude": "trust.known_secrets",
    "Part": "app.teammate_process",
    "play": "app.teammate_process",
    "Outcome": "app.runner",
    "Wanted": "app.runner",
    "resume": "app.runner",
    "run": "app.runner",
    "Settings": "config",
    "choose_model": "config",
    "load": "config",
    "state_folder": "config",
    "Entry": "core.agent.entries",
    "Attempt": "core.policy.permissions",
    "Mode": "core.policy.permissions",
    "CallDelta": "core.prompt.prompts",
    "Delta": "core.prompt.prompts",
    "RetryDelta": "core.prompt.prompts",
    "TextDelta": "core.prompt.prompts",
    "ThinkingDelta": "core.prompt.prompts",
    "Question": "core.team.open_questions",
    "Result": "core.agent.tool_results",
    "colour_of": "core.policy.tool_table",
    "Sum": "core.team.spending",
    "Arrived": "runtime.events",
    "Changed": "runtime.events",
    "Feed": "runtime.events",
    "Founded": "runtime.events",
    "Happening": "runtime.events",
    "Listener": "runtime.events",
    "Recorded": "runtime.events",
    "Seated": "runtime.events",
    "Streamed": "runtime.events",
    "to_line": "runtime.event_lines",
    "Desk": "ports",
    "ToolError": "errors",
    "Arguments": "tools.tool_base",
    "Described": "tools.tool_base",
    "raise_open_files": "workspace.descriptors",
    "read_regular": "workspace.blob_folders",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'deskmate.app' has no name '{name}'")
    return getattr(import_module(f"deskmate.{_WHERE[name]}"), name)
