"""The points to go back to, newest first."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from deskmate.app.rewind.rewinding import RewindPoint
from deskmate.faces.common.rewind.rewind_command import before_text, changed_text, left_out_lines
from deskmate.faces.common.text_tables import ago

_HELP = "Enter writes the command that restores the files of a point. d shows what changed since. Esc closes this list."
DIFF = " diff"
_NONE = "There is no point to go back to yet. One is made before the lead acts on your message."


class RewindScreen(ModalScreen[str | None]):
    """A list of checkpoints. It returns the command for the chosen one. If that ends with DIFF, it changes nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss", "close", priority=True),
        Binding("d", "diff", "show what changed"),
    ]

    def __init__(self, points: Sequence[RewindPoint], now: float) -> None:
        super().__init__()
        self._points, self._at = points, now

    def compose(self) -> ComposeResult:
        """Yield the list."""
        with Vertical(id="rewind"):
            yield Static(_HELP if self._points else _NONE, markup=False)
            yield OptionList(*(Option(self._line(point), id=str(point.number)) for point in reversed(self._points)))
            if left_out := left_out_lines(self._points):
                yield Static("\n".join(left_out), markup=False)

    def on_mount(self) -> None:
        """Let the list have the keys."""
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the command for the chosen point."""
        self.dismiss(f"/rewind {event.option_id}")

    def action_diff(self) -> None:
        """Return the command that shows what changed since the marked point."""
        marked = self.query_one(OptionList).highlighted_option
        if marked is not None:
            self.dismiss(f"/rewind {marked.id}{DIFF}")

    def _line(self, point: RewindPoint) -> Text:
        changed = f"files changed since: {changed_text(point)}"
        age = f"{ago(self._at - point.at)} ago"
        line = Text.assemble((f"{point.number:>4}  ", "cyan"), before_text(point), (f"  {age}, {changed}", "dim"))
        line.no_wrap, line.overflow = True, "ellipsis"
        return line
