"""Looks at the trees of members while they work, and puts on the board where their work meets.

Members hear of it before their next answer, because they read the board. It buys no turn and delays nobody. Everything
is found again from the trees and the transcripts, so a killed process loses nothing.
"""

import logging
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import NoReturn, Protocol

import anyio

from deskmate.core.log.names import BOARD, ROSTER, log
from deskmate.core.radar.edited_files import EditedFiles
from deskmate.core.radar.overlaps import Pair, WorkInProgress, overlaps_of
from deskmate.errors import StoreError, ToolError
from deskmate.runtime.team_state import TeamState

_LOG = logging.getLogger(__name__)
# At most one look in this time, however fast members work.
PAUSE_SECONDS = 2.0
LAST_LOOK_SECONDS = 5.0


class MemberTrees(Protocol):
    """The trees of a team."""

    async def look(
        self, edited: Mapping[str, Collection[str]]
    ) -> tuple[Collection[WorkInProgress], Mapping[Pair, Collection[str]]]:
        """Return the work of members, and the files in which commits of pairs conflict. Raises ToolError.

        `edited`: the files that each member has changed with its tools.
        """


class ConflictRadar:
    """The radar of one team."""

    def __init__(self, team_state: TeamState, trees: MemberTrees) -> None:
        self._team_state, self._trees = team_state, trees
        self._edited: dict[str, EditedFiles] = {}
        # What git said last, so that it is logged once.
        self._trouble = ""

    async def keep(self) -> NoReturn:
        """Look after each change, until cancelled. Then look once more, so that the board is not left outdated."""
        writer = self._team_state.writer
        try:
            while True:
                await writer.store.changed(await self.look())
                await writer.clock.sleep(PAUSE_SECONDS)
        except anyio.get_cancelled_exc_class():
            # If the store is what ended the team, its error is reported elsewhere.
            with anyio.move_on_after(LAST_LOOK_SECONDS, shield=True), suppress(StoreError):
                if self._edited:
                    await self.look()
            raise

    async def look(self) -> Mapping[str, int]:
        """Look once. Return the streams that this is based on, with their numbers."""
        roster = await self._team_state.roster.refresh()
        board = await self._team_state.board.refresh()
        isolated = [member.name for member in roster.teammates if member.here and member.isolated]
        since = {ROSTER: roster.number}
        if isolated or board.overlaps:
            for name in isolated:
                await self._read(name)
            since |= {BOARD: board.number, **{log(name): self._edited[name].number for name in isolated}}
            await self._see({name: tuple(self._edited[name].files) for name in isolated})
        return since

    async def _read(self, name: str) -> None:
        edited = self._edited.get(name, EditedFiles(name))
        self._edited[name] = edited.after(await self._team_state.writer.store.read(log(name), edited.number))

    async def _see(self, edited: Mapping[str, Collection[str]]) -> None:
        try:
            works, conflicts = await self._trees.look(edited)
        except ToolError as error:
            if str(error) != self._trouble:
                _LOG.warning("the trees of the team cannot be compared: %s", error)
            self._trouble = str(error)
            return
        self._trouble = ""
        await self._team_state.board.see_overlaps(overlaps_of(works, conflicts))
