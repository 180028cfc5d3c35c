"""/export, /copy and /diff: what was said and changed."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import anyio.to_thread

from deskmate.core.agent.entries import Did, Said
from deskmate.core.log.names import LEAD, USER
from deskmate.errors import Refused
from deskmate.faces.common.items import transcript_items as items
from deskmate.faces.common.items.entry_items import EntryReader, ItemHistory
from deskmate.faces.common.items.mail_items import MailItem
from deskmate.faces.common.terminal_text import clean, one_line

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession

# More lines would push everything else off the screen.
_MOST_LINES = 400
_FENCE = re.compile(r"^\s*(`{3,})", re.MULTILINE)


async def last_answer(session: "TeamSession") -> str:
    """Return what the lead said last. Raises Refused if it has said nothing."""
    for _, entry in reversed(await session.entries(LEAD)):
        if isinstance(entry, Said) and entry.text.strip():
            return clean(entry.text).strip("\n")
    raise Refused("The lead has not said anything yet")


# -- export ---------------------------------------------------------------------------------------


async def export(session: "TeamSession", typed: str) -> Path:
    """Write the lead's conversation to a new Markdown file and return it. Raises Refused if it cannot be written.

    `typed`: the path of the file. By default it is in the current folder, with the name of the team and the time.
    """
    name = typed or f"{session.team}-{time.strftime('%Y%m%d-%H%M%S')}.md"
    history = ItemHistory(LEAD)
    for number, entry in await session.entries(LEAD):
        history.add(number, entry)
    title = one_line(session.title) or session.team
    parts = [f"# {title}", f"Team {session.team}, {time.strftime('%Y-%m-%d %H:%M')}, {session.model}"]
    parts += [part for item in history.all for part in _markdown(item)]
    return await anyio.to_thread.run_sync(_write, name, "\n\n".join(parts) + "\n")


def _write(name: str, text: str) -> Path:
    try:
        file = Path(name).expanduser().absolute()
        # Never replace a file: the name may have been mistyped.
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except (OSError, RuntimeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise Refused(f"Cannot write {one_line(name)[:200]}: {why}", "Choose another file.") from error
    return file


def _markdown(item: items.ShownItem) -> Iterator[str]:
    """Yield the parts of an item in Markdown, with a heading for each speaker."""
    match item:
        case items.WordsItem():
            yield f"## {LEAD}"
            yield clean(item.text)
        case MailItem():
            sender = "You" if item.sender == USER else one_line(item.sender)
            yield f"## {sender}{f' ({item.title})' if item.title else ''}"
            yield clean(item.text)
        case items.CallItem():
            yield f"- `{one_line(item.title)}`{f': {one_line(item.failure)}' if item.failure else ''}"
            if item.diff and item.state is items.CallState.DONE:
                yield _fenced(item.diff, "diff")
        case items.SummaryItem():
            yield f"*{item.title}*"
            yield clean(item.text)
        case items.TakenTaskItem() | items.ParkedItem() | items.NoticeItem(minor=False):
            yield f"*{one_line(item.title)}{f': {one_line(item.text)}' if item.text.strip() else ''}*"
        # Thoughts are not part of the conversation, notes are words of the program, and messages have the commands.
        case items.ThoughtItem() | items.NoticeItem() | items.NoteItem() | items.CommandItem():
            return
        case unreachable:
            assert_never(unreachable)


def _fenced(text: str, language: str) -> str:
    text = clean(text).strip("\n")
    longest = max((len(fence) for fence in _FENCE.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


# -- diff -----------------------------------------------------------------------------------------


async def diff_lines(session: "TeamSession", wanted: str) -> list[str]:
    """Return what members changed with `write_file` and `edit_file`, file by file, in the order of each transcript.

    `wanted`: only files whose path has this in it. It comes from the transcripts, so no program is run for it.
    """
    changes: dict[str, list[tuple[str, str]]] = {}
    for member in session.members:
        reader = EntryReader()
        for number, entry in await session.entries(member.name):
            made = reader.read(member.name, number, entry)
            if isinstance(entry, Did) and entry.ok:
                for path, diff in _changed(made):
                    changes.setdefault(path, []).append((member.name, diff))
    found = {path: parts for path, parts in sorted(changes.items()) if wanted in path}
    if not found:
        what = f"No file with '{one_line(wanted)[:80]}' in its path" if wanted else "No file"
        return [f"{what} was changed with write_file or edit_file. What commands changed is not listed here."]
    lines = [line for path, parts in found.items() for line in _file_lines(path, parts)]
    if len(lines) > _MOST_LINES:
        names = [_head(path, parts) for path, parts in found.items()]
        left = f"… {len(lines) - _MOST_LINES:,} more lines. One file: /diff FILE. These were changed:"
        lines = [*lines[:_MOST_LINES], left, *names]
    return lines


def _changed(made: list[items.TranscriptItem]) -> Iterator[tuple[str, str]]:
    for item in made:
        if isinstance(item, items.CallItem) and item.diff and (path := item.arguments.get("path")):
            yield one_line(str(path)), item.diff


def _file_lines(path: str, parts: list[tuple[str, str]]) -> Iterator[str]:
    yield _head(path, parts)
    for _, diff in parts:
        yield from clean(diff).strip("\n").splitlines()


def _head(path: str, parts: list[tuple[str, str]]) -> str:
    lines = [line for _, diff in parts for line in diff.splitlines()]
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return f"{path}: +{added} -{removed}, by {', '.join(dict.fromkeys(name for name, _ in parts))}"
