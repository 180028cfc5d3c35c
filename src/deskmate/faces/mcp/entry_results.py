"""Items of a transcript as results."""

from collections.abc import Iterable, Iterator
from typing import assert_never

from deskmate.faces.common.items import transcript_items as items
from deskmate.faces.common.items.mail_items import MailItem
from deskmate.faces.mcp.shown_results import ShownEntry
from deskmate.faces.mcp.shown_text import plain, plain_line


def entry_results(number: int, found: Iterable[items.TranscriptItem], most: int) -> Iterator[ShownEntry]:
    """Yield the items of an entry for a client, with texts of at most `most` characters."""
    for item in found:
        # A call is shown when it begins.
        if isinstance(item, items.CallItem) and item.state is items.CallState.SAID:
            continue
        kind, title = _kind_and_title(item)
        text = (item.diff or item.text) if isinstance(item, items.CallItem) else item.text
        yield ShownEntry(number=number, kind=kind, title=plain_line(title), text=plain(text, most))


def _kind_and_title(item: items.TranscriptItem) -> tuple[str, str]:
    match item:
        case items.WordsItem():
            return "words", ""
        case items.ThoughtItem():
            return "thought", item.title
        case items.CallItem():
            return "call", f"{item.state.value}: {item.title}"
        case MailItem():
            return "mail", f"from {item.sender}{f' ({item.title})' if item.title else ''}"
        case items.TakenTaskItem():
            return "task", item.title
        case items.NoticeItem():
            return "notice", item.title
        case items.ParkedItem():
            return "parked", item.title
        case items.SummaryItem():
            return "summary", item.title
        case unreachable:
            assert_never(unreachable)
