"""The office: what all agents of one process share. `agent` works in it; `app` furnishes it."""

from dataclasses import dataclass

from deskmate.runtime.board import Board
from deskmate.runtime.feed import Feed
from deskmate.runtime.purse import Purse
from deskmate.runtime.roster import Roster
from deskmate.runtime.streams import Pen


@dataclass(frozen=True, slots=True)
class Office:
    """One pen, one fold of each shared stream, one feed."""

    pen: Pen
    roster: Roster
    board: Board
    purse: Purse
    feed: Feed
