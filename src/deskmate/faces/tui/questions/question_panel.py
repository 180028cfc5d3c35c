"""What waits for an answer.

It stores nothing and answers nothing itself: it posts `Answered`, and the app tells the session.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Self

from anyio import to_thread
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from deskmate.app.sessions.team_session import TeamSession
from deskmate.app.user_answers import Answer
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.open_questions import Question
from deskmate.core.team.tasks import EMPTY
from deskmate.faces.common.items.member_items import sender_of, shown_name
from deskmate.faces.tui.drawing.file_preview import FilePreview, standing_at
from deskmate.faces.tui.drawing.panel_titles import entitle
from deskmate.faces.tui.drawing.styled_lines import Line, strip_of
from deskmate.faces.tui.questions import question_details
from deskmate.faces.tui.questions.answer_guard import QUIET_SECONDS, KeyGuard
from deskmate.faces.tui.questions.answer_list import AnswerList
from deskmate.faces.tui.questions.answer_options import AnswerOption, option_rows, options_of, placeholder
from deskmate.faces.tui.questions.question_details import People
from deskmate.faces.tui.questions.question_queue import QuestionQueue, are_one
from deskmate.faces.tui.questions.question_sheet import Parts, QuestionSheet, sheet

_WHEEL_LINES = 3
# The head of a question, and one line of what it asks for.
_LEAST_LINES = 2
_RETRY_SECONDS = 0.25


class QuestionsPanel(Widget):
    """The queue of questions, hidden while there is none. The keys are in its list of answers.

    `clock`: monotonic seconds.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "unsay", "no words", show=False)]
    DEFAULT_CSS = """
    QuestionsPanel { height: auto; max-height: 85%; min-height: 3; border-top: solid $warning; }
    QuestionsPanel:focus-within { border-top: heavy $warning; }
    QuestionsPanel > Vertical { dock: bottom; height: auto; }
    QuestionsPanel Input { height: 1; border: none; padding: 0; display: none; background: $background; }
    QuestionsPanel Input:focus { border: none; }
    """

    class Answered(Message):
        """The person's answer to a question."""

        def __init__(self, question: Question, answer: Answer, words: str = "") -> None:
            super().__init__()
            self.question, self.answer, self.words = question, answer, words

    class Seen(Message):
        """A question has been in front long enough to be seen."""

        def __init__(self, question: Question) -> None:
            super().__init__()
            self.question = question

    class KeysWanted(Message):
        """A question is in front that has not had the keys yet."""

    class Unanswered(Message):
        """Words for a question that is no longer open, as a message to its asker."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, id: str | None = None) -> None:
        super().__init__(id=id)
        # Kept, because a last event may come when they are removed already.
        self._list = AnswerList()
        self._line = Input()
        self._guard = KeyGuard(clock)
        self._queue = QuestionQueue()
        self._people = People({}, EMPTY, 0.0)
        self._seen: Question | None = None
        self._had_keys: Question | None = None
        self._asking: Timer | None = None
        self._offset = 0
        self._is_read = False
        # Why an answer was not accepted, and its index.
        self._refusal: tuple[int, str] = (0, "")
        self._spoken_to: Question | None = None
        self._workspace = Path()
        self._standing: tuple[Question | None, FilePreview | None] = (None, None)
        self._body: tuple[tuple[tuple[str, str] | None, int, FilePreview | None], list[Line]] = ((None, 0, None), [])
        self._sheet = QuestionSheet()
        self._asked_height = 0
        self.display = False

    def compose(self) -> ComposeResult:
        """Yield the list of answers, and the input for words, hidden until it is needed."""
        with Vertical():
            yield self._list
            yield self._line

    def show(self, session: TeamSession, now: float) -> None:
        """Show the open questions."""
        members = {member.name: member for member in session.members}
        self._people = People(members, session.board, now)
        self._workspace = session.workspace
        if self._queue.take(session.questions):
            self._come_forward()
        self._end_words_for_nobody()
        self.display = bool(self._queue.groups)
        self._tell_seen()
        self._draw()
        self._want_keys()

    def _tell_seen(self) -> None:
        front = self._queue.front
        if front is not None and self._guard.is_seen and not are_one(front, self._seen):
            self._seen = front
            self.post_message(self.Seen(front))

    # -- who has the keys -------------------------------------------------------------------------

    def _want_keys(self) -> None:
        """Ask for the keys again and again, until the question in front has had them."""
        front = self._queue.front
        if front is None or are_one(front, self._had_keys):
            return
        self.post_message(self.KeysWanted())
        if self._asking is not None:
            self._asking.stop()
        self._asking = self.set_timer(_RETRY_SECONDS, self._want_keys)

    @property
    def is_ready(self) -> bool:
        """Whether the next key answers the question in front."""
        return self.has_focus_within and self._guard.is_seen and not self._guard.holds

    def take_keys(self) -> None:
        """Give the keys to a question that the person did not ask for. A key pressed at that moment is ignored."""
        self._guard.renew()
        self.focus()

    def focus(self, scroll_visible: bool = True) -> Self:
        """Give the keys to the list of answers."""
        # At once, so that the next key is handled here.
        self.screen.set_focus(self._list, scroll_visible)
        return self

    def on_descendant_focus(self) -> None:
        """Note that the question in front has the keys."""
        self._had_keys = self._queue.front
        self._draw()

    def on_descendant_blur(self) -> None:
        """Say how to get back."""
        self._draw()

    def offer_again(self) -> None:
        """Let the question in front have the keys again."""
        self._had_keys = None

    # -- which is in front ------------------------------------------------------------------------

    def _come_forward(self) -> None:
        """Show the question in front from its beginning, with the first answer marked."""
        self._guard.renew()
        self._offset, self._is_read, self._refusal = 0, False, (0, "")
        self._list.highlighted = 0
        question = self._queue.front
        if self.has_focus_within:
            self._had_keys = question
        self._standing = (question, None)
        if question is not None and self._people.can_compare(question):
            self.run_worker(self._look_where(question), exclusive=True)

    async def _look_where(self, question: Question) -> None:
        """Read the file that would be changed."""
        path = str(question.arguments.get("path", ""))
        found = await to_thread.run_sync(standing_at, self._workspace, path)
        if are_one(question, self._standing[0]):
            # There is more to read than before.
            self._standing, self._is_read = (question, found), False
            self._draw()

    def action_choose(self, by: int) -> None:
        """Bring another question to the front."""
        self._choose(self._queue.index + by)

    def _choose(self, index: int) -> None:
        if self._spoken_to is None and self._queue.choose(index):
            self._come_forward()
            self._draw()

    # -- answering --------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key does something here now. If not, the widgets around this panel may use it."""
        return action != "unsay" or self._spoken_to is not None

    def on_answer_list_chosen(self, message: AnswerList.Chosen) -> None:
        """Give the chosen answer to the question in front, or say next to it why not."""
        message.stop()
        option = dict(enumerate(self._options)).get(message.index)
        if self._spoken_to is not None or option is None:
            return
        why = self._why_not(message.index, option)
        self._refusal = (message.index, why)
        if not why and option.with_words:
            self._ask_for_words()
        elif not why:
            self._give(option)
        self._draw()

    def _why_not(self, index: int, option: AnswerOption) -> str:
        """Return why an answer does not count: the question is new, or part of what it allows was not seen."""
        if not self._guard.press():
            self.set_timer(QUIET_SECONDS + _RETRY_SECONDS, lambda: None if self._guard.holds else self._roll(0))
            return "Not yet: this question is new. Press it again in a second."
        was_visible = self._list.mark(index, len(option_rows(option, self.size.width - 1)))
        if option.answer == "no" or (self._is_read and (was_visible or option.answer == "yes")):
            return ""
        if self._is_read:
            return "Not yet: read the rule first."
        if not self._sheet.window:
            return "Not yet: the window is too small to show it. Type /questions."
        below = len(self._body[1]) - self._offset - self._sheet.window
        return f"Not yet: {below:,} line{'' if below == 1 else 's'} below. Press End first."

    def _give(self, option: AnswerOption) -> None:
        group = self._queue.group if option.for_all else self._queue.group[:1]
        for n, question in enumerate(group):
            # The rule is added once. For a plan, `always` adds no rule: it accepts edits, as /mode does.
            rule_added = option.answer == "always" and n and question.shake is not Shake.PLAN
            self._send(question, "yes" if rule_added else option.answer, option.words)

    def _send(self, question: Question, answer: Answer, words: str = "") -> None:
        # The question stays until the session has the answer. A bouncing key must not answer twice.
        self._guard.renew()
        self.post_message(self.Answered(question, answer, words))

    def _ask_for_words(self) -> None:
        self._spoken_to = self._queue.front
        self._line.placeholder = placeholder(self._spoken_to)
        self._list.display, self._line.display = False, True
        self.screen.set_focus(self._line)

    def action_unsay(self) -> None:
        """Close the input for a reason without sending anything."""
        if self._spoken_to is not None:
            self._spoken_to = None
            self._line.clear()
            self._list.display = True
            self.screen.set_focus(self._list)
            self._line.display = False
            self._draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Say no, with these words. With a form, they are its values."""
        event.stop()
        question, words = self._spoken_to, event.value.strip()
        if question is not None and (words or question.takes_values):
            self.action_unsay()
            self._send(question, "yes" if question.takes_values else "no", words)

    def _end_words_for_nobody(self) -> None:
        """Keep the words for a question that is no longer open: they become a message to its asker."""
        question = self._spoken_to
        if question is not None and not self._queue.has(question):
            typed = self._line.value
            self.action_unsay()
            self.notify(
                f"The question of {shown_name(question.member)} is no longer open. "
                "Your words are in the draft: Enter sends them as a message.",
                markup=False,
            )
            self.post_message(self.Unanswered(f"@{sender_of(question.member)} {typed}"))

    # -- drawing ----------------------------------------------------------------------------------

    def _parts(self, cells: int) -> Parts:
        group = self._queue.group
        if not group:
            return Parts((), (), (), ())
        standing = self._standing[1]
        if self._body[0] != (made_of := (group[0].key, cells, standing)):
            self._body = (made_of, question_details.body(group[0], cells, self.app.console, standing))
        others = [(n, one) for n, one in enumerate(self._queue.groups) if n != self._queue.index]
        return Parts(
            head=question_details.head(group, cells, self._people),
            gist=question_details.gist(group, cells, self._people),
            body=self._body[1],
            rest=[(n, (("then ", "dim"), *question_details.gist(one, cells - 5, self._people))) for n, one in others],
        )

    @property
    def _options(self) -> list[AnswerOption]:
        return options_of(self._queue.group) if self._queue.group else []

    def _answers(self, cells: int) -> list[list[Line]]:
        """Return the lines of each possible answer. A cell is left for a scroll bar."""
        refused, why = self._refusal
        shown = enumerate(self._options)
        return [list(option_rows(one, cells - 1, why if n == refused else "")) for n, one in shown]

    def _answer_height(self, cells: int) -> int:
        return 1 if self._spoken_to is not None else sum(map(len, self._answers(cells)))

    def _entitle(self) -> None:
        count = self._queue.count
        place = f", {self._queue.index + 1} of {len(self._queue.groups)}: ← →" if len(self._queue.groups) > 1 else ""
        way = "" if self.has_focus_within else ". F5 to answer"
        entitle(self, f"{count} question{'' if count == 1 else 's'}{place}{way}")

    def _draw(self) -> None:
        """Lay out the sheet again and draw the lines that changed."""
        self._entitle()
        cells, height = self.size
        if not cells:
            # A hidden widget has no width. It is laid out again when it has one.
            return
        parts = self._parts(cells)
        self._list.offer(self._answers(cells), [one.number for one in self._options])
        asked = self._answer_height(cells)
        self._list.styles.height = taken = max(min(asked, height - _LEAST_LINES), 1)
        before, self._sheet = self._sheet, sheet(parts, self._offset, cells, height - taken)
        end_in_sight = self._offset + self._sheet.window >= len(parts.body)
        self._is_read = self._is_read or (self._sheet.window > 0 and end_in_sight)
        for y in range(max(len(before.lines), len(self._sheet.lines))):
            if before.lines[y : y + 1] != self._sheet.lines[y : y + 1]:
                self.refresh(Region(0, y, cells, 1))
        if parts.height + asked != self._asked_height:
            self._asked_height = parts.height + asked
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return how many lines the question in front takes."""
        return self._parts(width).height + self._answer_height(width)

    def render_line(self, y: int) -> Strip:
        """Draw a line."""
        line = self._sheet.lines[y] if y < len(self._sheet.lines) else ()
        return strip_of(line, self.size.width, self.rich_style)

    def on_resize(self, event: events.Resize) -> None:
        """Lay out the sheet again."""
        self._roll(0)
        self.refresh()

    # -- scrolling and clicking -------------------------------------------------------------------

    async def on_answer_list_moved(self, message: AnswerList.Moved) -> None:
        """Show another part of the question, or another question."""
        message.stop()
        await self.run_action(message.action)

    def action_page(self, by: int) -> None:
        """Scroll the question by one page."""
        self._roll(by * max(self._sheet.window - 1, 1))

    def action_begin(self) -> None:
        """Scroll to the beginning."""
        self._roll(-len(self._body[1]))

    def action_end(self) -> None:
        """Scroll to the end."""
        self._roll(len(self._body[1]))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll the question."""
        self._roll(_WHEEL_LINES)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll the question."""
        self._roll(-_WHEEL_LINES)

    def _roll(self, by: int) -> None:
        self._refusal = (0, "")
        self._draw()
        self._offset = max(min(self._offset + by, len(self._body[1]) - self._sheet.window), 0)
        self._draw()

    def on_click(self, event: events.Click) -> None:
        """Take the keys, and bring the clicked question to the front."""
        offset = event.get_content_offset(self)
        if self._spoken_to is None:
            self.focus()
        if offset is not None and offset.y in self._sheet.choices:
            self._choose(self._sheet.choices[offset.y])
