"""Sending, receiving and returning mail.

A message is heard when it is in the recipient's transcript. The cursor is derived from there, so a kill at any instant
neither loses nor repeats a message. Mail that a member had not heard when it left goes back to its sender. Both the
leaver and a sender who wrote too late return it, under one id, so it comes back once.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from deskmate.core.agent.entries import Heard
from deskmate.core.agent.memory import Memory, plan_answer_counts
from deskmate.core.log.facts import Fact
from deskmate.core.log.names import LEAD, USER, agent_id, box, is_call, mail
from deskmate.core.log.records import Damaged, Decision, Item, Record
from deskmate.core.team.members import Member, recipient_refusal, who_is_here
from deskmate.core.team.messages import (
    HEARD_CAP,
    Envelope,
    InputRequest,
    InputResponse,
    Message,
    PermissionResponse,
    PlanResponse,
    Undeliverable,
    bounces,
    check_size,
    envelope_in,
    read_hearable,
)
from deskmate.core.team.open_questions import answered_id
from deskmate.core.values import frozen
from deskmate.errors import BadInput, Refused, StoreError, UnknownRecipient
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript

# At most this many unreadable places are reported one by one, with this many characters each. At six bytes per
# character at most, they fit into a record together with HEARD_CAP.
_TOLD, _WORDS = 10, 400


@frozen
class Delivery:
    """Whom a broadcast reached, and whom it could not."""

    reached: tuple[str, ...]
    missed: tuple[str, ...]


class Mailbox:
    """One member's mail. `me` is the sender of everything that it sends."""

    def __init__(self, me: str, writer: LogWriter, roster: Roster) -> None:
        self.me = me
        self._writer, self._roster = writer, roster

    # -- sending ----------------------------------------------------------------------------------

    async def send(self, recipient: str, message: Message, *, id_: str = "") -> Envelope:
        """Put a message into a member's mailbox, durably. Raises UnknownRecipient with who is on the team.

        The same `id_` may be sent again after a crash. The recipient hears it once.
        """
        envelope = self._addressed(recipient, message, id_ or f"{self.me}:{secrets.token_hex(8)}")
        return await self._send(envelope)

    async def answer(
        self, asker: str, response: PermissionResponse | PlanResponse | InputResponse, *, id_: str = ""
    ) -> None:
        """Send the one answer to a request. Raises Refused if it was answered before.

        The same `id_` may be sent again after a crash.
        """
        envelope = await self._checked(self._addressed(asker, response, id_ or f"{self.me}:{secrets.token_hex(8)}"))

        def decided(items: Sequence[Item]) -> Decision[Envelope | None]:
            answers = (one for item in items if (one := envelope_in(item)))
            first = next((one for one in answers if answered_id(one) == response.request_id), None)
            return Decision(None if first else envelope.body(), first)

        # Decided on the mailbox it is appended to: if two answer at once, one is refused.
        _, first = await self._writer.decide(mail(envelope.recipient), 0, decided)
        if first and first.id != envelope.id:
            raise Refused(answered_before(first))
        await self._return_if_late(envelope)

    async def ask(self, request: InputRequest) -> InputResponse:
        """Ask the user for input, and return the answer. Waits as long as the user needs."""
        await self.send(USER, request, id_=f"ask/{request.request_id}")
        store, stream, seen = self._writer.store, mail(self.me), 0
        while True:
            for item in await store.read(stream, seen):
                seen, envelope = item.number, envelope_in(item)
                message = envelope.message if envelope and envelope.sender == USER else None
                if isinstance(message, InputResponse) and message.request_id == request.request_id:
                    return message
            await store.changed({stream: seen})

    async def broadcast(self, recipients: Iterable[str], message: Message, *, id_: str) -> Delivery:
        """Send to each of `recipients`, which the caller has recorded before. Return who was not reached.

        If it is sent again after a crash, it reaches the rest, and nobody hears it twice.
        """
        envelopes = [self._addressed(name, message, f"{id_}/{name}") for name in recipients]
        roster = await self._roster.refresh()
        # Check all before the first is sent: one that is too large because of a longer name must not stop it half-way.
        for envelope in envelopes:
            if not recipient_refusal(roster, envelope.recipient):
                self._check(envelope)
        reached, missed = [], []
        for envelope in envelopes:
            try:
                await self._send(envelope)
                reached.append(envelope.recipient)
            except (UnknownRecipient, StoreError):
                missed.append(envelope.recipient)
        return Delivery(tuple(reached), tuple(missed))

    def _addressed(self, recipient: str, message: Message, id_: str) -> Envelope:
        if not isinstance(message, Fact):
            raise BadInput(f"{type(message).__name__} is not a kind of message", "Use one, such as Plain(content=…).")
        return Envelope(id_, self.me, recipient, self._writer.clock.timestamp(), message)

    def _check(self, envelope: Envelope) -> None:
        """Raise BadInput if an envelope is too large or deep to be heard, also when it comes back in another one."""
        check_size(envelope)
        read_hearable(envelope.body())
        read_hearable(self._come_back(envelope).body())

    async def _send(self, envelope: Envelope) -> Envelope:
        envelope = await self._checked(envelope)
        await self._put(envelope)
        return envelope

    async def _checked(self, envelope: Envelope) -> Envelope:
        """Return an envelope with its recipient as the roster spells it.

        Raises UnknownRecipient, with who is here, or BadInput if the envelope could not be heard.
        """
        roster = await self._roster.refresh()
        to = roster.spelled(envelope.recipient)
        envelope = envelope if to == envelope.recipient else replace(envelope, recipient=to)
        if to == USER:
            envelope = replace(envelope, team=roster.team)
        # A subagent hears only the user's verdicts. It is here as long as the member that started it.
        verdict = self.me == USER and is_call(to) and isinstance(envelope.message, PermissionResponse | InputResponse)
        if why := recipient_refusal(roster, to.partition(":")[0] if verdict else to):
            refusal = UnknownRecipient(why)
            refusal.roster = roster.number
            raise refusal
        self._check(envelope)
        return envelope

    async def _put(self, envelope: Envelope) -> None:
        """Append an envelope to its mailbox. Return it to its sender if the recipient left without hearing it."""
        await self._writer.append(mail(envelope.recipient), envelope.body())
        await self._return_if_late(envelope)

    async def _return_if_late(self, envelope: Envelope) -> None:
        member = (await self._roster.refresh()).members.get(envelope.recipient)
        if member and not member.here and member.name != LEAD:
            unheard, _ = await self._unheard(member)
            if envelope.id in unheard:
                await self._give_back(envelope)

    # -- hearing ----------------------------------------------------------------------------------

    async def hear(self, transcript: Transcript) -> Heard | None:
        """Record new mail in the transcript and return exactly what was recorded, or None.

        Takes as much as fits into one entry. Call it again for the rest. Repeated mail is left out, damage is reported.
        """
        return await transcript.record_made(self._news)

    @property
    def boxes(self) -> Mapping[str, str]:
        """The mailboxes of this member: name in a transcript, and stream. A lead in its second team has two."""
        roster = self._roster.state
        if self.me != LEAD or not roster.home:
            return {mail(self.me): mail(self.me)}
        return {mail(LEAD): mail(agent_id(LEAD, roster.home)), box(LEAD, roster.away): mail(LEAD)}

    async def _news(self, memory: Memory) -> Heard | None:
        roster = self._roster.state
        if self.me == LEAD and memory.away != roster.away:
            # Which team a message is of would be unclear. The lead records first where it works.
            return None
        for name, stream in self.boxes.items():
            after = memory.cursors.get(name, 0)
            if items := await self._writer.store.read(stream, after):
                team = roster.home if name == mail(self.me) else None
                return self._pack(name, after, items, memory.in_team(team), team if self.me == LEAD else None)
        return None

    def _pack(self, name: str, after: int, items: Iterable[Item], memory: Memory, team: str | None) -> Heard:
        bodies: dict[str, dict[str, object]] = {}
        damage: list[str] = []
        room, upto = HEARD_CAP, after
        answered: set[str] = set()
        for number, letter, trouble in _places(items, self.me):
            is_new = letter and letter.id not in memory.ids and letter.id not in bodies
            if letter and is_new and _is_for_model(memory, letter.envelope, answered):
                if letter.size > room:
                    break
                bodies[letter.id] = letter.envelope.body()
                room -= letter.size
            damage += trouble
            upto = number
        return Heard(box=name, after=after, upto=upto, mail=tuple(bodies.values()), damage=_told(damage), team=team)

    # -- leaving ----------------------------------------------------------------------------------

    async def give_back(self) -> int:
        """Send mail that this member had not heard when it left back to its senders. Return how many messages.

        Call it after `Left` is on the roster, by the member or in its name. It may be called again after a crash. The
        lead is told about mail that cannot be read.
        """
        roster = await self._roster.refresh()
        if self.me not in roster.members:
            raise Refused(f"'{self.me}' is not on the roster. {who_is_here(roster)}")
        unheard, damage = await self._unheard(roster.members[self.me])
        for envelope in unheard.values():
            await self._give_back(envelope)
        if damage:
            reason = f"some mail that '{self.me}' had not read is damaged: {'; '.join(_told(damage))}"
            await self._put(self._returned(mail(self.me), self.me, reason, {}))
        return len(unheard)

    async def _unheard(self, leaver: Member) -> tuple[dict[str, Envelope], list[str]]:
        """Return the mail that a leaver had not heard and that should come back, by id, and what cannot be read."""
        heard: set[str] = set()
        unheard: dict[str, Envelope] = {}
        damage: list[str] = []
        for number, letter, trouble in _places(await self._writer.store.read(mail(leaver.name)), leaver.name):
            if number > leaver.heard:
                damage += trouble
            # A message that was sent again in doubt may be both before and after the cursor.
            if letter and number <= leaver.heard:
                heard.add(letter.id)
            elif letter and letter.id not in heard and bounces(letter.envelope.message):
                unheard[letter.id] = letter.envelope
        return unheard, damage

    async def _give_back(self, envelope: Envelope) -> None:
        """Return a message to its sender, or to the lead if the sender has left without hearing that it came back."""
        sender, roster = envelope.sender, self._roster.state
        back = self._come_back(envelope)
        if roster.here(sender) and sender != envelope.recipient:
            back = replace(back, recipient=sender)
        elif await self._was_heard(sender, back.id):
            return
        # A process that was killed half-way may have returned it already.
        if not await self._was_put(back):
            await self._put(back)

    def _come_back(self, envelope: Envelope) -> Envelope:
        if isinstance(envelope.message, Undeliverable):
            # Under the same id: everybody who returns it uses that, so the lead hears it once.
            return replace(envelope, recipient=LEAD)
        reason = f"'{envelope.recipient}' left before reading it"
        return self._returned(envelope.id, envelope.recipient, reason, envelope.body())

    def _returned(self, id_: str, leaver: str, reason: str, original: dict[str, Any]) -> Envelope:
        message = Undeliverable(reason=reason, original=original)
        return Envelope(f"undeliverable/{id_}", leaver, LEAD, self._writer.clock.timestamp(), message)

    async def _was_put(self, envelope: Envelope) -> bool:
        items = await self._writer.store.read(mail(envelope.recipient))
        return any(isinstance(item, Record) and item.body.get("id") == envelope.id for item in items)

    async def _was_heard(self, name: str, id_: str) -> bool:
        """Return whether a member heard this before it left."""
        member = self._roster.state.members.get(name)
        heard = member.heard if member else 0
        items = await self._writer.store.read(mail(name))
        return any(item.number <= heard and isinstance(item, Record) and item.body.get("id") == id_ for item in items)


