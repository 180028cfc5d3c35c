"""A member's transcript, followed."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio

from deskmate import app
from deskmate.app import Entry, Recorded
from deskmate.faces.common.error_log import logging_to
from deskmate.faces.common.output_stream import OutputStream
from deskmate.faces.common.terminal_text import clean, cut, one_line
from deskmate.faces.common.text_tables import Sheet, note, put, sheet_for, warn
from deskmate.queries.member_view import SeenTranscript, follow, look_at_transcript

_RESULT_LINES = 12
_CALL_CELLS = 400
_PLAINLY = {
    "agreed": "agreed to leave",
    "compacted": "made room: a summary replaces everything before",
    "cleared": "made room: old results are cleared",
    "summary_requested": "the user wants a summary of the conversation",
    "summary_dropped": "no summary was made",
    "overflowed": "the conversation is too long for the model",
}


def tail(folder: Path | None, team: str | None, name: str, *, last: int, follows: bool, as_json: bool) -> int:
    """Print the last entries of a member's transcript. With `follows`, also print new ones until Ctrl-C."""
    seen = look_at_transcript(folder, team, name)
    page = _Page(seen, sheet_for(sys.stdout), as_json=as_json)
    # Format all entries, so that a result finds the name of its call.
    told = [page.lines(number, entry) for number, entry in seen.entries]
    if len(told) > last:
        warn(f"{len(told) - last:,} entries before these. To see all: -n {len(told)}")
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
        self._calls: dict[str, str] = {}

    def lines(self, number: int, entry: Entry) -> list[str]:
        """Return the lines of an entry, or none if other entries already show it."""
        if self._as_json:
            return [app.to_line(Recorded(self._member, number, entry))]
        return [f"{self._name} {line}" for line in self._told(number, entry)]

    def _told(self, number: int, entry: Entry) -> Iterator[str]:
        if entry.type == "said":
            for index, call in enumerate(entry.calls):
                label = f"{call.tool} {json.dumps(call.arguments, ensure_ascii=False)}"
                self._calls[f"{self._member}:{number}.{index}"] = cut(one_line(label), _CALL_CELLS)
            yield from _lines(entry.text)
        elif entry.type == "began":
            yield from (f"> {self._call(id_)}" for id_ in entry.calls)
        elif entry.type == "asked":
            yield f"asked for permission: {self._call(entry.call)}"
        elif entry.type == "did":
            tool = self._call(entry.call).partition(" ")[0]
            yield from _under(f"< {tool}{'' if entry.ok else ' failed'}", entry.shown or entry.text)
        else:
            yield from _of_others(entry)

    def _call(self, id_: str) -> str:
        return self._calls.get(id_, one_line(id_))


def _of_others(entry: Entry) -> Iterator[str]:
    """Yield the lines of an entry that is not about the member's own words and calls."""
    if entry.type == "started":
        yield from _under("began", entry.prompt)
    elif entry.type == "heard":
        for body in entry.mail:
            yield from _under(*_mail(body))
        yield from (f"could not read mail: {one_line(words)}" for words in entry.damage)
    elif entry.type == "took":
        yield from _under(f"took a task {entry.authors}".rstrip(), entry.shown)
    elif entry.type == "nudged" or entry.type == "noticed":
        yield from _under("was reminded" if entry.type == "nudged" else "was told", entry.text)
    elif entry.type == "reported":
        yield entry.shown
    elif entry.type == "parked":
        yield f"parked: {one_line(entry.reason)}"
    elif entry.type == "ended":
        yield from _under(f"{one_line(entry.background)} ended: {one_line(entry.status)}", entry.text)
    elif entry.type in _PLAINLY:
        yield _PLAINLY[entry.type]


def _mail(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return the sender and kind of a message, and its text."""
    kind = str(body.get("type", "")).replace("_", " ")
    what = "heard" if kind == "message" else f"heard a {kind}"
    words = body.get("content") or body.get("reason") or ""
    return one_line(f"{what} from {body.get('sender', '')}"), str(words)


def _under(head: str, text: str) -> Iterator[str]:
    """Yield a heading, and the beginning of a text indented below it."""
    lines = list(_lines(text))
    if len(lines) == 1 and len(head) + len(lines[0]) < _CALL_CELLS:
        yield f"{head}: {lines[0]}"
        return
    yield head
    yield from (f"    {line}" for line in lines[:_RESULT_LINES])
    if len(lines) > _RESULT_LINES:
        yield f"    … {len(lines) - _RESULT_LINES:,} more lines. To see all: --json"


def _lines(text: str) -> Iterator[str]:
    yield from (line.rstrip() for line in clean(text).splitlines() if line.strip())
