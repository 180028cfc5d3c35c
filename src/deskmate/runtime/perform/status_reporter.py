"""What a member is shown to be doing."""

from typing import assert_never

from deskmate.core.agent.turn_results import last_turn
from deskmate.core.log.names import LEAD, box
from deskmate.core.team.handshakes import PlanVerdict
from deskmate.core.team.roster_records import MemberIdle, MemberParked, MemberWaiting, MemberWorking, StatusRecord
from deskmate.core.team.status import Idle, Left, Parked, Resting, Status, Waiting, Working
from deskmate.core.team.tasks import in_progress_of
from deskmate.core.values import frozen
from deskmate.runtime.events import Changed
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.team_state import TeamState

_WORDS = 2_000


@frozen
class _Shown:
    """A status as others see it. `heard` matters if a teammate rests, `plan` if it works."""

    status: Status
    heard: int
    plan: PlanVerdict | None = None


class StatusReporter:
    """The status of one agent. An agent without a `name` is not on the roster."""

    def __init__(self, team_state: TeamState, transcript: Transcript, name: str | None) -> None:
        self._team_state, self._transcript, self._name = team_state, transcript, name
        self._shown: _Shown | None = None

    async def show(self, status: Working | Resting) -> None:
        """Show a status, unless it is shown already.

        A resting teammate shows its status again after it heard mail that started no turn. Only the roster tells
        others that it has heard its mail.
        """
        now = self._as_shown(status, self._heard, self._transcript.memory.verdict)
        if self._shown == now:
            return
        # The status that an earlier process recorded is still on the roster.
        before = self._shown or self._recorded()
        again = before is not None and before.status == status
        is_told = again and self._shown is not None
        # A lead on another machine waits for a status of who was placed on a host, also if it is the same again.
        is_awaited = self._shown is None and self._is_placed
        self._shown = now
        # The roster first: a listener of the feed must find the status there.
        if self._name and (before != now or is_awaited):
            await self._team_state.roster.status(self._record(self._name, status, again=again))
        if not is_told:
            self._team_state.feed.tell(Changed(self._transcript.name, status))

    def _recorded(self) -> _Shown | None:
        if self._name is None:
            return None
        member = self._team_state.roster.state.members[self._name]
        return self._as_shown(member.status, member.heard, member.verdict)

    @property
    def _is_placed(self) -> bool:
        """Whether it was placed somewhere since it last showed a status."""
        member = self._team_state.roster.state.members.get(self._name or "")
        return member is not None and member.placed_in > member.status_in

    def _as_shown(self, status: Status, heard: int, verdict: PlanVerdict | None) -> _Shown:
        match status:
            case Working():
                return _Shown(status, 0, verdict)
            case Idle() | Waiting() | Parked():
                return _Shown(status, 0 if self._name == LEAD else heard)
            case Left():
                return _Shown(status, 0)
            case unreachable:
                assert_never(unreachable)

    @property
    def _heard(self) -> int:
        name = self._transcript.name
        return self._transcript.memory.cursors.get(box(name, self._team_state.roster.state.away), 0)

    def _record(self, name: str, status: Working | Resting, *, again: bool) -> StatusRecord:
        at, heard = self._team_state.writer.clock.timestamp(), self._heard
        plans = self._transcript.memory.owes_plan or None
        match status:
            case Idle():
                return self._idle(name, again=again)
            case Waiting(on=on):
                return MemberWaiting(name=name, on=on, plans=plans, heard=heard, at=at)
            case Parked(reason=reason):
                return MemberParked(name=name, reason=reason, plans=plans, heard=heard, at=at)
            case Working():
                return MemberWorking(name=name, plan=self._transcript.memory.verdict, plans=plans, at=at)
            case unreachable:
                assert_never(unreachable)

    def _idle(self, name: str, *, again: bool) -> MemberIdle:
        """Return the record of a turn's end. Only the first one has its outcome, not one shown again."""
        turn, interrupted = last_turn(name, self._transcript.entries), self._transcript.memory.interrupted
        words = _cut(self._transcript.last_words)
        return MemberIdle(
            name=name,
            words=words,
            peers=() if again else turn.peers,
            # An interrupted member was not done. Its words may be of an earlier turn and wake nobody.
            only_words=turn.only_words and bool(words.strip()) and not (interrupted or again),
            rests_on=self._unfinished(name) or None,
            held=True if interrupted else None,
            plans=self._transcript.memory.owes_plan or None,
            heard=self._heard,
            at=self._team_state.writer.clock.timestamp(),
        )

    def _unfinished(self, name: str) -> tuple[tuple[int, int], ...]:
        return tuple((task.id, task.epoch) for task in in_progress_of(self._team_state.board.state, name))


def _cut(words: str) -> str:
    more = len(words) - _WORDS
    return f"{words[:_WORDS]}… (cut here, {more:,} more characters)" if more > 0 else words
