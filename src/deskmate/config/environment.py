"""The environment of this process. Nothing else reads it, so every other value comes from an argument.

`DESKMATE_` and key variables are settings: `load_settings` lists them.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path


def environment() -> MutableMapping[str, str]:
    """Return the variables of this process. Child processes get what is written here."""
    return os.environ


def wants_colour(environ: Mapping[str, str]) -> bool:
    """Return whether the user allows colours: see no-color.org."""
    return not environ.get("NO_COLOR")


def can_draw(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal supports more than new lines."""
    return environ.get("TERM", "") not in ("", "dumb")


def names_collector(environ: Mapping[str, str]) -> bool:
    """Return whether the user names an OpenTelemetry collector. `telemetry_choice` says what goes there."""
    return any(environ.get(f"OTEL_EXPORTER_OTLP_{signal}ENDPOINT") for signal in ("", "TRACES_", "METRICS_"))


def program_name() -> str:
    """Return how to call this program: by its name if the shell finds it, else by its path."""
    beside = Path(sys.executable).with_name("deskmate")
    return "deskmate" if shutil.which("deskmate") or not beside.exists() else shlex.quote(str(beside))


def shell_name(environ: Mapping[str, str]) -> str:
    """Return the name of the user's shell, empty if it is not known."""
    return Path(environ.get("SHELL", "")).name
