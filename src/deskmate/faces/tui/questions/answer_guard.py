"""Which keys were meant as an answer.

A person who is typing when another question appears must not answer it with the next letters.
"""

from collections.abc import Callable

# Nobody can read a new question in less time. A key pressed before was meant for something else.
UNSEEN_SECONDS = 0.3
# A person who pauses this long has stopped typing.
QUIET_SECONDS = 1.0


class KeyGuard:
    """What was pressed when. `clock`: monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._came = clock()
        self._held, self._pressed = False, self._came

    def renew(self) -> None:
        """Note that another question is in front, that one was just answered, or that the keys came here just now."""
        self._came = self._clock()

    @property
    def is_seen(self) -> bool:
        """Whether the question in front has been there long enough to be seen."""
        return self._clock() - self._came >= UNSEEN_SECONDS

    @property
    def holds(self) -> bool:
        """Whether keys are ignored because one was pressed too early."""
        return self._held and self._clock() - self._pressed < QUIET_SECONDS

    def press(self) -> bool:
        """Note that an answer was chosen. Return whether it counts."""
        counts = self.is_seen and not self.holds
        self._held, self._pressed = not counts, self._clock()
        return counts
