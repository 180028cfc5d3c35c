"""The kinds of mail and their envelope.

Each kind is a frozen class, told apart by `type`. On disk an envelope and its message are one flat object, so that `jq
.sender` works. Only the kind of a message has control effects, never the text inside.
"""

import math
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, StrictBool, StrictInt

from deskmate.core.log.facts import Fact, Foreign, reader
from deskmate.core.log.names import USER, is_call, known_name
from deskmate.core.log.records import RECORD_CAP, Item, Json, Record, encode
from deskmate.core.mcp.forms import FormField
from deskmate.core.values import frozen
from deskmate.errors import BadInput, BadName, TooLarge

BODY_CAP = 256 * 1024
SUMMARY_CAP = 120
# How many bytes of a transcript entry mail may take. The rest is for reporting what could not be read.
HEARD_CAP = RECORD_CAP - 32 * 1024
_ID_CAP = 400
# Far beyond any clock: a larger number is not a time, and one too large could not be stored again.
_SECONDS_CAP = 1e12
# Fields of the envelope, never of the message.
_OUTSIDE = frozenset({"id", "sender", "recipient", "timestamp", "team", "run", "ord"})


class SentImage(BaseModel):
    """An image that the user sent with a message. `blob`: where its recipient reads it. `size`: in bytes."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    media_type: str
    blob: str
    name: str
    size: int
    width: int
    height: int

    @property
    def facts(self) -> str:
        """Its name, its size in pixels and its size in bytes."""
        size = f"{self.size / 1e6:.1f} MB" if self.size >= 1e6 else f"{math.ceil(self.size / 1e3)} kB"
        return f"{' '.join(self.name.split())}, {self.width}x{self.height}, {size}"

    @property
    def label(self) -> str:
        """What a conversation shows for it."""
        return f"[{self.facts}]"


class Plain(Fact):
    """A message to one member. Only the user sends images."""

    type: Literal["message"] = "message"
    content: str
    summary: str = ""
    images: tuple[SentImage, ...] | None = None


class Broadcast(Fact):
    """A message to every other agent of the team."""

    type: Literal["broadcast"] = "broadcast"
    content: str
    summary: str = ""


class PlanRequest(Fact):
    """A teammate's plan. Until it is approved, the teammate may only read."""

    type: Literal["plan_approval_request"] = "plan_approval_request"
    request_id: str
    content: str


class PlanResponse(Fact):
    """The lead's or the user's answer to a plan.

    `accept_edits`: the user approves it, and edits no longer need permission.
    """

    type: Literal["plan_approval_response"] = "plan_approval_response"
    request_id: str
    approve: StrictBool
    accept_edits: StrictBool | None = None
    content: str = ""


class ShutdownRequest(Fact):
    """The lead or the user asks a teammate to leave. `force`: it cannot refuse, only finish its current work."""

    type: Literal["shutdown_request"] = "shutdown_request"
    request_id: str
    content: str = ""
    force: bool | None = None


class ShutdownResponse(Fact):
    """A teammate agrees to leave, or says why not yet."""

    type: Literal["shutdown_response"] = "shutdown_response"
    request_id: str
    approve: StrictBool
    content: str = ""


class PermissionRequest(Fact):
    """A call that a person must allow: exactly this tool with exactly these arguments.

    `rule`: the rule that would allow all calls like it from now on, if there is one.
    """

    type: Literal["permission_request"] = "permission_request"
    request_id: str
    tool: str
    arguments: dict[str, Any]
    reason: str = ""
    rule: str | None = None


class PermissionResponse(Fact):
    """A person's answer about one call."""

    type: Literal["permission_response"] = "permission_response"
    request_id: str
    approve: StrictBool
    content: str = ""


class InputRequest(Fact):
    """During a call, the user is asked to fill in a form, to open a link, or whether a command may reach a host.

    `server`: the MCP server that asks; empty for a command, and if the sender asks with AskUser. `content`: what is
    asked, or the command. `call`: the call that waits for the answer, or the background command that it started.
    `fields`: of the form. `url`: the link. `host`: what the command wants to reach. `rule`: the rule that would allow
    that from now on.
    """

    type: Literal["input_request"] = "input_request"
    request_id: str
    call: str
    server: str
    content: str
    fields: tuple[FormField, ...] | None = None
    url: str | None = None
    host: str | None = None
    rule: str | None = None


class InputResponse(Fact):
    """A person's answer during a call. `values`: of the form. `content`: why not."""

    type: Literal["input_response"] = "input_response"
    request_id: str
    approve: StrictBool
    values: dict[str, Any] | None = None
    content: str = ""


class Interrupt(Fact):
    """The user interrupts what runs."""

    type: Literal["interrupt"] = "interrupt"
    content: str = ""


class Scheduled(Fact):
    """What its sender scheduled for now. `due`: that time, in words. `missed`: due times before it without effect."""

    type: Literal["scheduled"] = "scheduled"
    schedule: StrictInt
    content: str
    due: str
    missed: StrictInt = 0


class Undeliverable(Fact):
    """Mail that comes back complete, because its recipient left before hearing it."""

    type: Literal["undeliverable"] = "undeliverable"
    reason: str
    original: dict[str, Any]


