"""What to find in the conversation."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from deskmate.faces.tui.drawing.panel_titles import entitle
from deskmate.faces.tui.panels.conversation_panel import Conversation


class SearchLine(Input):
    """The text to find. Its title says which search result is shown, and of how many."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "find(-1)", "above", show=False),
        Binding("down", "find(1)", "below", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, placeholder="find in this conversation", compact=True)

    @property
    def _conversation(self) -> Conversation:
        return self.screen.query_one("#conversation", Conversation)

    def on_mount(self) -> None:
        """Follow the search, which also goes on while the conversation has the keys."""
        self.watch(self._conversation, "found", lambda found: entitle(self, found))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the search result, and to the one above if submitted again."""
        event.stop()
        self.action_find(-1)

    def action_find(self, by: int) -> None:
        """Go to the next search result: above, or with 1 below."""
        self._conversation.seek(self.value, by)
