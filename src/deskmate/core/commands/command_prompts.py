"""A command with its arguments filled in: the words, and the shell commands to run before they are sent.

Everything is filled in once, from left to right. So nothing in an argument is taken for a placeholder or a command.
"""

import re
import shlex

from deskmate.core.commands.command_files import CustomCommand
from deskmate.core.commands.command_words import TypedCommand
from deskmate.core.values import frozen
from deskmate.errors import BadInput

MOST_COMMANDS = 10
# `$ARGUMENTS`, `$1` to `$9`, and a shell command in !`...` at the start of a word, so that `what!` in a text is none. A
# backslash before a sign takes its meaning away.
_PLACE = r"\$(?:ARGUMENTS\b|(?P<number>[1-9])(?!\d))"
_SPECIAL = re.compile(rf"\\(?=\$(?:ARGUMENTS\b|[1-9])|!`)|(?<!\\){_PLACE}|(?<![^\s(\[])!`(?P<command>[^`\n]+)`")
_ARGUMENT = re.compile(rf"(?<!\\){_PLACE}")
# A word that means the same in every part of a shell command.
_PLAIN = re.compile(r"[\w./:@%+,=-]*", re.ASCII)
# After these, quotes do not say how a shell reads what follows.
_TANGLED = re.compile(r"\$[({'\"]|<<|[<>]\(|#|\\")
_IN_DOUBLE_QUOTES = re.compile(r'([$`"\\])')


@frozen
class CommandPrompt:
    """What a command sends. `words`: to the lead. `shell_commands`: to run before, each once, in order.

    `file`: the file of the command, empty if it is built in.
    """

    name: str
    words: str
    shell_commands: tuple[str, ...] = ()
    file: str = ""


def filled_in(command: CustomCommand, typed: TypedCommand) -> CommandPrompt:
    """Return a command with the typed arguments. Raises BadInput if a shell command cannot take them or run."""
    arguments, runs = typed.arguments, dict[str, None]()

    def value(found: re.Match[str]) -> str:
        if found["command"]:
            shell_command = _shell_command(command, found["command"], typed.rest, arguments)
            runs[shell_command] = None
            return f"`{shell_command}` (its output is below)"
        if found.group().startswith("\\"):
            return ""
        return _argument(found["number"], typed.rest, arguments)

    words = _SPECIAL.sub(value, command.prompt)
    if runs and not command.may_run:
        raise BadInput(
            f"/{command.name} would run {next(iter(runs))[:80]}, but its allowed-tools does not name Bash",
            f"Add Bash there, or delete that line of {command.file}.",
        )
    if typed.rest and not _ARGUMENT.search(command.prompt):
        words = f"{words}\n\nArguments: {typed.rest}"
    if len(runs) > MOST_COMMANDS:
        raise BadInput(
            f"/{command.name} would run {len(runs)} commands, at most {MOST_COMMANDS} are allowed",
            "Put them into a script.",
        )
    return CommandPrompt(command.name, words, tuple(runs), command.file)


def _argument(number: str | None, rest: str, arguments: tuple[str, ...]) -> str:
    if number is None:
        return rest
    return arguments[int(number) - 1] if int(number) <= len(arguments) else ""


def _shell_command(command: CustomCommand, written: str, rest: str, arguments: tuple[str, ...]) -> str:
    """Return a shell command with arguments that the shell reads as the same words, whatever they are."""

    def value(found: re.Match[str]) -> str:
        given = arguments if found["number"] is None else (_argument(found["number"], rest, arguments),)
        if all(map(_PLAIN.fullmatch, given)):
            return " ".join(given)
        before = written[: found.start()]
        if _TANGLED.search(before):
            raise BadInput(
                f"/{command.name} cannot put {ascii(' '.join(given))[:80]} into the command {written[:80]}",
                "Leave out characters that a shell reads, or write the placeholder at the start of the command.",
            )
        return _quoted(given, _open_quote(before))

    return _ARGUMENT.sub(value, written).strip()


def _open_quote(before: str) -> str:
    """Return the quotation mark that is open after a part of a shell command, or an empty string."""
    quote = ""
    for sign in before:
        if sign == quote:
            quote = ""
        elif not quote and sign in "\"'":
            quote = sign
    return quote


def _quoted(words: tuple[str, ...], quote: str) -> str:
    """Return words as they must be written inside these quotation marks."""
    if quote == '"':
        return _IN_DOUBLE_QUOTES.sub(r"\\\1", " ".join(words))
    if quote == "'":
        return " ".join(words).replace("'", "'\\''")
    return " ".join(map(shlex.quote, words))
