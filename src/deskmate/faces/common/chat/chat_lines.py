"""Carries out one line: a message, or a slash command.

Faces with a conversation call `await Talk(session).carry_out(line)` and show the result. `chat_commands` lists what
can be typed. `deskmate.app.session` does the work.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import anyio.to_thread

from deskmate.app.parts.hook_parts import list_hooks
from deskmate.app.parts.usable_types import list_types
from deskmate.core.log.names import ALL, LEAD, USER
from deskmate.core.prompt.user_frames import UserCommand, UserFile
from deskmate.errors import DeskmateError, Refused
from deskmate.faces.common.chat.budget_command import budget_lines, parked_line, set_cap
from deskmate.faces.common.chat.chat_commands import COMMANDS, command_named, unknown_command
from deskmate.faces.common.chat.completions import begins_with_path, is_path
from deskmate.faces.common.chat.export_commands import diff_lines, export, last_answer
from deskmate.faces.common.chat.mode_command import delegate_lines, mode_lines, usage_error
from deskmate.faces.common.chat.question_text import short_answer
from deskmate.faces.common.chat.status_commands import (
    agent_type_lines,
    config_lines,
    context_lines,
    doctor_lines,
    status_lines,
)
from deskmate.faces.common.chat.typed_answers import TypedAnswers
from deskmate.faces.common.chat.user_commands import (
    UserCommands,
    command_in,
    command_lines,
    note_in,
    without_sign,
)
from deskmate.faces.common.error_log import error_lines
from deskmate.faces.common.handover.tree_reports import branch_lines, merge_lines
from deskmate.faces.common.hooks.hook_lines import hook_lines
from deskmate.faces.common.items.member_items import MemberItem, colours_of, member_items
from deskmate.faces.common.listings import board_lines, conflict_lines, cost_lines, inbox_lines, member_lines
from deskmate.faces.common.mentions.file_paths import begins_with_file, files_in
from deskmate.faces.common.mentions.image_paths import begins_with_image, images_in
from deskmate.faces.common.rewind.rewind_command import rewind_lines
from deskmate.faces.common.terminal_text import clean, one_line
from deskmate.faces.common.text_tables import Cell, CleanLine, Sheet
from deskmate.queries.member_view import look_at_inbox
from deskmate.queries.team_view import look_at_cost

if TYPE_CHECKING:
    from deskmate.app.sessions.team_session import TeamSession


@dataclass(frozen=True, slots=True)
class Feedback:
    """What to show for a typed line.

    `lines`: cells side by side, already cleaned, some in the colour of a member. `leaves`: the conversation is over.
    `next_words`: a new team follows, and these are said to it first, if any. None: no team follows. `picks`: the user
    chooses the team that follows. `refused`: the line could not be carried out.
    """

    lines: tuple[CleanLine, ...] = ()
    leaves: bool = False
    next_words: str | None = None
    picks: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class FaceActions:
    """What only a face can do. `copy`: puts a text on the clipboard. `theme`: sets a theme, or lists them for "".

    None: the face cannot do that. Both raise Refused. `watch`: shows a command of the user while it runs. `picks`: the
    user can choose another team from a list.
    """

    copy: Callable[[str], None] | None = None
    theme: Callable[[str], list[str]] | None = None
    watch: Callable[[UserCommand], None] | None = None
    picks: bool = False


NO_ACTIONS = FaceActions()
Lines: TypeAlias = "list[CleanLine]"


class Talk:
    """The typed side of a conversation. `answers`: which question a typed answer means. `commands`: the user's own.

    `cells`: returns how wide lines may be, or None for any width. `actions`: what the face can do.
    """

    def __init__(
        self,
        session: "TeamSession",
        cells: Callable[[], int | None] = lambda: None,
        actions: FaceActions = NO_ACTIONS,
    ) -> None:
        self._session, self._cells, self._actions = session, cells, actions
        self.answers, self.commands = TypedAnswers(session), UserCommands(session.workspace)

    async def carry_out(self, line: str) -> Feedback:
        """Carry out a typed line. If that is not possible, nothing changes and the feedback says why."""
        text = line.strip()
        try:
            return self._ending(text) or Feedback(tuple(await self._carry_out(text)))
        except DeskmateError as error:
            return Feedback(tuple(line for text in error_lines(error) for line in _plain(text)), refused=True)
        finally:
            self.answers.text_ended()

    # -- words and commands -----------------------------------------------------------------------

    async def _carry_out(self, text: str) -> Lines:
        workspace = self._session.workspace
        begins = begins_with_image(text, workspace) or begins_with_file(text, workspace, self._names)
        if begins or (text.startswith("@") and self._resources(text.split(maxsplit=1)[0])):
            return await self._speak(text, LEAD)
        if (said := without_sign(text)) != text:
            return await self._speak(said, LEAD)
        if text.startswith("/") and not begins_with_path(text):
            return await self._command(text)
        if text.startswith("@"):
            return await self._tell(text)
        if command := command_in(text):
            return await self._run(command)
        if note := note_in(text):
            return _lines(await self.commands.note(note))
        return await self._speak(text, LEAD) if text else []

    async def _run(self, command: str) -> Lines:
        if self._actions.watch is None:
            return _lines(command_lines(await self.commands.run(command)))
        await self.commands.run(command, self._actions.watch)
        return []

    async def _tell(self, text: str) -> Lines:
        name, words = _parted(text[1:])
        if not name or not words:
            raise Refused(
                "@ must be followed by a name and a message",
                "To write to a teammate: @NAME WORDS\nTo send this text to the lead, start it with @@.",
            )
        name = self._session.spelled(name)
        if name == USER:
            raise Refused("'user' is you")
        if name not in self._names and is_path(self._session.workspace, name):
            return await self._speak(text[1:], LEAD)
        if name.lower() == ALL:
            if images_in(words, self._session.workspace):
                raise Refused("Images can be sent to one member only", "To send them to the lead, leave out @all.")
            reached = await self._session.say_to_all(words)
            return _plain(f"said to {', '.join(reached)}")
        return await self._speak(words, name)

    @property
    def _names(self) -> set[str]:
        """What means somebody on the team after an `@`, even if a file has the same name."""
        return {ALL, *(member.name for member in self._session.members)}

    def _resources(self, text: str) -> tuple[tuple[str, str], ...]:
        """Return the resources of MCP servers that a text names. Without servers, nothing of this is imported."""
        if self._session.servers is None:
            return ()
        from deskmate.faces.common.mcp.mcp_mentions import resources_in

        return resources_in(text, self._session.servers)

    async def _read(self, resources: tuple[tuple[str, str], ...]) -> tuple[tuple[UserFile, ...], tuple[str, ...]]:
        if not resources or self._session.servers is None:
            return (), ()
        from deskmate.faces.common.mcp.mcp_mentions import attached_resources

        return await attached_resources(resources, self._session.servers)

    async def _speak(self, words: str, to: str) -> Lines:
        """Answer an open question if the words are a short answer to it. Otherwise send them. Questions stay open."""
        images = images_in(words, self._session.workspace)
        paths = files_in(words, self._session.workspace, self._names) if to == LEAD else ()
        resources = self._resources(words) if to == LEAD else ()
        short = None if images or paths or resources else short_answer(words)
        if (answered := await self.answers.answer_words(words, short, to)) is not None:
            return _lines(answered)
        files = await self._session.mentioned(paths)
        of_servers, missing = await self._read(resources)
        frames = (file.frame for file in (*files.attached, *of_servers))
        content = self.commands.with_news(words, *frames) if to == LEAD else words
        await self._session.say(content, to=to, images=images)
        if to == LEAD:
            self.commands.told()
        # A face that shows what the user does shows the message with its files.
        attached = (*files.attached, *of_servers) if self._actions.watch is None else ()
        told = [*(f"attached {file.path}, {file.lines}" for file in attached), *files.left_out, *missing]
        said: Lines = _lines(told) if to == LEAD else [(Cell("said to "), Cell(to, self._colours.get(to)))]
        if short and (unanswered := self.answers.unanswered(to)):
            said = _lines(unanswered)
        return [*said, *_lines(self.answers.still_open(to)), *self._capped(to)]

    def _ending(self, text: str) -> Feedback | None:
        """Return the feedback for a command that ends the conversation, or None for any other text."""
        if not text.startswith("/") or text.startswith("//"):
            return None
        name, rest = _parted(text[1:])
        command = command_named(name)
        if command and command.fits(rest.split()):
            if command.name == "quit":
                return Feedback(leaves=True)
            if command.name == "clear":
                # Before this team is left: there is no way back to the text.
                images_in(rest, self._session.workspace)
                return Feedback(leaves=True, next_words=rest)
            if command.name == "resume" and not rest:
                if not self._actions.picks:
                    raise Refused("Choosing a team needs a terminal", "To let a member continue: /resume NAME")
                return Feedback(leaves=True, picks=True)
        return None

    async def _command(self, text: str) -> Lines:
        name, rest = _parted(text[1:])
        command = command_named(name)
        if command is None and name.startswith("mcp__"):
            from deskmate.faces.common.mcp.mcp_mentions import prompt_message

            return await self._speak(await prompt_message(name, rest, self._session), LEAD)
        if command is None:
            raise unknown_command(name)
        words = rest.split()
        if not command.fits(words):
            raise usage_error(command)
        match command.name:
            case "yes" | "always" | "no" as answer:
                return _lines(await self.answers.answer(answer, rest))
            case "mode":
                return _lines(await mode_lines(self._session, rest))
            case "delegate":
                return _lines(await delegate_lines(self._session, rest))
            case "interrupt" | "resume" | "stop" as deed:
                return await self._direct(deed, words[0] if words else LEAD)
            case "model":
                return self._model(rest)
            case "budget":
                return await self._budget(words)
            case "theme":
                return _lines(self._theme(rest))
            case "copy":
                return await self._copy()
            case "export":
                return _plain(f"written to {await export(self._session, rest)}")
            case "merge":
                return _lines(await merge_lines(self._session))
            case "rewind":
                return await rewind_lines(self._session, words, self.commands, Sheet(self._cells(), colour=False))
            case "compact":
                await self._session.make_room(rest)
                return _plain("The lead's conversation will be summarised as soon as no tool call is running")
            case shown:
                return await self._show(shown, words)

    # -- what is shown ----------------------------------------------------------------------------

    async def _show(self, name: str, words: list[str]) -> Lines:
        session, sheet = self._session, Sheet(self._cells(), colour=False)
        match name:
            case "status":
                return _lines(await status_lines(session))
            case "context":
                return await context_lines(session, words[0] if words else LEAD, sheet)
            case "agents":
                members = member_lines(session.team, self._members, sheet, time.time())
                listed = await anyio.to_thread.run_sync(
                    list_types, session.workspace, session.settings, session.consent
                )
                return [*members, *_plain("agent types that the lead can start:"), *agent_type_lines(listed, sheet)]
            case "hooks":
                found = await anyio.to_thread.run_sync(list_hooks, session.workspace, session.settings, session.consent)
                return hook_lines(found, sheet)
            case "config":
                return _lines(config_lines(session))
            case "mcp":
                from deskmate.faces.common.mcp.mcp_lines import mcp_lines

                return _lines(await mcp_lines(session, words))
            case "doctor":
                return _lines(await doctor_lines(session, sheet.cells))
            case "diff":
                return await self._diff(words[0] if words else "")
            case "team":
                return member_lines(session.team, self._members, sheet, time.time())
            case "tasks":
                lines = board_lines(session.team, session.board, self._colours, sheet)
                at_home = session.home_board
                return [*lines, *(board_lines(session.home, at_home, self._colours, sheet) if at_home else [])]
            case "conflicts":
                return conflict_lines(session.team, session.board, sheet)
            case "inbox":
                look = partial(look_at_inbox, session.workspace, *session.place_of(words[0] if words else LEAD))
                seen = await anyio.to_thread.run_sync(look)
                return [*inbox_lines(seen, time.time()), *_damage(seen.damage)]
            case "cost":
                cost = await anyio.to_thread.run_sync(look_at_cost, session.workspace, session.team)
                return [*cost_lines(cost, sheet), *_damage(cost.damage)]
            case "questions":
                shown = [line for one in session.questions for line in self.answers.question(one)]
                return shown or _plain("No question is open")
            case _:
                return _help(sheet)

    async def _diff(self, wanted: str) -> Lines:
        """Return the changes in the branch of the team, if it has one, and what members changed in the user's files."""
        branch = await branch_lines(self._session, wanted)
        if branch is None:
            return _lines(await diff_lines(self._session, wanted))
        return branch

    @property
    def _members(self) -> list[MemberItem]:
        return member_items(self._session.members, self._session.board, self._session.spending)

    @property
    def _colours(self) -> dict[str, str]:
        return colours_of(self._session.members)

    # -- what is changed --------------------------------------------------------------------------

    async def _direct(self, deed: str, name: str) -> Lines:
        session = self._session
        match deed:
            case "interrupt":
                await session.interrupt(name)
                return _plain(f"{name} was interrupted. It waits until you write to it")
            case "resume":
                if capped := self._capped(name):
                    return capped
                await session.go_on(name)
                return _plain(f"{name} continues")
            case _:
                await session.stop(name)
                return _plain(f"{name} was asked to leave. To see whether it has: /team")

    def _capped(self, name: str) -> Lines:
        """Return a line naming the cap that keeps a member from answering, if there is one."""
        why = self._session.capped(name)
        return _plain(parked_line(name, why)) if why else []

    async def _budget(self, words: list[str]) -> Lines:
        if len(words) == 1:
            raise usage_error(COMMANDS["budget"])
        return _lines(await set_cap(self._session, *words) if words else budget_lines(self._session))

    def _model(self, name: str) -> Lines:
        if not name:
            return _plain(f"model: {self._session.model}")
        return _plain(f"model from now on: {self._session.choose_model(name)}")

    async def _copy(self) -> Lines:
        if self._actions.copy is None:
            raise Refused("Copying needs the terminal UI or a terminal", "To write the conversation to a file: /export")
        text = await last_answer(self._session)
        self._actions.copy(text)
        return _plain(f"copied the lead's last answer, {len(text):,} characters")

    def _theme(self, name: str) -> list[str]:
        if self._actions.theme is None:
            return ["The plain chat uses the colours of your terminal. To turn them off, set NO_COLOR=1"]
        return self._actions.theme(name)


