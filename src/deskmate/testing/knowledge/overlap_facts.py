"""Whether what a member is told of work that meets its own is so, and is told once."""

import re
from collections.abc import Iterator

from deskmate.core.agent.entries import Noticed
from deskmate.core.radar.overlap_texts import overlap_news
from deskmate.testing.knowledge.truth import TeamHistory

_MEETS = re.compile(r"You and [\w-]+ both change |Your commits conflict with |deskmate/[\w-]+ has new changes in ")


def false_overlaps(notice: Noticed, history: TeamHistory, me: str) -> Iterator[str]:
    """Yield each line about work that meets, if the board did not say so at the record of the notice."""
    true = _news(notice, history, me, since=0)
    for line in notice.text.splitlines():
        if _MEETS.match(line) and line not in true:
            yield f'a notice says "{line[:160]}", and the board did not then'


def overlaps_told_twice(earlier: Noticed, notice: Noticed, history: TeamHistory, me: str) -> Iterator[str]:
    """Yield each line about work that meets, if an earlier notice has it and it did not change since."""
    new = _news(notice, history, me, since=earlier.board)
    for line in notice.text.splitlines():
        if _MEETS.match(line) and line in earlier.text.splitlines() and line not in new:
            yield f'the model is told again, and nothing changed: "{line[:160]}"'


def _news(notice: Noticed, history: TeamHistory, me: str, since: int) -> set[str]:
    board, roster = history.board_at(notice.board), history.roster_at(notice.roster)
    return {line for runs in (True, False) for line in overlap_news(board, roster, since, me, runs=runs)}
