"""What waits for an answer.

It stores nothing and answers nothing itself: it posts `Answered`, and the app tells the session.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from anyio import to_thread
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from deskmate.app.session import Answer, Session
from deskmate.core.log.names import LEAD
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.open_questions import Question
from deskmate.core.team.tasks import EMPTY
from deskmate.faces.common.items.member_items import sender_of, shown_name
from deskmate.faces.common.items.question_items import Group, content_of, question_groups
from deskmate.faces.tui.drawing.file_preview import FilePreview, standing_at
from deskmate.faces.tui.drawing.panel_titles import entitle
from deskmate.faces.tui.drawing.styled_lines import Line, strip_of
from deskmate.faces.tui.panels import question_details
from deskmate.faces.tui.panels.answer_guard import KeyGuard
from deskmate.faces.tui.panels.question_details import People
from deskmate.faces.tui.panels.question_sheet import Parts, QuestionSheet, sheet

_WHEEL_LINES = 3
_MOVING = ("up", "down", "pageup", "pagedown", "home", "end", "escape")
# Bindings would be handled after what is pressed next.
_DEEDS = {
    "y": "answer('yes')",
    "a": "answer('always')",
    "n": "answer('no')",
    "w": "words",
    "Y": "answer_all('yes')",
    "A": "answer_all('always')",
    "N": "answer_all('no')",
}


class QuestionsPanel(Widget, can_focus=True):
    """The queue of questions, hidden while there is none. Keys answer only while it has the focus.

    `clock`: monotonic seconds.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "choose(-1)", "the one before", show=False),
        Binding("down", "choose(1)", "the next", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home", "begin", "begin", show=False),
        Binding("end", "end", "end", show=False),
        Binding("escape", "unsay", "no words", show=False),
    ]
    DEFAULT_CSS = """
    QuestionsPanel { height: auto; max-height: 50%; min-height: 3; border-top: solid $warning; }
    QuestionsPanel:focus-within { border-top: heavy $warning; }
    QuestionsPanel Input { dock: bottom; height: 1; border: none; padding: 0; display: none; }
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

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._guard = KeyGuard(clock)
        self._groups: list[Group] = []
        self._people = People({}, EMPTY, 0.0)
        self._front: Question | None = None
        self._seen: Question | None = None
        self._offset = 0
        self._is_read = False
        self._spoken_to: Question | None = None
        self._workspace = Path()
        self._standing: tuple[Question | None, FilePreview | None] = (None, None)
        self._body: tuple[tuple[tuple[str, str] | None, int, FilePreview | None], list[Line]] = ((None, 0, None), [])
        self._sheet = QuestionSheet()
        self._chosen = LEAD
        self._asked_height = 0
        self.display = False

    def compose(self) -> ComposeResult:
        """Yield the input for the words of a no, hidden until it is needed."""
        yield Input(placeholder="No, because … (Enter sends, Esc goes back)")

    def show(self, session: Session, now: float, chosen: str = LEAD) -> None:
        """Show the open questions. `chosen`: the member that typed text goes to."""
        self._chosen = chosen
        members = {member.name: member for member in session.members}
        self._people = People(members, session.board, now)
        self._groups = question_groups(session.questions)
        self._workspace = session.workspace
        self._bring_forward(self._still())
        self._end_words_for_nobody()
        self.display = bool(self._groups)
        self._tell_seen()
        self._draw()

    def _tell_seen(self) -> None:
        front = self._front
        if front is not None and self._guard.is_seen and not _are_one(front, self._seen):
            self._seen = front
            self.post_message(self.Seen(front))

    # -- which is in front ------------------------------------------------------------------------

    def _still(self) -> Question | None:
        """Return the question in front. If it is gone, return one with the same content, or else the first."""
        everyone = [question for group in self._groups for question in group]
        front = self._front
        if front is None:
            return everyone[0] if everyone else None
        same = (one for one in everyone if content_of(one) == content_of(front))
        there = (one for one in everyone if _are_one(one, front))
        return next(there, None) or next(same, None) or next(iter(everyone), None)

    def _bring_forward(self, question: Question | None) -> None:
        if question is not None and not _are_one(question, self._front):
            self._guard.renew()
            self._offset, self._is_read = 0, False
            self._standing = (question, None)
            if question.tool == "write_file":
                self.run_worker(self._look_where(question), exclusive=True)
        self._front = question

    async def _look_where(self, question: Question) -> None:
        """Read the file that a write would replace."""
        path = str(question.arguments.get("path", ""))
        found = await to_thread.run_sync(standing_at, self._workspace, path)
        if _are_one(question, self._standing[0]):
            # There is more to read than before.
            self._standing, self._is_read = (question, found), False
            self._draw()

    @property
    def _index(self) -> int:
        return next((n for n, group in enumerate(self._groups) if self._front in group), 0)

    @property
    def _group(self) -> Group:
        """The group in front, starting with the question in front."""
        group = self._groups[self._index] if self._groups else ()
        return tuple(sorted(group, key=lambda one: one != self._front))

    def action_choose(self, by: int) -> None:
        """Bring another question to the front."""
        self._choose(self._index + by)

    def _choose(self, index: int) -> None:
        if 0 <= index < len(self._groups) and index != self._index and self._spoken_to is None:
            self._bring_forward(self._groups[index][0])
            self._draw()

    # -- answering --------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key does something here now. If not, the widgets around this panel may use it."""
        return action != "unsay" or self._spoken_to is not None

    async def on_key(self, event: events.Key) -> None:
        """Answer, if the key was meant as an answer."""
        if not self.has_focus:
            return
        if event.key in _MOVING:
            self._guard.armed = ""
        elif event.key in _DEEDS:
            event.stop()
            await self.run_action(_DEEDS[event.key])
        else:
            self._guard.press()
        self._draw()

    def action_answer(self, answer: Answer) -> None:
        """Answer the question in front."""
        if self._may(f"answer('{answer}')", answer):
            self._send(self._group[0], answer)

    def action_answer_all(self, answer: Answer) -> None:
        """Answer all questions with the same content as the one in front. The rule is added once."""
        if self._may(f"answer_all('{answer}')", answer) and len(self._group) > 1:
            for n, question in enumerate(self._group):
                rule_added = answer == "always" and n and question.shake is not Shake.PLAN
                self._send(question, "yes" if rule_added else answer)

    def _may(self, deed: str, answer: Answer) -> bool:
        """Return whether to send an answer. Nothing is allowed unread, and `always` must be pressed twice."""
        meant = self._guard.press(deed) and self._front is not None and self._spoken_to is None
        if not meant or answer == "no":
            return meant
        if not self._is_read:
            self.notify("No answer yet: read the question to its end first. The key End goes there.", markup=False)
            return False
        # For a plan, `always` adds no rule: it accepts edits, as /mode does.
        if answer == "yes" or self._group[0].shake is Shake.PLAN:
            return True
        return self._group[0].rule is not None and self._guard.is_sure(deed)

    def _send(self, question: Question, answer: Answer, words: str = "") -> None:
        # The question stays until the session has the answer. A bouncing key must not answer twice.
        self._guard.renew()
        self.post_message(self.Answered(question, answer, words))

    def action_words(self) -> None:
        """Let the person type a reason for a no."""
        if self._guard.press() and self._front is not None and self._spoken_to is None:
            self._spoken_to = self._front
            line = self.query_one(Input)
            line.display = True
            line.focus()
            self._draw()

    def action_disarm(self) -> None:
        """Undo the first press of `always`."""
        self._guard.armed = ""
        self._draw()

    def action_unsay(self) -> None:
        """Close the input for a reason without sending anything."""
        if self._spoken_to is not None:
            self._spoken_to = None
            line = self.query_one(Input)
            line.clear()
            line.display = False
            self.focus()
            self._draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Say no, with these words."""
        event.stop()
        question, words = self._spoken_to, event.value.strip()
        if question is not None and words:
            self.action_unsay()
            self._send(question, "no", words)

    def _end_words_for_nobody(self) -> None:
        question = self._spoken_to
        if question is not None and not any(_are_one(question, one) for group in self._groups for one in group):
            self.action_unsay()
            # The person may keep typing for a moment.
            self._guard.hold()
            self.notify(
                f"The question of {shown_name(question.member)} is not open any more. Nothing was sent.", markup=False
            )

    # -- drawing ----------------------------------------------------------------------------------

    def _parts(self, cells: int) -> Parts:
        group = self._group
        if not group:
            return Parts((), (), (), (), ())
        standing = self._standing[1]
        if self._body[0] != (made_of := (group[0].key, cells, standing)):
            self._body = (made_of, question_details.body(group[0], cells, standing))
        others = [(n, one) for n, one in enumerate(self._groups) if n != self._index]
        return Parts(
            head=question_details.head(group, cells, self._people),
            gist=question_details.gist(group, cells, self._people),
            body=self._body[1],
            keys=self._keys(group, cells),
            rest=[(n, question_details.gist(one, cells, self._people)) for n, one in others],
        )

    def _keys(self, group: Group, cells: int) -> list[tuple[Line, list[question_details.Key | None]]]:
        if self.has_focus:
            return question_details.set_out(
                question_details.keys_of(group, cells, self._guard.armed), cells, "bold reverse"
            )
        keys = question_details.keys_of(group, cells)
        if not self._spoken_to:
            keys = (
                question_details.typed(keys)
                if self._is_addressed
                else [question_details.Key("F5,", "then:", ""), *keys]
            )
        return question_details.set_out(keys, cells, "dim")

    @property
    def _is_addressed(self) -> bool:
        """Whether an answer typed to the chosen member answers the question in front."""
        return self._front is not None and sender_of(self._front.member) == self._chosen

    def _entitle(self) -> None:
        count = sum(map(len, self._groups))
        place = f", {self._index + 1} of {len(self._groups)}" if len(self._groups) > 1 else ""
        entitle(self, f"{count} question{'' if count == 1 else 's'}{place}{self._notice}")

    @property
    def _notice(self) -> str:
        """Why a key for yes does not count."""
        below = len(self._body[1]) - self._offset - self._sheet.window
        if self._guard.holds:
            return ": new question. Read it, then press a key"
        if self._is_read or not self._groups:
            return ""
        if not self._sheet.window:
            return ": /questions shows all of it"
        return f": PgDn: {below:,} line{'' if below == 1 else 's'} more to read before a yes"

    def _draw(self) -> None:
        """Lay out the sheet again and draw the lines that changed."""
        if not self.size.width:
            # A hidden widget has no width. It is laid out again when it has one.
            self._entitle()
            return
        parts = self._parts(self.size.width)
        height = self.size.height - (self._spoken_to is not None)
        before, self._sheet = self._sheet, sheet(parts, self._offset, self.size.width, height)
        end_in_sight = self._offset + self._sheet.window >= len(parts.body)
        self._is_read = self._is_read or (self._sheet.window > 0 and end_in_sight)
        self._entitle()
        for y in range(max(len(before.lines), len(self._sheet.lines))):
            if before.lines[y : y + 1] != self._sheet.lines[y : y + 1]:
                self.refresh(Region(0, y, self.size.width, 1))
        if parts.height != self._asked_height:
            self._asked_height = parts.height
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return how many lines the question in front takes."""
        return self._parts(width).height + (self._spoken_to is not None)

    def render_line(self, y: int) -> Strip:
        """Draw a line."""
        line = self._sheet.lines[y] if y < len(self._sheet.lines) else ()
        return strip_of(line, self.size.width, self.rich_style)

    def watch_has_focus(self, has_focus: bool) -> None:
        """Highlight the keys only while they work."""
        super().watch_has_focus(has_focus)
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """Lay out the sheet again."""
        self._roll(0)
        self.refresh()

    # -- scrolling and clicking -------------------------------------------------------------------

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
        self._draw()
        self._offset = max(min(self._offset + by, len(self._body[1]) - self._sheet.window), 0)
        self._draw()

    async def on_click(self, event: events.Click) -> None:
        """Press the clicked key, or bring the clicked question to the front."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if offset.y in self._sheet.choices:
            self._choose(self._sheet.choices[offset.y])
        owners = self._sheet.keys.get(offset.y, [])
        key = owners[offset.x] if offset.x < len(owners) else None
        if key is not None and key.action:
            await self.run_action(key.action)


def _are_one(question: Question, other: Question | None) -> bool:
    return other is not None and question.key == other.key
