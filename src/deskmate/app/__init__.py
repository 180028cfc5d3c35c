"""Everything put together, for the faces to call.

run_request       what to run: the one request that every face and program makes
runner            start or resume a team and run its lead
session           a team and the person who talks to it
session_events    what happens in a session, as events, and when a turn is over
build             the model, tools, workspace and prompt of each agent
teams             the team a lead creates: opened, closed, found again
teammate_process  one teammate in its own process
demo_team         the demo: a team that plays a script
user_actions      what the user does to a team from any shell: mail, tasks, stop, accepted losses
user_answers      the user's answers to questions, first words to the lead, and messages to all
question_answers  open questions answered from any shell
commands          commands that a person sends by name
team_files        teams described in files
sessions          what every session has
parts             what agents are given that depends on the settings
detached          teams in processes of their own, which outlive the program that started them
hosts             teammates on other machines
attach            a team that another process runs, or nobody
travel            code for members on other machines
handover          what becomes of the work of teammates with their own trees
image_files       images that the user sends: read and checked, then kept
cleanup           removing teams
migration         copying teams from one store to another
clock             schedules, and the daemon that follows them
rewind            going back: checkpoints of the files, and forks of a conversation

Each name below is imported when it is first used, so that a command that only shows a board does not wait for
models and tools.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from deskmate.core.team.messages import BODY_CAP

if TYPE_CHECKING:
    from deskmate.app.run_request import RunRequest
    from deskmate.app.runner import run
    from deskmate.app.sessions.run_outcome import Outcome
    from deskmate.app.teammate_process import TeammateRun, play
    from deskmate.config import (
        Settings,
        can_draw,
        choose_model,
        environment,
        extended,
        load,
        program_name,
        shell_name,
        state_folder,
        wants_colour,
    )
    from deskmate.ports import ToolContext
    from deskmate.runtime.event_lines import to_line
    from deskmate.runtime.events import (
        Arrived,
        Changed,
        Feed,
        Listener,
        Printed,
        Recorded,
        Seated,
        Streamed,
        TeamEvent,
        TeamStarted,
    )
    from deskmate.tools.tool_base import Arguments, Described
    from deskmate.trust.known_secrets import redaction_of, seclude
    from deskmate.workspace.descriptors import raise_open_files

# What one message holds, with some room for how it is written.
GOAL_CAP = BODY_CAP - 1024

__all__ = [
    "GOAL_CAP",
    "Arguments",
    "Arrived",
    "Changed",
    "Described",
    "Feed",
    "Listener",
    "Outcome",
    "Printed",
    "Recorded",
    "RunRequest",
    "Seated",
    "Settings",
    "Streamed",
    "TeamEvent",
    "TeamStarted",
    "TeammateRun",
    "ToolContext",
    "can_draw",
    "choose_model",
    "environment",
    "extended",
    "load",
    "play",
    "program_name",
    "raise_open_files",
    "redaction_of",
    "run",
    "seclude",
    "shell_name",
    "state_folder",
    "to_line",
    "wants_colour",
]

_WHERE = {
    "redaction_of": "trust.known_secrets",
    "seclude": "trust.known_secrets",
    "TeammateRun": "app.teammate_process",
    "play": "app.teammate_process",
    "Outcome": "app.sessions.run_outcome",
    "RunRequest": "app.run_request",
    "run": "app.runner",
    "Settings": "config",
    "choose_model": "config",
    "extended": "config",
    "load": "config",
    "state_folder": "config",
    "environment": "config",
    "can_draw": "config",
    "program_name": "config",
    "shell_name": "config",
    "wants_colour": "config",
    "Arrived": "runtime.events",
    "Changed": "runtime.events",
    "Feed": "runtime.events",
    "TeamStarted": "runtime.events",
    "TeamEvent": "runtime.events",
    "Listener": "runtime.events",
    "Printed": "runtime.events",
    "Recorded": "runtime.events",
    "Seated": "runtime.events",
    "Streamed": "runtime.events",
    "to_line": "runtime.event_lines",
    "ToolContext": "ports",
    "Arguments": "tools.tool_base",
    "Described": "tools.tool_base",
    "raise_open_files": "workspace.descriptors",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'deskmate.app' has no name '{name}'")
    return getattr(import_module(f"deskmate.{_WHERE[name]}"), name)
