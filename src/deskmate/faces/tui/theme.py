"""Colours."""

from rich.terminal_theme import TerminalTheme
from textual.theme import Theme

THEME = Theme(
    name="deskmate",
    primary="#61afef",
    secondary="#56b6c2",
    accent="#61afef",
    warning="#e5c07b",
    error="#e06c75",
    success="#98c379",
    foreground="#d7dae0",
    background="#14161a",
    surface="#1b1e24",
    panel="#22262e",
    dark=True,
)
_DARK = [(20, 22, 26), (224, 108, 117), (152, 195, 121), (229, 192, 123)]
_REST = [(97, 175, 239), (198, 120, 221), (86, 182, 194), (240, 242, 246)]
# Black, red, green, yellow, blue, magenta, cyan, white. The bright ones are the same.
NAMED = TerminalTheme((20, 22, 26), (215, 218, 224), [*_DARK, *_REST], [*_DARK, *_REST])
