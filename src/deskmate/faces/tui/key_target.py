"""Who gets what is typed: the panel that has the keys, or the draft."""

from textual import events
from textual.screen import Screen
from textual.widgets import Input

from deskmate.faces.tui.draft.draft_input import Draft
from deskmate.faces.tui.questions.answer_list import AnswerList


def is_for_panel(screen: Screen[None], event: events.Key | events.Paste) -> bool:
    """Return whether the panel that has the keys uses an event itself."""
    focused = screen.focused
    if focused is None or not all(node.display for node in focused.ancestors_with_self):
        return False
    if isinstance(focused, Draft | Input):
        return True
    if isinstance(event, events.Paste):
        return False
    if isinstance(focused, AnswerList):
        # Letters never answer a question, and it took the keys without being asked to.
        return not event.is_printable or focused.is_answer(event.key)
    return not event.is_printable or event.key in screen.active_bindings
