"""Copy a text and say so."""

from typing import Any

from textual.app import App

_SECONDS = 3.0


def copy(app: App[Any], text: str) -> None:
    """Copy a text to the terminal's clipboard, and show how much it was."""
    app.copy_to_clipboard(text)
    lines = text.count("\n") + 1
    app.notify(f"Copied {lines:,} lines" if lines > 1 else f"Copied {len(text):,} characters", timeout=_SECONDS)
