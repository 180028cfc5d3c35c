"""What a person must see before answering.

`question_panel` shows it and takes the answer. Nothing of a call is left out: invisible characters are written out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console

from deskmate.core.team.members import Member
from deskmate.core.team.open_questions import Question
from deskmate.core.team.tasks import BoardState, in_progress_of
from deskmate.faces.common.chat.question_text import subject_line
from deskmate.faces.common.items.member_items import colours_of, role_of
from deskmate.faces.common.items.question_items import Group, QuestionItem, question_item
from deskmate.faces.common.text_tables import ago
from deskmate.faces.tui.drawing.code_lines import numbered_lines
from deskmate.faces.tui.drawing.file_preview import FilePreview
from deskmate.faces.tui.drawing.item_painter import style_of
from deskmate.faces.tui.drawing.styled_lines import (
    Line,
    Span,
    cut,
    exact,
    exact_line,
    folded,
    plain,
    spread,
    width,
    words,
)
from deskmate.faces.tui.questions.plan_text import plan_lines

_EMPTY_LINES = 3
_CHANGING = ("write_file", "edit_file")
_STYLES = {"+": "green", "-": "red", " ": "dim"}


@dataclass(frozen=True, slots=True)
class People:
    """Who is on the team, the board, and the time."""

    members: Mapping[str, Member]
    board: BoardState
    now: float

    def style(self, item: QuestionItem) -> str:
        """Return the style of an asker's name."""
        return style_of(item.sender, colours_of(self.members.values()))

    def can_compare(self, question: Question) -> bool:
        """Return whether a call would change a file of the workspace. A member may have a tree of its own."""
        member = self.members.get(question_item(question).sender)
        return question.tool in _CHANGING and not (member and member.isolated)


# -- who and what in a line -----------------------------------------------------------------------


def head(group: Group, cells: int, people: People) -> Line:
    """Return who asks for what, how long the question waits, and the asker's role and task."""
    first, several = question_item(group[0]), len(group) > 1
    who: Line = ((f"{len(group)} ask the same: ", "bold"),) if several else (_asker(group[0], people), (" ", ""))
    about: Line = _names(group, people) if several else ((_about(first, people), "dim"),)
    waits: Line = ((f"waits {ago(people.now - group[0].at)}", "dim"),)
    asks, tool = words(first.request if several else first.asks), words(group[0].tool)
    before, tool, after = asks.rpartition(tool) if tool else (asks, "", "")
    what: Line = ((before, ""), (tool, "bold"), (after, ""))
    return spread((*who, *what, *about), waits, cells, least=cells - width(waits) - 1)


def _asker(question: Question, people: People) -> Span:
    item = question_item(question)
    return words(item.asker), people.style(item)


def _names(group: Group, people: People) -> Line:
    """Return the names in a group, in brackets."""
    names = [span for question in group for span in ((", ", ""), _asker(question, people))]
    return (" (", ""), *names[1:], (")", "")


def _about(item: QuestionItem, people: People) -> str:
    member = people.members.get(item.sender)
    if member is None:
        return ""
    role = words(role_of(member))
    at = [f"at #{task.id} {words(task.subject)}" for task in in_progress_of(people.board, member.name)]
    about = ", ".join(filter(None, [role, *at]))
    return f" ({about})" if about else ""


def gist(group: Group, cells: int, people: People) -> Line:
    """Return a group on one line: who asks, and for what."""
    who = _asker(group[0], people) if len(group) == 1 else (f"{len(group)} ask the same:", "bold")
    return cut((who, (f" {subject_line(question_item(group[0]))}", "")), cells)


# -- exactly what ---------------------------------------------------------------------------------


def body(question: Question, cells: int, console: Console, standing: FilePreview | None = None) -> list[Line]:
    """Return everything that is asked for: the plan, or every argument in full, and the reason.

    `standing`: the file that would be changed, once that is known.
    """
    item = question_item(question, standing.text if standing else "")
    plan = plan_lines(question.plan, cells, console) if question.plan else []
    is_write = question.tool == "write_file"
    there: list[Line] = [((words(standing.words), "dim"),)] if standing and is_write else []
    because: list[Line] = [(("because ", "dim"), (words(item.reason), "dim"))] if item.reason else []
    lines = _without_gaps([*plan, *_arguments(item), *there, *_change(item.diff), *because])
    return [row for line in lines for row in folded(line, cells, "" if question.plan else "    ")]


def _without_gaps(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield lines, with long runs of empty lines replaced by their count, so that they push nothing out of sight."""
    for empty, run in groupby(lines, lambda line: not plain(line).strip()):
        found = list(run)
        gap: list[Line] = [((f"… {len(found):,} empty lines", "dim italic"),)]
        yield from gap if empty and len(found) > _EMPTY_LINES else found


def _arguments(item: QuestionItem) -> Iterator[Line]:
    for name, value in item.arguments:
        named = (*exact_line(name, "bold"), (": ", "bold"))
        lines = exact(value)
        if len(lines) == 1:
            yield (*named, *lines[0])
        else:
            yield named
            yield from ((("  ", ""), *line) for line in lines)


def _change(diff: str) -> Iterator[Line]:
    """Yield removed, added and unchanged lines, with their numbers if these are known."""
    lines = list(numbered_lines(diff.split("\n") if diff else []))
    room = max((len(str(one.number)) for one in lines if one.number), default=0)
    for one in lines:
        if one.sign == "@":
            yield (("⋯", "dim"),)
            continue
        style = _STYLES[one.sign]
        number = f"{one.number or '':>{room}} " if room else ""
        yield ((number, "dim"), (f"{one.sign} ", style), *exact_line(one.text, style))
