"""From the text of a command file to a command.

Such a file is Markdown, with or without front matter, as Claude Code has them in `.claude/commands`. The body is the
prompt.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping

from deskmate.core.front_matter import FrontMatter, front_matter, words_of
from deskmate.core.policy.trusted_files import MOST_FOLDERS
from deskmate.core.values import frozen
from deskmate.errors import BadInput

SUFFIX = ".md"
DESCRIPTION_CAP = 200
HINT_CAP = 60
# In characters. The prompt, its files and the output of its commands must fit into one message.
PROMPT_CAP = 30_000
_MOST_NAME = 64
_PART = re.compile(r"[^\W_][\w-]*")
# Of a longer description, only the beginning can matter.
_READ_OF_DESCRIPTION = 2_000
_LINE_SIGNS = re.compile(r"^[#>*\s-]+")


@frozen
class CustomCommand:
    """A prompt that a person sends by name. `name`: with `:` after each folder. `hint`: what may follow the name.

    `file`: where it is described, empty if it is built in. `of_project`: that is in the workspace. `flaws`: what of the
    file is not used. `may_run`: its shell commands can run, if the rules allow them.
    """

    name: str
    prompt: str
    description: str = ""
    hint: str = ""
    file: str = ""
    of_project: bool = False
    flaws: tuple[str, ...] = ()
    may_run: bool = True

    @property
    def usage(self) -> str:
        """What to type."""
        return f"/{self.name} {self.hint}".rstrip()


def command_name(path: str) -> str:
    """Return the name of the command in a file, by its path in the folder of commands; raise BadInput for a bad one."""
    *folders, file = path.split("/")
    parts = [*folders, file.removesuffix(SUFFIX)]
    if len(folders) > MOST_FOLDERS:
        raise BadInput(f"{_shown(path)} is in more than {MOST_FOLDERS} folders", "Move it up.")
    for part in parts:
        if not _PART.fullmatch(part) or len(part) > _MOST_NAME or part != unicodedata.normalize("NFKC", part):
            raise BadInput(
                f"{_shown(path)}: {_shown(part)} cannot be in the name of a command",
                f"Use 1 to {_MOST_NAME} letters, digits, '_' and '-', beginning with a letter or digit.",
            )
    return ":".join(parts)


def read_command_file(text: str, path: str, file: str, *, of_project: bool) -> CustomCommand:
    """Return the command that a file describes; raise BadInput that names the file and what is wrong with it.

    `path`: where the file is in its folder of commands. `file`: its name for people.
    """
    try:
        name = command_name(path)
    except BadInput as error:
        raise BadInput(f"{file}: {error.message}", error.hint) from error
    found = front_matter(text)
    fields, prompt = (found.fields, found.body) if found else ({}, text.removeprefix("\ufeff").strip())
    if not prompt:
        raise BadInput(f"{file} has no text after its front matter", "Write what the lead should do.")
    if len(prompt) > PROMPT_CAP:
        raise BadInput(
            f"{file} has a prompt of {len(prompt):,} characters, at most {PROMPT_CAP:,} are allowed", "Shorten it."
        )
    return CustomCommand(
        name=name,
        prompt=prompt,
        description=_line(fields.get("description") or _first_line(prompt), DESCRIPTION_CAP),
        hint=_line(fields.get("argument-hint", ""), HINT_CAP),
        file=file,
        of_project=of_project,
        flaws=tuple(_flaws(found)),
        may_run=_names_bash(fields.get("allowed-tools")),
    )


def shadowed(name: str, built_in: Mapping[str, object]) -> bool:
    """Tell whether a built-in command has the name of a custom one. The built-in command wins, in any case of letters.

    `built_in`: all names of built-in commands.
    """
    return name.casefold() in built_in


def _names_bash(written: str | None) -> bool:
    """Tell whether a list of tools has the one that runs commands, also if only for some. So does no list at all."""
    tools = {word.partition("(")[0].lower() for word in words_of(written)} if written is not None else {"*"}
    return not tools.isdisjoint({"bash", "*"})


def _flaws(found: FrontMatter | None) -> Iterator[str]:
    """Yield what of the front matter is not used."""
    fields = found.fields if found else {}
    if "allowed-tools" in fields:
        yield "allowed-tools gives no permission: your rules and your mode decide"
    if "model" in fields:
        yield "model is not used: the lead answers with its own model"
    if "disable-model-invocation" in fields:
        yield "disable-model-invocation is not needed: only you can use a command"


def _first_line(prompt: str) -> str:
    return _LINE_SIGNS.sub("", prompt.split("\n", 1)[0])


def _line(text: str, most: int) -> str:
    words = " ".join(text[:_READ_OF_DESCRIPTION].split())
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _shown(text: str) -> str:
    return ascii(text)[:80]
