"""PanelHarness: one panel with a screen for itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from textual.pilot import Pilot

from deskmate.app.session import Session
from deskmate.faces.tui.panels.board_panel import BoardPanel
from deskmate.faces.tui.panels.mail_panel import PostPanel
from tests.faces.tui.idle_sessions import NOW, Deed, PanelApp, made, session_at
from tests.faces.tui.snapshots import text


@dataclass
class PanelHarness:
    """A panel with a screen for itself, and the session that it shows something of."""

    panel: BoardPanel | PostPanel
    session: Session
    app: PanelApp
    pilot: Pilot[None]

    @property
    def lines(self) -> list[str]:
        """What can be read."""
        return text(self.app)

    async def press(self, *keys: str) -> None:
        """Press keys, which go to the panel."""
        self.panel.focus()
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def look(self, now: float = NOW) -> None:
        """Show what there is now."""
        await self.session.look()
        self.panel.show(self.session, now)
        await self.pilot.pause()


@asynccontextmanager
async def show_panel(
    panel: BoardPanel | PostPanel, folder: Path, deed: Deed, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[PanelHarness]:
    """Show in a panel a team to which something was done, on a screen of a size."""
    app = PanelApp(panel)
    async with session_at(await made(folder, deed)) as session, app.run_test(size=size) as pilot:
        shown = PanelHarness(panel, session, app, pilot)
        await shown.look()
        yield shown
