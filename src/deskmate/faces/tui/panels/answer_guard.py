"""Which keys were meant as an answer.

Who is typing while another question comes to the front must not answer it by the next letters.
"""

from collections.abc import Callable

# Nobody has read in less what just came to the front: a key pressed by then was meant for something else.
UNSEEN_SECONDS = 0.3
# Who pauses for so long has stopped typing.
QUIET_SECONDS = 1.0


class KeyGuard:
    """What was pressed when. `armed`: what must be asked for once more to be done. `clock`: seconds that only grow."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._came = clock()
        self._held, self._pressed = False, self._came
        self._armed_at = self._came
        self.armed = ""

    def renew(self) -> None:
        """Take in that something else is in front, or was just answered."""
        self._came, self.armed = self._clock(), ""

    def hold(self) -> None:
        """Let no key count until none was pressed for a while."""
        self._held, self._pressed, self.armed = True, self._clock(), ""

    @property
    def is_seen(self) -> bool:
        """Whether what is in front is there long enough to be seen."""
        return self._clock() - self._came >= UNSEEN_SECONDS

    @property
    def holds(self) -> bool:
        """Whether no key counts, since one was pressed too early."""
        return self._held and self._clock() - self._pressed < QUIET_SECONDS

    def press(self, deed: str = "") -> bool:
        """Take in that a key was pressed, and for what; tell whether it counts."""
        if not self.is_seen or self.holds:
            self.hold()
            return False
        self._held = False
        if deed != self.armed:
            self.armed = ""
        return True

    def is_sure(self, deed: str) -> bool:
        """Tell whether a deed was asked for a second time. A key that bounces or repeats asks once."""
        now = self._clock()
        again = deed == self.armed and now - self._armed_at >= UNSEEN_SECONDS
        self.armed, self._armed_at = deed, now
        return again
