"""One team, read and folded once for all pages that show it.

Members, tasks, letters and questions have keys. A page asks for what changed since the version that it has. Nothing
runs in the background: one of the pages waits for the files, and the others wait for it.
"""

from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

import anyio

from deskmate.app import Settings
from deskmate.app.attach.team_on_disk import TeamOnDisk, watched
from deskmate.core.team.status import Working
from deskmate.faces.common.items.entry_items import EntryReader
from deskmate.faces.common.items.mail_items import mail_items
from deskmate.faces.common.items.question_items import question_item
from deskmate.faces.common.items.task_items import task_items
from deskmate.faces.common.items.transcript_items import CallItem, CallState
from deskmate.faces.web.shown_json import letter_json, members_json, question_json, summary_json, task_json
from deskmate.queries.stream_reader import telling

T = TypeVar("T")

# Nothing is written if the process that runs a team is killed, so its seat is checked this often.
_SEAT_SECONDS = 3.0
# Records that are written together are told together.
_BREATH_SECONDS = 0.03
# A page that missed more keys that are gone is told everything.
_GONE_KEPT = 2000


class _Kept(Generic[T]):
    """The JSON of items, made again only if an item has changed. Most never do."""

    def __init__(self, make: Callable[[T], dict[str, Any]]) -> None:
        self._make = make
        self._made: dict[str, tuple[T, dict[str, Any]]] = {}

    def all(self, items: dict[str, T]) -> dict[str, dict[str, Any]]:
        """Return the JSON of items by key, and forget all others."""
        made = {}
        for key, item in items.items():
            known = self._made.get(key)
            made[key] = known if known is not None and known[0] == item else (item, self._make(item))
        self._made = made
        return {key: shown for key, (_, shown) in made.items()}


