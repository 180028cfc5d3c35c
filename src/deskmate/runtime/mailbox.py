"""Mail, live: sending, hearing, giving back.

A message is heard when it is in the hearer's transcript; the cursor is derived from there, so a kill at any instant
neither loses nor doubles it. Who left before hearing gives back, and so does whoever wrote to them too late; both
under one id, so that it comes back once.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from deskmate.core.entries import Heard
from deskmate.core.facts import Fact, Foreign
from deskmate.core.members import recipient_refusal
from deskmate.core.messages import Envelope, Undeliverable, bounces, check_size, read_envelope
from deskmate.core.names import LEAD, mail
from deskmate.core.records import RECORD_CAP, Damaged, Item, Record, encode
from deskmate.errors import StoreUnavailable, UnknownRecipient
from deskmate.runtime.roster import Roster
from deskmate.runtime.streams import Pen
from deskmate.runtime.transcript import Transcript

# What an entry of heard mail needs beside the envelopes themselves.
_ROOM = RECORD_CAP - 4096


@dataclass(frozen=True, slots=True)
class Delivery:
    """Whom a broadcast reached, and whom it could not."""

    reached: tuple[str, ...]
    missed: tuple[str, ...]


class Mailbox:
    """One member's mail. `me` is stamped on all it sends."""

    def __init__(self, me: str, pen: Pen, roster: Roster) -> None:
        self.me = me
        self._pen, self._roster = pen, roster

    # -- sending ----------------------------------------------------------------------------------

    async def send(self, recipient: str, message: Fact, *, id_: str = "") -> Envelope:
        """Put a message into a member's mailbox for good; raise UnknownRecipient, naming who is here.

        The same `id_` may be sent again after a crash: its hearer takes it in once.
        """
        roster = await self._roster.refresh()
        if why := recipient_refusal(roster, recipient):
            raise UnknownRecipient(why)
        at = self._pen.clock.timestamp()
        envelope = Envelope(id_ or f"{self.me}:{secrets.token_hex(8)}", self.me, recipient, at, message)
        check_size(envelope)
        record = await self._pen.append(mail(recipient), envelope.body())
        member = (await self._roster.refresh()).members.get(recipient)
        if member and not member.here and record.number > member.status.heard:
            await self._give_back(envelope)
        return envelope

    async def broadcast(self, recipients: Iterable[str], message: Fact, *, id_: str) -> Delivery:
        """Send to each of `recipients`, which the caller fixed in its journal before; say who was not reached.

        Sent again after a crash half-way it reaches the rest, and those it had reached hear it once.
        """
        reached, missed = [], []
        for name in recipients:
            try:
                await self.send(name, message, id_=f"{id_}/{name}")
                reached.append(name)
            except (UnknownRecipient, StoreUnavailable):
                missed.append(name)
        return Delivery(tuple(reached), tuple(missed))

    # -- hearing ----------------------------------------------------------------------------------

    async def hear(self, transcript: Transcript) -> Heard | None:
        """Record what is new in the transcript and return exactly what was recorded, or nothing.

        Takes as much as fits into one entry; call again for the rest. Repeats are left out, damage is told.
        """
        box = mail(self.me)
        items = await self._pen.store.read(box, transcript.memory.cursors.get(box, 0))
        if not items:
            return None
        heard = self._pack(box, items, transcript)
        await transcript.record(heard)
        return heard

    def _pack(self, box: str, items: Iterable[Item], transcript: Transcript) -> Heard:
        bodies: dict[str, dict[str, object]] = {}
        damage: list[str] = []
        room, upto = _ROOM, 0
        for item in items:
            envelope = _envelope(item, self.me)
            if isinstance(envelope, str):
                damage.append(envelope)
                cost = len(envelope) + 8
            elif envelope.id in transcript.memory.ids or envelope.id in bodies:
                cost = 0
            else:
                body = envelope.body()
                cost = len(encode({**body, "run": "-", "ord": 0}))
            if cost > room and upto:
                break
            if not isinstance(envelope, str) and cost:
                bodies[envelope.id] = body
            room, upto = room - cost, item.number
        return Heard(box=box, upto=upto, mail=tuple(bodies.values()), damage=tuple(damage))

    # -- leaving ----------------------------------------------------------------------------------

    async def give_back(self) -> int:
        """Return to its senders what this member had not heard when it left; return how many that were.

        Called after its `Left` is on the roster, by the member or in its name. May be called again after a crash.
        """
        heard = (await self._roster.refresh()).members[self.me].status.heard
        count = 0
        for item in await self._pen.store.read(mail(self.me), heard):
            envelope = _envelope(item, self.me)
            if isinstance(envelope, Envelope):
                count += await self._give_back(envelope)
        return count

    async def _give_back(self, envelope: Envelope) -> bool:
        if not bounces(envelope.message):
            return False
        roster = self._roster.state
        back = envelope.sender if roster.here(envelope.sender) and envelope.sender != envelope.recipient else LEAD
        reason = f"'{envelope.recipient}' left before hearing it"
        message = Undeliverable(reason=reason, original=envelope.body())
        returned = Envelope(
            f"undeliverable/{envelope.id}", envelope.recipient, back, self._pen.clock.timestamp(), message
        )
        await self._pen.append(mail(back), returned.body())
        return True


def _envelope(item: Item, me: str) -> Envelope | str:
    """Return the envelope in an item of mail, or a sentence on why there is none to hear."""
    if isinstance(item, Damaged):
        return f"{item.where}: {item.reason}"
    assert isinstance(item, Record)
    envelope = read_envelope(item.body)
    if isinstance(envelope, Foreign):
        return f"record {item.number}: {envelope.reason}"
    if envelope.recipient != me:
        return f"record {item.number}: mail for '{envelope.recipient}' in the mailbox of '{me}'"
    return envelope
