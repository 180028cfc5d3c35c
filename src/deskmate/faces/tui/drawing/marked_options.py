"""A list of options in which the marked one is also seen without colours."""

from rich.style import Style
from textual.strip import Strip
from textual.widgets import OptionList


class MarkedOptionList(OptionList):
    """An option list. `shows_mark`: whether the marked option looks different from the others."""

    @property
    def shows_mark(self) -> bool:
        """Always. A list that shows it only sometimes overrides this."""
        return True

    def render_line(self, y: int) -> Strip:
        """Draw a line, reversed if it is marked and there are no colours."""
        strip = super().render_line(y)
        if not self.app.no_color or not self.shows_mark or self.highlighted is None:
            return strip
        options = {segment.style.meta.get("option") for segment in strip if segment.style}
        return strip.apply_style(Style(reverse=True)) if self.highlighted in options else strip
