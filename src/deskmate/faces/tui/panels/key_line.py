"""The last line."""

from dataclasses import dataclass

from rich.text import Text
from textual import events
from textual.widget import Widget


@dataclass(frozen=True, slots=True)
class KeyHint:
    """A key as it is shown. `rank`: keys with a higher rank are dropped first. `needs`: shown only while this is so."""

    key: str
    shown: str
    about: str
    rank: int = 0
    needs: str = ""


ALWAYS = (
    KeyHint("f1", "F1", "help"),
    KeyHint("f2", "F2", "members", 2),
    KeyHint("f3", "F3", "board", 2),
    KeyHint("f4", "F4", "mail", 2),
    KeyHint("f5", "F5", "answer", 1, needs="question"),
    KeyHint("f6", "F6", "read", 2),
    KeyHint("f7", "F7", "grid", 3),
    KeyHint("tab", "Tab", "next", 1),
    KeyHint("ctrl+f", "Ctrl-F", "find", 4),
    KeyHint("ctrl+c", "Ctrl-C", "stop"),
)
# For a demo that is over.
LEAVE = KeyHint("q", "q", "leave")
# By the panel that has the focus.
OWN = {
    "draft": (
        KeyHint("enter", "Enter", "send", 3),
        KeyHint("alt+enter", "Alt-Enter", "line", 3),
        KeyHint("shift+tab", "Shift-Tab", "mode", 2),
        KeyHint("escape", "Esc", "interrupt", 1, needs="busy"),
        KeyHint("ctrl+d", "Ctrl-D", "leave"),
    ),
    # While the menu above the draft is open.
    "menu": (
        KeyHint("down", "↑↓", "choose", 0),
        KeyHint("tab", "Tab", "insert", 0),
        KeyHint("escape", "Esc", "close", 0),
    ),
    # While the words of a no are written.
    "words": (KeyHint("enter", "Enter", "send", 0), KeyHint("escape", "Esc", "back", 0)),
    "conversation": (
        KeyHint("enter", "Enter", "unfold", 1),
        KeyHint("O", "O", "all", 1),
        KeyHint("c", "c", "copy", 1),
        KeyHint("slash", "/", "find", 1),
        KeyHint("n", "n", "next", 3),
        KeyHint("escape", "Esc", "write", 0),
    ),
    "members": (
        KeyHint("down", "↑↓", "choose", 1),
        KeyHint("home", "Home", "lead", 3),
        KeyHint("escape", "Esc", "write", 0),
    ),
    "board": (KeyHint("enter", "Enter", "open", 1), KeyHint("escape", "Esc", "write", 0)),
    "post": (
        KeyHint("enter", "Enter", "open", 1),
        KeyHint("r", "r", "reply", 1),
        KeyHint("f", "f", "filter", 1),
        KeyHint("escape", "Esc", "write", 0),
    ),
    "questions": (
        KeyHint("down", "↑↓", "choose", 0),
        KeyHint("enter", "Enter", "answer", 0),
        KeyHint("right", "→", "next question", 3),
        KeyHint("escape", "Esc", "write", 0),
    ),
    "search": (
        KeyHint("enter", "Enter", "find", 0),
        KeyHint("up", "↑↓", "step", 0),
        KeyHint("escape", "Esc", "close", 0),
    ),
}


class KeyLine(Widget):
    """The line. A click on a key presses it."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._panel, self._is_over, self._facts = "draft", False, frozenset[str]()
        self._places: list[tuple[int, str]] = []

    def show(self, panel: str, *, asked: bool, busy: bool, is_over: bool) -> None:
        """Show the keys of a panel. `asked`: a question is open. `busy`: Esc would interrupt the watched member.

        `is_over`: nothing can be written any more.
        """
        facts = frozenset(name for name, holds in (("question", asked), ("busy", busy)) if holds)
        if (panel, is_over, facts) != (self._panel, self._is_over, self._facts):
            self._panel, self._is_over, self._facts = panel, is_over, facts
            self.refresh()

    def render(self) -> Text:
        """Return the line."""
        line = Text(no_wrap=True, end="", overflow="crop")
        self._places = []
        own = OWN.get(self._panel, ())
        if self._is_over:
            own = (LEAVE, *(key for key in own if key.about != "write"))
        taken = {key.key for key in own}
        keys = (*own, *(key for key in ALWAYS if key.key not in taken))
        shown = tuple(key for key in keys if not key.needs or key.needs in self._facts)
        for key in fitting(shown, self.size.width):
            self._places.append((line.cell_len, key.key))
            line.append(key.shown, "bold cyan").append(f" {key.about}  ", "dim")
        return line

    def on_click(self, event: events.Click) -> None:
        """Press the clicked key."""
        offset = event.get_content_offset(self)
        under = [key for start, key in self._places if offset and start <= offset.x]
        if under:
            self.app.simulate_key(under[-1])


def fitting(keys: tuple[KeyHint, ...], cells: int) -> tuple[KeyHint, ...]:
    """Return the keys that fit side by side. The least needed are dropped first, from the end."""
    while keys and sum(len(f"{key.shown} {key.about}  ") for key in keys) - 2 > cells:
        least = max(key.rank for key in keys)
        drop = max(index for index, key in enumerate(keys) if key.rank == least)
        keys = (*keys[:drop], *keys[drop + 1 :])
    return keys
