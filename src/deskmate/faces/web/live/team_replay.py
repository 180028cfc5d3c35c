"""The history of a team as steps: what changed, and when.

A step has the same form as a live change, so the page shows the past with the code that shows the present. Transcripts
are not in it, but with its records `entry_times` finds out when their entries were written.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import merge
from typing import Any, TypeAlias

import anyio
from anyio import to_thread

from deskmate.app.attach.team_on_disk import TeamOnDisk
from deskmate.core.log.names import BOARD, ROSTER, SPEND, USER, mail
from deskmate.core.log.records import Item, Record
from deskmate.core.team import board_fold, members, roster_fold, spending, tasks
from deskmate.core.team.messages import envelope_in
from deskmate.core.team.tasks import BoardState, TaskStatus
from deskmate.faces.common.items.mail_items import mail_items
from deskmate.faces.common.items.member_items import member_items
from deskmate.faces.common.items.task_items import TaskItem, task_item
from deskmate.faces.web.live.entry_times import EntryTimes
from deskmate.faces.web.shown_json import Shown, letter_json, member_json, summary_json, task_json
from deskmate.queries.member_view import Letter

Changes: TypeAlias = dict[str, dict[str, Any]]


class TeamPast:
    """The steps of a team so far. It grows with the records: what was read once is not read again.

    `id` differs each time, because a step that was read later may have another place.
    """

    def __init__(self) -> None:
        self.id, self.steps, self.times = secrets.token_hex(4), list[Shown](), EntryTimes()
        self._replay, self._upto, self._latest = _Replay(), dict[str, int](), 0.0
        self._lock = anyio.Lock()

    async def refresh(self, team: TeamOnDisk) -> None:
        """Take in what is new. Raises StoreError."""
        boxes = [mail(name) for name in (USER, *team.roster.members)]
        async with self._lock:
            news = {
                stream: await team.records(stream, self._upto.get(stream, 0))
                for stream in (ROSTER, BOARD, SPEND, *boxes)
            }
            # It takes seconds for a long history, and others wait for events meanwhile.
            await to_thread.run_sync(self.take, news)

    def take(self, news: Mapping[str, Sequence[Item]]) -> None:
        """Add the steps of new records of each stream."""
        parts = [_of_stream(stream, items) for stream, items in news.items()]
        for at, stream, item in merge(*parts, key=lambda one: one[0]):
            # What is found later comes later, whatever its clock says.
            self._latest = max(self._latest, at)
            self.times.note(item, at)
            if changes := self._replay.step(stream, item):
                self.steps.append({"at": self._latest, **changes})
        self._upto |= {stream: items[-1].number for stream, items in news.items() if items}


def _of_stream(stream: str, items: Sequence[Item]) -> list[tuple[float, str, Record]]:
    found, latest = [], 0.0
    for item in items:
        if isinstance(item, Record):
            at = item.body.get("timestamp" if stream.startswith("mail/") else "at")
            # A clock that was set back does not change the order of a stream.
            latest = max(latest, float(at)) if isinstance(at, int | float) else latest
            found.append((latest, stream, item))
    return found


class _Replay:
    """Everything up to a record, and what the next one changes.

    A state shares what did not change with the one before it, so a step costs as much as it changes.
    """

    def __init__(self) -> None:
        self._roster, self._board, self._spending = members.EMPTY, tasks.EMPTY, spending.EMPTY
        self._told: dict[str, TaskItem] = {}
        self._summarised: Shown = {}
        self._recipients: dict[str, tuple[str, ...]] = {}

    def step(self, stream: str, item: Record) -> Changes:
        """Take in a record, and return what it changes."""
        match stream:
            case "roster":
                before, self._roster = self._roster, roster_fold.fold(self._roster, [item])
                changed = [name for name, one in self._roster.members.items() if before.members.get(name) is not one]
                return {**self._members(changed), **self._summary()}
            case "board":
                board, self._board = self._board, board_fold.fold(self._board, [item])
                moved = dict(board.working.items() ^ self._board.working.items())
                return {**self._members(moved), **self._changed_tasks(board), **self._summary()}
            case "spend":
                self._spending = spending.fold(self._spending, [item])
                spent = _spent(item)
                return {**self._members([spent["call"]["member"]] if spent else []), **self._summary(), **spent}
            case _:
                return self._letter(item)

    def _summary(self) -> Changes:
        summary = summary_json(self._roster, self._board, self._spending.team)
        if summary == self._summarised:
            return {}
        self._summarised = summary
        return {"team": {"": summary}}

    def _members(self, names: Iterable[str]) -> Changes:
        known = [self._roster.members[name] for name in names if name in self._roster.members]
        changed = {item.name: member_json(item) for item in member_items(known, self._board, self._spending)}
        return {"members": changed} if changed else {}

    def _changed_tasks(self, before: BoardState) -> Changes:
        board, found = self._board, dict[str, Any]()
        changed = {id_ for id_, task in board.tasks.items() if before.tasks.get(id_) is not task}
        for task in board.tasks.values():
            meets = task.status is TaskStatus.IN_PROGRESS and board.overlaps != before.overlaps
            if not (meets or task.id in changed or not changed.isdisjoint(task.blocked_by)):
                continue
            key = str(task.id)
            if task.status is TaskStatus.DELETED:
                if self._told.pop(key, None):
                    found[key] = None
                continue
            item = task_item(board, task)
            if self._told.get(key) != item:
                self._told[key] = item
                found[key] = task_json(item)
        return {"tasks": found} if found else {}

    def _letter(self, item: Record) -> Changes:
        envelope = envelope_in(item)
        if envelope is None:
            return {}
        [letter] = mail_items([Letter(item.number, envelope)])
        # The copies of a broadcast have the same key.
        to = self._recipients[letter.key] = (*self._recipients.get(letter.key, ()), *letter.recipients)
        return {"letters": {letter.key: letter_json(replace(letter, recipients=to))}}


def _spent(item: Record) -> Changes:
    """Return one model call: who made it, with which model, and what it cost."""
    spent = spending.read_spent(item.body)
    if not isinstance(spent, spending.Spent):
        return {}
    # A subagent counts towards the member that started it.
    tokens = spent.input + spent.cache_read + spent.cache_write + spent.output
    return {
        "call": {"member": spent.member.partition(":")[0], "model": spent.model, "cost": spent.cost, "tokens": tokens}
    }
