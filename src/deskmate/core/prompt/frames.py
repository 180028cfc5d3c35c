"""Mail, tasks and notices in tags that no text inside can close.

Only the frame says who wrote something, and it takes that from the envelope. Everything inside is just text.
`rendering` puts frames into a prompt.
"""

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import assert_never

from deskmate.core.agent.entries import Ended, Hooked
from deskmate.core.log.facts import Foreign
from deskmate.core.log.names import LEAD, USER
from deskmate.core.prompt.call_texts import ask_to_leave, submit_plan, ways_to_answer, ways_to_leave
from deskmate.core.team.handshakes import TABLE, Shake, may_ask
from deskmate.core.team.messages import (
    Broadcast,
    Envelope,
    InputRequest,
    InputResponse,
    Interrupt,
    PermissionRequest,
    PermissionResponse,
    Plain,
    PlanRequest,
    PlanResponse,
    Scheduled,
    ShutdownRequest,
    ShutdownResponse,
    Undeliverable,
    read_envelope,
    sent_images,
    summarise,
)
from deskmate.core.team.tasks import Note

MESSAGE = "teammate-message"
NOTIFICATION = "task-notification"
SUMMARY = "summary"
NOTES = "project-notes"
USER_NOTES = "user-notes"
TEAM_NOTES = "team-notes"
INSTRUCTIONS = "agent-instructions"
TYPES = "agent-types"
TASK = "deskmate-task"
TASK_NOTE = "deskmate-note"
HOOK = "deskmate-hook"

EMPTY_MESSAGE = "(an empty message)"

# What a model is told before the reason of a hook that blocks.
_CONTINUES = {
    "PostToolUse": "A hook checked what you did and objects. Deal with it before you continue.",
    "Stop": "A hook says that you are not done. Do what it asks, then answer.",
    "SubagentStop": "A hook says that you are not done. Do what it asks, then answer.",
    "TeammateIdle": "A hook says that you are not done. Do what it asks, then stop.",
}

# All control characters except tab and newline, and those that change the direction of text.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_TAG = re.compile(
    rf"<(?=[\s/]*(?:{MESSAGE}|{NOTIFICATION}|{SUMMARY}|{NOTES}|{USER_NOTES}|{TEAM_NOTES}|{INSTRUCTIONS}|{TYPES}|{TASK}"
    rf"|{TASK_NOTE}|{HOOK})\b)",
    re.IGNORECASE,
)
# In a result, only tags that imitate a sender: a page may well have a summary.
_POSING = re.compile(rf"<(?=[\s/]*(?:{MESSAGE}|{NOTIFICATION}|{TASK}|{TASK_NOTE}|{HOOK})\b)", re.IGNORECASE)
# `<` and characters that look like it.
_OPENING = re.compile("[<\ufe64\uff1c]")
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Mn"})
_LINE_END = re.compile(r"\r\n?")


def message_text(envelope: Envelope) -> str | None:
    """Return a message as its recipient's model reads it; None if no model reads its kind.

    The user's words to the lead are the conversation itself and have no frame. Everything else is framed. Each image
    that the user sent has a line after it.
    """
    shown = image_lines(envelope)
    if envelope.sender == USER and envelope.recipient == LEAD and isinstance(envelope.message, Plain):
        words = unframed(envelope.message.content)
        return "\n".join(filter(None, (words, *shown))) or EMPTY_MESSAGE
    read = _as_read(envelope)
    if read is None:
        return None
    body, attributes = read
    told = framed(MESSAGE, body, {"sender": envelope.sender, "type": envelope.message.type, **attributes})
    return "\n".join(filter(None, (told, *shown, unframed(_next_step(envelope)))))


def image_lines(envelope: Envelope) -> list[str]:
    """Return a line for each image that the user sent with a message, with where its reader finds it."""
    return [unframed(f"[image: {image.facts}, saved in {image.blob}]") for image in sent_images(envelope)]


def _next_step(envelope: Envelope) -> str:
    """Return how to answer a request, or what an answer to one's own request allows, as exact calls."""
    match envelope.message:
        case ShutdownRequest(request_id=id_, force=force):
            return f"Answer this request. {ways_to_leave(id_, forced=bool(force))}"
        case PlanRequest(request_id=id_):
            return f"Answer this plan. {ways_to_answer(envelope.sender, id_)}"
        case PlanResponse(approve=True):
            return "Your plan is approved. Do the work now."
        case PlanResponse(approve=False):
            return f"Your plan is refused. Change it, then submit it again: {submit_plan()}."
        case ShutdownResponse(approve=False):
            return f"{envelope.sender} stays for now. You can ask again later: {ask_to_leave(envelope.sender)}."
        case _:
            return ""


