"""Suggestions for mistyped words, stdin, fast imports."""

import difflib
import gc
import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class SuggestingGroup(click.Group):
    """A group that suggests the nearest command for an unknown name."""

    advice = ""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        typed = args[0]
        # During completion nothing is wrong yet.
        if not ctx.resilient_parsing and self.get_command(ctx, typed) is None and not typed.startswith("-"):
            near = difflib.get_close_matches(typed, self.list_commands(ctx), n=1)
            hints = [f"Did you mean '{near[0]}'?" if near else self.advice, self.way_out(ctx, args)]
            ctx.fail(" ".join(filter(None, [f"There is no command '{typed}'.", *hints])))
        return super().resolve_command(ctx, args)

    def way_out(self, ctx: click.Context, args: list[str]) -> str:
        """Return what else to type if no command was meant."""
        return ""


class ShowingGroup(SuggestingGroup):
    """A group that takes one word that is not a command as the team to show. Its command `show` does that."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = [word for word in args if not word.startswith("-")]
        asks_help = not words and any(word in ctx.help_option_names for word in args)
        # During completion, the next word may become either.
        undecided = ctx.resilient_parsing and not args
        if len(words) <= 1 and not asks_help and not undecided and not any(word in self.commands for word in words):
            args = ["show", *args]
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[TEAM] [--json]")
        formatter.write_usage(ctx.command_path, "COMMAND [ARGS]...", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.commands["show"].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        shown = self.commands["show"]
        if incomplete.startswith("-"):
            return shown.shell_complete(ctx, incomplete)
        return [*super().shell_complete(ctx, incomplete), *shown.params[0].shell_complete(ctx, incomplete)]


class Speaking(SuggestingGroup):
    """A group that takes a message instead of a command: one argument with a space in it, or everything after `--`.

    The message is left in `ctx.meta["words"]`. It is None if a command or nothing was typed.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = None
        # Completion covers commands and options, not messages.
        if not ctx.resilient_parsing:
            words, args = self._parted(ctx, args)
        ctx.meta["words"] = words
        return super().parse_args(ctx, args)

    def _parted(self, ctx: click.Context, args: list[str]) -> tuple[str | None, list[str]]:
        """Return the message, and the arguments without it."""
        options, rest = self._behind_options(ctx, args)
        ctx.meta["options"] = options
        if options[-1:] == ["--"]:
            return " ".join(rest), options[:-1]
        # An empty argument is a message too, which is refused as such.
        if not rest or (rest[0] and not any(map(str.isspace, rest[0]))):
            return None, args
        args = [*options, *rest[1:]]
        _, more = self._behind_options(ctx, args)
        if more:
            ctx.fail(f"Only options can follow a message in quotes, not '{more[0]}'. Put the whole message in quotes.")
        return rest[0], args

    def _behind_options(self, ctx: click.Context, args: list[str]) -> tuple[list[str], list[str]]:
        """Return the options at the start of args, and everything from the first argument that is not an option."""
        _, rest, _ = self.make_parser(ctx).parse_args(list(args))
        return args[: len(args) - len(rest)], rest

    def way_out(self, ctx: click.Context, args: list[str]) -> str:
        return f"To send it to the lead: {shlex.join(['deskmate', *ctx.meta['options'], '--', *args])}"


def amount_of(unit: str, example: str) -> Callable[[str], float]:
    """Return the type of an option that takes a number of something, such as seconds. Its error shows the example."""

    def amount(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise click.BadParameter(f"'{text}' is not a number of {unit}. Write it as in: {example}") from None

    return amount


@contextmanager
def importing() -> Iterator[None]:
    """Import with garbage collection off: imported objects stay, and scanning them would slow down every start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def at_terminal() -> bool:
    """Return whether a person can read and type at a terminal that can be drawn on."""
    return can_draw() and all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def can_draw() -> bool:
    """Return whether the terminal supports more than new lines."""
    # Imported here because it is slow, and the list of commands does not need it.
    from deskmate import app

    return app.can_draw(app.environment())


def from_stdin() -> str | None:
    """Return what is piped in, or None at a terminal."""
    if sys.stdin.isatty():
        return None
    with importing():
        from deskmate.app import GOAL_CAP

    # An endless pipe must not fill the memory. A text too long here is too long as JSON too.
    return sys.stdin.buffer.read(GOAL_CAP + 1).decode("utf-8", "replace")


def bounded(words: str) -> str:
    """Return words that fit in one message. Raises UsageError if they are too long."""
    from deskmate.app import GOAL_CAP

    # A lone surrogate is stored as a character of the same number of bytes.
    if len(json.dumps(words, ensure_ascii=False).encode("utf-8", "surrogatepass")) > GOAL_CAP:
        raise click.UsageError(f"A message has at most {GOAL_CAP:,} bytes. Put the text in a file and name the file.")
    return words
