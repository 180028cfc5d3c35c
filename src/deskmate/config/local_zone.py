"""The time zone of this machine."""

import os

_ZONES = "zoneinfo/"


def local_zone() -> str:
    """Return the name of the time zone of this machine, UTC if it has no name."""
    if named := os.environ.get("TZ", "").removeprefix(":"):
        return named
    try:
        _, found, name = os.readlink("/etc/localtime").rpartition(_ZONES)
    except OSError:
        return "UTC"
    return name if found else "UTC"
