"""Every text that a model reads as a whole: one file per prompt, one per tool. A model reads a file as it is written.

lead.md, teammate.md, subagent.md   the system prompts
summary.md                          the request for a summary of a conversation
reminder.md                         what the lead of an unattended run reads when its team is quiet
running.md                          what it reads when only its background commands still run
dismissed.md                        what it reads when its team was dismissed
no_result.md                        what it reads when it ended its turn without the result that a program asked for
init.md                             the prompt of /init
tools/NAME.md                       the description of each tool
tools/schemas.json                  the arguments of each tool, for each kind of agent. `make golden` writes it

In a template, `{name}` is replaced by a value, and a line that begins with `{needs: bash edit_file}` is left out
unless the reader has all of these. The files are part of the package and never change while it runs.
"""

import json
import re
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

_NEEDS = re.compile(r"\{needs: ([^{}]+)\}")
_PLACE = re.compile(r"\{(\w+)\}")
_FOLDER = files(__package__)


@cache
def text(name: str) -> str:
    """Return the text of a file, such as `tools/bash`, without the newline at its end."""
    return _FOLDER.joinpath(f"{name}.md").read_text(encoding="utf-8").removesuffix("\n")


def filled(name: str, values: Mapping[str, str], has: Collection[str]) -> str:
    """Return a template with its values, for a reader that has these tools.

    A line that is empty once it is filled is left out, and so is a title (`Rules:`) with nothing below it.
    """
    paragraphs = (_paragraph(part.splitlines(), values, has) for part in text(name).split("\n\n"))
    return "\n\n".join(part for part in paragraphs if part)


@cache
def text_for(name: str, reader: str) -> str:
    """Return the text of a tool for one kind of agent: without the lines that are marked as another's."""
    return filled(name, {}, {reader})


def schemas_for(reader: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the JSON schemas of the arguments of all tools, by name, as one kind of agent sees them."""
    return _schemas()[reader]


@cache
def _schemas() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    found: Mapping[str, Mapping[str, Mapping[str, Any]]] = json.loads(
        _FOLDER.joinpath("tools/schemas.json").read_text(encoding="utf-8")
    )
    return found


def _paragraph(lines: list[str], values: Mapping[str, str], has: Collection[str]) -> str:
    kept = [_filled(line, values) for line in (_needed(line, has) for line in lines)]
    kept = [line for line in kept if line]
    return "" if len(kept) == 1 < len(lines) and kept[0].endswith(":") else "\n".join(kept)


def _needed(line: str, has: Collection[str]) -> str:
    """Return a line without its marker; nothing if the reader lacks what the marker names."""
    marker = _NEEDS.match(line)
    if marker is None:
        return line
    return line[marker.end() :] if all(word in has for word in marker[1].split()) else ""


def _filled(line: str, values: Mapping[str, str]) -> str:
    # In one go: a value that looks like a place is not replaced again.
    return _PLACE.sub(lambda place: values[place[1]], line)
