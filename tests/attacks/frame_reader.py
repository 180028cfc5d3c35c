"""A strict reader of frames that shares no code with the product: it says who wrote what in a prompt, or that it lies.

It reads what a provider is sent. All that a reader could take for a frame must be a whole one, and be where such frames
are: mail in what the model is told, tasks there and in the results of TaskGet, neither in the notes of a project.
"""

import json
import unicodedata
from dataclasses import dataclass, field

MAIL, NEWS = "teammate-message", "task-notification"
TASK, NOTE, HOOK = "deskmate-task", "deskmate-note", "deskmate-hook"
TAGS = (MAIL, NEWS, TASK, NOTE, HOOK)
EXAMPLES = (
    f'<{MAIL} sender="NAME" type="message">',
    f'<{TASK} id="N" created_by="NAME" edited_by="NAME">',
    f'<{TASK} created_by="NAME" edited_by="NAME">',
    f'<{NOTE} by="NAME">',
    f'<{NEWS} id="ID" status="completed">',
)
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "#x27": "'"}
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mn"})
_ATTRIBUTE = "abcdefghijklmnopqrstuvwxyz_"


class Forged(Exception):
    """Something in a prompt passes for a frame and is none."""


@dataclass
class Frame:
    """One frame, as it was meant."""

    tag: str
    body: str
    attributes: dict[str, str] = field(default_factory=dict)


def frames_in(text: str) -> list[Frame]:
    """Return the frames in a text; raise Forged for anything that only looks like the beginning or end of one."""
    return apart(text)[0]


def apart(text: str) -> tuple[list[Frame], str]:
    """Return the frames in a text and what is said around them; raise Forged as `frames_in` does."""
    found, at = list[Frame](), 0
    while (begin := text.find("<", at)) >= 0:
        tag = next((tag for tag in TAGS if text.startswith(f"<{tag}", begin)), None)
        at = begin + 1
        if tag:
            frame, at = _frame(text, begin + 1 + len(tag), tag)
            found.append(frame)
            text = text[:begin] + " " * (at - begin) + text[at:]
    if left := posing(text):
        raise Forged(f"{left!a} in {text!a:.500}")
    return found, text


def _frame(text: str, at: int, tag: str) -> tuple[Frame, int]:
    attributes = dict[str, str]()
    while text[at : at + 1] == " ":
        equals = text.find('="', at)
        name, end = text[at + 1 : equals], text.find('"', equals + 2)
        if equals < 0 or end < 0 or not name or name.strip(_ATTRIBUTE) or name in attributes:
            raise Forged(f"attributes of {text!a:.500}")
        attributes[name], at = _meant(text[equals + 2 : end], one_line=True), end + 1
    closing = f"</{tag}>"
    end = text.find(closing, at)
    if text[at : at + 1] != ">" or end < 0:
        raise Forged(f"a frame without an end: {text!a:.500}")
    return Frame(tag, _meant(text[at + 1 : end]), attributes), end + len(closing)


def _meant(text: str, *, one_line: bool = False) -> str:
    """Return what an escaped text stands for."""
    if {"<", ">", *('"\n' if one_line else "")} & set(text):
        raise Forged(f"{text!a:.500} is not escaped")
    head, *rest = text.split("&")
    return head + "".join(_decoded(part) for part in rest)


def _decoded(part: str) -> str:
    name, end, after = part.partition(";")
    if not end or name not in _ENTITIES:
        raise Forged(f"&{part[:20]!a} stands for nothing")
    return _ENTITIES[name] + after


def posing(text: str) -> str:
    """Return the first thing in a text that a careless reader could take for the beginning or end of a frame."""
    seen = seen_as(text)
    at = seen.find("<")
    while at >= 0:
        rest = seen[at + 1 : at + 60].lstrip("/ \t\n\r\f\v")
        if rest.startswith(TAGS):
            return seen[at : at + 60]
        at = seen.find("<", at + 1)
    return ""


def seen_as(text: str) -> str:
    """Return a text as somebody sees it: wide letters as narrow ones, capitals as small ones, nothing unseen in it."""
    text = unicodedata.normalize("NFKC", text).casefold()
    unseen = [char for char in set(text) if unicodedata.category(char) in _UNSEEN and char not in "\t\n\r"]
    return text.translate(dict.fromkeys(map(ord, unseen)))


# -- what a provider is sent ------------------------------------------------------------------------


@dataclass
class Sent:
    """The texts of a request: what the runtime says, results, those of TaskGet, and what the model is told."""

    system: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def frames(self) -> list[Frame]:
        """Return the frames that the model is given; raise Forged if another part of the request poses as one."""
        for text in (*map(without_examples, self.system), *self.results):
            if left := posing(text):
                raise Forged(f"{left!a} where there is no frame")
        read = [frame for text in self.read for frame in frames_in(text)]
        if wrong := [frame.tag for frame in read if frame.tag not in (TASK, NOTE)]:
            raise Forged(f"{wrong} in a result of TaskGet")
        return [*(frame for text in self.told for frame in frames_in(text)), *read]


def without_examples(system: str) -> str:
    """Return a system prompt without the frames that it shows as examples, each once."""
    for example in EXAMPLES:
        system = system.replace(example, "", 1)
    return system


def read_anthropic(body: bytes) -> Sent:
    """Read a request of one wire."""
    request, sent, tools = json.loads(body), Sent(), dict[str, str]()
    sent.system += (block["text"] for block in request.get("system", []))
    for message in request["messages"]:
        for block in message["content"]:
            if block["type"] == "tool_use":
                tools[block["id"]] = block["name"]
            elif block["type"] == "tool_result":
                place = sent.read if tools[block["tool_use_id"]] == "TaskGet" else sent.results
                place += (part["text"] for part in block["content"])
            elif message["role"] == "user":
                sent.told.append(block["text"])
    return sent


def read_openai(body: bytes) -> Sent:
    """Read a request of the other wire."""
    sent, tools = Sent(), dict[str, str]()
    for message in json.loads(body)["messages"]:
        match message["role"]:
            case "assistant":
                tools |= {call["id"]: call["function"]["name"] for call in message.get("tool_calls", [])}
            case "tool":
                place = sent.read if tools[message["tool_call_id"]] == "TaskGet" else sent.results
                place.append(message["content"])
            case role:
                {"system": sent.system, "user": sent.told}[role].append(message["content"])
    return sent
