"""A plan as it is read before it is approved."""

import re

from rich.console import Console

from deskmate.faces.tui.drawing.markdown_rows import markdown_lines
from deskmate.faces.tui.drawing.styled_lines import ESCAPED, Line, exact, plain

# The language of a code block. A longer text there could be a part of the plan.
_LANGUAGE = re.compile(r"^(\s*(?:```|~~~))[ \t]*[\w+#.-]{1,20}[ \t]*$", re.MULTILINE)
_SIGNS = re.compile(r"[\W_]+")


def plan_lines(plan: str, cells: int, console: Console) -> list[Line]:
    """Return a plan rendered as Markdown. If that would leave out a letter or a digit, return it as it is written."""
    source = exact(plan)
    if any(style == ESCAPED for line in source for _, style in line):
        return source
    rendered = markdown_lines(plan, cells, console)
    return rendered if _letters("\n".join(map(plain, rendered))) == _letters(_LANGUAGE.sub(r"\1", plan)) else source


def _letters(text: str) -> str:
    """Return the letters and digits of a text, which a sign of Markdown has none of."""
    return _SIGNS.sub("", text)
