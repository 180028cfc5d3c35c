"""The possible answers.

`question_panel` shows them and sends the chosen one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from deskmate.app.user_answers import Answer
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.open_questions import Question
from deskmate.faces.common.items.question_items import Group, question_item
from deskmate.faces.tui.drawing.styled_lines import Line, exact_line, folded, words

_ALLOW = "allow "


@dataclass(frozen=True, slots=True)
class AnswerOption:
    """An answer to choose. `for_all`: it answers the whole group. `with_words`: the person is asked for words first.

    `number`: the key that chooses it, the same for every question about what a member may do. `words`: they go with it.
    """

    number: int
    text: Line
    answer: Answer
    for_all: bool = False
    with_words: bool = False
    words: str = ""


def options_of(group: Group) -> list[AnswerOption]:
    """Return the possible answers to a group, in the order of their numbers. A rule is shown exactly.

    People answer by habit, so a number never has another meaning. The number of a missing answer is left out.
    """
    if group[0].is_choice:
        return _choices(group[0])
    if group[0].of_server:
        fills_in = bool(question_item(group[0]).fields)
        return [
            AnswerOption(1, _plain("Yes, and fill it in" if fills_in else "Yes"), "yes", with_words=fills_in),
            AnswerOption(3, _plain("No"), "no"),
        ]
    first, count = question_item(group[0]), len(group)
    plan = group[0].shake is Shake.PLAN
    to = f" to {words(first.asker)}" if count > 1 else ""
    refusal = "No, and say what to change" if plan else "No, and tell it what to do instead"
    found = [AnswerOption(1, _plain(f"Yes{to}"), "yes")]
    found += [AnswerOption(2, _always(group), "always", for_all=count > 1)] if first.always else []
    found += [] if plan else [AnswerOption(3, _plain(f"No{to}"), "no")]
    found += [AnswerOption(4, _plain(refusal), "no", with_words=True)]
    if count > 1:
        found += [AnswerOption(5, _plain(f"Yes to all {count}"), "yes", for_all=True)]
        found += [AnswerOption(6, _plain(f"No to all {count}"), "no", for_all=True)]
    return found


def _choices(question: Question) -> list[AnswerOption]:
    """Return the options of a single question, under their numbers. Several questions are answered in one line."""
    field, *others = question_item(question).fields
    if others or field.kind == "choices":
        return [AnswerOption(1, _plain("Answer"), "yes", with_words=True), AnswerOption(3, _plain("No answer"), "no")]
    last = len(field.choices)
    options = [AnswerOption(n, _plain(words(one)), "yes", words=str(n)) for n, one in enumerate(field.choices, 1)]
    own = AnswerOption(last + 1, _plain("Something else"), "yes", with_words=True)
    return [*options, own, AnswerOption(last + 2, _plain("No answer"), "no")]


def placeholder(question: Question | None) -> str:
    """Return what the input for words shows while it is empty."""
    example = question_item(question).example if question else ""
    if question and question.is_choice and len(question_item(question).fields) == 1:
        example = f"{example}, or your own words"
    return f"{example or 'What should it do instead?'} (Enter sends, Esc goes back)"


def _plain(text: str) -> Line:
    return ((text, ""),)


def _always(group: Group) -> Line:
    """Return the answer that also decides later questions, with its effect."""
    every = f" to all {len(group)}" if len(group) > 1 else ""
    if group[0].shake is Shake.PLAN:
        return _plain(f"Yes{every}, and accept edits from now on")
    rule = group[0].rule or ""
    return ((f"Yes{every}, and don't ask again for ", ""), *exact_line(rule.removeprefix(_ALLOW), "bold"))


def option_rows(option: AnswerOption, cells: int, refusal: str = "") -> Sequence[Line]:
    """Return an answer with its number, wrapped. `refusal`: why it was not accepted when it was chosen."""
    why: Line = ((f"  {refusal}", "bold reverse"),) if refusal else ()
    return folded(((f"{option.number}. ", "bold"), *option.text, *why), cells, "   ")
