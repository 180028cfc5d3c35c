"""Several conversations side by side."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Grid
from textual.message import Message

from deskmate.app import TeamEvent
from deskmate.app.sessions.team_session import TeamSession
from deskmate.core.team.members import Member
from deskmate.errors import DeskmateError
from deskmate.faces.tui.member_activity import Activity
from deskmate.faces.tui.panels.conversation_panel import Conversation
from deskmate.faces.tui.panels.members_panel import MemberChosen
from deskmate.faces.tui.watched_member import Watching

MOST_TILES = 6


def tiled_names(members: Sequence[Member], chosen: str) -> list[str]:
    """Return whose conversations are shown, in listing order: the chosen one, then those that are busy."""
    here = [member for member in members if member.here or member.name == chosen]
    first = sorted(here, key=lambda member: (member.name != chosen, not member.busy))[:MOST_TILES]
    return [member.name for member in here if member in first]


class Tile(Conversation, can_focus=False):
    """One conversation of several. A click chooses its member."""

    class Unreadable(Message):
        """Its transcript cannot be read."""

        def __init__(self, error: DeskmateError) -> None:
            super().__init__()
            self.error = error

    def __init__(self, watching: Watching) -> None:
        super().__init__()
        self.watching = watching
        watching.choose("")

    def watch_member(self, name: str) -> None:
        """Show another member, or with "" nobody."""
        if name == self.watching.chosen:
            return
        self.watching.choose(name)
        self.begin()
        self.display = bool(name)
        self.workers.cancel_node(self)
        if name:
            self.run_worker(self._follow(), group="follow", exclusive=True)

    async def _follow(self) -> None:
        try:
            await self.watching.follow()
        except DeskmateError as error:
            self.post_message(self.Unreadable(error))

    def on_click(self, event: events.Click) -> None:
        """Choose the member."""
        event.prevent_default()
        self.post_message(MemberChosen(self.watching.chosen))


class ConversationGrid(Grid):
    """Two to six conversations. Closed, it costs nothing. `wake`: called when there is something to draw.

    `beside`: what is watched while it is closed.
    """

    def __init__(
        self,
        session: TeamSession,
        activity: Activity,
        wake: Callable[[], None],
        beside: Watching,
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._session = session
        self._tiles = [Tile(Watching(session, activity, wake, beside)) for _ in range(MOST_TILES)]

    def compose(self) -> ComposeResult:
        """Yield the tiles."""
        yield from self._tiles

    @property
    def _open(self) -> Iterator[Tile]:
        return (tile for tile in self._tiles if tile.watching.chosen)

    def hear(self, event: TeamEvent) -> None:
        """Take in an event. It neither waits nor raises."""
        for tile in self._open:
            tile.watching.hear(event)

    def show_members(self, names: Sequence[str], chosen: str) -> None:
        """Show these members, and mark the one that is written to. Without names, close."""
        for tile, name in zip(self._tiles, (*names, *[""] * MOST_TILES), strict=False):
            tile.watch_member(name)
            tile.set_class(name == chosen, "chosen")
        rows = 1 if len(names) < 3 and self.size.width >= self.size.height else 2
        if names:
            self.styles.grid_size_columns = -(-len(names) // rows)
            self.styles.grid_size_rows = rows

    async def draw(self, colours: Mapping[str, str]) -> None:
        """Show what is new, one conversation at a time, so that a key that is pressed meanwhile is not kept waiting."""
        for tile in list(self._open):
            tile.watching.keep_up()
            tile.show(tile.watching.chosen, tile.watching.items, colours)
            await asyncio.sleep(0)
