"""What is being typed.

Enter sends. Shift+Enter or Ctrl+J starts a new line. Up and Down at its ends recall what was typed before.
"""

import time
from collections.abc import Callable, Iterable, Sequence

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from deskmate.faces.common.terminal_text import clean
from deskmate.faces.tui.drawing.panel_titles import entitle
from deskmate.faces.tui.drawing.styled_lines import words
from deskmate.faces.tui.questions.answer_guard import QUIET_SECONDS

_MOST_LINES = 8


class Draft(TextArea):
    """A text to send.

    `before`: earlier texts, oldest first. `known`: returns the completions of a first word. `clock`: monotonic seconds.
    """

    class Sent(Message):
        """A text to carry out, and its recipient."""

        def __init__(self, text: str, to: str) -> None:
            super().__init__()
            self.text, self.to = text, to

    class Scrolled(Message):
        """The person wants to see more of the conversation: above, or with 1 below."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class EndWanted(Message):
        """The person wants to see the end of the conversation."""

    class Ended(Message):
        """Nothing more will be typed."""

    def __init__(
        self,
        before: Sequence[str],
        known: Callable[[], Iterable[str]],
        clock: Callable[[], float] = time.monotonic,
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id, compact=True, highlight_cursor_line=False)
        # The history file may contain anything.
        self._before, self._known = [clean(text) for text in before], known
        self._place = len(self._before)
        self._draft, self._to = "", ""
        self._clock, self._typed_at = clock, float("-inf")
        self.cursor_blink = False

    def address(self, name: str) -> None:
        """Send to this member from now on, and show its name."""
        self._to = name
        entitle(self, f"to {words(name)}")

    @property
    def is_idle(self) -> bool:
        """Whether nothing is typed here, and no key was pressed for a while."""
        return not self.text and self._clock() - self._typed_at >= QUIET_SECONDS

    async def _on_key(self, event: events.Key) -> None:
        self._typed_at = self._clock()
        # Bindings would be handled before what was typed just before them.
        match event.key:
            case "enter":
                self._send()
            case "shift+enter" | "ctrl+j":
                self.insert("\n")
            case "up" if self.cursor_at_first_line and self._place > 0:
                self._recall(self._place - 1)
            case "down" if self.cursor_at_last_line and self._place < len(self._before):
                self._recall(self._place + 1)
            case "pageup" | "pagedown":
                self.post_message(self.Scrolled(-1 if event.key == "pageup" else 1))
            case "ctrl+end":
                self.post_message(self.EndWanted())
            case "end" if not self.text:
                self.post_message(self.EndWanted())
            case "ctrl+d" if not self.text:
                self.post_message(self.Ended())
            case _:
                await super()._on_key(event)
                return
        event.stop()
        event.prevent_default()

    def _send(self) -> None:
        """Send the draft and clear it."""
        if text := self.text.strip():
            self.post_message(self.Sent(text, self._to))
        self.drop()

    def drop(self) -> None:
        """Clear the draft. Up brings it back."""
        if (text := self.text.strip()) and self._before[-1:] != [text]:
            self._before.append(text)
        self._place, self._draft, self.text = len(self._before), "", ""

    def _recall(self, place: int) -> None:
        if self._place == len(self._before):
            self._draft = self.text
        self._place = place
        self.text = self._before[place] if place < len(self._before) else self._draft
        self.move_cursor(self.document.end)

    def update_suggestion(self) -> None:
        """Suggest the rest of a command or a name. Right takes it."""
        typed = self.text
        fits = [one for one in self._known() if typed and one.startswith(typed) and one != typed]
        self.suggestion = fits[0][len(typed) :] if fits else ""

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Fit the height to the text."""
        self._fit()

    def on_resize(self, event: events.Resize) -> None:
        """Fit the height to the text."""
        self._fit()

    def _fit(self) -> None:
        # One more for the border line.
        self.styles.height = 1 + min(_MOST_LINES, max(1, self.wrapped_document.height))
