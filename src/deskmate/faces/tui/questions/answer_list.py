"""The list that an answer is chosen from."""

from collections.abc import Sequence

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import OptionList

from deskmate.faces.tui.drawing.marked_options import MarkedOptionList
from deskmate.faces.tui.drawing.styled_lines import Line

# What these keys do in the question above the list.
_SCROLLING = {"pageup": "page(-1)", "pagedown": "page(1)", "home": "begin", "end": "end"}
_QUESTIONS = {"left": "choose(-1)", "right": "choose(1)"}


class AnswerList(MarkedOptionList):
    """The possible answers, one marked. Up, Down, Enter, digits and the mouse choose."""

    # A click answers. It does not move the keys first.
    FOCUS_ON_CLICK = False
    DEFAULT_CSS = """
    AnswerList { padding: 0; background: $surface; scrollbar-size-vertical: 1; }
    AnswerList > .option-list--option-highlighted { background: $surface; color: $foreground; text-style: none; }
    AnswerList:focus { background-tint: $background 0%; }
    AnswerList:focus > .option-list--option-highlighted { background: $warning; color: $background; text-style: bold; }
    """

    class Chosen(Message):
        """The person chose an answer, by its index."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    class Moved(Message):
        """The person wants to see another part or another question: the name of an action of the panel."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self) -> None:
        super().__init__(markup=False, compact=True)
        self._shown: list[Text] = []
        self._numbers: Sequence[int] = ()

    def offer(self, answers: Sequence[Sequence[Line]], numbers: Sequence[int]) -> None:
        """Show answers, each wrapped to lines, with their numbers. The mark stays, if the count of answers does."""
        self._numbers = numbers
        shown = [Text("\n").join(map(_text, rows)) for rows in answers]
        if shown == self._shown:
            return
        marked = self.highlighted if len(shown) == len(self._shown) else 0
        self._shown = shown
        self.set_options(shown)
        self.highlighted = marked

    def mark(self, index: int, lines: int) -> bool:
        """Mark an answer and scroll to it. Return whether so many of its lines were visible before."""
        # Counted here: the list itself counts its lines when it is laid out, and a key may come before that.
        begin = sum(text.plain.count("\n") + 1 for text in self._shown[:index])
        top = self.scroll_offset.y
        self.highlighted = index
        return top <= begin and begin + lines <= top + self.scrollable_content_region.height

    @property
    def shows_mark(self) -> bool:
        """Only while Enter would give the marked answer."""
        return self.has_focus

    def is_answer(self, key: str) -> bool:
        """Return whether a key is the number of an answer, or of one that this question leaves out."""
        return key.isdecimal() and 0 < int(key) <= max(self._numbers, default=0)

    async def _on_key(self, event: events.Key) -> None:
        # Bindings would be handled after what is pressed next.
        match event.key:
            case "up":
                self.action_cursor_up()
            case "down":
                self.action_cursor_down()
            case "enter" if self.highlighted is not None:
                self.post_message(self.Chosen(self.highlighted))
            case key if self.is_answer(key):
                if int(key) in self._numbers:
                    self.post_message(self.Chosen(self._numbers.index(int(key))))
            case key if action := {**_SCROLLING, **_QUESTIONS}.get(key):
                self.post_message(self.Moved(action))
            case _:
                return
        event.stop()
        event.prevent_default()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Report a click."""
        event.stop()
        self.post_message(self.Chosen(event.option_index))


def _text(line: Line) -> Text:
    return Text.assemble(*line)
