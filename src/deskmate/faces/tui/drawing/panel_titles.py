"""Titles of panels."""

from textual.content import Content
from textual.widget import Widget


def entitle(panel: Widget, title: str) -> None:
    """Give a panel a title of one line. Setting one, even the same, draws all of the panel."""
    content = Content(title)
    if panel.border_title != content.markup:
        panel.border_title = content
