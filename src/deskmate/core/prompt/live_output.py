"""What a running command has printed so far.

The workspace that runs the command fills it in. The runtime reads it when the command is looked at or cut off.
"""

from collections.abc import Callable
from dataclasses import dataclass

# The most that is shown of a command that still runs or was cut off. The end shows what it was doing.
TAIL_CHARS = 8_000


def _nothing() -> tuple[str, str | None]:
    return "", None


@dataclass(slots=True)
class LiveOutput:
    """What one command has printed so far. `look`: returns the text, bounded, and the blob with all of it, if any.

    It may be called from another thread than the one that serves the command.
    """

    look: Callable[[], tuple[str, str | None]] = _nothing

    def tail(self) -> str:
        """Return the end of what was printed, and where the rest is; empty if nothing was printed."""
        text, blob = self.look()
        text = text.rstrip()
        if len(text) <= TAIL_CHARS:
            return f"{text}\nAll of it so far is in {blob}" if blob and blob not in text else text
        rest = f"All of it so far is in {blob}" if blob else "You get the rest when it ends"
        return f"(the last {TAIL_CHARS:,} characters. {rest})\n{text[-TAIL_CHARS:]}"
