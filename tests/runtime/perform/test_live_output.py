"""What a command prints is told while it runs, without secrets, and only if there is more."""

import anyio
import pytest

from deskmate.core.policy.redaction import Redaction
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.runtime.events import Feed, Printed, TeamEvent
from deskmate.runtime.perform.live_words import tell_output

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("secrets")]
# In two parts: as one, it would be found in this file.
KNOWN = Redaction({"A_TOKEN": "Zk3vQ9tRw7" + "Lx2MbN"})


class Scene:
    """A command, and what is told of it."""

    def __init__(self) -> None:
        self.text = ""
        self.told: list[TeamEvent] = []
        self._news = anyio.Event()
        self.feed = Feed()
        self.feed.listen(self._hear)

    def _hear(self, event: TeamEvent) -> None:
        self.told.append(event)
        self._news.set()

    async def prints(self, text: str) -> None:
        """Print, and wait until it is told."""
        self._news = anyio.Event()
        self.text += text
        with anyio.fail_after(10):
            await self._news.wait()


async def test_what_is_printed_is_told_when_there_is_more_and_holds_no_secret() -> None:
    scene = Scene()
    async with anyio.create_task_group() as tasks:
        printed = LiveOutput(lambda: (scene.text, None))
        tasks.start_soon(tell_output, "bob", "bob:2.0", printed, scene.feed, KNOWN)
        await scene.prints("one\n")
        await scene.prints("Zk3vQ9tRw7" + "Lx2MbN\n")
        tasks.cancel_scope.cancel()
    assert scene.told == [
        Printed("bob", "bob:2.0", "one\n"),
        Printed("bob", "bob:2.0", "one\n[redacted: A_TOKEN]\n"),
    ]


async def test_of_much_that_is_printed_the_end_is_told() -> None:
    scene = Scene()
    async with anyio.create_task_group() as tasks:
        printed = LiveOutput(lambda: (scene.text, None))
        tasks.start_soon(tell_output, "bob", "bob:2.0", printed, scene.feed, KNOWN)
        await scene.prints("x" * 5000 + "end")
        tasks.cancel_scope.cancel()
    (event,) = scene.told
    assert isinstance(event, Printed)
    assert (len(event.text), event.text[-4:]) == (2000, "xend")
