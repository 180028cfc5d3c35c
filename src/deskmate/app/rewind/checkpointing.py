"""Saves the files of the workspace before a message of the user is acted on, a task begins or work is handed over."""

import logging
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from anyio import Lock, to_thread

from deskmate.config import Settings, environment
from deskmate.core.policy.redaction import Redaction
from deskmate.errors import ToolError
from deskmate.trust.chosen_engine import engine_at
from deskmate.workspace.checkpoints.choice import checkpoints_of
from deskmate.workspace.checkpoints.points import Checkpoints, Point
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Sandbox

# The name under which git runs. No member can have it.
_NAME = "system"
_SECONDS = 300.0
_PRUNE_EACH = 20
_LOG = logging.getLogger(__name__)


def team_checkpoints(place: Path, team: str, settings: Settings, sandbox: Sandbox, redaction: Redaction) -> Checkpoints:
    """Return the checkpoints of a team, the first one of its lead. Raises ToolError if there can be none."""
    workspace = LocalWorkspace(place, team, _NAME, environ=environment(), sandbox=sandbox, redaction=redaction)
    run = partial(workspace.run, timeout_seconds=_SECONDS, blob=f"{_NAME}-checkpoint.txt")
    return checkpoints_of(place, team, settings.state, environment(), run, redaction)


def saving_of(
    place: Path, team: str, settings: Settings, sandbox: Sandbox, redaction: Redaction
) -> Callable[[int, str], Coroutine[Any, Any, None]] | None:
    """Return what saves the files before the lead acts, or None if that is switched off or there are no files."""
    if not settings.checkpoints:
        return None
    try:
        checkpoints = team_checkpoints(place, team, settings, sandbox, redaction)
    except ToolError:
        # A bare repository.
        return None
    return Checkpointing(checkpoints, settings, partial(_founded_at, place, team)).make


def _founded_at(place: Path, team: str) -> float:
    founded = engine_at(place).founding(team)
    return founded.at if founded else 0.0


class Checkpointing:
    """Makes checkpoints, and drops old ones now and then. A failure is a warning: the work goes on without.

    `founded`: returns when the team began. Older checkpoints are of a removed team with the same name.
    """

    def __init__(self, checkpoints: Checkpoints, settings: Settings, founded: Callable[[], float]) -> None:
        self._checkpoints, self._settings, self._founded = checkpoints, settings, founded
        self._saved, self._made = set[tuple[int, str]](), 0
        # Two members may begin at once, and each checkpoint gets the next number.
        self._turn = Lock()
        self._has_failed = False

    async def make(self, entry: int, before: str = "") -> None:
        """Save the files before a member acts on what this entry of its transcript says, unless that is done.

        `before`: what it says, in words. Empty for a message of the user to the lead.
        """
        if (entry, before) in self._saved:
            return
        self._saved.add((entry, before))
        try:
            async with self._turn:
                await self._make(entry, before)
        except ToolError as error:
            self._saved.discard((entry, before))
            if not self._has_failed:
                _LOG.warning("Your files are not saved before changes, so they cannot be restored: %s", error)
            self._has_failed = True

    def _own_points(self) -> list[Point]:
        # Git knows only the second in which a checkpoint was made.
        founded, points = self._founded() - 1.0, self._checkpoints.points()
        self._checkpoints.drop([point.number for point in points if point.at < founded])
        return [point for point in points if point.at >= founded]

    async def _make(self, entry: int, before: str) -> None:
        points = await to_thread.run_sync(self._own_points)
        if not before and any(point.entry == entry for point in points):
            return
        saved = await self._checkpoints.save()
        of_user = None if before else entry
        await to_thread.run_sync(partial(self._checkpoints.add, saved, entry=of_user, before=before))
        if self._made % _PRUNE_EACH == 0:
            most, days = self._settings.checkpoints, self._settings.checkpoint_days
            await to_thread.run_sync(self._checkpoints.prune, most, days)
        self._made += 1
