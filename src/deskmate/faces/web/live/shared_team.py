"""One team, read and folded once for all pages that show it.

Members, tasks, letters and questions have keys. A page asks for what changed since the version that it has. Nothing
runs in the background: one of the pages waits for the files, and the others wait for it.
"""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from deskmate.app import Settings
from deskmate.app.attach.team_on_disk import TeamOnDisk, watched
from deskmate.faces.common.items.mail_items import key_of, mail_items
from deskmate.faces.common.items.question_items import question_item
from deskmate.faces.common.items.task_items import task_items
from deskmate.faces.web.live.member_doing import TeamContexts, TeamDoing
from deskmate.faces.web.live.team_replay import TeamPast
from deskmate.faces.web.live.unread_mail import UnreadMail
from deskmate.faces.web.live.versioned import KeptJson, Versioned
from deskmate.faces.web.shown_json import letter_json, members_json, question_json, summary_json, task_json
from deskmate.queries.stream_reader import telling

# Nothing is written if the process that runs a team is killed, so its seat is checked this often.
_SEAT_SECONDS = 3.0
# After this time pages are told again, so records that are written together are told together.
_BREATH_SECONDS = 0.05


class SharedTeam:
    """A team as of its last look. `version` grows with each look."""

    def __init__(self, team: TeamOnDisk, settings: Settings) -> None:
        self.disk, self.version = team, 0
        self._lock = anyio.Lock()
        self._values = Versioned()
        self._doing, self._contexts, self._unread = TeamDoing(), TeamContexts(settings), UnreadMail()
        # Up to which entry pages have read each transcript.
        self._watched: Counter[str] = Counter()
        self._told_at = 0.0
        self.past = TeamPast()
        self._tasks, self._letters = KeptJson(task_json), KeptJson(letter_json)
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
        await self._doing.refresh(team)
        await self._contexts.refresh(team)
        await self._unread.refresh(team)
        if self._is_new("members", team.roster, team.board, team.spending, self._doing.words, self._unread.read_upto):
            members = members_json(team.roster, team.board, team.spending)
            for name, one in members.items():
                one |= {"doing": self._doing.words.get(name, ""), "context": self._contexts.shares.get(name)}
                one["unread"] = self._unread.count(name)
            self._values.put(self.version, "members", members)
        if self._is_new("tasks", team.board):
            tasks = {str(item.task.id): item for item in task_items(team.board)}
            self._values.put(self.version, "tasks", self._tasks.all(tasks))
        if self._is_new("letters", team.mail_positions, self._unread.read_upto):
            letters = self._letters.all({item.key: item for item in mail_items(team.letters)})
            for letter in team.letters:
                if self._unread.waits(letter.envelope):
                    key, reader = key_of(letter), letter.envelope.recipient
                    letters[key] = {**letters[key], "unread": [*letters[key]["unread"], reader]}
            self._values.put(self.version, "letters", letters)
        self._values.put(
            self.version, "questions", {one.id: question_json(question_item(one)) for one in team.questions}
        )

    def _is_new(self, part: str, *states: object) -> bool:
        before, self._made_from[part] = self._made_from.get(part), states
        return before is None or any(
            one is not other and (not isinstance(one, dict) or one != other)
            for one, other in zip(states, before, strict=True)
        )

    async def wait(self, version: int) -> None:
        """Return once there is a version after this one. Raises StoreError."""
        async with self._lock:
            if self.version > version:
                return
            with anyio.move_on_after(_SEAT_SECONDS):
                await self.disk.changed({**self._watched, **self._doing.read_upto, **self._unread.read_upto})
                await anyio.sleep_until(self._told_at + _BREATH_SECONDS)
            # A page that closes now must not leave half a look behind: others continue with it.
            with anyio.CancelScope(shield=True):
                await self.disk.look()
                await self.fold()
                self._told_at = anyio.current_time()


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
                    team = SharedTeam(disk, self._settings)
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
