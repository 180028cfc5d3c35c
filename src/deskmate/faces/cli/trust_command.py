"""Trust: list, add, remove.

`trust_prompt` shows the files and asks. `deskmate.trust` reads and stores what is trusted.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from deskmate import app
from deskmate.errors import Refused
from deskmate.faces.common.error_log import error_text, logging_to
from deskmate.faces.common.terminal_text import exact
from deskmate.faces.common.text_tables import note, put
from deskmate.faces.common.trust_prompt import ask, keep, shown
from deskmate.queries.stream_reader import workspace_at
from deskmate.queries.team_view import SeenPolicy, look_at_policy
from deskmate.trust.approvals import Survey, Trust, survey
from deskmate.trust.team_signature import Signing

NOT_TRUSTED = 1
_NO_TERMINAL = "Nothing was trusted, because there is no terminal to ask in"
_ADD_YES = "To trust what was shown, add --yes."
_DIGITS = 16


def trust(folder: Path | None, *, asks: bool) -> int:
    """Show what a workspace tells agents to do, and trust it if the person agrees. Return the exit code."""
    settings = app.load(app.environment())
    with logging_to(note):
        found = survey(folder, settings.state, reads=True)
    if found.trouble:
        note(error_text(found.trouble))
    if found.consent.trusted and not found.fresh:
        return put([f"trusted as it is: {_place(found)}{_named(found.consent.approved or ())}"])
    if not (asks and found.fresh):
        put(list(shown(found, settings, whole=True)))
    elif not _at_terminal():
        put(list(shown(found, settings, whole=True)))
        raise Refused(_NO_TERMINAL, _ADD_YES)
    elif ask(found, settings) != "trust":
        note("Nothing was trusted.")
        return NOT_TRUSTED
    keep(found, settings)
    return put([f"trusted: {_place(found)}{_named(found.unused)}"])


def _place(found: Survey) -> str:
    return exact(str(found.workspace))


def _named(paths: Iterable[str]) -> str:
    return f", with {', '.join(map(exact, paths))}" if paths else ", which has no files that instruct agents"


def trust_team(folder: Path | None, team: str, *, asks: bool) -> int:
    """Show what a team permits itself, and mark it as the user's own if the person agrees. Return the exit code."""
    seen = look_at_policy(folder, team)
    signing = Signing(app.state_folder(app.environment()), seen.workspace)
    if signing.signed(seen.team):
        return put([f"team {seen.team} is yours already"])
    put(list(_team_lines(seen)), seen.damage)
    if asks and not _at_terminal():
        raise Refused(_NO_TERMINAL, _ADD_YES)
    if asks and not click.confirm("Trust it like a team that you started?", err=True):
        note("Nothing was trusted.")
        return NOT_TRUSTED
    signing.sign(seen.team)
    return put([f"team {seen.team} is trusted. To continue it, run: deskmate resume {seen.team}"])


def _team_lines(seen: SeenPolicy) -> Iterator[str]:
    yield f"you did not start team {seen.team} in {exact(str(seen.workspace))}"
    if seen.home:
        yield f"  started from team {exact(seen.home)}, which you must trust too"
    yield f"  members: {', '.join(map(exact, seen.members)) or 'nobody'}"
    yield f"  permission mode: {seen.mode}"
    yield from (f"  permission mode of {exact(name)}: {mode}" for name, mode in seen.modes.items())
    yield from (f"  rule: {exact(rule)}" for rule in seen.rules)
    yield f"  what it heard, said and has to do: deskmate tail lead {seen.team}, deskmate board {seen.team}"


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def listing() -> int:
    """Print what is trusted, by workspace."""
    kept = Trust(app.state_folder(app.environment())).all()
    if not kept:
        note("Nothing is trusted.")
    return put([line for place, approved in sorted(kept.items()) for line in _lines(place, approved)])


def _lines(place: str, approved: dict[str, str]) -> Iterator[str]:
    yield exact(place)
    yield from (f"  {digest[:_DIGITS]}  {exact(path)}" for path, digest in sorted(approved.items()))


def revoke(folder: Path | None) -> int:
    """Stop trusting a workspace."""
    place = workspace_at(folder)
    known = Trust(app.state_folder(app.environment())).revoke(place)
    words = "is no longer trusted" if known else "was not trusted"
    return put([f"{exact(str(place))} {words}"])


def revoke_team(folder: Path | None, team: str) -> int:
    """No longer treat a team as the user's own."""
    seen = look_at_policy(folder, team)
    known = Signing(app.state_folder(app.environment()), seen.workspace).revoke(seen.team)
    return put([f"team {seen.team} {'is no longer trusted' if known else 'was not trusted'}"])
