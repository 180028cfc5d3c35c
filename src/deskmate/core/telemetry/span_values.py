"""Spans, and ids that are the same whenever they are computed.

An id is a hash of the team, the stream and the number of the record that the span is named after. So the span of a call
can be named by anybody who knows the id of the call, without reading the transcript that it is in.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Literal, TypeAlias

from deskmate.core.log.names import LEAD, is_call, log
from deskmate.core.values import frozen

AttributeValue: TypeAlias = str | bool | int | float | tuple[str, ...] | tuple[int, ...]
Attributes: TypeAlias = Mapping[str, AttributeValue]
SpanKind: TypeAlias = Literal["internal", "client"]


@frozen
class TeamIdentity:
    """Which team spans belong to. `seed`: what no other team has, from the founding of the lead's first team.

    `home`: that first team, empty if it is this one. `copied`: how many records of the lead's transcript are copies,
    whose spans are those of another team. `founded`: when the team began.
    """

    seed: str
    team: str
    home: str = ""
    copied: int = 0
    founded: float = 0.0

    @property
    def trace_id(self) -> int:
        """The id of the one trace that all members of a lead's teams share."""
        return _hashed(16, self.seed)

    def span_id(self, stream: str, part: int | str, team: str = "") -> int:
        """Return the id of the span that is named after a part of a stream: a record, or a call in it.

        `team`: another team of the same lead, if the stream is there.
        """
        return _hashed(8, self.seed, team or self._team_of(stream), stream, str(part))

    def call_span(self, call: str, team: str = "") -> int:
        """Return the id of the span of a call. `team`: as in `span_id`."""
        member, _, place = call.rpartition(":")
        return self.span_id(log(member), place, team)

    def caused_by(self, cause: str | None) -> int | None:
        """Return the span of the call that caused a record, None if no call did."""
        return self.call_span(cause) if cause is not None and is_call(cause) else None

    def _team_of(self, stream: str) -> str:
        # The lead has one transcript, in its first team.
        of_lead = stream == log(LEAD) or stream.startswith(f"{log(LEAD)}:")
        return self.home if self.home and of_lead else self.team


@frozen
class SpanLink:
    """A span of the same trace that caused this one, and the message that did."""

    span_id: int
    message: str


@frozen
class FinishedSpan:
    """A span that is over. Times are seconds since the epoch. `error`: the kind of error it ended with, or empty.

    `stream`, `number`: the record that ended it.
    """

    name: str
    trace_id: int
    span_id: int
    parent_id: int | None
    start: float
    end: float
    attributes: Attributes
    kind: SpanKind = "internal"
    links: tuple[SpanLink, ...] = ()
    error: str = ""
    stream: str = ""
    number: int = 0


def calling(message: str) -> str | None:
    """Return the call that sent a message, by the id of the message. None if no call did."""
    call = message.partition("/")[0]
    return call if is_call(call) else None


def _hashed(size: int, *parts: str) -> int:
    # Names have no line ends, so no two lists of parts are the same text. Zero would be no id.
    return int.from_bytes(sha256("\n".join(parts).encode()).digest()[:size]) or 1
