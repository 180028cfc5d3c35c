"""What a mailbox asks of its owner, folded from its mail.

Supervisors and leads look at the mail of others again and again. A fold costs what is new, not what is there.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import field, replace

from deskmate.core.log.names import IN_CHARGE, USER
from deskmate.core.log.records import Item
from deskmate.core.team.members import Member
from deskmate.core.team.messages import Envelope, ShutdownRequest, ShutdownResponse, calls_for_action, envelope_in
from deskmate.core.team.status import Parked
from deskmate.core.values import frozen


@frozen
class Inbox:
    """The fold of one mailbox. `asks`: the last message that gives its owner something to do; `asks_by`: by sender.

    `stops`: shutdown requests from those who may ask, by request id, with who asked. `refusals`: who refused which
    shutdown request of this mailbox's owner.
    """

    number: int = 0
    asks: int = 0
    asks_by: Mapping[str, int] = field(default_factory=dict)
    stops: Mapping[str, str] = field(default_factory=dict)
    refusals: Set[tuple[str, str]] = frozenset()


EMPTY = Inbox()


def fold(inbox: Inbox, items: Iterable[Item]) -> Inbox:
    """Return the inbox after these items. Damaged and unknown ones ask for nothing."""
    for item in items:
        envelope = envelope_in(item)
        inbox = replace(_take_in(inbox, item.number, envelope) if envelope else inbox, number=item.number)
    return inbox


def _take_in(inbox: Inbox, number: int, envelope: Envelope) -> Inbox:
    sender, message = envelope.sender, envelope.message
    if calls_for_action(message):
        inbox = replace(inbox, asks=number, asks_by={**inbox.asks_by, sender: number})
    match message:
        case ShutdownRequest(request_id=id_) if sender in IN_CHARGE:
            return replace(inbox, stops={**inbox.stops, id_: sender})
        case ShutdownResponse(request_id=id_, approve=False):
            return replace(inbox, refusals=inbox.refusals | {(sender, id_)})
        case _:
            return inbox


def lets_continue(parked: Member, inbox: Inbox) -> bool:
    """Tell whether a message in its mailbox lets a parked member continue."""
    senders = {USER} if parked.only_user else IN_CHARGE
    return any(inbox.asks_by.get(sender, 0) > parked.known for sender in senders)


def has_unheard(member: Member, inbox: Inbox) -> bool:
    """Tell whether a resting teammate has not heard a message that it will act on.

    A parked teammate acts only on a message that lets it continue.
    """
    if isinstance(member.status, Parked):
        return lets_continue(replace(member, known=max(member.known, member.heard)), inbox)
    return inbox.asks > member.heard
