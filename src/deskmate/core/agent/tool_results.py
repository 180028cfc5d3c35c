"""What a tool call returned."""

from collections.abc import Mapping
from dataclasses import field

from deskmate.core.agent.entries import Answered, Did, Opened
from deskmate.core.prompt.prompts import Image
from deskmate.core.values import frozen


@frozen
class Result:
    """What the model reads of a call, what a screen shows if that differs, and what the agent remembers.

    `shown`: for example a diff; empty if the text itself is fit to be shown. `files`: files as the agent now knows
    them, path and fingerprint. The rest is as in `Did`.
    """

    text: str
    ok: bool = True
    shown: str = ""
    images: tuple[Image, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    opened: Opened | None = None
    answered: Answered | None = None
    background: str | None = None
    tasks: Mapping[int, int | None] = field(default_factory=dict)
    board: int | None = None
    framed: bool = False
    lines: int | None = None
    roster: int | None = None
    team: str | None = None

    def did(self, call: str) -> Did:
        """Return the entry that gives a call this result."""
        return Did(
            call=call,
            text=self.text,
            ok=self.ok,
            shown=self.shown,
            images=tuple({"media_type": image.media_type, "blob": image.blob} for image in self.images),
            files=dict(self.files),
            opened=self.opened,
            answered=self.answered,
            background=self.background,
            tasks=dict(self.tasks),
            board=self.board,
            framed=self.framed or None,
            lines=self.lines,
            roster=self.roster,
            team=self.team,
        )
