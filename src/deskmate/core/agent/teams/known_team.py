"""What an agent knows of one team.

A lead that leads a named team knows two: that one, and its home. Members, tasks and mail of both may have the same
names and numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from deskmate.core.log.names import USER
from deskmate.core.log.persistent_map import Seen
from deskmate.core.team.handshakes import OpenRequest, ShownPlan

TaskEpoch = tuple[int, int]


# Without slots, because `Memory` adds to it: see `value_copies`.
@dataclass(frozen=True)
class KnownTeam:
    """What an agent knows of one team. `informed`: it has news of the team that the model will read.

    `noticed`: the records of roster and board up to which it was told the news. `ids`: of the mail it heard.
    `requests`: its own, by id. `leaving`: members that agreed to leave; the roster shows it later. `words_known`: for
    each task in `tasks`, the board record up to which this agent knows its text, if that was recorded. `plans`: the
    latest plan of each planner that this agent was shown and did not answer, by planner; `situation.open_plans` tells
    which are still open. `reminded`: the roster record at which a lead was last reminded that its team is quiet.
    `dismissed`: teammates dismissed since the user last wrote. `read`: its own tasks whose text it was told.
    """

    noticed: tuple[int, int] = (0, 0)
    informed: bool = False
    ids: Seen[int] = field(default_factory=Seen)
    requests: Mapping[str, OpenRequest] = field(default_factory=dict)
    plans: Mapping[str, ShownPlan] = field(default_factory=dict)
    leaving: frozenset[str] = frozenset()
    tasks: Mapping[int, int] = field(default_factory=dict)
    read: frozenset[TaskEpoch] = frozenset()
    words_known: Mapping[int, int] = field(default_factory=dict)
    nudged: frozenset[TaskEpoch] = frozenset()
    reported: frozenset[TaskEpoch] = frozenset()
    reminded: int | None = None
    dismissed: frozenset[str] = frozenset()

    @property
    def of_user(self) -> dict[str, OpenRequest]:
        """The requests to the user. They are the agent's own, whatever team it works in."""
        return {id_: request for id_, request in self.requests.items() if request.asked == USER}

    def without_own(self) -> "KnownTeam":
        """Return what is known of this team alone, without the requests to the user."""
        mine = self.of_user
        requests = {id_: request for id_, request in self.requests.items() if id_ not in mine}
        return KnownTeam(**{**facts_of(self), "requests": requests})


_FIELDS = tuple(one.name for one in fields(KnownTeam))


def facts_of(team: KnownTeam) -> dict[str, Any]:
    """Return what is known of a team, by field."""
    return {name: getattr(team, name) for name in _FIELDS}
