"""Every key and command."""

from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from deskmate.faces.common.chat.chat_commands import COMMANDS

_KEY_CELLS = 24
KEYS = {
    "Everywhere": {
        "F1": "this help; Esc closes it",
        "F2 F3 F4": "members, board, mail; once more: back",
        "F5": "the questions: y yes, a twice always, n no, w no with words",
        "F6": "read: the conversation gets the keys",
        "Tab, Alt+↓": "watch the next member",
        "Shift+Tab, Alt+↑": "watch the member before",
        "Alt+Home": "watch the lead; among the members Home, too",
        "PageUp, PageDown": "scroll the conversation",
        "Ctrl+F": "find in the conversation",
        "Esc": "back to writing; there, if nothing is typed: interrupt who is watched",
        "Ctrl-C": "drop what is typed, else interrupt who is watched; twice: leave",
        "the mouse": "selects words; Ctrl-C copies them then",
    },
    "Writing": {
        "Enter": "send, to who is watched",
        "Ctrl+J, Shift+Enter": "a new line",
        "↑ ↓": "what was typed before",
        "Ctrl+End, End": "the end of the conversation; End where nothing is typed",
        "→": "take the word that is suggested",
        "Ctrl-D": "leave, where nothing is typed",
    },
    "Reading (F6)": {
        "↑ ↓": "choose what was said or done",
        "Enter, o": "unfold or fold it; a click does, too",
        "O": "unfold all, fold all",
        "/": "find; n further up, N further down",
        "g G": "the beginning, the end",
    },
    "Board and mail (F3, F4)": {
        "↑ ↓ Enter": "choose, open and close",
        "f": "mail of all, or of who is watched",
    },
}


class HelpScreen(ModalScreen[None]):
    """Keys and commands, shown over everything else."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,question_mark,enter,ctrl+c", "dismiss", "close", priority=True)
    ]

    def compose(self) -> ComposeResult:
        """Yield the text."""
        with VerticalScroll(id="help"):
            yield Static(help_table(), markup=False)


def help_table() -> Table:
    """Return all keys and commands, and what each does."""
    commands = {command.usage: command.about for command in COMMANDS.values()}
    more = {"@NAME WORDS": "say something to a teammate", "//WORDS, @@WORDS": "say words that begin with / or @"}
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(max_width=_KEY_CELLS)
    for title, keys in {**KEYS, "Commands": {**commands, **more}}.items():
        table.add_row(Text(title, "bold"), "")
        for key, about in keys.items():
            table.add_row(Text(f"  {key}", "cyan"), Text(about))
    return table
