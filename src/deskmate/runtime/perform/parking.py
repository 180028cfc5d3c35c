"""An agent that cannot continue, or leaves: why, and what happens to its tasks."""

import logging

from deskmate.core.agent.actions import Stop
from deskmate.core.agent.entries import AgentParked, SummaryDropped
from deskmate.core.agent.open_calls import OUTCOME_UNKNOWN
from deskmate.core.team.roster_records import MemberParked
from deskmate.core.team.status import Left
from deskmate.errors import StoreError
from deskmate.runtime.departure import leave
from deskmate.runtime.events import Changed
from deskmate.runtime.perform.agent_work import AgentWork

_LOG = logging.getLogger(__name__)


async def park(work: AgentWork, reason: str) -> None:
    """Record that the agent cannot continue by itself, and give its tasks back."""
    await work.transcript.record(AgentParked(reason=reason, caps=str(work.team_state.budget.caps)))
    if work.subagent is None:
        name = work.transcript.name
        await work.team_state.board.give_back(name, note=f"{name} was parked: {reason}")


async def give_up(work: AgentWork, error: Exception) -> None:
    """Park because of a defect and retry nothing. Raises the error if the agent is parked already."""
    _LOG.exception("%s cannot continue", work.transcript.name)
    parked = work.transcript.memory.parked
    if parked and parked.caps == str(work.team_state.budget.caps):
        raise error
    why = f"internal error, {type(error).__name__}: {error!s:.500}"
    await work.calls.settle(tuple(work.transcript.memory.calls), f"Failed: {why}. {OUTCOME_UNKNOWN}")
    await drop_summary(work)
    await park(work, why)


async def drop_summary(work: AgentWork) -> None:
    """Record that the summary which the user wanted was not made, if one was wanted. The user can ask again."""
    if work.transcript.memory.focus is not None:
        await work.transcript.record(SummaryDropped())


async def note_corrupt(work: AgentWork, error: StoreError) -> None:
    """Record on the roster that a lead's transcript was cut or changed. Supervisors do this for teammates.

    Otherwise nobody may notice when the team is resumed. A lead in its second team cannot be recorded as parked,
    because its transcript belongs to its first team.
    """
    team_state = work.team_state
    if work.is_lead and not team_state.roster.state.away and await work.transcript.was_changed():
        at, name = team_state.writer.clock.timestamp(), work.transcript.name
        await team_state.roster.status(MemberParked(name=name, reason=str(error), only_user=True, at=at))


async def leave_team(work: AgentWork, stop: Stop) -> None:
    """Leave the team, and tell listeners."""
    team_state, name = work.team_state, work.transcript.name
    writer, roster, board = team_state.writer, team_state.roster, team_state.board
    await leave(work.transcript, writer, roster, board, reason=stop.reason, agreed=stop.agreed)
    team_state.feed.tell(Changed(name, Left(stop.reason, stop.agreed)))
