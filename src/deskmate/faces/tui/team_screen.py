"""The panels, focus, and when they are drawn.

`screen_app` carries out what is typed. The panels show what the session has. This file only keeps who is watched.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.css.query import NoMatches
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

from deskmate.app import Feed
from deskmate.app.sessions.team_session import TeamSession
from deskmate.core.log.names import LEAD, USER
from deskmate.errors import DeskmateError
from deskmate.faces.common.chat.completions import FileList
from deskmate.faces.common.commands.command_list import CommandList
from deskmate.faces.common.items.member_items import colours_of, role_of
from deskmate.faces.tui.draft.draft_input import Draft
from deskmate.faces.tui.draft.draft_menu import DraftMenu
from deskmate.faces.tui.help_screen import HelpScreen
from deskmate.faces.tui.key_target import is_for_panel
from deskmate.faces.tui.member_activity import Activity
from deskmate.faces.tui.panels.board_panel import BoardPanel
from deskmate.faces.tui.panels.conversation_panel import Conversation
from deskmate.faces.tui.panels.grid_panel import ConversationGrid, Tile, tiled_names
from deskmate.faces.tui.panels.head_line import Head
from deskmate.faces.tui.panels.key_line import KeyLine
from deskmate.faces.tui.panels.mail_panel import PostPanel
from deskmate.faces.tui.panels.members_panel import MemberChosen, Members, MemberStrip, in_order
from deskmate.faces.tui.panels.search_line import SearchLine
from deskmate.faces.tui.panels.user_mail import UserMail
from deskmate.faces.tui.questions.question_panel import QuestionsPanel
from deskmate.faces.tui.watched_member import Watching

# Changes within this time are drawn together.
_FRAME_SECONDS, _GRID_FRAME_SECONDS = 0.1, 0.25
_IDLE_TICKS = 20
_PANELS = ("members", "board", "post", "questions", "conversation")


class TeamScreen(Screen[None]):
    """The whole team at once, or one panel at a time on a small terminal."""

    # Textual's declaration makes type checkers treat these as instance variables.
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide"), (150, "-roomy"), (190, "-huge")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (12, "-low"), (40, "-high")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "help", priority=True),
        Binding("question_mark", "help", "help"),
        Binding("f2", "panel('members')", "members", priority=True),
        Binding("f3", "panel('board')", "board", priority=True),
        Binding("f4", "panel('post')", "mail", priority=True),
        Binding("f5", "panel('questions')", "answer", priority=True),
        Binding("f6", "panel('conversation')", "read", priority=True),
        Binding("f7", "grid", "grid", priority=True),
        # Not first: the draft takes it.
        Binding("tab", "member(1)", "next"),
        Binding("alt+down", "member(1)", "next", priority=True),
        Binding("alt+up", "member(-1)", "previous", priority=True),
        Binding("alt+home", "numbered(1)", "lead", priority=True),
        *(Binding(f"alt+{number}", f"numbered({number})", "choose", priority=True) for number in range(1, 10)),
        Binding("ctrl+f", "search", "find", priority=True),
        Binding("ctrl+end", "end", "end of the conversation", priority=True),
        Binding("escape", "leave_panel", "back"),
    ]

    class Cut(Message):
        """The watched member should be interrupted."""

    class Unreadable(Message):
        """The watched transcript cannot be read."""

        def __init__(self, error: DeskmateError) -> None:
            super().__init__()
            self.error = error

    def __init__(self, session: TeamSession, feed: Feed, before: Sequence[str], now: Callable[[], float]) -> None:
        super().__init__()
        self._session, self._before, self._now = session, before, now
        self._changed = asyncio.Event()
        self._looked, self._ticks, self._ends = True, 0, False
        self._colours: Mapping[str, str] = {}
        self._activity = Activity(now)
        feed.listen(self._activity.hear)
        self._mail = UserMail(now())
        self.watching = Watching(session, self._activity, self._changed.set)
        self._grid = ConversationGrid(session, self._activity, self._changed.set, self.watching, id="grid")
        feed.listen(self.watching.hear)
        feed.listen(self._grid.hear)
        session.listen(self._look)

    def compose(self) -> ComposeResult:
        """Yield the panels."""
        yield Head(id="head")
        yield MemberStrip(id="strip")
        with Horizontal(id="panels"):
            yield Members(id="members")
            yield Conversation(id="conversation")
            yield self._grid
            with Vertical(id="side"):
                yield BoardPanel(id="board")
                yield PostPanel(id="post")
        yield QuestionsPanel(id="questions")
        with Vertical(id="foot"):
            yield SearchLine(id="search")
            yield (menu := DraftMenu(id="menu"))
            files, custom = FileList(self._session.find), CommandList(self._session)
            yield Draft(self._before, menu, self._mentioned, files, custom, self._turn_to_next, id="draft")
            yield KeyLine(id="keys")

    def on_mount(self) -> None:
        """Start drawing, and following the lead."""
        self.query_one(Draft).address(LEAD)
        self.query_one(Draft).focus()
        self.run_worker(self._keep(), group="keep")
        self.set_interval(1.0, self._tick)
        self._follow()

    def cells(self) -> int:
        """Return how wide a line of the conversation may be."""
        # Leave room for the mark before the program's own lines.
        return self.query_one(Conversation).room - 2

    # -- drawing ----------------------------------------------------------------------------------

    def _tick(self) -> None:
        """Move the clocks on. While nothing happens they show minutes, and are looked at less often."""
        self._ticks += 1
        if self._activity.has_clock or self._session.questions or self._ticks % _IDLE_TICKS == 0:
            self._look()

    def _look(self) -> None:
        self._looked = True
        self._changed.set()

    async def _keep(self) -> None:
        """Draw whenever something changed, at most once per frame."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._draw()
            except NoMatches:
                # Panels exist for the whole life of the screen, so the screen is being closed.
                return
            await asyncio.sleep(_GRID_FRAME_SECONDS if self.has_class("grid") else _FRAME_SECONDS)

    async def _draw(self) -> None:
        """Show the current state. Without a new look at the session, only the conversation can have changed."""
        if self._looked:
            self._looked = False
            self._draw_panels()
        if self.has_class("grid"):
            await self._grid.draw(self._colours)
        else:
            self.query_one(Conversation).show(self.watching.chosen, self.watching.items, self._colours)

    def _draw_panels(self) -> None:
        session, now, members = self._session, self._now(), in_order(self._session)
        self._colours = colours_of(session.members)
        if self.watching.keep_up():
            self._watch(LEAD)
        self.watching.show_mail(self._mail.take(session.letters))
        chosen = self.watching.chosen
        if self.has_class("grid"):
            self._grid.show_members(tiled_names(session.members, chosen), chosen)
        self.query_one(Head).show(session, self.watching.context_share, self._mail.unread)
        self.query_one(MemberStrip).show(members, chosen)
        self._grow()
        self.query_one(Members).show(members, chosen, now, self._activity)
        self.query_one(BoardPanel).show(session, now)
        self.query_one(PostPanel).show(session, now)
        self.query_one(QuestionsPanel).show(session, now)
        self.query_one(Draft).show_mode(session.permitted.mode)
        self.on_descendant_focus()
        if self.focused is None:
            # The last question was answered, and its panel is hidden.
            self._write()

    def _grow(self) -> None:
        """Show members, board and mail once there is something in them: one agent has the whole width."""
        session = self._session
        has_tasks = any(board.current for board in session.boards.values())
        has_mail = any(USER not in (one.envelope.sender, one.envelope.recipient) for one in session.letters)
        self.set_class(len(session.members) > 1, "has-team")
        self.set_class(has_tasks, "has-tasks")
        if has_mail and not self.has_class("has-mail"):
            # Where only one of them has room, it is the board as soon as there is one.
            self.set_class(not has_tasks, "side-post")
        self.set_class(has_mail or self.has_class("has-mail"), "has-mail")

    # -- who is watched ---------------------------------------------------------------------------

    def _watch(self, name: str) -> None:
        draft = self.query_one(Draft)
        # Queue this: what was sent just before must go to the member it was written to.
        draft.call_later(draft.address, name)
        self._show_member(name)

    def _turn_to_next(self) -> str:
        """Watch the next member, and return its name. The draft, which has its keys in order, addresses it."""
        self._show_member(name := self._neighbour(1))
        return name

    def _show_member(self, name: str) -> None:
        self.watching.choose(name)
        self.query_one(Conversation).begin()
        self.query_one(PostPanel).choose(name)
        self._follow()
        self._look()

    @work(group="follow", exclusive=True)
    async def _follow(self) -> None:
        try:
            await self.watching.follow()
        except DeskmateError as error:
            self.post_message(self.Unreadable(error))

    def on_member_chosen(self, message: MemberChosen) -> None:
        """Watch the chosen member."""
        self._watch(message.name)

    def action_member(self, by: int) -> None:
        """Watch the next member, or the one before."""
        self._watch(self._neighbour(by))

    def _neighbour(self, by: int) -> str:
        names = [member.name for member in in_order(self._session)]
        chosen = self.watching.chosen
        # If a team was just closed, only the lead is left.
        return names[(names.index(chosen) + by) % len(names)] if chosen in names else LEAD

    def action_numbered(self, number: int) -> None:
        """Watch the member with this number in the list."""
        names = [member.name for member in in_order(self._session)]
        if number <= len(names):
            self._watch(names[number - 1])

    def action_reply(self) -> None:
        """Write to the agent whose message is chosen."""
        if (name := self.query_one(PostPanel).correspondent) in [member.name for member in self._session.members]:
            self._watch(name)
            self._write()

    def action_grid(self) -> None:
        """Show several conversations side by side, or only the chosen one again."""
        opens = not self.has_class("grid") and len(self._session.members) > 1
        if not opens and not self.has_class("grid"):
            self.notify("The grid shows several members. There is only one.")
        self.set_class(opens, "grid")
        if not opens:
            self._grid.show_members((), "")
        self._look()

    def on_tile_unreadable(self, message: Tile.Unreadable) -> None:
        """Exit as for the watched transcript."""
        self.post_message(self.Unreadable(message.error))

    # -- which panel has the keys -----------------------------------------------------------------

    def action_panel(self, name: str) -> None:
        """Focus a panel, or go back to writing if it has the focus already.

        A question may have taken the keys at the moment when the person asks for it, so it keeps them.
        """
        if name == "conversation" and self.has_class("grid"):
            self.action_grid()
        panel = self.query_one(f"#{name}")
        is_back = not self._session.questions if name == "questions" else panel.has_focus_within
        if is_back:
            self._write()
            return
        self._show_panel(name)
        # At once, so that the next key is handled there.
        self.query_one(QuestionsPanel).focus() if name == "questions" else self.set_focus(panel)

    def _show_panel(self, name: str) -> None:
        """Show a panel if there is room for only one. Beside the conversation, board or mail stays visible."""
        for other in _PANELS:
            self.set_class(other == name, f"on-{other}")
        if name in ("board", "post"):
            self.set_class(name == "post", "side-post")

    def action_leave_panel(self) -> None:
        """Go back to the draft. If the empty draft has the focus already, interrupt the watched member."""
        draft = self.query_one(Draft)
        if not draft.has_focus:
            self._write()
        elif not draft.text:
            self.post_message(self.Cut())

    def _write(self) -> None:
        self.query_one(SearchLine).remove_class("open")
        self.query_one(Conversation).end_search()
        self._show_panel("conversation")
        draft = self.query_one(Draft)
        # At once, so that the next key is handled there.
        self.set_focus(self.query_one(Conversation) if draft.disabled else draft)

    def drop_draft(self) -> bool:
        """Drop the draft. Return whether there was one."""
        draft = self.query_one(Draft)
        if is_typing := draft.has_focus and bool(draft.text):
            draft.drop()
        return is_typing

    def end_typing(self) -> bool:
        """Accept no more input once the current draft is sent or dropped. Return whether there is a draft."""
        self._ends = True
        self.on_text_area_changed()
        return not self.query_one(Draft).disabled

    def on_text_area_changed(self) -> None:
        """Disable the draft if everything is over and it is empty. The keys may mean something else now."""
        draft = self.query_one(Draft)
        self.on_descendant_focus()
        if self._ends and not draft.text:
            had_keys = draft.has_focus
            draft.disabled = True
            self._write() if had_keys else self.on_descendant_focus()

    def on_descendant_focus(self) -> None:
        """Show the keys of the focused panel."""
        panels = [node.id for node in self.focused.ancestors_with_self if node.id] if self.focused else []
        if "post" in panels and self._mail.unread:
            self._mail.read()
            self._look()
        draft, conversation = self.query_one(Draft), self.query_one(Conversation)
        has_end = self.focused is conversation or (self.focused is draft and not draft.text)
        conversation.name_end_key("End" if has_end else "Ctrl-End")
        is_menu = self.focused is draft and self.query_one(DraftMenu).is_open
        has_words = "questions" in panels and isinstance(self.focused, Input)
        panel = "words" if has_words else "menu" if is_menu else (*panels, "draft")[0]
        busy = self.watching.chosen in self._session.busy and not draft.text
        self.query_one(KeyLine).show(panel, asked=bool(self._session.questions), busy=busy, is_over=draft.disabled)

    def on_draft_sent(self) -> None:
        """Scroll to the end, where the sent text will appear. A question may have the keys again."""
        self.query_one(Conversation).action_go(1)
        self.query_one(QuestionsPanel).offer_again()

    def on_questions_panel_keys_wanted(self) -> None:
        """Give a question the keys if nobody is typing."""
        draft = self.query_one(Draft)
        if self.is_current and (self.focused is None or (draft.has_focus and draft.is_idle)):
            self.query_one(QuestionsPanel).take_keys()

    def direct(self, event: events.Key | events.Paste) -> None:
        """Give the keys to the draft if what is typed or pasted belongs there, whatever panel has them.

        Call this before the event is put into the queue of a widget. Then what is typed next is put into the same
        queue, and nothing overtakes it.
        """
        draft = self.query_one(Draft)
        if not draft.disabled and not is_for_panel(self, event):
            self._write()
        if self.focused is draft:
            draft.note_typing()

    def on_questions_panel_unanswered(self, message: QuestionsPanel.Unanswered) -> None:
        """Keep words that answer nothing any more."""
        self._write()
        self.query_one(Draft).paste(message.text)

    def on_draft_menu_picked(self) -> None:
        """Take the clicked completion."""
        self.query_one(Draft).accept()

    def action_end(self) -> None:
        """Show the end of the conversation, whatever panel has the keys."""
        self.query_one(Conversation).action_go(1)

    def on_draft_scrolled(self, message: Draft.Scrolled) -> None:
        """Scroll the conversation by a page."""
        conversation = self.query_one(Conversation)
        conversation.scroll_relative(y=message.by * max(1, conversation.size.height - 2), animate=False)

    def action_help(self) -> None:
        """Show every key and command."""
        self.app.push_screen(HelpScreen())

    def _mentioned(self) -> Iterable[tuple[str, str]]:
        return ((member.name, role_of(member)) for member in self._session.members if member.here)

    # -- searching --------------------------------------------------------------------------------

    def action_search(self) -> None:
        """Ask what to search for in the conversation."""
        if self.has_class("grid"):
            self.action_grid()
        self._show_panel("conversation")
        self.query_one(SearchLine).add_class("open").focus()
