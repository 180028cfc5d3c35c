"""The question whether finished work of the team is merged into the user's branch, with the setting `merge = "ask"`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from deskmate.app.handover.team_handover import pending_works
from deskmate.faces.common.handover.tree_reports import branch_lines, end_lines, merge_lines
from deskmate.queries.tree_view import look_at_diff

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession

_CHOICES = "y: merge, d: show the diff, n: leave"
_DIFF, _YES, _NO = ("d", "diff"), ("y", "yes"), ("n", "no", "leave")


class MergeQuestion:
    """Asks once in a conversation, when nobody is busy any more and tasks were merged into the branch of the team."""

    def __init__(self, session: "TeamSession") -> None:
        self._session = session
        # What was merged before is no news.
        self._told = self._merged
        self._is_open = False

    @property
    def _merged(self) -> frozenset[tuple[str, int]]:
        session = self._session
        return frozenset((session.team, task.id) for task in session.board.tasks.values() if task.merged)

    def look(self, note: Callable[[str], None]) -> None:
        """Ask about what is new. It neither waits nor raises."""
        if self._session.settings.merge != "ask" or self._session.busy or not (new := self._merged - self._told):
            return
        self._told |= new
        self._is_open = True
        tasks = ", ".join(f"#{task}" for _, task in sorted(new))
        note(f"{tasks} merged into deskmate/{self._session.team}. Merge it into your files? {_CHOICES}")

    async def answer(self, text: str) -> list[str] | None:
        """Carry out an answer and return the lines to show. None if the text is no answer: then nothing is asked.

        Raises Refused if the work cannot be merged.
        """
        if not self._is_open:
            return None
        word = text.strip().lower()
        self._is_open = word in _DIFF
        if word in _DIFF:
            lines = await branch_lines(self._session, "") or []
            return [*("".join(cell.text for cell in line) for line in lines), _CHOICES]
        if word in _YES:
            return await merge_lines(self._session)
        return ["Nothing was changed. To merge it later: /merge"] if word in _NO else None


def ask_at_end(
    folder: Path | None, team: str, put: Callable[[str], None], read: Callable[[], str], command: Callable[[str], str]
) -> None:
    """Ask at the end of a run for each team with work that is not in the user's branch, and carry out the answer.

    `read`: returns a line of the user, empty if there is none. `command`: returns the command that merges a team.
    """
    for name, pending in pending_works(folder, team):
        put(f"{pending.branch} has finished work. Merge it into your files? {_CHOICES}")
        word = read().strip().lower()
        while word in _DIFF:
            put(anyio.run(look_at_diff, folder, name, None).text.rstrip())
            put(_CHOICES)
            word = read().strip().lower()
        for line in end_lines(folder, name, "auto" if word in _YES else "leave", command):
            put(line)
