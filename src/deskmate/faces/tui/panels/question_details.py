"""What a person must see before answering.

`question_panel` shows it and takes the answer. Nothing of a call is left out: invisible characters are written out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, TypeAlias

from deskmate.app import Question
from deskmate.faces.common.call_summaries import TELLING
from deskmate.faces.common.chat.question_text import content_of, value_text
from deskmate.faces.common.listings import colours_of, role_of, sender_of
from deskmate.faces.common.text_tables import ago
from deskmate.faces.tui.drawing.file_preview import FilePreview
from deskmate.faces.tui.drawing.member_labels import called
from deskmate.faces.tui.drawing.piece_painter import style_of
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
from deskmate.queries.team_view import SeenMember, SeenTask

Group: TypeAlias = tuple[Question, ...]

# Comparing costs the product of both lengths. Longer texts are shown as fully removed and fully added.
_COMPARED_LINES = 1000
_EMPTY_LINES = 3
_GIST_CHARACTERS = 1000
_INDENT = 2
_STYLES = {"+": "green", "-": "red", " ": "dim"}


@dataclass(frozen=True, slots=True)
class People:
    """Who is on the team, their tasks, and the time."""

    members: Mapping[str, SeenMember]
    tasks: Mapping[int, SeenTask]
    now: float

    def style(self, name: str) -> str:
        """Return the style of an asker's name."""
        return style_of(sender_of(name), colours_of(self.members.values()))


@dataclass(frozen=True, slots=True)
class Key:
    """A key and what it does."""

    key: str
    text: str
    action: str


def groups_of(questions: Sequence[Question]) -> list[Group]:
    """Return questions grouped by content, so that a group differs only in who asks.

    The first of each sets the order.
    """
    found: dict[str, list[Question]] = {}
    for question in questions:
        found.setdefault(content_of(question), []).append(question)
    return [tuple(group) for group in found.values()]


# -- who and what in a line -----------------------------------------------------------------------


def head(group: Group, cells: int, people: People) -> Line:
    """Return who asks for what, how long the question waits, and the asker's role and task."""
    first, several = group[0], len(group) > 1
    plan = first.shake == "plan"
    who: Line = ((f"{len(group)}", "bold"),) if several else (_asker(first, people),)
    asks = " ask the same: " if several else " asks: "
    hands = " hand in the same plan" if several else " hands in a plan"
    what: Line = ((hands, ""),) if plan else ((f"{asks}may I use ", ""), (words(first.tool), "bold"), ("?", ""))
    about: Line = _names(group, people) if several else ((_about(first, people), "dim"),)
    waits: Line = ((f"waits {ago(people.now - first.at)}", "dim"),)
    return spread((*who, *what, *about), waits, cells, least=cells - width(waits) - 1)


def _asker(question: Question, people: People) -> Span:
    return called(question.member), people.style(question.member)


def _names(group: Group, people: People) -> Line:
    """Return the names in a group, in brackets."""
    names = [span for question in group for span in ((", ", ""), _asker(question, people))]
    return (" (", ""), *names[1:], (")", "")


def _about(question: Question, people: People) -> str:
    member = people.members.get(sender_of(question.member))
    if member is None:
        return ""
    role = words(role_of(member))
    task = people.tasks.get(member.task) if member.task is not None else None
    at = f"at #{task.id} {words(task.subject)}" if task else ""
    return f" ({', '.join(filter(None, [role, at]))})" if role or at else ""


def gist(group: Group, cells: int, people: People) -> Line:
    """Return a group on one line: who asks, and the most important argument."""
    first = group[0]
    who = _asker(first, people) if len(group) == 1 else (f"{len(group)} ask the same:", "bold")
    telling = next((first.arguments[name] for name in TELLING if name in first.arguments), None)
    rest = telling if telling is not None else next(iter(first.arguments.values()), "")
    what = f"plan: {_visible(first.plan)}" if first.shake == "plan" else f"{words(first.tool)} {_visible(rest)}"
    return cut((who, (f" {what}", "")), cells)


def _visible(value: Any) -> str:
    # No line is longer than this, and the text is made again at every refresh.
    return " ".join(plain(exact_line(value_text(value, _INDENT)[:_GIST_CHARACTERS].replace("\n", " "))).split())


