"""The reference of commands is what the code gives, whole; it is made by `make reference`."""

from collections.abc import Iterator

import click
import pytest

from deskmate.faces.cli.reference_page import reference
from deskmate.faces.cli.root_commands import deskmate
from tests.test_docs import page

Found = tuple[str, click.Command]


def commands(name: str, command: click.Command) -> Iterator[Found]:
    """Yield every command that is not hidden, by what is typed for it."""
    yield name, command
    if isinstance(command, click.Group):
        for below, found in command.commands.items():
            if not found.hidden:
                yield from commands(f"{name} {below}", found)


COMMANDS = dict(commands("deskmate", deskmate))
each_command = pytest.mark.parametrize("name", COMMANDS)


def part(text: str, name: str) -> str:
    """Return what stands under the heading of a command, which must be there once."""
    (found,) = (one for one in text.replace("\n### ", "\n## ").split("\n## ") if one.startswith(f"{name}\n"))
    return found


def test_the_page_is_what_the_code_gives() -> None:
    assert page("reference/commands.md") == reference(), (
        "docs/reference/commands.md is not what the code gives; run: make reference"
    )


def test_the_page_says_first_what_makes_it_and_is_the_same_at_any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert reference() == page("reference/commands.md")
    assert "`make reference`" in reference().splitlines()[0]


def test_every_command_has_a_part_and_nothing_hidden_has() -> None:
    headings = [line.lstrip("# ") for line in reference().splitlines() if line.startswith(("## ", "### "))]
    assert sorted(headings) == sorted(COMMANDS)
    assert "deskmate play" not in reference()
    assert "deskmate board show" not in reference()


@each_command
def test_a_part_has_the_usage_every_option_and_a_text_that_names_every_argument(name: str) -> None:
    command, text = COMMANDS[name], part(reference(), name)
    assert f"```\n{name}" in text
    for param in command.params:
        if isinstance(param, click.Option) and not param.hidden:
            assert all(option in text for option in param.opts)
            assert " ".join((param.help or "").split()) in " ".join(text.split())
        elif isinstance(param, click.Argument):
            assert param.human_readable_name in (command.help or "")


def test_defaults_choices_environment_and_exit_codes_are_there() -> None:
    text = reference()
    assert "`--output [text|json|stream-json]`: The format of the output. [default: text]" in part(text, "deskmate run")
    assert "DESKMATE_MODEL" in part(text, "deskmate")
    assert "\n130  interrupted" in part(text, "deskmate")
