"""Time limits, in seconds or in the milliseconds that models send."""

from collections.abc import Callable

MOST_SECONDS = 600


def read_seconds(least: int) -> Callable[[object], object]:
    """Return a validator that reads seconds, at least `least`. A number above the cap is taken as milliseconds."""

    def read(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        if value > MOST_SECONDS and least <= value / 1000 <= MOST_SECONDS and value >= 1000:
            return value / 1000
        if not least <= value <= MOST_SECONDS:
            raise ValueError(f"it is in seconds, from {least} to {MOST_SECONDS}")
        return value

    return read
