"""The files with hooks, which are in force, and what is not supported."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import anyio.to_thread

from deskmate.app.parts.hook_parts import list_hooks
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import Cell, CleanLine, Sheet

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession
    from deskmate.hooks.hook_sources import HookSource

_NONE = "There are no hooks. To add one, write it in your settings: see the guide on hooks"


async def session_hook_lines(session: "TeamSession", sheet: Sheet) -> list[CleanLine]:
    """Return all hooks that a conversation could have."""
    found = await anyio.to_thread.run_sync(list_hooks, session.workspace, session.settings, session.consent)
    return hook_lines(found, sheet)


def hook_lines(sources: Iterable["HookSource"], sheet: Sheet) -> list[CleanLine]:
    """Return all hooks by file."""
    lines: list[CleanLine] = []
    for source in sources:
        # Not narrowed to the sheet: the end says what to do.
        state = f"not used: {source.unused}" if source.unused else "in force"
        lines.append((Cell(one_line(f"{source.file}: {state}")),))
        rows = [
            [hook.event, hook.matcher or "*", hook.command or hook.label, f"{hook.seconds:g} s"]
            for hook in source.found.hooks
        ]
        lines += sheet.lines(rows, gives=2, indent="  ")
        lines += [(Cell(f"  not supported: {one_line(problem)}"),) for problem in source.found.problems]
    return lines or [(Cell(_NONE),)]
