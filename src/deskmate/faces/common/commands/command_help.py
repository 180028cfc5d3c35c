"""/help: everything that can be typed in a conversation, and commands that do not exist."""

import difflib

from deskmate.app.commands.usable_commands import ListedCommands
from deskmate.errors import Refused
from deskmate.faces.common.chat.chat_commands import COMMANDS, nearest
from deskmate.faces.common.commands.command_list import command_rows, note_lines
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import Cell, CleanLine, Sheet


def help_lines(custom: ListedCommands, sheet: Sheet) -> list[CleanLine]:
    """Return what can be typed, and what it does."""
    rows = [["WORDS", "send a message to the lead"], ["@NAME WORDS", "send a message to a teammate"]]
    rows.append(["@all WORDS", "send a message to everybody on the team"])
    rows.append(["@FILE", "attach a file of the workspace, anywhere in a message to the lead"])
    rows += ([command.usage, command.about] for command in COMMANDS.values())
    rows += map(list, command_rows(custom))
    rows += [["!COMMAND", "run a command in your shell; the lead gets its output with your next message"]]
    rows += [["#NOTE, #user NOTE, #team NOTE", "add a note for the project, for you, or for teams here"]]
    rows += [["//WORDS, @@WORDS", "send a message that begins with / or @; !! and ## work the same way"]]
    return [*sheet.lines(rows, gives=1), *((Cell(one_line(line)),) for line in note_lines(custom))]


def unknown_command(name: str, custom: ListedCommands) -> Refused:
    """Return the error for a command that does not exist, in one line."""
    waiting = next((one for one, _ in custom.untrusted if one.name == name), None)
    if waiting is not None:
        return Refused(f"/{name[:80]} is not used, because you have not trusted {waiting.file}. Run: deskmate trust")
    near = nearest(name) or next(iter(difflib.get_close_matches(name, custom.usable, n=1)), None)
    return Refused(
        f"There is no command /{name[:80]}. {f'Did you mean /{near}?' if near else '/help lists all commands.'}"
    )
