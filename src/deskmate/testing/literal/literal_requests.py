"""What it understands of requests and tasks.

    Move the service to GraphQL.
    Tasks:
    - List the endpoints [analyst]: write notes.txt: "books, authors"
    - Write the schema [backend, after 1, verify grep -q Query api.graphql]: write api.graphql: "type Query"; \
tell web: "the schema is there"
    Team: ann (analyst), ben (backend, plans)
    Approve only plans that mention: tests
    Ask everybody to leave as soon as somebody writes to you.
    Report: It speaks GraphQL.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

_TASK = re.compile(r"^- (?P<subject>[^\[\n]+) \[(?P<terms>[^\]]*)\]: (?P<text>.+)$", re.MULTILINE)
_MATE = re.compile(r"([^\s,(]+) \(([^)]*)\)")
_DEED = re.compile(r'(write|tell) (\S+): ("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True)
class WantedTask:
    """A task of the request. `after`: the numbers of the tasks it waits for."""

    subject: str
    text: str
    role: str = ""
    after: tuple[int, ...] = ()
    verify: str = ""


@dataclass(frozen=True)
class WantedMate:
    """A teammate of the request."""

    name: str
    role: str
    plans: bool


@dataclass(frozen=True)
class UserRequest:
    """What the user wants. `hurry`: teammates are asked to leave at the first mail, and again at the end."""

    tasks: tuple[WantedTask, ...]
    teammates: tuple[WantedMate, ...]
    plans_mention: str
    hurry: bool
    report: str


@dataclass(frozen=True)
class Write:
    """A file to write."""

    tool: ClassVar[str] = "write_file"
    path: str
    content: str

    def fits(self, arguments: Mapping[str, object]) -> bool:
        """Return whether a call with these arguments did it."""
        return (arguments.get("path"), arguments.get("content")) == (self.path, self.content)


@dataclass(frozen=True)
class Tell:
    """A message to send."""

    tool: ClassVar[str] = "SendMessage"
    to: str
    words: str

    def fits(self, arguments: Mapping[str, object]) -> bool:
        """Return whether a call with these arguments did it."""
        return (arguments.get("recipient"), arguments.get("content")) == (self.to, self.words)


Deed: TypeAlias = Write | Tell


def request_in(text: str) -> UserRequest:
    """Return what a text of the user asks for. Parts that it does not mention stay empty."""
    team, mention = _line(text, "Team"), _line(text, "Approve only plans that mention")
    return UserRequest(
        tuple(_tasks(text)),
        tuple(_mate(*found.groups()) for found in _MATE.finditer(team)),
        mention,
        "Ask everybody to leave as soon as somebody writes to you." in text,
        _line(text, "Report"),
    )


def deeds_in(text: str) -> list[Deed]:
    """Return what a text says to do, in order."""
    found = ((kind, what, json.loads(words)) for kind, what, words in _DEED.findall(text))
    return [Write(what, words) if kind == "write" else Tell(what, words) for kind, what, words in found]


def _line(text: str, title: str) -> str:
    found = re.search(rf"^{title}: (.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _tasks(text: str) -> Iterator[WantedTask]:
    for found in _TASK.finditer(text):
        terms = [term.strip() for term in found["terms"].split(",")]
        after = tuple(int(term.removeprefix("after ")) for term in terms if term.startswith("after "))
        verify = next((term.removeprefix("verify ") for term in terms if term.startswith("verify ")), "")
        yield WantedTask(found["subject"], found["text"], terms[0], after, verify)


def _mate(name: str, terms: str) -> WantedMate:
    role, *more = [term.strip() for term in terms.split(",")]
    return WantedMate(name, role, "plans" in more)
