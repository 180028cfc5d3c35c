"""Requests with exactly one response, as one table.

An open request is in its asker's memory and survives a restart. A response counts if it names an open request, is of
its kind, and comes from someone who may answer. The first one closes the request. All others are ignored.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict

from deskmate.core.log.facts import Fact
from deskmate.core.log.names import IN_CHARGE, USER
from deskmate.core.team.messages import (
    Envelope,
    InputRequest,
    InputResponse,
    PermissionRequest,
    PermissionResponse,
    PlanRequest,
    PlanResponse,
    ShutdownRequest,
    ShutdownResponse,
)
from deskmate.core.values import frozen


class Shake(StrEnum):
    """The handshakes."""

    SHUTDOWN = "shutdown"
    PLAN = "plan"
    PERMISSION = "permission"
    INPUT = "input"


Response: TypeAlias = PlanResponse | ShutdownResponse | PermissionResponse | InputResponse


@frozen
class HandshakeRow:
    """How one handshake works. Empty `asked_by`: any agent. Empty `answered_by`: the agent that was asked."""

    request: type[Fact]
    response: type[Response]
    asked_by: frozenset[str]
    answered_by: frozenset[str]


TABLE: dict[Shake, HandshakeRow] = {
    Shake.SHUTDOWN: HandshakeRow(ShutdownRequest, ShutdownResponse, IN_CHARGE, frozenset()),
    Shake.PLAN: HandshakeRow(PlanRequest, PlanResponse, frozenset(), IN_CHARGE),
    Shake.PERMISSION: HandshakeRow(PermissionRequest, PermissionResponse, frozenset(), frozenset({USER})),
    Shake.INPUT: HandshakeRow(InputRequest, InputResponse, frozenset(), frozenset({USER})),
}


@frozen
class OpenRequest:
    """An open request as its asker remembers it: its id, its kind, and its recipient."""

    id: str
    shake: Shake
    asked: str


@frozen
class ShownPlan:
    """A plan that this agent was shown and has not answered."""

    id: str
    planner: str
    text: str


class PlanVerdict(BaseModel):
    """The answer to a plan that counted: which plan, who answered, and whether it was approved.

    `accept_edits`: from then on the planner may edit files without permission.
    """

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    request_id: str
    by: str
    approve: bool
    accept_edits: bool = False


def plans_among(requests: Iterable[OpenRequest]) -> tuple[str, ...]:
    """Return the ids of the plans among these requests."""
    return tuple(request.id for request in requests if request.shake is Shake.PLAN)


def may_ask(sender: str, message: Fact) -> bool:
    """Tell whether this sender may make this request."""
    for row in TABLE.values():
        if isinstance(message, row.request):
            return not row.asked_by or sender in row.asked_by
    return False


def answer_flaw(request: OpenRequest | None, envelope: Envelope) -> str | None:
    """Return why a response does not count; None if it does."""
    message = envelope.message
    if request is None:
        id_ = getattr(message, "request_id", "")
        return f"There is no open request '{id_}'. It was answered, withdrawn or never made."
    row = TABLE[request.shake]
    if not isinstance(message, row.response) or message.request_id != request.id:
        return f"Request '{request.id}' is about {request.shake}. Answer it with {row.response.__name__}."
    allowed = row.answered_by or {request.asked}
    if envelope.sender not in allowed:
        return f"'{envelope.sender}' cannot answer request '{request.id}'. Only {' or '.join(sorted(allowed))} can."
    return None
