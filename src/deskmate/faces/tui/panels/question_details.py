"""What a person must see before answering.

`question_panel` shows it and takes the answer. Nothing of a call is left out: invisible characters are written out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from deskmate.core.team.handshakes import Shake
from deskmate.core.team.members import Member
from deskmate.core.team.open_questions import Question
from deskmate.core.team.tasks import BoardState, in_progress_of
from deskmate.faces.common.chat.question_text import subject_line
from deskmate.faces.common.items.member_items import colours_of, role_of
from deskmate.faces.common.items.question_items import Group, QuestionItem, question_item
from deskmate.faces.common.text_tables import ago
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

_EMPTY_LINES = 3
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


@dataclass(frozen=True, slots=True)
class Key:
    """A key and what it does."""

    key: str
    text: str
    action: str


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


def body(question: Question, cells: int, standing: FilePreview | None = None) -> list[Line]:
    """Return everything that is asked for: the plan, or every argument in full, and the reason.

    `standing`: the file that a write would replace, once that is known.
    """
    item = question_item(question, standing.text if standing else "")
    plan = exact(question.plan) if question.plan else []
    there: list[Line] = [((words(standing.words), "dim"),)] if standing else []
    effect = item.always.effect if item.always else ""
    adds: list[Line] = [(("always ", "bold"), *exact_line(effect))] if _is_long(effect, cells) else []
    because: list[Line] = [(("because ", "dim"), (words(question.reason), "dim"))] if question.reason else []
    lines = _without_gaps([*plan, *_arguments(item), *there, *_change(item.diff), *because, *adds])
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
    """Yield removed, added and unchanged lines."""
    for line in diff.split("\n") if diff else ():
        style = _STYLES[line[:1]]
        yield ((f"{line[:1]} ", style), *exact_line(line[1:], style))


# -- what can be answered -------------------------------------------------------------------------


def keys_of(group: Group, cells: int, armed: str = "") -> list[Key]:
    """Return the keys that answer the first question of a group and, as capital letters, the whole group.

    `armed`: an action that is done only if its key is pressed again.
    """
    first, several = question_item(group[0]), len(group) > 1
    always = plain(exact_line(first.always.effect)) if first.always else ""
    adds = "adds the rule above" if _is_long(always, cells) else always
    if armed:
        key = "A again" if armed.startswith("answer_all") else "a again"
        return [Key(key, f"{adds}, for the whole team", armed), Key("any other key", "adds nothing", "disarm")]
    plan = first.question.shake is Shake.PLAN
    to = f" to {words(first.asker)}" if several else ""
    one = [Key("y", f"yes{to}", "answer('yes')")]
    one += [Key("a", adds if plan else f"always ({adds})", "answer('always')")] if always else []
    one += [Key("n", f"no{to}", "answer('no')"), Key("w", "no, with words", "words")]
    if not several:
        return one
    every = [Key("Y", f"yes to all {len(group)}", "answer_all('yes')")]
    to_all = "accept edits, all" if plan else "always, to all"
    every += [Key("A", to_all, "answer_all('always')")] if always else []
    return [*one, *every, Key("N", "no to all", "answer_all('no')")]


def typed(keys: Sequence[Key]) -> list[Key]:
    """Return keys as offered to a person who types to the asker: words and Enter answer too."""
    alone = [key for key in keys if not key.action.startswith("answer_all")]
    offered = [Key("n WORDS", key.text, key.action) if key.action == "words" else key for key in alone]
    every = [Key("F5", "for more", "")] if len(alone) < len(keys) else []
    return [Key("type", "and Enter, or F5 and the key:", ""), *offered, *every]


def _is_long(effect: str, cells: int) -> bool:
    """Return whether the effect of an answer is too long to show beside the keys."""
    return width(exact_line(effect)) > cells


def set_out(keys: Sequence[Key], cells: int, style: str) -> list[tuple[Line, list[Key | None]]]:
    """Return keys on as many lines as needed and, for each cell of a line, the key at that cell.

    `style`: the style of the keys themselves.
    """
    rows: list[tuple[list[Span], list[Key | None]]] = [([], [])]
    for key in keys:
        for n, part in enumerate(folded(((key.key, style), (f" {key.text}", "")), cells, "  ")):
            spans, owners = rows[-1]
            if n or (owners and len(owners) + 2 + width(part) > cells):
                rows.append(([], []))
                spans, owners = rows[-1]
            elif owners:
                spans.append(("  ", ""))
                owners += [None, None]
            spans.extend(part)
            owners += [key] * width(part)
    return [(tuple(spans), owners) for spans, owners in rows]
