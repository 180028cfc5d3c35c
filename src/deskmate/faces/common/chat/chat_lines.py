"""Carries out one line: a message, or a slash command.

Faces with a conversation call `await Talk(session).carry_out(line)` and show the result. `chat_commands` lists what
can be typed. `deskmate.app.session` does the work.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deskmate.core.commands.command_words import TypedCommand
from deskmate.core.log.names import ALL, LEAD, USER
from deskmate.core.prompt.user_frames import UserCommand
from deskmate.errors import DeskmateError, Refused
from deskmate.faces.common.chat.budget_command import budget_lines, parked_line, set_cap
from deskmate.faces.common.chat.chat_commands import COMMANDS, command_named
from deskmate.faces.common.chat.completions import begins_with_path, is_path
from deskmate.faces.common.chat.export_commands import export, last_answer
from deskmate.faces.common.chat.mode_command import delegate_lines, mode_lines, usage_error
from deskmate.faces.common.chat.question_text import short_answer
from deskmate.faces.common.chat.typed_answers import TypedAnswers
from deskmate.faces.common.chat.user_commands import (
    UserCommands,
    command_in,
    command_lines,
    note_in,
    without_sign,
)
from deskmate.faces.common.commands.cell_lines import Lines, cell_lines, plain_lines
from deskmate.faces.common.commands.command_help import unknown_command
from deskmate.faces.common.commands.command_sender import CommandSender, ReadyPrompt
from deskmate.faces.common.commands.goal_command import goal_lines
from deskmate.faces.common.commands.look_commands import LookCommands
from deskmate.faces.common.commands.loop_command import loop_lines
from deskmate.faces.common.commands.memory_command import memory_lines
from deskmate.faces.common.error_log import error_lines
from deskmate.faces.common.handover.tree_reports import merge_lines
from deskmate.faces.common.items.member_items import colours_of
from deskmate.faces.common.mentions.file_paths import begins_with_file, files_in
from deskmate.faces.common.mentions.image_paths import begins_with_image, images_in
from deskmate.faces.common.mentions.server_resources import read_resources, resources_named
from deskmate.faces.common.rewind.rewind_command import rewind_lines
from deskmate.faces.common.text_tables import Cell, CleanLine, Sheet

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

    `edit`: opens a text in the user's editor and returns what was saved. None: the face cannot do that. All raise
    Refused. `watch`: shows a command of the user while it runs. `picks`: the user can choose another team from a list.
    """

    copy: Callable[[str], None] | None = None
    theme: Callable[[str], list[str]] | None = None
    edit: Callable[[str], Awaitable[str]] | None = None
    watch: Callable[[UserCommand], None] | None = None
    picks: bool = False