class _Versioned:
    """Values by part and key, and since which version each is as it is."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[str, tuple[int, dict[str, Any]]]] = {}
        self._gone: deque[tuple[int, str, str]] = deque()
        self._forgotten = 0

    def put(self, version: int, part: str, values: dict[str, dict[str, Any]]) -> None:
        """Set all values of a part."""
        known = self._parts.get(part, {})
        self._parts[part] = {
            key: known[key] if key in known and (known[key][1] is value or known[key][1] == value) else (version, value)
            for key, value in values.items()
        }
        self._gone.extend((version, part, key) for key in known if key not in values)
        while len(self._gone) > _GONE_KEPT:
            self._forgotten = self._gone.popleft()[0]

    def since(self, version: int) -> dict[str, Any]:
        """Return what changed after a version, with `whole` if that is everything there is."""
        if version < self._forgotten:
            version = 0
        changes: dict[str, Any] = {} if version else {"whole": True}
        for part, values in self._parts.items():
            changed: dict[str, Any] = {key: value for key, (number, value) in values.items() if number > version}
            if version:
                gone = (key for number, name, key in self._gone if number > version and name == part)
                changed |= dict.fromkeys(key for key in gone if key not in values)
            if changed:
                changes[part] = changed
        return changes


class _Doing:
    """What a member does now: the call that has been running longest."""

    def __init__(self, name: str) -> None:
        self.name, self.last = name, 0
        self._reader = EntryReader()
        self._running: dict[str, str] = {}

    async def read(self, team: TeamOnDisk) -> None:
        """Take in what is new in the transcript."""
        for number, entry in await team.entries(self.name, self.last):
            for item in self._reader.read(self.name, number, entry):
                if isinstance(item, CallItem) and item.state is CallState.RUNNING:
                    self._running[item.key] = item.title
                elif isinstance(item, CallItem) and item.is_over:
                    self._running.pop(item.key, None)
            self.last = number

    @property
    def words(self) -> str:
        """The call; empty if none runs."""
        return next(iter(self._running.values()), "")


class SharedTeam:
    """A team as of its last look. `version` grows with each look."""

    def __init__(self, team: TeamOnDisk) -> None:
        self.disk, self.version = team, 0
        self._lock = anyio.Lock()
        self._values = _Versioned()
        self._doing: dict[str, _Doing] = {}
        # Up to which entry each transcript was read: by a page, and here.
        self._watched: Counter[str] = Counter()
        self._read: dict[str, int] = {}
        self._tasks, self._letters = _Kept(task_json), _Kept(letter_json)
        # From which states each part was made. States are values: the same object says the same.
        self._made_from: dict[str, tuple[object, ...]] = {}

    def since(self, version: int) -> dict[str, Any]:
        """Return what changed after a version; after 0, everything."""
        return self._values.since(version)

    def note_read(self, name: str, number: int) -> None:
        """Remember that a page has a transcript up to an entry, so that later ones wake it."""
        if name in self.disk.roster.members:
            self._watched[name] = max(self._watched[name], number)

    async def fold(self) -> None:
        """Take in what the last look has found."""
        team, self.version = self.disk, self.version + 1
        summary = {**summary_json(team.roster, team.board, team.spending.team), "running": team.running}
        self._values.put(self.version, "team", {"": summary})
        doing = await self._all_doing()
        if self._is_new("members", team.roster, team.board, team.spending, doing):
            members = members_json(team.roster, team.board, team.spending)
            for name, one in members.items():
                one["doing"] = doing.get(name, "")
            self._values.put(self.version, "members", members)
        if self._is_new("tasks", team.board):
            tasks = {str(item.task.id): item for item in task_items(team.board)}
            self._values.put(self.version, "tasks", self._tasks.all(tasks))
        if self._is_new("letters", team.mail_positions):
            letters = {item.key: item for item in mail_items(team.letters)}
            self._values.put(self.version, "letters", self._letters.all(letters))
        self._values.put(
            self.version, "questions", {one.id: question_json(question_item(one)) for one in team.questions}
        )

    def _is_new(self, part: str, *states: object) -> bool:
        before, self._made_from[part] = self._made_from.get(part), states
        return before is None or any(
            one is not other and (not isinstance(one, dict) or one != other)
            for one, other in zip(states, before, strict=True)
        )

    async def _all_doing(self) -> dict[str, str]:
        found = {}
        for name, member in self.disk.roster.members.items():
            if isinstance(member.status, Working):
                one = self._doing.setdefault(name, _Doing(name))
                await one.read(self.disk)
                found[name] = one.words
        self._read = {name: self._doing[name].last for name in found}
        return found

    async def wait(self, version: int) -> None:
        """Return once there is a version after this one. Raises StoreError."""
        async with self._lock:
            if self.version > version:
                return
            with anyio.move_on_after(_SEAT_SECONDS):
                await self.disk.changed({**self._watched, **self._read})
                await anyio.sleep(_BREATH_SECONDS)
            # A page that closes now must not leave half a look behind: others continue with it.
            with anyio.CancelScope(shield=True):
                await self.disk.look()
                await self.fold()


class SharedTeams:
    """The teams that pages show now. A team is open as long as a page shows it."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder, self._settings = folder, settings
        self._opened: dict[str, _Opened] = {}

    @asynccontextmanager
    async def opened(self, name: str) -> AsyncIterator[SharedTeam]:
        """Open a team, or share the one that is open. Raises Refused or StoreError."""
        one = self._opened.setdefault(name, _Opened())
        one.pages += 1
        try:
            async with one.lock:
                if one.team is None:
                    disk = await one.stack.enter_async_context(watched(self._folder, name, self._settings))
                    team = SharedTeam(disk)
                    await team.fold()
                    one.team = team
            # The page that opened it may be gone by now.
            with telling(self._folder):
                yield one.team
        finally:
            one.pages -= 1
            if not one.pages:
                del self._opened[name]
                with anyio.CancelScope(shield=True):
                    await one.stack.aclose()


class _Opened:
    """A team, how many pages show it, and how it is closed."""

    def __init__(self) -> None:
        self.pages, self.lock, self.stack = 0, anyio.Lock(), AsyncExitStack()
        self.team: SharedTeam | None = None