# -- exactly what ---------------------------------------------------------------------------------


def body(question: Question, cells: int, standing: FilePreview | None = None) -> list[Line]:
    """Return everything that is asked for: the plan, or every argument in full, and the reason.

    `standing`: the file that a write would replace, once that is known.
    """
    plan = exact(question.plan) if question.plan else []
    rule = question.rule
    adds: list[Line] = [(("always adds: ", "bold"), *exact_line(rule))] if rule and _is_long(rule, cells) else []
    because: list[Line] = [(("because ", "dim"), (words(question.reason), "dim"))] if question.reason else []
    lines = _without_gaps([*plan, *_arguments(question, standing), *because, *adds])
    return [row for line in lines for row in folded(line, cells, "" if question.shake == "plan" else "    ")]


def _without_gaps(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield lines, with long runs of empty lines replaced by their count, so that they push nothing out of sight."""
    for empty, run in groupby(lines, lambda line: not plain(line).strip()):
        found = list(run)
        gap: list[Line] = [((f"… {len(found):,} empty lines", "dim italic"),)]
        yield from gap if empty and len(found) > _EMPTY_LINES else found


def _arguments(question: Question, standing: FilePreview | None) -> Iterator[Line]:
    arguments = dict(question.arguments)
    change: Iterator[Line] = iter(())
    match question.tool, arguments:
        case "edit_file", {"old_text": str(old), "new_text": str(new)}:
            change = _change(old, new)
            del arguments["old_text"], arguments["new_text"]
        case "write_file", {"content": str(content)}:
            change = _change(standing.text if standing else "", content)
            del arguments["content"]
    for name, value in arguments.items():
        yield from _argument(name, value)
    yield from [((words(standing.words), "dim"),)] if standing else []
    yield from change


def _argument(name: str, value: Any) -> Iterator[Line]:
    named = (*exact_line(name, "bold"), (": ", "bold"))
    lines = exact(value_text(value, _INDENT))
    if len(lines) == 1:
        yield (*named, *lines[0])
        return
    yield named
    yield from ((("  ", ""), *line) for line in lines)


def _change(old: str, new: str) -> Iterator[Line]:
    """Yield removed, added and unchanged lines."""
    before, after = old.split("\n") if old else [], new.split("\n")
    for sign, lines in _changes(before, after):
        style = _STYLES[sign]
        yield from (((f"{sign} ", style), *exact_line(line, style)) for line in lines)


def _changes(before: list[str], after: list[str]) -> Iterator[tuple[str, list[str]]]:
    if max(len(before), len(after)) > _COMPARED_LINES:
        yield from (("-", before), ("+", after))
        return
    for tag, start, end, from_, to in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield " ", before[start:end]
        else:
            yield from (("-", before[start:end]), ("+", after[from_:to]))


# -- what can be answered -------------------------------------------------------------------------


def keys_of(group: Group, cells: int, armed: str = "") -> list[Key]:
    """Return the keys that answer the first question of a group and, as capital letters, the whole group.

    `armed`: an action that is done only if its key is pressed again.
    """
    rule = group[0].rule or ""
    if armed:
        key = "A again" if armed.startswith("answer_all") else "a again"
        adds = "the rule above" if _is_long(rule, cells) else plain(exact_line(rule))
        return [Key(key, f"adds for the whole team: {adds}", armed), Key("any other key", "adds nothing", "disarm")]
    adds = "always (adds the rule above)" if _is_long(rule, cells) else f"always (adds: {plain(exact_line(rule))})"
    to = f" to {called(group[0].member)}" if len(group) > 1 else ""
    plan = group[0].shake == "plan"
    always = plan or group[0].rule is not None
    one = [Key("y", f"yes{to}", "answer('yes')")]
    one += [Key("a", "yes, and accept edits" if plan else adds, "answer('always')")] if always else []
    one += [Key("n", f"no{to}", "answer('no')"), Key("w", "no, with words", "words")]
    if len(group) == 1:
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


def _is_long(rule: str, cells: int) -> bool:
    """Return whether a rule is too long to show beside the keys."""
    return width(exact_line(rule)) > cells


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
