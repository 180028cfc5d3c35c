"""Readable copies of roster and board for people and scripts.

Nothing depends on these copies, so a failed write is only logged. `app` passes in the function that writes them.
"""

import logging
from collections.abc import Callable
from typing import NoReturn, TypeAlias

import anyio
from anyio import to_thread

from deskmate.core.log.names import BOARD, ROSTER
from deskmate.core.team.members import RosterState
from deskmate.core.team.tasks import BoardState
from deskmate.errors import StoreError
from deskmate.runtime.team_state import TeamState

# A little less than the second within which a copy must show a change.
PAUSE_SECONDS = 0.9
Write: TypeAlias = Callable[[RosterState, BoardState], None]
_LOG = logging.getLogger(__name__)


class ReadableCopies:
    """Writes the copies of one team. `write` blocks."""

    def __init__(self, team_state: TeamState, write: Write) -> None:
        self._team_state, self._write = team_state, write
        self._shown: tuple[int, int] | None = None

    async def keep(self) -> NoReturn:
        """Write every change within a second, for as long as this runs, and once more at its end."""
        team_state = self._team_state
        try:
            while True:
                await self.show()
                await team_state.writer.clock.sleep(PAUSE_SECONDS)
                roster, board = self._shown or (0, 0)
                await team_state.writer.store.changed({ROSTER: roster, BOARD: board})
        finally:
            with anyio.CancelScope(shield=True):
                await self.show()

    async def show(self) -> None:
        """Write the copies as of now."""
        roster, board = await self._team_state.roster.refresh(), await self._team_state.board.refresh()
        if self._shown != (roster.number, board.number):
            await to_thread.run_sync(_try, self._write, roster, board)
            # Not before: a cancelled write may not have begun.
            self._shown = roster.number, board.number


def _try(write: Write, roster: RosterState, board: BoardState) -> None:
    try:
        write(roster, board)
    except (OSError, StoreError) as error:
        _LOG.warning("The readable copies of team %s are out of date: %s", roster.team, error)
