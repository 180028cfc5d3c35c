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
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

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
    paragraphs = (_paragraph(lines, values, has) for lines in _template(name))
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


class _Line(NamedTuple):
    """A line of a template. `needs`: what a reader must have. `has_places`: whether there is anything to replace."""

    needs: tuple[str, ...]
    text: str
    has_places: bool


@cache
def _template(name: str) -> tuple[tuple[_Line, ...], ...]:
    """Return the lines of a text, by paragraph."""
    return tuple(tuple(map(_line, part.splitlines())) for part in text(name).split("\n\n"))


def _line(line: str) -> _Line:
    marker = _NEEDS.match(line)
    needs, rest = (tuple(marker[1].split()), line[marker.end() :]) if marker else ((), line)
    return _Line(needs, rest, _PLACE.search(rest) is not None)


def _paragraph(lines: Sequence[_Line], values: Mapping[str, str], has: Collection[str]) -> str:
    filled = [_filled(line, values) for line in lines if all(word in has for word in line.needs)]
    kept = [line for line in filled if line]
    return "" if len(kept) == 1 < len(lines) and kept[0].endswith(":") else "\n".join(kept)


def _filled(line: _Line, values: Mapping[str, str]) -> str:
    # In one go: a value that looks like a place is not replaced again.
    return _PLACE.sub(lambda place: values[place[1]], line.text) if line.has_places else line.text
