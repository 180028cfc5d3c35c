"""ChatHarness: a real session against a scripted provider, and what a user types into it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from deskmate.app import Feed
from deskmate.app.session import Session, attended
from deskmate.faces.common.chat.chat_lines import Feedback, Talk
from deskmate.faces.common.items.mail_items import text_of
from deskmate.faces.common.text_tables import Sheet
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.team_scripts import hears, member_of, step
from tests.scenarios.app_harness import SOON, AppHarness

LS = {"command": "ls"}
ALICE = {"name": "alice", "role": "help", "prompt": "Wait for words."}


def play(asked: Asked) -> Say:
    """Play lead and teammate: do as one is told last, else say what one was told."""
    if asked.results:
        return Say("Done.")
    if hears(asked, "hire"):
        return Say("I hire.", [Use("Task", ALICE)])
    if hears(asked, "ls"):
        return Say("I look.", [Use("bash", LS)])
    return Say(f"{member_of(asked)} was told something, and has spoken {step(asked)} times.")


@dataclass(frozen=True)
class ChatHarness:
    """Types in a session, and reads what comes of it."""

    session: Session
    talk: Talk

    async def types(self, line: str) -> list[str]:
        """Return the lines that are shown, as they are in a pipe."""
        return texts(await self.talk.carry_out(line))

    async def until(self, holds: Callable[[Session], bool]) -> None:
        """Wait until something holds of the session, bounded."""
        news = anyio.Event()

        def look() -> None:
            nonlocal news
            news.set()
            news = anyio.Event()

        self.session.listen(look)
        with anyio.fail_after(SOON):
            while not holds(self.session):
                await news.wait()

    async def mail(self, name: str) -> list[tuple[str, str, str]]:
        """Return who wrote what kind of words to a member."""
        await self.session.look()
        mail = [letter.envelope for letter in self.session.letters if letter.envelope.recipient == name]
        return [(one.sender, one.message.type, text_of(one.message)) for one in mail]


def texts(feedback: Feedback) -> list[str]:
    return [Sheet(None, colour=False).painted(line) for line in feedback.lines]


@asynccontextmanager
async def chat(
    harness: AppHarness,
    script: Callable[[Asked], Say] = play,
    cells: int | None = None,
    goal: str | None = None,
    **settings: object,
) -> AsyncIterator[ChatHarness]:
    """Open a session in which everybody asks before it acts."""
    async with FakeProvider(script) as provider:
        wanted = harness.wanted(provider, "anthropic", goal, permission_mode="default", **settings)
        async with attended(wanted, Feed()) as session:
            yield ChatHarness(session, Talk(session, lambda: cells))
