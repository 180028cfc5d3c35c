"""The sandbox that commands get, by settings and machine. The roster records its level."""

import logging
import os
from collections.abc import Iterable
from pathlib import Path

from deskmate.config import Settings, environment
from deskmate.core.policy.permissions import Mode
from deskmate.errors import BadSettings
from deskmate.workspace.sandbox.levels import find_sandbox
from deskmate.workspace.sandbox.mounts import Level, Sandbox, homes

_LOG = logging.getLogger(__name__)
# The modes that run commands without asking.
_UNASKED = (Mode.DONT_ASK, Mode.BYPASS)


def sandbox_of(settings: Settings) -> Sandbox:
    """Return how commands are confined: as well as the machine can, or not at all if the user wants that.

    Raises BadSettings for invalid hosts, and for writable folders that contain the user's home.
    """
    if not settings.sandbox:
        return Sandbox(Level.NONE, "switched off by --no-sandbox or in the settings")
    writable = _folders(settings.writable)
    for folder in writable:
        if any(home.is_relative_to(os.path.realpath(folder)) for home in homes(environment())):
            raise BadSettings(
                f"'writable' in {settings.file} names {folder}, which contains your home folder",
                "Name folders below it.",
            )
    hidden = (settings.file.parent, *_folders(settings.hidden))
    try:
        return find_sandbox(
            settings.state, environ=environment(), network=settings.network, hidden=hidden, writable=writable
        )
    except BadSettings as error:
        raise BadSettings(f"'network' in {settings.file}: {error.message}", error.hint) from error


def _folders(names: list[str]) -> tuple[Path, ...]:
    return tuple(Path(name).expanduser() for name in names)


def refuse_unconfined(place: Path, settings: Settings, sandbox: Sandbox, modes: Iterable[Mode]) -> None:
    """Raise BadSettings if one of these modes would run commands without asking and without a sandbox.

    Call it if nobody watches. If the user switched the sandbox off, this is only a warning.
    """
    modes = set(modes)
    mode = next((mode for mode in _UNASKED if mode in modes), None)
    if mode is None or sandbox.confines(place):
        return
    reason = f"{place} contains your home folder" if sandbox.level is Level.BUBBLEWRAP else sandbox.reason
    if not settings.sandbox:
        _LOG.warning("Commands run without asking and without a sandbox: %s", reason)
        return
    raise BadSettings(
        f"Mode {mode} runs commands without asking, and there is no sandbox: {reason}",
        " ".join(filter(None, [sandbox.hint, "To take the risk, as in a container, add --no-sandbox."])),
    )
