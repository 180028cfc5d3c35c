"""Colours.

Text has named colours, such as `cyan`. A theme says what they look like. The theme `terminal` leaves that to the
terminal.
"""

from collections.abc import Mapping
from dataclasses import replace

from rich.terminal_theme import TerminalTheme
from textual.theme import BUILTIN_THEMES, Theme

DARK = Theme(
    name="dark",
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
LIGHT = Theme(
    name="light",
    primary="#0b5fce",
    secondary="#0d7377",
    accent="#0b5fce",
    warning="#9a6700",
    error="#c4283a",
    success="#2f7d32",
    foreground="#24292f",
    background="#fcfcfd",
    surface="#f4f5f7",
    panel="#e9ecf0",
    dark=False,
)
TERMINAL = replace(BUILTIN_THEMES["ansi-dark"], name="terminal", accent="ansi_blue")
THEMES = (DARK, LIGHT, TERMINAL)

# Black, red, green, yellow, blue, magenta, cyan, white; then the bright ones. Members have most of them, so all differ.
NAMED_DARK = TerminalTheme(
    (20, 22, 26),
    (215, 218, 224),
    [
        (20, 22, 26),
        (224, 108, 117),
        (152, 195, 121),
        (229, 192, 123),
        (97, 175, 239),
        (198, 120, 221),
        (86, 182, 194),
        (240, 242, 246),
    ],
    [
        (110, 118, 129),
        (255, 150, 130),
        (201, 226, 101),
        (240, 150, 80),
        (150, 150, 255),
        (247, 140, 195),
        (80, 220, 175),
        (255, 255, 255),
    ],
)
NAMED_LIGHT = TerminalTheme(
    (252, 252, 253),
    (36, 41, 47),
    [
        (252, 252, 253),
        (196, 40, 58),
        (47, 125, 50),
        (146, 98, 0),
        (11, 95, 206),
        (132, 48, 192),
        (13, 115, 119),
        (36, 41, 47),
    ],
    [
        (110, 119, 129),
        (207, 74, 31),
        (88, 120, 0),
        (179, 89, 0),
        (75, 80, 208),
        (194, 37, 127),
        (0, 128, 100),
        (0, 0, 0),
    ],
)
# What is behind added and removed lines.
_TINTS = {DARK.name: ("on #17291e", "on #2f1b20"), LIGHT.name: ("on #dff5e3", "on #fce4e6")}


def theme_for(setting: str, environ: Mapping[str, str]) -> str:
    """Return the theme that a setting names. `auto` is light if the terminal says that it is, otherwise dark."""
    if setting != "auto":
        return setting
    # Some terminals set it to the numbers of their colours: `0;15` is black on white.
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT.name if background in ("7", "15") else DARK.name


def tints_of(theme: str) -> tuple[str, str]:
    """Return the styles behind added and removed lines in a theme; empty if it has none."""
    return _TINTS.get(theme, ("", ""))
