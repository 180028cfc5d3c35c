"""What can be chosen for a typed word."""

from collections.abc import Sequence

from rich.text import Text
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from deskmate.faces.common.chat.completions import Completion
from deskmate.faces.tui.drawing.marked_options import MarkedOptionList
from deskmate.faces.tui.drawing.panel_titles import entitle
from deskmate.faces.tui.drawing.styled_lines import cut, plain, words

_MOST_NAME_CELLS = 40


class DraftMenu(MarkedOptionList, can_focus=False):
    """Completions above the draft, hidden while there are none. The keys stay in the draft."""

    DEFAULT_CSS = """
    DraftMenu {
        display: none; max-height: 9; padding: 0 1; background: $surface; scrollbar-size-vertical: 1;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    DraftMenu.-textual-compact { border-top: solid $accent !important; }
    DraftMenu > .option-list--option-highlighted { background: $accent; color: $background; text-style: bold; }
    """

    class Picked(Message):
        """A completion was clicked."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False, compact=True)
        self._offered: list[Completion] = []

    @property
    def is_open(self) -> bool:
        """Whether there is something to choose."""
        return self.display and bool(self._offered)

    @property
    def chosen(self) -> Completion | None:
        """The marked completion."""
        marked = self.highlighted
        return self._offered[marked] if self.is_open and marked is not None and marked < len(self._offered) else None

    def offer(self, title: str, completions: Sequence[Completion], trouble: str = "") -> None:
        """Show completions, the first one marked. `trouble`: why some are missing."""
        if list(completions) != self._offered or trouble:
            self._offered = list(completions)
            self.set_options([*map(self._row, completions), *([Option(words(trouble), disabled=True)] * bool(trouble))])
            self.highlighted = 0 if completions else None
        entitle(self, title)
        self.display = bool(completions or trouble)

    def close(self) -> None:
        """Show nothing."""
        self._offered = []
        self.display = False

    def move(self, by: int) -> None:
        """Mark the next completion, or the one before."""
        (self.action_cursor_down if by > 0 else self.action_cursor_up)()

    def _row(self, completion: Completion) -> Text:
        longest = max(len(words(one.name)) for one in self._offered)
        cells = min(longest, _MOST_NAME_CELLS if any(one.about for one in self._offered) else 10_000)
        name = plain(cut(((words(completion.name), ""),), cells))
        row = Text()
        row.append(name.ljust(cells) if completion.about else words(completion.name))
        return row.append(f"  {words(completion.about)}", "dim") if completion.about else row

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Report a click."""
        event.stop()
        self.post_message(self.Picked())
