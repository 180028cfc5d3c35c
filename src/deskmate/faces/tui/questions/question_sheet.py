"""How the parts of a question share the lines.

The part of the question that does not fit can be scrolled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deskmate.faces.tui.drawing.styled_lines import Line, cut

_REST_LINES = 3
# With fewer lines there is no room for the asker above the question.
_LEAST_LINES = 2


@dataclass(frozen=True, slots=True)
class Parts:
    """What there is to show. `gist`: head and body on one line. `rest`: the other groups, by index."""

    head: Line
    gist: Line
    body: Sequence[Line]
    rest: Sequence[tuple[int, Line]]

    @property
    def height(self) -> int:
        """How many lines everything takes."""
        return 1 + len(self.body) + min(len(self.rest), _REST_LINES)


@dataclass(frozen=True, slots=True)
class QuestionSheet:
    """What is drawn, by line: text, group it selects. `window`: visible lines of the body."""

    lines: tuple[Line, ...] = ()
    choices: Mapping[int, int] = field(default_factory=dict)
    window: int = 0


def sheet(parts: Parts, offset: int, cells: int, height: int) -> QuestionSheet:
    """Return `height` lines of a question, with the body from line `offset` on."""
    if height < _LEAST_LINES:
        return QuestionSheet(lines=(parts.gist,)[: max(height, 0)])
    room = height - 1
    rest = _rest(parts.rest, room - len(parts.body))
    window, view = _view(parts.body, offset, cells, room - len(rest))
    below = 1 + len(view)
    return QuestionSheet(
        lines=(parts.head, *view, *(line for _, line in rest)),
        choices={below + n: index for n, (index, _) in enumerate(rest)},
        window=window,
    )


def _rest(rest: Sequence[tuple[int, Line]], room: int) -> list[tuple[int, Line]]:
    """Return the other groups to show. They never take a line from the question in front."""
    most = min(len(rest), _REST_LINES, max(room, 0))
    if most == len(rest):
        return list(rest)
    more = len(rest) - most + 1
    return [*rest[: most - 1], (rest[most - 1][0], ((f"… and {more} more", "dim"),))] if most else []


def _view(body: Sequence[Line], offset: int, cells: int, room: int) -> tuple[int, Sequence[Line]]:
    """Return how many lines of the body are visible, and those lines. If not all fit, a line says which are shown."""
    if len(body) <= room:
        return room, body
    window = max(room - 1, 1)
    seen = body[offset : offset + window]
    if room < 2:
        return window, seen
    below = len(body) - offset - len(seen)
    end = f"↓ {below:,} more: PgDn, or End for the end" if below else "the end. PgUp, Home go back"
    where: Line = ((f"lines {offset + 1}-{offset + len(seen)} of {len(body):,}  {end}", "dim italic"),)
    return window, [*seen, cut(where, cells)]
