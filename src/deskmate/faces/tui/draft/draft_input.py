"""The text that is typed.

Enter sends. Up and Down at its ends recall what was typed before. A menu offers commands, members and files.
"""

import time
from collections.abc import Callable, Iterable, Sequence

from textual import events, work
from textual.message import Message
from textual.widgets import TextArea

from deskmate.core.policy.permissions import Mode
from deskmate.errors import ToolError
from deskmate.faces.common.chat.completions import (
    Completion,
    FileList,
    command_completions,
    mention_completions,
    word_at,
)
from deskmate.faces.common.commands.command_list import CommandList, command_about
from deskmate.faces.common.mentions.image_paths import as_mention
from deskmate.faces.common.terminal_text import clean
from deskmate.faces.tui.draft.draft_menu import DraftMenu
from deskmate.faces.tui.draft.pasted_lines import MOST_LINES, PastedTexts
from deskmate.faces.tui.drawing.panel_titles import entitle
from deskmate.faces.tui.drawing.styled_lines import words
from deskmate.faces.tui.questions.answer_guard import QUIET_SECONDS

_NEW_LINE = ("shift+enter", "alt+enter", "ctrl+j")
_LEAVING = ("left", "right", "home", "end", "ctrl+a", "ctrl+e", "pageup", "pagedown", "ctrl+home", "ctrl+end")


