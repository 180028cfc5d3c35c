"""Code as records: bundles that were sent, what a member needs, and where the branch of the team is.

The lead writes the stream `code`. A member on another machine writes `code/<name>`. Only the name of a stream says
who speaks in it: nothing in a record does.
"""

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from typing import Annotated, Literal, TypeAlias, assert_never

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from deskmate.core.log.facts import Fact, Foreign, reader
from deskmate.core.log.names import known_name
from deskmate.core.log.records import Item, Json, Record
from deskmate.core.values import frozen
from deskmate.errors import BadName

# A member names so many commits that it has. They are the ends of branches, so a few say everything.
MOST_NAMED = 64

# Git names commits by SHA-1 or SHA-256.
Commit = Annotated[str, Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]
Commits = Annotated[tuple[Commit, ...], Field(max_length=MOST_NAMED)]


class Payload(BaseModel):
    """A file that was sent in chunks. `size`: its bytes."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size: Annotated[StrictInt, Field(gt=0)]


class CodeWanted(Fact):
    """A member needs the branch of its team. `has`: commits that its machine has, with everything before them."""

    type: Literal["code_wanted"] = "code_wanted"
    has: Commits = ()
    at: float


class BundleSent(Fact):
    """A bundle was sent, with the commit `tip`. `needs`: what a receiver must have already, with everything before."""

    type: Literal["bundle_sent"] = "bundle_sent"
    tip: Commit
    needs: Commits = ()
    payload: Payload
    at: float


class BranchAt(Fact):
    """The branch of the team is at a commit."""

    type: Literal["branch_at"] = "branch_at"
    tip: Commit
    at: float


class CodeReady(Fact):
    """What a member wanted is there. `wanted`: the record in its stream. `files`: ignored files that trees have.

    `own`: what the member last offered, if that is not merged.
    """

    type: Literal["code_ready"] = "code_ready"
    member: str
    wanted: StrictInt
    tip: Commit
    own: Commit | None = None
    files: Payload | None = None
    at: float


class CodeRefused(Fact):
    """What a member wanted is not possible."""

    type: Literal["code_refused"] = "code_refused"
    member: str
    wanted: StrictInt
    reason: str
    at: float


CodeEvent: TypeAlias = CodeWanted | BundleSent | BranchAt | CodeReady | CodeRefused
KINDS: tuple[type[CodeEvent], ...] = (CodeWanted, BundleSent, BranchAt, CodeReady, CodeRefused)
read_code_event: Callable[[Json], CodeEvent | Foreign] = reader(*KINDS)


@frozen
class CodeState:
    """One stream. `bundles`: those sent, in order. `tip`: where the branch is. `wanted`: the number of the last wish.

    `answers`: by member, what became of its last wish that was answered.
    """

    number: int = 0
    bundles: tuple[BundleSent, ...] = ()
    tip: str | None = None
    wanted: int = 0
    wish: CodeWanted | None = None
    answers: dict[str, CodeReady | CodeRefused] = field(default_factory=dict)

    def answer(self, member: str, wanted: int) -> CodeReady | CodeRefused | None:
        """Return what became of a wish, or None if it is not answered."""
        found = self.answers.get(member)
        return found if found and found.wanted == wanted else None


EMPTY = CodeState()


def fold(state: CodeState, items: Iterable[Item]) -> CodeState:
    """Return the state after more items. What cannot be read or understood has no effect."""
    for item in items:
        state = replace(state, number=item.number)
        event = read_code_event(item.body) if isinstance(item, Record) else None
        if event is not None and not isinstance(event, Foreign):
            state = _after(state, event)
    return state


def _after(state: CodeState, event: CodeEvent) -> CodeState:
    match event:
        case CodeWanted():
            return replace(state, wanted=state.number, wish=event)
        case BundleSent():
            return replace(state, bundles=(*state.bundles, event))
        case BranchAt(tip=tip):
            return replace(state, tip=tip)
        case CodeReady(member=member, tip=tip):
            return replace(state, tip=tip, answers=_answered(state, member, event))
        case CodeRefused(member=member):
            return replace(state, answers=_answered(state, member, event))
        case unreachable:
            assert_never(unreachable)


def _answered(state: CodeState, member: str, event: CodeReady | CodeRefused) -> dict[str, CodeReady | CodeRefused]:
    try:
        return {**state.answers, known_name(member): event}
    except BadName:
        return state.answers