def _parted(text: str) -> tuple[str, str]:
    """Return the first word of a text, and the rest as it was typed."""
    word, *rest = text.split(None, 1) or [""]
    return word, rest[0] if rest else ""


def _lines(texts: Iterable[str]) -> Lines:
    return [line for text in texts for line in _plain(text) or [()]]


def _plain(text: str) -> Lines:
    return [(Cell(line),) for line in clean(text).splitlines()]


def _damage(damage: tuple[str, ...]) -> Lines:
    return [(Cell(one_line(f"damaged: {words}")),) for words in damage]


def _help(sheet: Sheet) -> Lines:
    words = [["WORDS", "send a message to the lead"], ["@NAME WORDS", "send a message to a teammate"]]
    words.append(["@all WORDS", "send a message to everybody on the team"])
    words.append(["@FILE", "attach a file of the workspace, anywhere in a message to the lead"])
    rows = [*words, *([command.usage, command.about] for command in COMMANDS.values())]
    rows += [["!COMMAND", "run a command in your shell; the lead gets its output with your next message"]]
    rows += [["#NOTE", "add a note to the project's notes"]]
    return sheet.lines(
        [*rows, ["//WORDS, @@WORDS", "send a message that begins with / or @; !! and ## work the same way"]], gives=1
    )
