"""ScreenHarness: the terminal UI on a screen that nobody sees, with a real session behind it.

`show_team` shows a team on disk in which nobody works, `show_live_team` one that works. `sees` waits for words.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from textual.pilot import Pilot

from deskmate.app import Feed, RunRequest, load
from deskmate.app.session import Session, attended
from deskmate.faces.tui.questions.question_panel import QuestionsPanel
from deskmate.faces.tui.screen_app import DeskmateApp
from deskmate.testing.fake_provider import FakeProvider
from tests.faces.tui.idle_sessions import NOW, session_at
from tests.faces.tui.snapshots import SOON, text


class ScreenHarness:
    """A screen, what is done at it, and what is on it."""

    def __init__(self, app: DeskmateApp, pilot: Pilot[None], session: Session, feed: Feed) -> None:
        self.app, self.pilot, self.session, self.feed = app, pilot, session, feed

    @property
    def lines(self) -> list[str]:
        """What can be read."""
        return text(self.app)

    async def press(self, *keys: str) -> None:
        """Press keys."""
        await self.pilot.press(*keys)

    async def type(self, words: str) -> None:
        """Type words, and Enter."""
        await self.pilot.press(*("space" if one == " " else one for one in words), "enter")

    async def until(self, fact: Callable[[], bool]) -> None:
        """Wait until something is so, bounded."""
        with anyio.move_on_after(SOON):
            while not fact():
                await self.pilot.pause(0.02)
            return
        raise AssertionError("it never came about; the screen:\n" + "\n".join(self.lines))

    async def sees(self, *words: str) -> None:
        """Wait until all these words are on the screen, and it has come to rest."""
        await self.until(lambda: all(any(one in line for line in self.lines) for one in words))
        before: list[str] = []
        while before != self.lines:
            before = self.lines
            await self.pilot.pause(0.15)

    async def asked(self, *words: str) -> None:
        """Wait until a question with these words has the keys, and takes an answer."""
        await self.until(lambda: self.app.screen.query_one(QuestionsPanel).is_ready)
        await self.sees(*words)

    async def sees_no(self, words: str) -> None:
        """Wait until words are on the screen no longer."""
        await self.until(lambda: not any(words in line for line in self.lines))


@asynccontextmanager
async def show_team(folder: Path, size: tuple[int, int], **options: object) -> AsyncIterator[ScreenHarness]:
    """Show a team that nobody plays, the clock standing still."""
    feed = Feed()
    async with session_at(folder) as session, on_screen(session, feed, size, now=lambda: NOW, **options) as screen:
        yield screen


@asynccontextmanager
async def on_screen(
    session: Session, feed: Feed, size: tuple[int, int], **options: object
) -> AsyncIterator[ScreenHarness]:
    """Show a session."""
    app = DeskmateApp(session, feed, **options)  # type: ignore[arg-type]
    async with app.run_test(size=size, notifications=True) as pilot:
        screen = ScreenHarness(app, pilot, session, feed)
        await screen.until(lambda: any("to lead" in line for line in screen.lines))
        yield screen


@asynccontextmanager
async def show_live_team(
    folder: Path,
    provider: FakeProvider,
    size: tuple[int, int],
    words: str | None = None,
    *,
    permission_mode: str = "default",
    **options: object,
) -> AsyncIterator[ScreenHarness]:
    """Show a team that is played, its models at a provider."""
    environ = {
        "HOME": str(folder),
        "DESKMATE_MODEL": "anthropic:claude-sonnet-4-5",
        "ANTHROPIC_API_KEY": "sk-test",
        "ANTHROPIC_BASE_URL": provider.url,
    }
    feed = Feed()
    wanted = RunRequest(folder, words, None, load(environ, {"sandbox": False, "permission_mode": permission_mode}))
    async with attended(wanted, feed) as session, on_screen(session, feed, size, **options) as screen:
        yield screen