@frozen
class _Letter:
    """An envelope that can be heard, and how much of an entry it takes."""

    envelope: Envelope
    size: int

    @property
    def id(self) -> str:
        return self.envelope.id


def _places(items: Iterable[Item], me: str) -> Iterator[tuple[int, _Letter | None, list[str]]]:
    """Yield for each number the letter or None, and a sentence for each item that is not a letter.

    Lines added by hand share the number of the record after them. Items with one number are read together.
    """
    for number, place in groupby(items, key=lambda item: item.number):
        found = [_letter(item, me) for item in place]
        letter = next((one for one in found if isinstance(one, _Letter)), None)
        yield number, letter, [one[:_WORDS] for one in found if isinstance(one, str)]


def _letter(item: Item, me: str) -> _Letter | str:
    """Return the letter in an item of mail, or a sentence that says why there is none."""
    if isinstance(item, Damaged):
        return f"{item.where}: {item.reason}"
    try:
        envelope, size = read_hearable(item.body)
    except BadInput as error:
        return f"record {item.number}: {error}"
    if envelope.recipient != me:
        return f"record {item.number}: mail for '{envelope.recipient}' in the mailbox of '{me}'"
    return _Letter(envelope, size)


def answered_before(first: Envelope) -> str:
    """Return who answered a request first, and what."""
    assert isinstance(first.message, PlanResponse | PermissionResponse | InputResponse), "only these are answered once"
    what = "plan" if isinstance(first.message, PlanResponse) else "request"
    verb = "approved" if first.message.approve else "refused"
    return f"{first.sender} has already {verb} {what} '{first.message.request_id}'. The first answer counts."


def _is_for_model(memory: Memory, envelope: Envelope, answered: set[str]) -> bool:
    """Return whether the model hears a letter: of the answers to a plan, only the one that counts.

    Adds to `answered`.
    """
    if not isinstance(envelope.message, PlanResponse):
        return True
    counts = envelope.message.request_id not in answered and plan_answer_counts(memory, envelope)
    if counts:
        answered.add(envelope.message.request_id)
    return counts


def _told(damage: list[str]) -> tuple[str, ...]:
    """Return what could not be read, short enough to fit into one entry with the mail."""
    more = len(damage) - _TOLD
    return (*damage[:_TOLD], f"and {more} more places that cannot be read") if more > 0 else tuple(damage)
