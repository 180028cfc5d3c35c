"""Titles of panels."""

from textual.content import Content
from textual.widget import Widget


def entitle(panel: Widget, title: str) -> None:
    """Give a panel a one-line title. It is set only if it changed, because setting it redraws the whole panel."""
    content = Content(title)
    if panel.border_title != content.markup:
        panel.border_title = content
