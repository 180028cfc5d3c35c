"""Confining: the sandbox that commands of a run get, by what the user set and what the machine can do.

`furnishing` gives it to every workspace, the roster records its level; `workspaces.levels` below finds out.
"""

from collections.abc import Iterable
from pathlib import Path

from deskmate.config import Settings
from deskmate.core.policy import Mode
from deskmate.errors import BadSettings
from deskmate.workspaces.levels import find_sandbox
from deskmate.workspaces.sandbox import Level, Sandbox

# What lets commands run that nobody looked at.
_UNASKED = (Mode.DONT_ASK, Mode.BYPASS)


def sandbox_of(settings: Settings) -> Sandbox:
    """Return how commands are confined: as well as the machine can, or not at all where the user wants that."""
    if not settings.sandbox:
        return Sandbox(Level.NONE, "it is switched off by --no-sandbox or in the settings")
    return find_sandbox(
        settings.state,
        network=settings.network,
        hidden=(settings.file.parent, *_folders(settings.hidden)),
        writable=_folders(settings.writable),
    )


def _folders(names: list[str]) -> tuple[Path, ...]:
    return tuple(Path(name).expanduser() for name in names)


def refuse_unconfined(place: Path, settings: Settings, sandbox: Sandbox, modes: Iterable[Mode]) -> None:
    """Raise BadSettings where commands would run unasked and unconfined by one of these modes, with nobody there."""
    modes = set(modes)
    mode = next((mode for mode in _UNASKED if mode in modes), None)
    if mode is None or not settings.sandbox or sandbox.confines(place):
        return
    reason = f"{place} holds your home" if sandbox.level is Level.BUBBLEWRAP else sandbox.reason
    raise BadSettings(
        f"mode {mode} runs commands unasked, and nothing confines them: {reason}; "
        "or take the risk, as in a container, with --no-sandbox"
    )