class Draft(TextArea):
    """A text to send.

    `before`: earlier texts, oldest first. `menu`: shows what can be chosen. `members`: returns who can be mentioned and
    what each is. `files`, `custom`: what a menu offers besides. `turn`: turns to the next member and returns its name.
    `clock`: monotonic seconds.
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

    class Ended(Message):
        """Nothing more will be typed."""

    def __init__(
        self,
        before: Sequence[str],
        menu: DraftMenu,
        members: Callable[[], Iterable[tuple[str, str]]],
        files: FileList,
        custom: CommandList,
        turn: Callable[[], str],
        clock: Callable[[], float] = time.monotonic,
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id, compact=True, highlight_cursor_line=False)
        # The history file may contain anything.
        self._before, self._members, self._turn = [clean(text) for text in before], members, turn
        self._place = len(self._before)
        self._draft, self._to, self._mode = "", "", Mode.DEFAULT
        self._clock, self._typed_at = clock, float("-inf")
        self._menu, self._files, self._custom, self._listed = menu, files, custom, list[str]()
        # Where the word begins whose menu was closed, and what was typed before a search in the history.
        self._dismissed: int | None = None
        self._searched_from: str | None = None
        self._pasted = PastedTexts()
        self.cursor_blink = False

    def address(self, name: str) -> None:
        """Send to this member from now on, and show its name."""
        self._to = name
        self._entitle()

    def show_mode(self, mode: Mode) -> None:
        """Show the permission mode, if it is not the usual one."""
        self._mode = mode
        self._entitle()

    def _entitle(self) -> None:
        mode = "" if self._mode is Mode.DEFAULT else f"  mode {self._mode}: Shift-Tab"
        entitle(self, f"to {words(self._to)}{mode}")

    @property
    def is_idle(self) -> bool:
        """Whether nothing is typed here, and no key was pressed for a while."""
        return not self.text and self._clock() - self._typed_at >= QUIET_SECONDS

    @property
    def whole(self) -> str:
        """The text with what was pasted, without space at its ends."""
        return self._pasted.expand(self.text).strip()

    def note_typing(self) -> None:
        """Note that a key is on its way here: nobody may take the keys before it has arrived."""
        self._typed_at = self._clock()

    async def _on_key(self, event: events.Key) -> None:
        # Bindings would be handled before what was typed just before them.
        if not (self._in_menu(event.key) or self._in_text(event.key)):
            if event.key in _LEAVING:
                self._menu.close()
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()

    def _in_menu(self, key: str) -> bool:
        """Carry out a key of the menu. Return whether it is one."""
        if self._searched_from is not None and key == "escape":
            self._end_search(self._searched_from)
            return True
        if not self._menu.is_open:
            return False
        match key:
            case "up" | "down":
                self._menu.move(1 if key == "down" else -1)
            case "ctrl+r" if self._searched_from is not None:
                self._menu.move(1)
            case "tab":
                self.accept()
            case "enter" if self._searched_from is not None or self._is_mention:
                self.accept()
            case "enter" if (chosen := self._menu.chosen) and not self._is_typed_out(chosen):
                self.accept()
                if chosen.complete:
                    self._send()
            case "escape":
                word = word_at(self._before_cursor)
                self._dismissed = word.start if word else None
                self._menu.close()
                # The keys mean something else now.
                self.post_message(self.Changed(self))
            case _:
                return False
        return True

    def _in_text(self, key: str) -> bool:
        """Carry out a key that means something special here. Return whether it is one."""
        match key:
            case "enter" if self._before_cursor.endswith("\\"):
                self.action_delete_left()
                self.insert("\n")
            case "enter":
                self._send()
            case key if key in _NEW_LINE:
                self.insert("\n")
            case "up" if self.cursor_at_first_line and self._place > 0:
                self._recall(self._place - 1)
            case "down" if self.cursor_at_last_line and self._place < len(self._before):
                self._recall(self._place + 1)
            case "tab":
                self.address(self._turn())
            case "ctrl+r":
                self._search()
            case "ctrl+underscore":
                self.action_undo()
            case "pageup" | "pagedown":
                self.post_message(self.Scrolled(-1 if key == "pageup" else 1))
            case "end" if not self.text:
                self.call_later(self.run_action, "screen.end")
            case "ctrl+d" if not self.text:
                self.post_message(self.Ended())
            case _:
                return False
        return True

    def _send(self) -> None:
        """Send the draft and clear it."""
        if text := self.whole:
            self.post_message(self.Sent(text, self._to))
        self.drop()

    def drop(self) -> None:
        """Clear the draft. Up brings it back."""
        if (text := self.whole) and self._before[-1:] != [text]:
            self._before.append(text)
        self._place, self._draft, self.text = len(self._before), "", ""
        self._searched_from, self._pasted = None, PastedTexts()

    def replace_all(self, text: str) -> None:
        """Put another text into the draft, with the cursor at its end."""
        self.text = text
        self._menu.close()
        self.move_cursor(self.document.end)

    # -- what was typed before --------------------------------------------------------------------

    def _recall(self, place: int) -> None:
        if self._place == len(self._before):
            self._draft = self.text
        self._place = place
        self.replace_all(self._before[place] if place < len(self._before) else self._draft)

    def _search(self) -> None:
        """Search in what was typed before, for what is typed now."""
        self._searched_from = self.text
        self._offer()
        # The keys mean something else now.
        self.post_message(self.Changed(self))

    def _end_search(self, text: str) -> None:
        self._searched_from = None
        self.replace_all(text)

    # -- the menu ---------------------------------------------------------------------------------

    @property
    def _before_cursor(self) -> str:
        return self.get_text_range((0, 0), self.cursor_location)

    @property
    def _is_mention(self) -> bool:
        word = word_at(self._before_cursor)
        return word is not None and word.sign == "@"

    def _is_typed_out(self, chosen: Completion) -> bool:
        return self.text.strip() == chosen.insert.strip()

    def accept(self) -> None:
        """Put the marked completion into the draft."""
        chosen, word = self._menu.chosen, word_at(self._before_cursor)
        if chosen is None:
            return
        if self._searched_from is not None:
            self._end_search(chosen.insert)
        elif word is not None:
            *above, line = self._before_cursor[: word.start].split("\n")
            start = (len(above), len(line))
            self.replace(chosen.insert, start, self.cursor_location, maintain_selection_offset=False)
            self._menu.close()

    def update_suggestion(self) -> None:
        """Show what fits after each change of the text."""
        self._offer()

    def _offer(self) -> None:
        if self._searched_from is not None:
            self._offer_history()
            return
        word = word_at(self._before_cursor)
        if word is None or word.start == self._dismissed:
            self._dismissed = None if word is None else self._dismissed
            self._menu.close()
        elif word.sign == "/":
            self._offer_commands(word.rest)
            if not word.rest:
                self._look_for_commands()
        else:
            self._offer_mentions(word.rest)
            self._look_for_files(word.rest)

    def _offer_commands(self, typed: str) -> None:
        custom = [(name, one.usage, command_about(one)) for name, one in self._custom.usable.items()]
        self._menu.offer("commands: Tab inserts, Enter runs", command_completions(typed, custom))

    @work(group="commands", exclusive=True)
    async def _look_for_commands(self) -> None:
        await self._custom.load()
        word = word_at(self._before_cursor)
        if word is not None and word.sign == "/" and word.start != self._dismissed:
            self._offer_commands(word.rest)
            # The keys mean something else now.
            self.post_message(self.Changed(self))

    def _offer_mentions(self, typed: str, trouble: str = "") -> None:
        found = mention_completions(typed, self._members(), self._listed)
        self._menu.offer("members, and files to attach: Tab inserts", found, trouble)

    def _offer_history(self) -> None:
        wanted = self.text.lower()
        texts = dict.fromkeys(text for text in reversed(self._before) if wanted in text.lower())
        found = [Completion(" ".join(text.split()), text) for text in texts]
        self._menu.offer("typed before: Enter inserts, Ctrl-R next, Esc goes back", found, "" if found else "no match")

    @work(group="files", exclusive=True)
    async def _look_for_files(self, typed: str) -> None:
        trouble = ""
        try:
            if not typed or not self._listed:
                await self._files.load()
            self._listed = [path for path in await self._files.like(typed) if path.isprintable()]
        except ToolError as error:
            trouble = f"The files cannot be listed: {error}"
        word = word_at(self._before_cursor)
        if word is not None and word.sign == "@" and word.start != self._dismissed:
            self._offer_mentions(word.rest, trouble)
            # The keys mean something else now.
            self.post_message(self.Changed(self))

    # -- pasting and size -------------------------------------------------------------------------

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.paste(event.text)

    def paste(self, text: str) -> None:
        """Insert a text. If it has many lines, a label stands for it. The path of an image becomes a mention."""
        self.note_typing()
        if mention := as_mention(text):
            before = self._before_cursor[-1:]
            self.insert(f"{' ' if before.strip() else ''}{mention} ")
            return
        self.insert(self._pasted.label(clean(text.replace("\r\n", "\n").replace("\r", "\n"))))

    def action_delete_left(self) -> None:
        """Delete the character before the cursor, or a whole label of pasted text."""
        label = self._pasted.label_before(self._before_cursor)
        for _ in range(len(label) or 1):
            super().action_delete_left()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Fit the height to the text."""
        self._fit()

    def on_resize(self, event: events.Resize) -> None:
        """Fit the height to the text."""
        self._fit()

    def _fit(self) -> None:
        # One more for the border line.
        self.styles.height = 1 + min(MOST_LINES, max(1, self.wrapped_document.height))
