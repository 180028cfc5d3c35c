"""The clock of the machine."""

import time

import anyio


class SystemClock:
    """The clock of the system."""

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()

    def timestamp(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        await anyio.sleep(seconds)

    def move_on_after(self, seconds: float) -> anyio.CancelScope:
        """Return a scope that is cancelled after that many seconds."""
        return anyio.move_on_after(seconds)
