"""Themes: which one a setting means, and that members can be told apart in each."""

import pytest

from deskmate.core.policy.tool_table import COLOURS
from deskmate.faces.tui.theme import NAMED_DARK, NAMED_LIGHT, THEMES, theme_for

pytestmark = pytest.mark.behaviour("tui")
ANSI = {name: number for number, name in enumerate(("black", "red", "green", "yellow", "blue", "magenta", "cyan"))}


@pytest.mark.parametrize(
    ("setting", "terminal", "theme"),
    [
        ("auto", "", "dark"),
        ("auto", "15;0", "dark"),
        ("auto", "0;15", "light"),
        ("auto", "0;default;7", "light"),
        ("dark", "0;15", "dark"),
        ("terminal", "0;15", "terminal"),
    ],
)
def test_a_theme_follows_the_setting_and_auto_the_terminal(setting: str, terminal: str, theme: str) -> None:
    assert theme_for(setting, {"COLORFGBG": terminal}) == theme
    assert theme in {one.name for one in THEMES}


@pytest.mark.parametrize("named", [NAMED_DARK, NAMED_LIGHT])
def test_twelve_members_have_colours_that_differ_from_each_other_and_from_the_background(named: object) -> None:
    assert isinstance(named, type(NAMED_DARK))
    numbers = [ANSI[name.removeprefix("bright_")] + 8 * name.startswith("bright_") for name in COLOURS]
    colours = [named.ansi_colors[number] for number in numbers]
    assert len(set(colours)) == 12
    for one in colours:
        assert sum(abs(a - b) for a, b in zip(one, named.background_color, strict=True)) > 150
        others = [sum(abs(a - b) for a, b in zip(one, other, strict=True)) for other in colours if other != one]
        assert min(others) > 40
