"""Presence: what a member is seen doing, on the roster and on the feed. Said once at each change, blind, unsynced."""

from deskmate.core.members import Idle, Parked, Waiting, Working
from deskmate.core.names import box
from deskmate.core.tasks import in_progress_of
from deskmate.core.turns import last_turn
from deskmate.runtime.feed import Changed
from deskmate.runtime.office import Office
from deskmate.runtime.transcript import Transcript

_WORDS = 2_000


class Presence:
    """The status of one agent; one without a `name` is not on the roster."""

    def __init__(self, office: Office, transcript: Transcript, name: str | None) -> None:
        self._office, self._transcript, self._name = office, transcript, name
        self._shown: tuple[str, str] | None = None

    async def show(self, word: str, detail: str = "") -> None:
        """Show a status in the words of the roster, unless it is the one shown."""
        if self._shown == (word, detail):
            return
        first, self._shown = not self._shown, (word, detail)
        self._office.feed.tell(Changed(self._transcript.name, word, detail))
        # What a process before this one said still stands.
        if self._name and not (first and self._stands(self._name)):
            await self._office.roster.status(self._event(self._name, word, detail))

    def _stands(self, name: str) -> bool:
        status = self._office.roster.state.members[name].status
        return (status.word, status.detail) == self._shown

    def _event(self, name: str, word: str, detail: str) -> Working | Idle | Waiting | Parked:
        at = self._office.pen.clock.timestamp()
        heard = self._transcript.memory.cursors.get(box(name, self._office.roster.state.away), 0)
        match word, detail:
            case "idle", _:
                turn = last_turn(name, self._transcript.entries)
                words = self._transcript.last_words[:_WORDS]
                return Idle(
                    name=name,
                    words=words,
                    peers=turn.peers,
                    # Whom the user cut short was not done: its words, maybe of a turn before, wake nobody.
                    only_words=turn.only_words and bool(words.strip()) and not self._transcript.memory.interrupted,
                    rests_on=self._unfinished(name) or None,
                    heard=heard,
                    at=at,
                )
            case "waiting", ("permission" | "plan" | "retry" | "background") as on:
                return Waiting(name=name, on=on, heard=heard, at=at)
            case "parked", _:
                return Parked(name=name, reason=detail, heard=heard, at=at)
            case _:
                return Working(name=name, at=at)

    def _unfinished(self, name: str) -> tuple[tuple[int, int], ...]:
        return tuple((task.id, task.epoch) for task in in_progress_of(self._office.board.state, name))
