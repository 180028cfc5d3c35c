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
from deskmate.faces.common.rewind.rewind_command import before_text, changed_text
from deskmate.faces.common.text_tables import ago

_HELP = "Enter writes the command that restores the files of a point. Esc closes this list."
_NONE = "There is no point to go back to yet. One is made before the lead acts on your message."


class RewindScreen(ModalScreen[str | None]):
    """A list of checkpoints. It returns the command for the chosen one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "dismiss", "close", priority=True)]

    def __init__(self, points: Sequence[RewindPoint], now: float) -> None:
        super().__init__()
        self._points, self._at = points, now

    def compose(self) -> ComposeResult:
        """Yield the list."""
        with Vertical(id="rewind"):
            yield Static(_HELP if self._points else _NONE, markup=False)
            yield OptionList(*(Option(self._line(point), id=str(point.number)) for point in reversed(self._points)))

    def on_mount(self) -> None:
        """Let the list have the keys."""
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the command for the chosen point."""
        self.dismiss(f"/rewind {event.option_id}")

    def _line(self, point: RewindPoint) -> Text:
        changed = f"files changed since: {changed_text(point)}"
        age = f"{ago(self._at - point.at)} ago"
        line = Text.assemble((f"{point.number:>4}  ", "cyan"), before_text(point), (f"  {age}, {changed}", "dim"))
        line.no_wrap, line.overflow = True, "ellipsis"
        return line