def _as_read(envelope: Envelope) -> tuple[str, dict[str, str]] | None:
    """Return body and attributes of what a model reads; None for kinds that only the runtime reads."""
    message = envelope.message
    match message:
        case Plain(content=content, summary=summary) | Broadcast(content=content, summary=summary):
            return content, {"summary": summarise(summary)}
        case PlanRequest(content=content, request_id=id_):
            return content, {"request_id": id_}
        case PlanResponse(content=content, request_id=id_, approve=approve):
            # From anyone else it decides nothing, and must not look as if it did.
            counts = envelope.sender in TABLE[Shake.PLAN].answered_by
            return (content, {"request_id": id_, "approve": _yes_or_no(approve)}) if counts else None
        case ShutdownRequest(content=content, request_id=id_):
            return (content, {"request_id": id_}) if may_ask(envelope.sender, message) else None
        case ShutdownResponse(content=content, request_id=id_, approve=approve):
            # The roster shows that a member left. Only a refusal has to be answered.
            return None if approve else (content, {"request_id": id_, "approve": _yes_or_no(approve)})
        case Scheduled(content=content, schedule=schedule, due=due, missed=missed):
            return content, {"schedule": str(schedule), "due": due, "missed": str(missed or "")}
        case Undeliverable(reason=reason, original=original):
            return f"Not delivered: {reason}. The message:\n{_returned(original)}", {}
        case PermissionRequest() | PermissionResponse() | InputRequest() | InputResponse() | Interrupt():
            return None
        case unreachable:
            assert_never(unreachable)


def _yes_or_no(approve: bool) -> str:
    return "yes" if approve else "no"


def _returned(original: dict[str, object]) -> str:
    envelope = read_envelope(original)
    if isinstance(envelope, Foreign):
        return json.dumps(original, ensure_ascii=False)
    head = f"from {envelope.sender} to {envelope.recipient}, type {envelope.message.type}"
    return f"({head})\n{getattr(envelope.message, 'content', '')}"


def notification_text(ended: Ended) -> str:
    """Return the end of a background command or subagent as a model reads it."""
    attributes = {"id": ended.background, "status": ended.status, "output": ended.blob or ""}
    return framed(NOTIFICATION, ended.text, attributes)


def hook_texts(entry: Hooked) -> list[str]:
    """Return what hooks tell the model. Why a call was refused is the result of that call, so it is not here."""
    texts = [framed(HOOK, text, {"event": entry.event}) for text in entry.context or ()]
    if entry.decision != "deny" or entry.event not in _CONTINUES:
        return texts
    words = framed(HOOK, entry.reason or "", {"event": entry.event, "decision": "block"})
    return [*texts, f"{_CONTINUES[entry.event]}\n{words}"]


def task_text(id_: int, words: str, created_by: str, edited_by: Iterable[str], notes: Iterable[Note]) -> str:
    """Return a task and the notes on it as a model reads them, each in a frame that names its authors."""
    attributes = {"id": str(id_), "created_by": created_by, "edited_by": ", ".join(edited_by)}
    told = (framed(TASK_NOTE, text, {"task": str(id_), "by": by}) for by, text in notes)
    return "\n".join([framed(TASK, words, attributes), *told])


def framed(tag: str, body: str, attributes: dict[str, str] | None = None) -> str:
    """Return a text in a frame with the attributes that are set. Nothing in them can end the frame early."""
    set_ones = {key: " ".join(clean(value).split()) for key, value in (attributes or {}).items()}
    head = "".join(f' {key}="{escaped(value)}"' for key, value in set_ones.items() if value)
    return f"<{tag}{head}>{_without_tags(clean(body))}</{tag}>"


def escaped(text: str) -> str:
    """Return a text for an attribute of a tag. The same as `html.escape`, whose module takes half a megabyte."""
    return _without_tags(text).replace('"', "&quot;").replace("'", "&#x27;")


def _without_tags(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unframed(text: str) -> str:
    """Return a text for use without a frame, with everything that looks like one of our frames made harmless."""
    text = harmless(clean(text), _TAG)
    return text if text.strip() else ""


def posing_as_nobody(text: str) -> str:
    """Return the text of a result, in which nothing can be taken for mail or a notification."""
    return harmless(storable(text), _POSING)


def harmless(text: str, tag: re.Pattern[str]) -> str:
    """Return a text in which nothing can be taken for one of the tags whose beginning a pattern finds."""
    if not _OPENING.search(text):
        return text
    text = tag.sub("&lt;", text)
    # If a disguised tag is left, it is unknown which characters form it. So all of them are replaced.
    return _OPENING.sub("&lt;", text) if tag.search(_as_seen(text)) else text


def _as_seen(text: str) -> str:
    """Return a text with wide letters as narrow ones, and without invisible characters."""
    if text.isascii():
        return _UNSEEN.sub("", text)
    text = unicodedata.normalize("NFKC", text)
    hidden = [char for char in set(text) if unicodedata.category(char) in _HIDDEN and char not in "\t\n"]
    return text.translate(dict.fromkeys(map(ord, hidden)))


def clean(text: str) -> str:
    """Return a text without characters that hide something or have no UTF-8. Line ends become newlines."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSEEN.sub("", _LINE_END.sub("\n", storable(text)))


def storable(text: str) -> str:
    """Return a text as a store returns it: lone surrogates become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
