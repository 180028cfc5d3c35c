"""A command with its arguments: where they go, what is run before it is sent, and what hostile arguments come to."""

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.commands.command_files import CustomCommand
from deskmate.core.commands.command_prompts import MOST_COMMANDS, CommandPrompt, filled_in
from deskmate.core.commands.command_words import TypedCommand, typed_command
from deskmate.errors import BadInput

pytestmark = pytest.mark.behaviour("commands")


def sent(prompt: str, rest: str = "") -> CommandPrompt:
    return filled_in(CustomCommand("do", prompt), TypedCommand("do", rest))


def words(prompt: str, rest: str = "") -> str:
    return sent(prompt, rest).words


def test_arguments_go_to_their_places_and_to_the_end_if_there_is_none() -> None:
    assert words("Fix $1 of $ARGUMENTS, then $2$3.", "7 'with care'") == "Fix 7 of 7 'with care', then with care."
    assert words("Fix it.", "at once") == "Fix it.\n\nArguments: at once"
    assert words("Fix it.") == "Fix it."
    assert words("Costs $10, \\$1 and $ARGUMENTSX.", "x") == "Costs $10, $1 and $ARGUMENTSX.\n\nArguments: x"


def test_nothing_in_an_argument_is_a_placeholder_or_a_command() -> None:
    assert sent("See $1.", "'$2 !`rm x` $ARGUMENTS' y") == CommandPrompt("do", "See $2 !`rm x` $ARGUMENTS.")


def test_a_file_that_does_not_allow_itself_bash_is_not_sent_if_it_runs_something() -> None:
    limited = CustomCommand("do", "See !`ls`.", file="do.md", may_run=False)
    with pytest.raises(BadInput, match=r"/do would run ls, but its allowed-tools does not name Bash"):
        filled_in(limited, TypedCommand("do"))
    assert filled_in(CustomCommand("do", "See.", may_run=False), TypedCommand("do")).words == "See."


def test_shell_commands_are_found_at_the_start_of_a_word_and_run_once() -> None:
    found = sent("Status: !`git status`\n(!`git log`) Say `hello!` or `bye!`. \\!`no` !`git status`")
    assert found.shell_commands == ("git status", "git log")
    assert found.words == (
        "Status: `git status` (its output is below)\n(`git log` (its output is below)) Say `hello!` or `bye!`. "
        "!`no` `git status` (its output is below)"
    )


@pytest.mark.parametrize(
    ("written", "rest", "command"),
    [
        ("gh issue view $1", "12", "gh issue view 12"),
        ("gh issue view $1", "'12; rm x'", "gh issue view '12; rm x'"),
        ('gh issue view "$1"', "'$(rm x)'", 'gh issue view "\\$(rm x)"'),
        ("gh issue view '$1'", '"it\'s"', "gh issue view 'it'\\''s'"),
        ("git log $ARGUMENTS", "-3 --stat", "git log -3 --stat"),
        ("git log $ARGUMENTS", "-3 'a b'", "git log -3 'a b'"),
        ("git log $1", "", "git log"),
    ],
)
def test_an_argument_of_a_shell_command_stays_one_word(written: str, rest: str, command: str) -> None:
    assert sent(f"!`{written}`", rest).shell_commands == (command,)


@pytest.mark.parametrize("written", ["cat <<E\\n$1", 'echo "$(id $1)"', "echo \\' $1", "echo $'$1'", "ls # $1"])
def test_an_argument_that_a_shell_reads_is_refused_where_quotes_say_little(written: str) -> None:
    assert sent(f"!`{written}`", "plain").shell_commands
    with pytest.raises(BadInput, match="cannot put"):
        sent(f"!`{written}`", "'a; rm x'")


def test_too_many_shell_commands_are_refused() -> None:
    with pytest.raises(BadInput, match="at most"):
        sent(" ".join(f"!`echo {number}`" for number in range(MOST_COMMANDS + 1)))


@given(
    # In double quotes, `shlex` keeps some backslashes that a shell removes.
    st.text(st.characters(exclude_characters="\0$`", exclude_categories=["Cs"]), max_size=20),
    st.sampled_from(["%s", '"%s"', "'%s'"]),
)
def test_whatever_an_argument_is_a_shell_reads_it_as_the_same_word(argument: str, form: str) -> None:
    (command,) = sent(f"!`printf %s {form % '$1'}`", shlex.quote(argument)).shell_commands
    assert shlex.split(command)[2:] == ([argument] if argument or form != "%s" else [])


def test_a_real_shell_agrees() -> None:
    hostile = "a'b\"c$HOME`id`\\ \n;#!x"
    for form in ("$1", '"$1"', "'$1'"):
        (command,) = sent(f"!`printf %s {form}`", shlex.quote(hostile)).shell_commands
        ran = subprocess.run(["bash", "-c", command], capture_output=True, check=True, timeout=60)
        assert ran.stdout.decode() == hostile


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("/review", TypedCommand("review")),
        ("/docs:api:publish  a  b ", TypedCommand("docs:api:publish", "a  b")),
        ("/do\nit", TypedCommand("do", "it")),
        ("/etc/passwd", None),
        ("//review", None),
        ("/a::b", None),
        ("/../x", None),
        ("review", None),
    ],
)
def test_what_is_typed_is_a_command_only_with_a_plain_name(text: str, typed: TypedCommand | None) -> None:
    assert typed_command(text) == typed


def test_quotes_that_are_not_closed_are_letters() -> None:
    assert TypedCommand("do", "it's so").arguments == ("it's", "so")
