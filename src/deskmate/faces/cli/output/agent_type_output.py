"""The types of agents that the lead can start."""

import sys
from pathlib import Path

from deskmate import app
from deskmate.app.parts.usable_types import list_types
from deskmate.faces.common.chat.status_commands import agent_type_lines
from deskmate.faces.common.error_log import logging_to
from deskmate.faces.common.text_tables import note, put, sheet_for


def agent_types(folder: Path | None) -> int:
    """Print the agent types of a folder and of the user. Return the exit code."""
    sheet = sheet_for(sys.stdout)
    with logging_to(note):
        listed = list_types(folder, app.load(app.environment()))
    return put([sheet.painted(line) for line in agent_type_lines(listed, sheet)])
