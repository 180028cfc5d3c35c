"""The records of the stream `hosts`, which all teams of a space share."""

from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from deskmate.core.log.facts import Fact, Foreign, reader
from deskmate.core.log.names import known_name
from deskmate.core.log.records import Json
from deskmate.core.team.caps import Caps
from deskmate.errors import BadInput

MOST_SLOTS = 1000


def host_name(name: str) -> str:
    """Return the name of a host if it is well formed; raise BadName otherwise."""
    return known_name(name, "host")


def label_name(label: str) -> str:
    """Return a label if it is well formed; raise BadName otherwise."""
    return known_name(label, "label")


HostName: TypeAlias = Annotated[str, AfterValidator(host_name)]
Label: TypeAlias = Annotated[str, AfterValidator(label_name)]
TeamName: TypeAlias = Annotated[str, AfterValidator(lambda name: known_name(name, "team"))]


class HostCame(Fact):
    """A host offers to run teammates. Nothing runs there yet. `machine`: what that machine calls itself."""

    type: Literal["host_came"] = "host_came"
    name: HostName
    labels: tuple[Label, ...] = ()
    slots: Annotated[int, Field(ge=1, le=MOST_SLOTS)]
    machine: str = ""
    at: float


class HostTook(Fact):
    """A host runs a teammate, written `name@team`."""

    type: Literal["host_took"] = "host_took"
    name: HostName
    member: str
    at: float


class HostFreed(Fact):
    """A host does not run a teammate any more."""

    type: Literal["host_freed"] = "host_freed"
    name: HostName
    member: str
    at: float


class HostLoaded(Fact):
    """How busy the machine of a host is: the average number of running processes per processor."""

    type: Literal["host_loaded"] = "host_loaded"
    name: HostName
    load: float
    at: float


class HostDraining(Fact):
    """A host takes no new teammates, and hands back those that it runs."""

    type: Literal["host_draining"] = "host_draining"
    name: HostName
    at: float


class HostLeft(Fact):
    """A host runs nothing any more, and is not there any more."""

    type: Literal["host_left"] = "host_left"
    name: HostName
    at: float


class TeamCalled(Fact):
    """The lead of a team has teammates that run on hosts, and asks all hosts to look at its roster.

    `limits`: its limits, as in the settings. `seconds`: how long its run has taken so far.
    """

    type: Literal["team_called"] = "team_called"
    team: TeamName
    limits: dict[str, int | float] = Field(default_factory=dict)
    seconds: float = 0.0
    at: float


class TeamDropped(Fact):
    """A host found that nobody leads a team any more, and runs nothing of it. The lead calls again if it is there."""

    type: Literal["team_dropped"] = "team_dropped"
    name: HostName
    team: TeamName
    at: float


HostEvent: TypeAlias = HostCame | HostTook | HostFreed | HostLoaded | HostDraining | HostLeft | TeamCalled | TeamDropped
KINDS: tuple[type[HostEvent], ...] = (
    HostCame,
    HostTook,
    HostFreed,
    HostLoaded,
    HostDraining,
    HostLeft,
    TeamCalled,
    TeamDropped,
)
read_host_event: Callable[[Json], HostEvent | Foreign] = reader(*KINDS)


def parse_labels(text: str) -> tuple[str, ...]:
    """Return the labels in a text such as `gpu,linux`. Raises BadInput."""
    labels = tuple(dict.fromkeys(label for part in text.split(",") if (label := part.strip())))
    if len(labels) > 20:
        raise BadInput(f"There are {len(labels)} labels", "A host has at most 20.")
    return tuple(map(label_name, labels))


def limits_of(caps: Caps) -> dict[str, int | float]:
    """Return limits by their names in the settings. How many may join is only for the lead."""
    named = {"seconds": "max_time"}
    values = {named.get(cap.name, f"max_{cap.name}"): getattr(caps, cap.name) for cap in fields(caps)}
    return {name: value for name, value in values.items() if value is not None and name != "max_members"}
