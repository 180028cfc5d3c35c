"""/memory: the notes that new teams get, shown and edited, and those that a lead proposes."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread

from deskmate.core.agent.answer import proposed_notes
from deskmate.core.log.names import LEAD
from deskmate.errors import Refused
from deskmate.faces.common.chat.user_commands import SCOPES
from deskmate.faces.common.terminal_text import exact

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession
    from deskmate.trust.user_notes import KeptNotes

_ABOUT = {
    "user": "yours, for all projects",
    "project": "of this project",
    "team": "of the teams of this workspace",
}
_SHOWN_LINES = 5
_MOST_PROPOSED = 9
_WAYS = (
    "To add one: #user NOTE, # NOTE or #team NOTE. To see all of one: /memory team. To edit one: /memory edit team",
    "New teams get these notes when they start. A team keeps those that it started with",
    "To see and keep notes that the lead proposes: /memory keep",
)


async def memory_lines(
    session: "TeamSession", words: list[str], edit: Callable[[str], Awaitable[str]] | None
) -> list[str]:
    """Carry out /memory and return the lines to show. `edit`: opens a text in an editor. Raises Refused."""
    if words[:1] == ["keep"]:
        return await _kept(session, words[1:])
    edits = words[:1] == ["edit"]
    scopes = words[1:] if edits else words
    if len(scopes) > 1 or any(scope not in SCOPES for scope in scopes):
        raise Refused("Usage: /memory [edit] [user|project|team], or /memory keep [NUMBER]")
    if edits:
        return await _edited(session, scopes[0] if scopes else "project", edit)
    if scopes:
        kept = await _notes(session, scopes[0])
        return [_head(kept), *(f"  {exact(line)}" for line in kept.text.splitlines())]
    lines = list[str]()
    for scope in SCOPES:
        kept = await _notes(session, scope)
        shown = kept.text.splitlines()
        more = [f"  … {len(shown) - _SHOWN_LINES:,} more lines"] if len(shown) > _SHOWN_LINES else []
        lines += [_head(kept), *(f"  {exact(line)}" for line in shown[:_SHOWN_LINES]), *more]
    return [*lines, *_WAYS]


async def _kept(session: "TeamSession", words: list[str]) -> list[str]:
    """Show the notes that the lead proposes, or keep one of them by its number, which never changes."""
    from deskmate.trust.user_notes import NotesScope, add_note

    there = (await _notes(session, "team")).text
    proposed = proposed_notes([entry for _, entry in await session.entries(LEAD)])
    fresh = {str(number): note for number, note in enumerate(proposed, 1) if note not in there}
    if not fresh:
        raise Refused("The lead proposes no note that is not kept yet")
    if not words:
        lines = [f"  {number}  {note}" for number, note in list(fresh.items())[-_MOST_PROPOSED:]]
        return ["The lead proposes these notes for later teams:", *lines, "To keep one: /memory keep NUMBER"]
    if words[0] not in fresh:
        raise Refused(f"There is no proposed note {exact(words[0])[:20]}", "To see them: /memory keep")
    note = f"{fresh[words[0]]} (from team {session.team})"
    added = await to_thread.run_sync(add_note, NotesScope.TEAM, note, session.settings, session.workspace)
    return [f"kept in {added.path}: {note}", "New teams get it when they start. To change it: /memory edit team"]


async def _notes(session: "TeamSession", scope: str) -> "KeptNotes":
    # Imported here because loading it would slow down every start.
    from deskmate.trust.user_notes import NotesScope, notes_in

    return await to_thread.run_sync(notes_in, NotesScope(scope), session.settings, session.workspace)


def _head(kept: "KeptNotes") -> str:
    if not kept.text:
        size = "no notes yet"
    elif kept.size > kept.most:
        size = f"{kept.size:,} bytes, of which teams get the first {kept.most:,}"
    else:
        size = f"{kept.size:,} of at most {kept.most:,} bytes"
    facts = ", ".join(filter(None, [size, kept.standing]))
    return f"{kept.scope} notes, {_ABOUT[kept.scope]}: {exact(str(kept.file))} ({facts})"


async def _edited(session: "TeamSession", scope: str, edit: Callable[[str], Awaitable[str]] | None) -> list[str]:
    from deskmate.trust.user_notes import write_notes

    kept = await _notes(session, scope)
    if edit is None:
        raise Refused("Editing needs a terminal", f"The file is {kept.file}")
    text = await edit(kept.text)
    text = f"{text.rstrip()}\n" if text.strip() else ""
    if text == kept.text:
        return [f"{kept.file} is unchanged"]
    saved = await to_thread.run_sync(partial(write_notes, kept, text, session.settings, session.workspace))
    ask = "" if saved.trusted else ". At the next start, you are asked whether to trust this file"
    return [f"saved {saved.path}{ask}", "New teams get it when they start"]
