"""Mail as items."""

import json
from collections.abc import Iterable
from typing import assert_never

from deskmate.core.log.names import USER
from deskmate.core.prompt.user_frames import Addition, parted
from deskmate.core.team import messages
from deskmate.core.team.messages import Envelope, Message
from deskmate.core.values import frozen
from deskmate.queries.member_view import Letter


@frozen
class MailItem:
    """A message. `heard`: whether its reader has heard it; None if unknown.

    `recipients`: everybody who got it, as far as it is known here.
    """

    key: str
    envelope: Envelope
    recipients: tuple[str, ...]
    heard: bool | None = None

    @property
    def sender(self) -> str:
        """Who sent it."""
        return self.envelope.sender

    @property
    def title(self) -> str:
        """What kind of message it is, and its answer if it is one; empty for plain words."""
        return title_of(self.envelope.message)

    @property
    def text(self) -> str:
        """What it says, and what the user did beside it."""
        return "\n\n".join(filter(None, (self.words, *(f"{one.title}\n{one.text}" for one in self.additions))))

    @property
    def words(self) -> str:
        """What it says, and a label for each image."""
        return "\n".join(filter(None, (self._parted[0], *self.labels)))

    @property
    def labels(self) -> tuple[str, ...]:
        """A label for each image that the user sent with it."""
        return tuple(image.label for image in messages.sent_images(self.envelope))

    @property
    def additions(self) -> tuple[Addition, ...]:
        """Commands that the user ran and notes that the user added, which are told with it."""
        return self._parted[1]

    @property
    def _parted(self) -> tuple[str, tuple[Addition, ...]]:
        said = text_of(self.envelope.message)
        return parted(said) if self.sender == USER else (said, ())

    @property
    def is_markdown(self) -> bool:
        """Whether an agent wrote its text, so that it is in Markdown. What people type is shown as it is."""
        made = messages.PermissionRequest | messages.InputRequest | messages.Undeliverable
        return self.sender != USER and not isinstance(self.envelope.message, made)

    @property
    def request_id(self) -> str:
        """The request that it makes or answers, if any."""
        return str(getattr(self.envelope.message, "request_id", ""))


def mail_items(letters: Iterable[Letter]) -> list[MailItem]:
    """Return letters as items, in order. The copies of a broadcast are one item."""
    found: dict[str, MailItem] = {}
    for letter in letters:
        envelope, key = letter.envelope, key_of(letter)
        before = found[key].recipients if key in found else ()
        found[key] = MailItem(key, envelope, (*before, envelope.recipient), letter.heard)
    return list(found.values())


def key_of(letter: Letter) -> str:
    """Return the key of the item that shows a letter."""
    envelope = letter.envelope
    if isinstance(envelope.message, messages.Broadcast):
        return f"all/{envelope.sender}/{envelope.id.rpartition('/')[0]}"
    return f"{envelope.recipient}/{letter.number}"


def title_of(message: Message) -> str:
    """Return what kind of message it is, and its answer if it is one; "" for plain words."""
    match message:
        case messages.Plain():
            return ""
        case messages.Broadcast():
            return "to all"
        case messages.PlanRequest():
            return "plan"
        case messages.PlanResponse():
            return f"plan: {_answer(message.approve)}{', and accept edits' if message.accept_edits else ''}"
        case messages.ShutdownRequest():
            return "shutdown request"
        case messages.ShutdownResponse():
            return f"shutdown: {_answer(message.approve)}"
        case messages.PermissionRequest():
            return "permission request"
        case messages.PermissionResponse():
            return f"permission: {_answer(message.approve)}"
        case messages.InputRequest(host=str(host)):
            return f"may a command reach {host}?"
        case messages.InputRequest():
            return f"question of the MCP server {message.server}" if message.server else "question"
        case messages.InputResponse():
            return f"answer: {_answer(message.approve)}"
        case messages.Interrupt():
            return "interrupt"
        case messages.Scheduled(schedule=schedule):
            return f"schedule {schedule}"
        case messages.Undeliverable():
            return "undeliverable"
        case unreachable:
            assert_never(unreachable)


def _answer(approve: bool) -> str:
    return "yes" if approve else "no"


def text_of(message: Message) -> str:
    """Return what a message says."""
    match message:
        case messages.PermissionRequest():
            return f"{message.tool} {json.dumps(message.arguments, ensure_ascii=False)}\n{message.reason}".rstrip()
        case messages.Undeliverable():
            return f"{message.reason}\n{message.original.get('content', '')}".rstrip()
        case _:
            return message.content
