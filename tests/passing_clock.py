"""PassingClock: every pause between two tries passes at once."""

import anyio.lowlevel

from deskmate.testing import FakeClock

# Longer than any pause between two tries, shorter than the patience with a provider that says nothing.
LONG_SECONDS = 100.0


class PassingClock(FakeClock):
    """A clock on which every pause passes at once and is noted; only silence lasts, until it is let pass."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        """Note the pause and let it pass."""
        self.pauses.append(seconds)
        self.advance(seconds)
        await anyio.lowlevel.checkpoint()

    async def let_silence_pass(self) -> None:
        """Return once somebody has had enough of a silence and pauses, all that came before it having been heard."""
        before = len(self.pauses)
        while True:
            for _ in range(50):
                await anyio.lowlevel.checkpoint()
            # Looked at last: past that pause somebody else may be waiting, whose silence is not to be cut short.
            if len(self.pauses) > before:
                return
            self.advance(10 * LONG_SECONDS)
