"""How a command starts: suggestions for what was mistyped, words from stdin, imports that take no longer than needed.

`commands` and `team_commands` stand above.
"""

import difflib
import gc
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click


class Suggesting(click.Group):
    """A group that names the nearest command when it has none of that name."""

    advice = 'To give the agent a goal: deskmate run "GOAL"'

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        typed = args[0]
        if self.get_command(ctx, typed) is None and not typed.startswith("-"):
            near = difflib.get_close_matches(typed, self.list_commands(ctx), n=1)
            hint = f"Did you mean '{near[0]}'?" if near else self.advice
            ctx.fail(f"There is no command '{typed}'. {hint}")
        return super().resolve_command(ctx, args)


@contextmanager
def importing() -> Iterator[None]:
    """Import without looking for garbage: what is imported stays, and to look through it makes every start longer."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def from_stdin() -> str | None:
    """Return what is piped in, or nothing at a terminal."""
    if sys.stdin.isatty():
        return None
    with importing():
        from deskmate.app import GOAL_CAP

    # A pipe without end must not fill the memory: what is longer as it stands is longer as JSON too.
    return sys.stdin.buffer.read(GOAL_CAP + 1).decode("utf-8", "replace")


def bounded(words: str) -> str:
    """Return words that fit into one message; raise UsageError for more."""
    from deskmate.app import GOAL_CAP

    # Lone surrogates are kept as a character of as many bytes.
    if len(json.dumps(words, ensure_ascii=False).encode("utf-8", "surrogatepass")) > GOAL_CAP:
        raise click.UsageError(
            f"That is more than the {GOAL_CAP:,} bytes of a message. Put it into a file and name that."
        )
    return words
