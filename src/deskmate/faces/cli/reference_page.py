"""Every command in Markdown, for the docs.

`docs/reference/commands.md` contains what this prints (`make reference`). No command runs it.
"""

import re
import sys
import textwrap
from collections.abc import Iterable, Iterator

import click

from deskmate.faces.cli.root_commands import deskmate

HEAD = """\
<!-- Made by `make reference` from the help of each command. Change it there, not here. -->

# Commands

This page shows what `deskmate COMMAND --help` prints. Every command has `-h` and `--help`. In a usage line, you can
leave out what is in brackets, and repeat what is followed by dots.
"""
_COLUMNS = 120
# Wide enough that click wraps and cuts nothing.
_ROOM = 10_000
_PARAGRAPHS = re.compile(r"\n\s*\n")
_AS_IT_STANDS = "\b\n"


def reference() -> str:
    """Return the page: every visible command with its usage, text, options and subcommands."""
    return "".join([HEAD, *_sections("deskmate", deskmate, None)])


def _sections(name: str, command: click.Command, above: click.Context | None) -> Iterator[str]:
    settings = {**command.context_settings, "help_option_names": []}
    ctx = click.Context(command, info_name=name, parent=above, **settings)
    page = _Page(ctx.command_path)
    command.format_help(ctx, page)
    # A command with two usages has both in one block.
    yield page.getvalue().replace("```\n\n```\n", "")
    if isinstance(command, click.Group):
        for below in command.list_commands(ctx):
            found = command.get_command(ctx, below)
            if found is not None and not found.hidden:
                yield from _sections(below, found, ctx)


class _Page(click.HelpFormatter):
    """A help formatter that writes a command's help as a Markdown section. `path`: the command as it is typed."""

    def __init__(self, path: str) -> None:
        super().__init__(width=_ROOM)
        self._path = path
        depth = path.count(" ")
        self._put(f"{'#' * max(2, depth + 1)} {path}")

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self._put(_fenced(f"{prog} {args}"))

    def write_paragraph(self) -> None:
        """Do nothing: blocks are always separated here."""

    def write_heading(self, heading: str) -> None:
        self._put(f"{heading}:")

    def write_text(self, text: str) -> None:
        for paragraph in _PARAGRAPHS.split(text):
            head, _, rest = paragraph.removeprefix(_AS_IT_STANDS).partition("\n")
            if paragraph.startswith(_AS_IT_STANDS):
                self._put(head)
                self._put(_fenced(textwrap.dedent(rest)))
            else:
                self._put(_filled(paragraph))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        self._put("\n".join(_filled(f"- {self._term(term)}: {text}", indent="  ") for term, text in rows))

    def _term(self, term: str) -> str:
        """Return an option as it is typed, or a link to a command."""
        return f"`{term}`" if term.startswith("-") else f"[{term}](#{f'{self._path} {term}'.replace(' ', '-')})"

    def _put(self, block: str) -> None:
        self.write(f"\n{block}\n")


def _filled(text: str, indent: str = "") -> str:
    # Break neither `--max-cost` nor an address.
    return textwrap.fill(" ".join(text.split()), _COLUMNS, subsequent_indent=indent, break_on_hyphens=False)


def _fenced(text: str) -> str:
    return f"```\n{text.strip()}\n```"


if __name__ == "__main__":
    sys.stdout.buffer.write(reference().encode())
