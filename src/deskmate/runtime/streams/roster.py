"""Joining, resting, leaving, and the permission policy.

Joins, leaves and policy are decided on the roster they are appended to, and synced. A status is appended without
reading first, so nobody waits for it.
"""

from deskmate.core.log.names import LEAD, ROSTER, confusion, log, mail
from deskmate.core.log.records import Decision
from deskmate.core.team import members, roster_fold
from deskmate.core.team.caps import Caps
from deskmate.core.team.members import EMPTY, Member
from deskmate.core.team.roster_records import (
    Event,
    Joined,
    MemberLeft,
    MemberParked,
    PlaceRecord,
    PolicySet,
    RosterLossAccepted,
    StatusRecord,
    TeamDescribed,
    TeamFounded,
)
from deskmate.core.team.spending import crowded
from deskmate.errors import Refused
from deskmate.runtime.streams.log_writer import Folded, LogWriter


class Roster:
    """Who is on the team. `state` is the fold as last read."""

    def __init__(self, writer: LogWriter) -> None:
        self._writer = writer
        self._folded = Folded(writer.store, ROSTER, EMPTY, roster_fold.fold)

    @property
    def state(self) -> members.RosterState:
        """The roster as last read."""
        return self._folded.state

    async def refresh(self) -> members.RosterState:
        """Read what is new and return the roster."""
        return await self._folded.refresh()

    async def found(self, team: str, description: str = "", home: str | None = None) -> Member:
        """Create the team with its lead. Raises Refused if it was created before."""
        event = TeamFounded(team=team, description=description, home=home, at=self._writer.clock.timestamp())
        return (await self._decide(event)).members[LEAD]

    async def describe(self, file: str, text: str, words: str) -> None:
        """Record the file that the team is made from, and what its lead is told first."""
        await self._decide(TeamDescribed(file=file, text=text, words=words, at=self._writer.clock.timestamp()))

    async def found_fork(self, team: str, fork_of: str, copied: int) -> None:
        """Create the team with a lead that has entries of another team. Raises Refused if it was created before."""
        at = self._writer.clock.timestamp()
        await self._decide(TeamFounded(team=team, fork_of=fork_of, copied=copied, at=at))

    async def join(self, joined: Joined, caps: Caps | None = None) -> Member:
        """Add a teammate. Raises Refused if its name is reserved, was used or looks like a used one, or at a limit.

        Also for a name that already has mail or a transcript, because nobody of this team wrote that. A repeated cause
        adds nobody and is never refused.
        """
        if joined.name not in (await self.refresh()).members:
            await self._refuse_leftovers(joined.name)
        return (await self._decide(joined, caps)).members[joined.name]

    async def _refuse_leftovers(self, name: str) -> None:
        for stream, what in ((mail(name), "mail"), (log(name), "a transcript")):
            if await self._writer.store.read(stream):
                raise Refused(f"There is {what} of '{name}', who never joined. Choose another name.")

    async def status(self, event: StatusRecord) -> None:
        """Record what a member is doing. A record with `only_user` is synced."""
        await self._folded.append(
            self._writer, event.body(), sync=isinstance(event, MemberParked) and bool(event.only_user)
        )

    async def leave(self, name: str, reason: str, *, heard: int, agreed: bool = False) -> members.RosterState:
        """Record that a member left, and how much mail it had heard. Raises Refused if it had left before."""
        at = self._writer.clock.timestamp()
        return await self._decide(MemberLeft(name=name, reason=reason, heard=heard, agreed=agreed, at=at))

    async def place(self, event: PlaceRecord) -> members.RosterState:
        """Record where a member is to run, or that it does not run there any more. Raises Refused if outdated."""
        return await self._decide(event)

    async def permit(self, policy: PolicySet) -> members.RosterState:
        """Change what is permitted. Raises Refused if the author may not."""
        return await self._decide(policy)

    async def accept(self, number: int) -> members.RosterState:
        """Record that a person accepts the loss of a damaged record."""
        return await self._decide(RosterLossAccepted(number=number, at=self._writer.clock.timestamp()))

    async def _decide(self, event: Event, caps: Caps | None = None) -> members.RosterState:
        """Append an event that the rules and caps allow in the state it is appended to."""

        def decided(state: members.RosterState) -> Decision[str | None]:
            if isinstance(event, Joined) and event.cause and event.cause in state.causes:
                return Decision(None, None)
            why = members.refusal(state, event) or _confusable(state, event) or _crowded(state, caps)
            return Decision(None if why else event.body(), why)

        if why := await self._folded.decide(self._writer, decided):
            raise Refused(why)
        return self.state


def _confusable(state: members.RosterState, event: Event) -> str | None:
    # Not a rule of the fold: a roster that has such names already keeps them.
    return confusion(event.name, state.members) if isinstance(event, Joined) else None


def _crowded(state: members.RosterState, caps: Caps | None) -> str | None:
    return crowded(caps, sum(member.here for member in state.teammates)) if caps else None