Message: TypeAlias = (
    Plain
    | Broadcast
    | PlanRequest
    | PlanResponse
    | ShutdownRequest
    | ShutdownResponse
    | PermissionRequest
    | PermissionResponse
    | InputRequest
    | InputResponse
    | Interrupt
    | Scheduled
    | Undeliverable
)
KINDS: tuple[type[Message], ...] = (
    Plain,
    Broadcast,
    PlanRequest,
    PlanResponse,
    ShutdownRequest,
    ShutdownResponse,
    PermissionRequest,
    PermissionResponse,
    InputRequest,
    InputResponse,
    Interrupt,
    Scheduled,
    Undeliverable,
)
_read_message: Callable[[Json], Message | Foreign] = reader(*KINDS)


def wakes(message: Message) -> bool:
    """Tell whether this message alone starts a turn of an idle agent.

    A shutdown request does so only if a model must answer it. `decide` knows when.
    """
    match message:
        case Plain() | Broadcast() | PlanRequest() | PlanResponse() | Scheduled() | Undeliverable():
            return True
        case ShutdownResponse(approve=approve):
            return not approve
        case _:
            return False


def calls_for_action(message: Message) -> bool:
    """Tell whether this message gives its reader something to do. The roster does not show when the rest was heard."""
    return wakes(message) or isinstance(message, ShutdownRequest)


def bounces(message: Message) -> bool:
    """Tell whether this message comes back from a member that left: not if leaving made it pointless."""
    return not isinstance(message, ShutdownRequest | Interrupt | PermissionResponse | InputResponse)


@frozen
class Envelope:
    """A message with its id, sender, recipient and time. The runtime sets the sender. A model cannot choose it.

    `team`: the sender's, in mail to the user, whose one mailbox is for all teams of a lead. Version 0.1 has none.
    """

    id: str
    sender: str
    recipient: str
    timestamp: float
    message: Message
    team: str = ""

    def body(self) -> dict[str, Any]:
        """Return the envelope as the flat body of a record. No field of the message can replace one of the envelope."""
        fields = {key: value for key, value in self.message.body().items() if key not in _OUTSIDE}
        head = {"type": fields.pop("type"), "sender": self.sender, "recipient": self.recipient}
        team = {"team": self.team} if self.team else {}
        return {**head, **fields, **team, "timestamp": self.timestamp, "id": self.id}


def read_envelope(body: Json) -> Envelope | Foreign:
    """Return the envelope in a record of mail; Foreign if it has none that this version understands."""
    message = _read_message({key: value for key, value in body.items() if key not in _OUTSIDE})
    if isinstance(message, Foreign):
        return Foreign(body, message.reason)
    id_, sender, recipient, timestamp = (body.get(key) for key in ("id", "sender", "recipient", "timestamp"))
    if not isinstance(id_, str) or not 0 < len(id_) <= _ID_CAP:
        return Foreign(body, f"an envelope without an id of 1 to {_ID_CAP} characters")
    if not isinstance(sender, str):
        return Foreign(body, "an envelope without a sender")
    if not isinstance(recipient, str):
        return Foreign(body, "an envelope without a recipient")
    if not isinstance(timestamp, int | float) or isinstance(timestamp, bool) or not abs(timestamp) <= _SECONDS_CAP:
        return Foreign(body, "an envelope without a timestamp")
    team = body.get("team")
    try:
        sent_from = known_name(team, "team") if isinstance(team, str) else ""
        return Envelope(id_, _party(sender), _party(recipient), float(timestamp), message, sent_from)
    except BadName as error:
        return Foreign(body, str(error))


def _party(name: str) -> str:
    """Return a sender or recipient: a member, or a subagent, whose name is the id of the call that started it."""
    return name if is_call(name) else known_name(name)


def envelope_in(item: Item) -> Envelope | None:
    """Return the envelope in an item of mail, if it has one."""
    envelope = read_envelope(item.body) if isinstance(item, Record) else None
    return envelope if isinstance(envelope, Envelope) else None


def read_hearable(body: Json) -> tuple[Envelope, int]:
    """Return the envelope in a record of mail and how many bytes of an entry it takes.

    Raises BadInput with the reason if no member could ever hear it.
    """
    envelope = read_envelope(body)
    if isinstance(envelope, Foreign):
        raise BadInput(envelope.reason)
    size = len(encode({"mail": [envelope.body()], "run": "-", "ord": 0}))
    if size > HEARD_CAP:
        raise TooLarge(f"a message of {size} bytes, above the cap")
    return envelope, size


def check_size(envelope: Envelope) -> None:
    """Raise TooLarge if an envelope is above the cap of one message."""
    try:
        size = len(encode({**envelope.body(), "run": "-", "ord": 0}))
    except TooLarge as error:
        raise TooLarge(
            f"A message has at most {BODY_CAP} bytes. Write the text to a file and send its path."
        ) from error
    if size > BODY_CAP:
        raise TooLarge(
            f"This message has {size} bytes, and at most {BODY_CAP} fit. Write the text to a file and send its path."
        )


def sent_images(envelope: Envelope) -> tuple[SentImage, ...]:
    """Return the images that the user sent with a message. From anybody else they do not count."""
    message = envelope.message
    return (message.images or ()) if isinstance(message, Plain) and envelope.sender == USER else ()


def summarise(content: str, summary: str = "") -> str:
    """Return a one-line preview of a message: the given summary, or else its first words."""
    text = " ".join((summary.strip() or content.strip()).split())
    return text if len(text) <= SUMMARY_CAP else text[: SUMMARY_CAP - 1].rstrip() + "…"
