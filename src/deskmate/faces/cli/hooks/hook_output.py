"""What the commands for hooks print."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from deskmate import app
from deskmate.app.parts.hook_parts import HookTrial, list_hooks, try_hooks
from deskmate.core.hooks.hook_tables import EVENTS, TOOL_EVENTS
from deskmate.errors import BadInput
from deskmate.faces.common.error_log import logging_to
from deskmate.faces.common.hooks.hook_lines import hook_lines
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import note, put, sheet_for

if TYPE_CHECKING:
    from deskmate.core.hooks.hook_outputs import HookEffect, HookRun

WOULD_BLOCK = 1
_LONGEST = 500


def hooks(folder: Path | None) -> int:
    """Print the hooks of a folder and of the user. Return the exit code."""
    sheet = sheet_for(sys.stdout)
    with logging_to(note):
        sources = list_hooks(folder, app.load(app.environment()))
    return put([sheet.painted(line) for line in hook_lines(sources, sheet)])


def trial(folder: Path | None, event: str, tool: str, given: str) -> int:
    """Run the hooks of an event with an example, and print what would happen. Return the exit code."""
    if event not in EVENTS:
        raise BadInput(f"'{event[:60]}' is not an event", f"Events: {', '.join(EVENTS)}")
    try:
        fields = json.loads(given)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise BadInput("--input is not a JSON object", 'Write, for example: --input \'{"command": "ls"}\'')
    with logging_to(note):
        tried = anyio.run(try_hooks, folder, app.load(app.environment()), event, tool, fields)
    put(list(_lines(tried, event, tool)))
    return WOULD_BLOCK if tried.effect.decision == "deny" or tried.effect.stop is not None else 0


def _lines(tried: HookTrial, event: str, tool: str) -> Iterator[str]:
    if not tried.runs:
        about = f" for {tool}" if event in TOOL_EVENTS else ""
        yield one_line(f"No hook of {event}{about} is in force. To list the hooks, run: deskmate hooks")
        return
    for run in tried.runs:
        yield from _run_lines(run)
    yield from map(one_line, _effect_lines(tried.effect))


def _run_lines(run: "HookRun") -> Iterator[str]:
    how = run.ended if run.exit is None else f"exit code {run.exit}"
    yield one_line(f"{run.hook.label} ({run.hook.file}): {how}")
    for name, text in (("stdout", run.stdout), ("stderr", run.stderr)):
        if text.strip():
            yield f"  {name}: {one_line(text.strip()[:_LONGEST])}"


def _effect_lines(effect: "HookEffect") -> Iterator[str]:
    if effect.decision:
        yield f"decision: {effect.decision}{f', because: {effect.reason}' if effect.reason else ''}"
    if effect.arguments is not None:
        yield f"changed input: {json.dumps(dict(effect.arguments), ensure_ascii=False)}"
    yield from (f"told to the model: {text}" for text in effect.context)
    yield from (f"shown to you: {text}" for text in (*effect.shown, *effect.failures))
    if effect.stop is not None:
        yield f"the agent would stop: {effect.stop}"
    if not (effect.decision or effect.arguments or effect.context or effect.shown or effect.failures or effect.stop):
        yield "These hooks change nothing."
