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
        "F1": "show this help; Esc closes it",
        "F2 F3 F4": "go to members, board or mail; press again to go back",
        "F5": "go to the questions; a new one gets the focus if your draft is empty",
        "F6": "read the conversation, with the keys listed below",
        "F7": "show up to six conversations side by side; press again to show one",
        "Tab, Alt-↓": "watch the next member",
        "Alt-↑": "watch the previous member",
        "Alt-1 to Alt-9": "watch the member with this number in the list",
        "Shift-Tab": "switch to the next permission mode: default, acceptEdits, plan",
        "Ctrl-Z": "suspend; type fg in the shell to continue",
        "Alt-Home": "watch the lead; in the list of members, Home also works",
        "PageUp, PageDown": "scroll the conversation; Ctrl-End goes to its end",
        "Ctrl-F": "find in the conversation; ↑ ↓ step through what is found",
        "Esc": "go back to writing; if your draft is empty, interrupt the watched member",
        "Esc Esc": "if your draft is empty, choose a point to go back to",
        "Ctrl-C": "clear your draft, or interrupt the watched member; press twice to leave",
        "mouse": "select text; Ctrl-C then copies it, without the screen's line breaks",
    },
    "Writing": {
        "Enter": "send to the watched member",
        "Alt-Enter, \\ Enter": "start a new line; Shift-Enter and Ctrl-J also work",
        "↑ ↓": "show what you typed before; Ctrl-R searches it",
        "Ctrl-G": "write in your editor",
        "End": "go to the end of the conversation, if your draft is empty",
        "/  @": "choose a command (/), a member or a file to attach (@): Tab inserts, Esc closes",
        "Ctrl-D": "leave, if your draft is empty",
    },
    "Answering (F5)": {
        "↑ ↓ Enter, 1 to 9": "choose an answer; you can also click it",
        "End, PageUp, PageDown": "show the rest of a long question; only then can you allow it",
        "← →": "show another question",
        "letters": "continue writing; y, a or n and Enter answers the member you write to",
        "Esc": "go back to writing; the question stays open",
    },
    "Reading (F6)": {
        "↑ ↓": "choose an entry",
        "Enter, o": "unfold or fold it; you can also click it",
        "O": "unfold or fold all entries",
        "c": "copy the source of the chosen entry, or of the last answer",
        "/": "find; n goes to the match above, N to the one below",
        "g G": "go to the beginning or the end",
    },
    "Board and mail (F3, F4)": {
        "↑ ↓ Enter": "choose, open and close",
        "r": "reply to the sender of the selected message",
        "f": "show the mail of agents, all mail, or only that of the watched member",
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
    more = {
        "@NAME WORDS": "send a message to a teammate",
        "!COMMAND": "run a command in your shell; the lead gets its output with your next message",
        "#NOTE": "add a note to the project's notes; #user NOTE: to yours; #team NOTE: to those of teams here",
        "//WORDS, @@WORDS": "send a message that begins with / or @; !! and ## work the same way",
    }
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(max_width=_KEY_CELLS)
    for title, keys in {**KEYS, "Commands": {**commands, **more}}.items():
        table.add_row(Text(title, "bold"), "")
        for key, about in keys.items():
            table.add_row(Text(f"  {key}", "cyan"), Text(about))
    return table
