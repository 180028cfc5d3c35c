"""Entries as items.

An entry adds items, or changes calls that earlier entries have added.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import assert_never

from deskmate.core.agent import entries
from deskmate.core.agent.answer import proposed_notes
from deskmate.core.agent.teams.addresses import from_team
from deskmate.core.goals import GoalRound
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import LEAD, call_id
from deskmate.core.team.messages import read_envelope
from deskmate.faces.common.items.hook_items import hook_items
from deskmate.faces.common.items.mail_items import MailItem
from deskmate.faces.common.items.task_items import teammates_in
from deskmate.faces.common.items.text_changes import diff_of
from deskmate.faces.common.items.transcript_items import (
    CallItem,
    CallState,
    NoteItem,
    NoticeItem,
    ParkedItem,
    ShownItem,
    SummaryItem,
    TakenTaskItem,
    ThoughtItem,
    TranscriptItem,
    WordsItem,
)
from deskmate.faces.common.text_tables import CleanLine

UNREADABLE = "could not read mail"


class EntryReader:
    """Turns entries into items as they are written. It only remembers calls that have no result yet."""

    def __init__(self) -> None:
        self._calls: dict[str, CallItem] = {}

    def read(self, member: str, number: int, entry: entries.Entry) -> list[TranscriptItem]:
        """Return the items that an entry adds or changes. Pass each entry of a member once, in order."""
        items = list(items_of(member, number, entry, self._calls))
        calls = {item.key: item for item in items if isinstance(item, CallItem)}
        self._calls |= calls
        for key in [key for key, call in calls.items() if call.is_over]:
            del self._calls[key]
        return items


class ItemHistory:
    """All items of one member's transcript, and the program's notes in between. `last`: the number of the last entry.

    `heard`: the ids of the messages in it.
    """

    def __init__(self, member: str) -> None:
        self._member, self._reader = member, EntryReader()
        self._items: dict[str, ShownItem] = {}
        self.last = 0
        self.heard: set[str] = set()

    @property
    def all(self) -> list[ShownItem]:
        """Every item, oldest first."""
        return list(self._items.values())

    def add(self, number: int, entry: entries.Entry) -> None:
        """Add an entry. Add each one once, in the order of their numbers."""
        self.last = number
        items = self._reader.read(self._member, number, entry)
        # The note about an interrupt is made before the answer that it cut is recorded.
        notes = self._last_notes() if isinstance(entry, entries.Said) and entry.stopped else {}
        for key in notes:
            del self._items[key]
        self._items |= {item.key: item for item in items} | notes
        self.heard |= {item.envelope.id for item in items if isinstance(item, MailItem)}

    def _last_notes(self) -> dict[str, ShownItem]:
        last = takewhile(lambda item: isinstance(item, NoteItem), reversed(self._items.values()))
        return {item.key: item for item in reversed(list(last))}

    def note(self, lines: tuple[CleanLine, ...]) -> None:
        """Add words of the program at the end."""
        key = f"note/{len(self._items)}"
        self._items[key] = NoteItem(key, lines)

    def put(self, item: ShownItem) -> None:
        """Add an item of the program at the end, or change it."""
        self._items[item.key] = item


def items_of(member: str, number: int, entry: entries.Entry, calls: Mapping[str, CallItem]) -> Iterator[TranscriptItem]:
    """Yield the items that an entry adds, and the calls that it changes. `calls`: the calls without a result so far."""
    key = str(number)
    match entry:
        case entries.Started():
            # A lead is told nothing at its start.
            yield from [NoticeItem(key, "began", entry.prompt, minor=True)] if entry.prompt.strip() else []
        case entries.Heard():
            yield from _heard(key, entry)
        case entries.Said():
            yield from _said(member, number, entry)
        case entries.Began():
            yield from (replace(_known(calls, id_), state=CallState.RUNNING) for id_ in entry.calls)
        case entries.PermissionAsked():
            yield replace(_known(calls, entry.call), state=CallState.ASKED)
        case entries.Did():
            yield _ended(_known(calls, entry.call), entry)
        case entries.Took():
            yield _taken(key, entry)
        case entries.Noticed():
            yield _noticed(key, entry)
        case entries.Nudged():
            yield NoticeItem(key, "was reminded", entry.text)
        case entries.Reported():
            left = f"is idle with task #{entry.task} unfinished" if entry.task else "submitted no plan"
            yield NoticeItem(key, left if member == LEAD else f"{left}. The lead was told")
        case entries.Agreed():
            yield NoticeItem(key, "agreed to leave", minor=True)
        case entries.AgentParked():
            yield ParkedItem(key, entry.reason, member)
        case entries.Ended():
            yield NoticeItem(key, f"{entry.background} ended: {entry.status}", entry.text)
        case entries.Compacted():
            yield SummaryItem(key, entry.summary)
        case entries.Cleared():
            yield NoticeItem(key, "made room: cleared old results", minor=True)
        case entries.SummaryRequested():
            yield NoticeItem(key, "the user asked for a summary of the conversation", entry.focus, minor=True)
        case entries.SummaryDropped():
            yield NoticeItem(key, "no summary was made")
        case entries.Overflowed():
            yield NoticeItem(key, "the conversation is too long for the model")
        case entries.PicturesRefused():
            yield NoticeItem(key, "the model cannot see images", ", ".join(entry.names))
        case entries.Hooked():
            yield from hook_items(key, entry)
        case unreachable:
            assert_never(unreachable)


def _taken(key: str, entry: entries.Took) -> TakenTaskItem:
    authors = teammates_in(entry.created_by, entry.edited_by or ())
    return TakenTaskItem(key, entry.task, authors, entry.text, entry.changes or "")


def _noticed(key: str, notice: entries.Noticed) -> NoticeItem:
    if notice.goal is not None:
        return NoticeItem(key, _goal_title(notice.goal), notice.text)
    if notice.handed_over is None:
        return NoticeItem(key, "was told", notice.text, minor=True)
    has = "has" if notice.handed_over else "does not have"
    return NoticeItem(key, f"{has} the work of its team", notice.text)


def _goal_title(goal: GoalRound) -> str:
    if not goal.until:
        return "has no goal any more"
    if not goal.round:
        return "has a goal"
    state = "met" if goal.met else f"not met{f', {goal.ended}' if goal.ended else ''}"
    return f"goal, round {goal.round}: {state}"


def _heard(key: str, entry: entries.Heard) -> Iterator[TranscriptItem]:
    for index, body in enumerate(entry.mail):
        envelope = read_envelope(body)
        if isinstance(envelope, Foreign):
            yield NoticeItem(f"{key}/{index}", UNREADABLE, envelope.reason)
        else:
            yield MailItem(f"{key}/{index}", from_team(envelope, entry.team), (envelope.recipient,))
    yield from (NoticeItem(f"{key}/damage{index}", UNREADABLE, words) for index, words in enumerate(entry.damage))


def _said(member: str, number: int, entry: entries.Said) -> Iterator[TranscriptItem]:
    """Yield words, thoughts and calls in the order in which they were said."""
    calls = [_call(call_id(member, number, index), call) for index, call in enumerate(entry.calls)]
    plain = ({"type": "text", "text": entry.text}, *({"type": "call", "index": i} for i in range(len(calls))))
    for index, block in enumerate(entry.blocks or plain):
        key = f"{number}/{index}"
        match block:
            case {"type": "text", "text": str(words)} if words.strip():
                yield WordsItem(key, words.strip("\n"))
            case {"type": "thinking", "text": str(words)} if words.strip():
                yield ThoughtItem(key, words.strip("\n"))
            case {"type": "call", "index": int(place)} if 0 <= place < len(calls):
                yield calls[place]
    if member == LEAD and (notes := proposed_notes([entry])):
        what = "a note" if len(notes) == 1 else f"{len(notes)} notes"
        yield NoticeItem(
            f"{number}/notes",
            f"proposes {what} for later teams",
            "To keep it, type /memory keep",
        )
    if entry.stopped and not entry.unfinished:
        yield NoticeItem(f"{number}/end", "(interrupted)", minor=True)


def _call(key: str, call: entries.Call) -> CallItem:
    # The result has the real diff. Until then a simple one is enough.
    return CallItem(key, call.tool, call.arguments, diff=diff_of(call.tool, call.arguments, compares=False))


def _known(calls: Mapping[str, CallItem], id_: str) -> CallItem:
    # The entry with the call was read in an earlier session, or is lost.
    return calls.get(id_) or CallItem(id_, "an earlier call")


def _ended(call: CallItem, did: entries.Did) -> CallItem:
    # The title names the file, so the two lines with its name are left out.
    diff = did.shown.split("\n", 2)[-1] if did.ok and did.shown.startswith("--- ") else ""
    text = "" if diff else did.shown or did.text
    return replace(call, state=CallState.DONE if did.ok else CallState.FAILED, text=text, diff=diff, lines=did.lines)
