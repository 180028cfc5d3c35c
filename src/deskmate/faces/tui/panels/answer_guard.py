"""Which keys were meant as an answer.

A person who is typing when another question appears must not answer it with the next letters.
"""

from collections.abc import Callable

# Nobody can read a new question in less time. A key pressed before was meant for something else.
UNSEEN_SECONDS = 0.3
# A person who pauses this long has stopped typing.
QUIET_SECONDS = 1.0


class KeyGuard:
    """What was pressed when. `armed`: what must be pressed again to be done. `clock`: monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._came = clock()
        self._held, self._pressed = False, self._came
        self._armed_at = self._came
        self.armed = ""

    def renew(self) -> None:
        """Note that another question is in front, or that one was just answered."""
        self._came, self.armed = self._clock(), ""

    def hold(self) -> None:
        """Ignore keys until none was pressed for a while."""
        self._held, self._pressed, self.armed = True, self._clock(), ""

    @property
    def is_seen(self) -> bool:
        """Whether the question in front has been there long enough to be seen."""
        return self._clock() - self._came >= UNSEEN_SECONDS

    @property
    def holds(self) -> bool:
        """Whether keys are ignored because one was pressed too early."""
        return self._held and self._clock() - self._pressed < QUIET_SECONDS

    def press(self, deed: str = "") -> bool:
        """Note a key press and its purpose. Return whether it counts."""
        if not self.is_seen or self.holds:
            self.hold()
            return False
        self._held = False
        if deed != self.armed:
            self.armed = ""
        return True

    def is_sure(self, deed: str) -> bool:
        """Return whether this was requested a second time. A bouncing or repeating key counts once."""
        now = self._clock()
        again = deed == self.armed and now - self._armed_at >= UNSEEN_SECONDS
        self.armed, self._armed_at = deed, now
        return again