NO_ACTIONS = FaceActions()


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
        self._sender = CommandSender(session, self.commands)
        self._looks = LookCommands(session, cells, self.answers, self._sender)

    async def carry_out(self, line: str) -> Feedback:
        """Carry out a typed line. If that is not possible, nothing changes and the feedback says why."""
        text = line.strip()
        try:
            return self._ending(text) or Feedback(tuple(await self._carry_out(text)))
        except DeskmateError as error:
            return Feedback(tuple(line for text in error_lines(error) for line in plain_lines(text)), refused=True)
        finally:
            self.answers.text_ended()

    # -- words and commands -----------------------------------------------------------------------

    async def _carry_out(self, text: str) -> Lines:
        workspace = self._session.workspace
        begins = begins_with_image(text, workspace) or begins_with_file(text, workspace, self._names)
        if begins or (text.startswith("@") and resources_named(text.split(maxsplit=1)[0], self._session.servers)):
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
            return cell_lines(await self.commands.note(note, self._session.settings))
        return await self._speak(text, LEAD) if text else []

    async def _run(self, command: str) -> Lines:
        if self._actions.watch is None:
            return cell_lines(command_lines(await self.commands.run(command)))
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
            return plain_lines(f"said to {', '.join(reached)}")
        return await self._speak(words, name)

    @property
    def _names(self) -> set[str]:
        """What means somebody on the team after an `@`, even if a file has the same name."""
        return {ALL, *(member.name for member in self._session.members)}

    async def _send(self, ready: ReadyPrompt | list[str]) -> Lines:
        """Send a prompt to the lead, and return lines about it. Return the lines of a question as they are."""
        if isinstance(ready, list):
            return cell_lines(ready)
        sent = await self._speak(ready.prompt.words, LEAD, ready.frames)
        return [*cell_lines(ready.lines(whole=self._actions.watch is None)), *sent]

    async def _speak(self, words: str, to: str, frames: tuple[str, ...] | None = None) -> Lines:
        """Answer an open question if the words are a short answer to it. Otherwise send them. Questions stay open.

        `frames`: what else a command from a file sends. Its words answer nothing.
        """
        images = images_in(words, self._session.workspace)
        paths = files_in(words, self._session.workspace, self._names) if to == LEAD else ()
        resources = resources_named(words, self._session.servers) if to == LEAD else ()
        is_plain = not (images or paths or resources) and frames is None
        short = short_answer(words, fills_in=self.answers.fills_in) if is_plain else None
        if frames is None and (answered := await self.answers.answer_words(words, short, to)) is not None:
            return cell_lines(answered)
        files = await self._session.mentioned(paths)
        of_servers, missing = await read_resources(resources, self._session.servers)
        added = (*(frames or ()), *(file.frame for file in (*files.attached, *of_servers)))
        content = self.commands.with_news(words, *added) if to == LEAD else words
        await self._session.say(content, to=to, images=images)
        if to == LEAD:
            self.commands.told()
        # A face that shows what the user does shows the message with its files.
        attached = (*files.attached, *of_servers) if self._actions.watch is None else ()
        told = [*(f"attached {file.path}, {file.lines}" for file in attached), *files.left_out, *missing]
        said: Lines = (
            cell_lines(told)
            if to == LEAD
            else [(Cell("said to "), Cell(to, colours_of(self._session.members).get(to)))]
        )
        if short and (unanswered := self.answers.unanswered(to)):
            said = cell_lines(unanswered)
        return [*said, *cell_lines(self.answers.still_open(to)), *self._capped(to)]

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
            return await self._send(await self._prepared(TypedCommand(name, rest.strip())))
        words = rest.split()
        if not command.fits(words):
            raise usage_error(command)
        match command.name:
            case "yes" | "always" | "no" as answer:
                return cell_lines(await self.answers.answer(answer, rest))
            case "mode":
                return cell_lines(await mode_lines(self._session, rest))
            case "delegate":
                return cell_lines(await delegate_lines(self._session, rest))
            case "interrupt" | "resume" | "stop" as deed:
                return await self._direct(deed, words[0] if words else LEAD)
            case "model":
                return self._model(rest)
            case "budget":
                return await self._budget(words)
            case "theme":
                return cell_lines(self._theme(rest))
            case "copy":
                return await self._copy()
            case "export":
                return plain_lines(f"written to {await export(self._session, rest)}")
            case "merge":
                return cell_lines(await merge_lines(self._session))
            case "rewind":
                return await rewind_lines(self._session, words, self.commands, Sheet(self._cells(), colour=False))
            case "init":
                return await self._send(await self._prepared(TypedCommand(command.name, rest.strip())))
            case "goal":
                return cell_lines(await goal_lines(self._session, rest))
            case "loop":
                return cell_lines(await loop_lines(self._session, rest))
            case "memory":
                return cell_lines(await memory_lines(self._session, words, self._actions.edit))
            case "run":
                return await self._send(await self._sender.go_on())
            case "compact":
                await self._session.make_room(rest)
                return plain_lines("The lead's conversation will be summarised as soon as no tool call is running")
            case shown:
                return await self._looks.lines(shown, words)

    async def _prepared(self, typed: TypedCommand) -> ReadyPrompt | list[str]:
        custom = await self._sender.named(typed.name)
        if custom is None:
            raise unknown_command(typed.name, self._sender.list.listed)
        return await self._sender.begin(custom, typed)

    # -- what is changed --------------------------------------------------------------------------

    async def _direct(self, deed: str, name: str) -> Lines:
        session = self._session
        match deed:
            case "interrupt":
                await session.interrupt(name)
                return plain_lines(f"{name} was interrupted. It waits until you write to it")
            case "resume":
                if capped := self._capped(name):
                    return capped
                await session.go_on(name)
                return plain_lines(f"{name} continues")
            case _:
                await session.stop(name)
                return plain_lines(f"{name} was asked to leave. To see whether it has: /team")

    def _capped(self, name: str) -> Lines:
        """Return a line naming the cap that keeps a member from answering, if there is one."""
        why = self._session.capped(name)
        return plain_lines(parked_line(name, why)) if why else []

    async def _budget(self, words: list[str]) -> Lines:
        if len(words) == 1:
            raise usage_error(COMMANDS["budget"])
        return cell_lines(await set_cap(self._session, *words) if words else budget_lines(self._session))

    def _model(self, name: str) -> Lines:
        if not name:
            return plain_lines(f"model: {self._session.model}")
        return plain_lines(f"model from now on: {self._session.choose_model(name)}")

    async def _copy(self) -> Lines:
        if self._actions.copy is None:
            raise Refused("Copying needs the terminal UI or a terminal", "To write the conversation to a file: /export")
        text = await last_answer(self._session)
        self._actions.copy(text)
        return plain_lines(f"copied the lead's last answer, {len(text):,} characters")

    def _theme(self, name: str) -> list[str]:
        if self._actions.theme is None:
            return ["The plain chat uses the colours of your terminal. To turn them off, set NO_COLOR=1"]
        return self._actions.theme(name)


def _parted(text: str) -> tuple[str, str]:
    """Return the first word of a text, and the rest as it was typed."""
    word, *rest = text.split(None, 1) or [""]
    return word, rest[0] if rest else ""
