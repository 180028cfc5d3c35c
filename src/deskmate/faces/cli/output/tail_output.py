"""A member's transcript, followed."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import assert_never

import anyio

from deskmate import app
from deskmate.app import Recorded
from deskmate.core.agent.entries import Entry
from deskmate.faces.common.error_log import logging_to
from deskmate.faces.common.items import transcript_items as items
from deskmate.faces.common.items.entry_items import EntryReader
from deskmate.faces.common.items.mail_items import MailItem
from deskmate.faces.common.output_stream import OutputStream
from deskmate.faces.common.terminal_text import clean, cut, one_line
from deskmate.faces.common.text_tables import Sheet, note, put, sheet_for, warn
from deskmate.queries.member_view import SeenTranscript, follow, look_at_transcript

_RESULT_LINES = 12
_LINE_CELLS = 500


def tail(folder: Path | None, team: str | None, name: str, *, last: int, follows: bool, as_json: bool) -> int:
    """Print the last entries of a member's transcript. With `follows`, also print new ones until Ctrl-C."""
    seen = look_at_transcript(folder, team, name)
    page = _Page(seen, sheet_for(sys.stdout), as_json=as_json)
    # Format all entries, so that a result finds the name of its call.
    told = [page.lines(number, entry) for number, entry in seen.entries]
    if len(told) > last:
        warn(f"{len(told) - last:,} earlier entries are not shown. To see all, add: -n {len(told)}")
    elif not told:
        warn(f"the transcript of '{name}' is empty")
    code = put([line for lines in told[-last:] for line in lines], seen.damage)
    if follows:
        with logging_to(note), OutputStream(sys.stdout) as output_stream:
            anyio.run(_follow, folder, seen, page, output_stream)
    return code


async def _follow(folder: Path | None, seen: SeenTranscript, page: "_Page", output_stream: OutputStream) -> None:
    async for number, entry in follow(folder, seen):
        output_stream.put("".join(f"{line}\n" for line in page.lines(number, entry)))
        if output_stream.trouble is not None:
            return


class _Page:
    """Formats entries one after the other. A result is named by the call before it."""

    def __init__(self, seen: SeenTranscript, sheet: Sheet, *, as_json: bool) -> None:
        self._member, self._as_json = seen.member, as_json
        self._name = sheet.name(seen.member, seen.team, {seen.member: seen.colour})
        self._reader = EntryReader()

    def lines(self, number: int, entry: Entry) -> list[str]:
        """Return the lines of an entry, or none if other entries already show it."""
        if self._as_json:
            return [app.to_line(Recorded(self._member, number, entry))]
        found = self._reader.read(self._member, number, entry)
        return [f"{self._name} {line}" for item in found for line in _item_lines(item)]


def _item_lines(item: items.TranscriptItem) -> Iterator[str]:
    match item:
        case items.WordsItem():
            yield from _lines(item.text)
        case items.CallItem():
            yield from _call_lines(item)
        case MailItem():
            kind = f" ({item.title})" if item.title else ""
            yield from _under(f"heard from {item.sender}{kind}", item.text)
        case items.SummaryItem():
            yield item.title
        case items.ThoughtItem() | items.TakenTaskItem() | items.NoticeItem() | items.ParkedItem():
            yield from _under(item.title, item.text)
        case unreachable:
            assert_never(unreachable)


def _call_lines(call: items.CallItem) -> Iterator[str]:
    match call.state:
        case items.CallState.SAID:
            # It is shown when it begins.
            return
        case items.CallState.ASKED:
            yield _short(f"asked for permission: {call.title}")
        case items.CallState.RUNNING:
            yield _short(f"> {call.title}")
        case items.CallState.DONE:
            yield from _under(f"< {call.tool}", call.diff or call.text)
        case items.CallState.FAILED:
            yield from _under(f"< {call.tool} failed", call.text)
        case unreachable:
            assert_never(unreachable)


def _under(title: str, text: str) -> Iterator[str]:
    """Yield a title with a brief text beside it, or with the beginning of a longer text indented below."""
    lines = list(_lines(text))
    if items.is_brief(text):
        yield _short(f"{title}: {text}" if lines else title)
        return
    yield _short(title)
    yield from (f"    {line}" for line in lines[:_RESULT_LINES])
    if len(lines) > _RESULT_LINES:
        left = len(lines) - _RESULT_LINES
        yield f"    … {left:,} more line{'' if left == 1 else 's'}. To see all, add: --json"


def _short(line: str) -> str:
    return cut(one_line(line), _LINE_CELLS)


def _lines(text: str) -> Iterator[str]:
    yield from (line.rstrip() for line in clean(text).splitlines() if line.strip())
