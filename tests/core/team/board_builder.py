"""Boards for tests, made as real ones are: by folding records."""

from collections.abc import Iterable

from deskmate.core.log.records import Record
from deskmate.core.team.board_fold import fold
from deskmate.core.team.tasks import EMPTY, BoardEvent, BoardState


def records(events: Iterable[BoardEvent], after: int = 0) -> list[Record]:
    return [Record(number, event.body()) for number, event in enumerate(events, start=after + 1)]


def then(board: BoardState, *events: BoardEvent) -> BoardState:
    """Return the board after events that must all count."""
    after = fold(board, records(events, board.number))
    assert after.skipped == board.skipped
    return after


def board_of(*events: BoardEvent) -> BoardState:
    return then(EMPTY, *events)
