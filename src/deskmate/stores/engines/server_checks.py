"""What is checked of every kind of server. These are rules: they are told what was measured."""

from collections.abc import Sequence

from deskmate.core.checks import Check

# Each step of an agent waits for a few appends, and its model answers after seconds.
SLOW_SECONDS = 0.1
# Records of several machines are put in order by their times for people, and schedules are kept by the clock.
CLOCK_SECONDS = 2.0
_ALMOST_ALL = 0.8
APPENDS = 5


def append_check(seconds: Sequence[float]) -> Check:
    """Return how long appends took that wait until the server has them on disk."""
    middle, longest = sorted(seconds)[len(seconds) // 2], max(seconds)
    words = f"{middle * 1000:.1f} ms until a record is on disk, {longest * 1000:.1f} ms at most, of {len(seconds)}"
    if middle < SLOW_SECONDS:
        return Check("append", "ok", words)
    return Check("append", "warn", words, "Use a server that is nearer, or has a faster disk: each step waits for it.")


def clock_check(server: str, ahead: float, rounding: float) -> Check:
    """Return how the clocks differ. `ahead`: seconds of the server's clock, known up to `rounding`."""
    if abs(ahead) <= rounding:
        return Check("clock", "ok", f"that of {server} is the same, as far as can be seen ({rounding:.3f} s)")
    words = f"that of {server} is {abs(ahead):.3f} s {'ahead' if ahead > 0 else 'behind'}"
    if abs(ahead) - rounding < CLOCK_SECONDS:
        return Check("clock", "ok", words)
    return Check("clock", "warn", words, "Synchronise both clocks, for example with chrony or systemd-timesyncd.")


def connections_check(used: int, allowed: int, where: str = "") -> Check:
    """Return how many connections are used, and how many are allowed."""
    words = f"{used:,} of {allowed:,}{where}"
    if used < _ALMOST_ALL * allowed:
        return Check("connections", "ok", words)
    return Check("connections", "warn", words, "Raise max_connections, or end processes: each uses up to five.")


def storage_check(used: int, allowed: int, where: str) -> Check:
    """Return how many bytes are stored, and how many may be."""
    words = f"{size(used)} of {size(allowed)}{where}"
    if used < _ALMOST_ALL * allowed:
        return Check("storage", "ok", words)
    return Check("storage", "warn", words, "Free some space, or raise max_file_store: a full server stops every agent.")


def size(count: int) -> str:
    """Return a number of bytes with a unit."""
    for unit, step in (("GB", 10**9), ("MB", 10**6)):
        if count >= step:
            return f"{count / step:,.1f} {unit}"
    return f"{count / 1000:,.1f} kB"
