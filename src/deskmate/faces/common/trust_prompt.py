"""What a repository tells agents, shown before it counts.

A conversation at a terminal asks when it starts, before there is a screen. Everything else only reports what it does
not use. `deskmate trust` asks at any time.
"""

import os
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from deskmate.app import Settings
from deskmate.core.policy.trusted_files import SERVERS, Definition
from deskmate.errors import DeskmateError, Refused
from deskmate.faces.common.error_log import error_lines, error_text, logging_to
from deskmate.faces.common.terminal_text import exact
from deskmate.faces.common.text_tables import note
from deskmate.trust.approvals import Consent, Survey, Trust, survey

Answer: TypeAlias = Literal["trust", "without", "leave"]

# How much of each file is shown at first. The whole file is shown on request.
_SHOWN_LINES, _SHOWN_CHARACTERS = 12, 400
_WAYS = (
    "To review and trust it, run: deskmate trust. To trust it for this run only, add --trust. "
    "A team keeps the notes that it started with."
)
_ANSWERS: dict[str, Answer] = {"t": "trust", "trust": "trust", "": "without", "w": "without", "q": "leave"}


def consent_of(
    folder: Path | None, settings: Settings, tell: Callable[[str], None], *, trusts: bool, asks: bool
) -> Consent | None:
    """Return which files of a workspace are used, or None if the person leaves instead.

    `trusts`: use all of them, in this run only. `asks`: a person is there to answer. `tell` is called with what is used
    or not used.
    """
    with logging_to(tell):
        found = survey(folder, settings.state, reads=trusts or asks)
    if found.trouble:
        tell(error_text(found.trouble))
    if trusts:
        paths = ", ".join(exact(one.path) for one in found.whole.definitions)
        tell(f"trusted in this run: {paths or 'nothing here needs trust'}")
        return found.whole
    if not found.unused:
        return found.consent
    if asks:
        return _asked(found, settings)
    tell(f"deskmate: not used, because you have not trusted it: {_unused(found)}\n{_WAYS}")
    return found.consent


def _asked(found: Survey, settings: Settings) -> Consent | None:
    answer = ask(found, settings)
    if answer == "trust":
        try:
            keep(found, settings)
        except Refused as error:
            note(error_text(error))
        return found.whole
    return None if answer == "leave" else found.consent


def keep(found: Survey, settings: Settings) -> None:
    """Record that everything found is trusted. Raises BadSettings for bad settings, Refused if it cannot be stored."""
    found.whole.narrowed(settings)
    Trust(settings.state).approve(found.workspace, found.whole)


def _unused(found: Survey) -> str:
    return ", ".join(exact(path) if how is None else f"{exact(path)} ({how})" for path, how in found.unused.items())


# -- the question ---------------------------------------------------------------------------------


def ask(found: Survey, settings: Settings) -> Answer:
    """Show what is new or changed and ask the person at the terminal. Input typed before the question is discarded."""
    note(f"{exact(str(found.workspace))} has files that instruct agents. You have not trusted these:")
    for line in shown(found, settings, whole=False):
        note(line)
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    while True:
        print("t: trust them, s: show all of them, Enter: continue without them, q: leave > ", end="", file=sys.stderr)
        sys.stderr.flush()
        typed = _typed()
        if typed is None:
            note("")
            return "leave"
        if typed == "s":
            _page(list(shown(found, settings, whole=True)))
        elif typed in _ANSWERS:
            return _ANSWERS[typed]


def shown(found: Survey, settings: Settings, *, whole: bool) -> Iterator[str]:
    """Yield the lines that show what is new or changed. Invisible characters are written out."""
    for one in found.fresh:
        lines = one.text.removesuffix("\n").split("\n")
        yield f"{exact(one.path)}, {found.unused[one.path]}, {len(lines):,} line{'' if len(lines) == 1 else 's'}"
        for line in lines if whole else lines[:_SHOWN_LINES]:
            cut = not whole and len(line) > _SHOWN_CHARACTERS
            yield f"  | {exact(line[:_SHOWN_CHARACTERS] if cut else line)}{' … (cut)' if cut else ''}"
        if not whole and len(lines) > _SHOWN_LINES:
            yield f"  … {len(lines) - _SHOWN_LINES:,} more"
        yield from _effects(one, settings)
    try:
        found.whole.narrowed(settings)
    except DeskmateError as error:
        yield from error_lines(error)


def _effects(one: Definition, settings: Settings) -> Iterator[str]:
    """Yield what follows from trusting a file, if the file alone does not show it: programs and variables."""
    if one.path != SERVERS:
        return
    # Import this only if there is such a file.
    from deskmate.core.mcp.server_entries import HARMLESS, read_servers

    found = read_servers(one.data, one.path, of_project=True)
    yield from (f"  {exact(problem)}" for problem in found.problems)
    for entry in found.entries.values():
        does = "connects to" if entry.url else "starts"
        yield f"  the MCP server {entry.name} {does}: {exact(entry.summary)}"
        for name in entry.variables:
            if name in HARMLESS or name in settings.mcp_variables:
                yield f"    it gets the value of the variable {name}"
            else:
                yield f"    it asks for the variable {name}, which it does not get: it is not in mcp_variables"


def _page(lines: list[str]) -> None:
    """Show lines, one window at a time."""
    rows = max(4, os.get_terminal_size(sys.stderr.fileno()).lines - 2)
    for start in range(0, len(lines), rows):
        note("\n".join(lines[start : start + rows]))
        if start + rows < len(lines):
            print(f"{len(lines) - start - rows:,} more (Enter: continue, q: stop) > ", end="", file=sys.stderr)
            sys.stderr.flush()
            if _typed() in (None, "q"):
                return


def _typed() -> str | None:
    """Return the next typed line, or None at the end of input. Reading the descriptor takes only that line."""
    line = os.read(sys.stdin.fileno(), 4096)
    return line.decode(errors="replace").strip().lower() if line else None
