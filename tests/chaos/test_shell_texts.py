"""Whatever is told of a shell text, a real shell runs nothing else."""

import shutil
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deskmate.tools.shell.command_hints import hints_of
from deskmate.tools.shell.shell_commands import commands_of
from tests.chaos import TIMES, memory_folder
from tests.chaos.shell_arena import TEXTS, Arena
from tests.tools.shell.test_shell_commands import TOLD

# Where there is no bash, a plain sh runs the commands of a team.
SHELLS = ("bash", "sh")
# About one in four can be told, and is run.
TEXTS_TRIED = 1_500 * TIMES

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to run the texts with")


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    with memory_folder() as folder:
        yield Arena(folder)


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("text", TOLD)
def test_a_shell_runs_only_what_is_told_of_the_known_texts(arena: Arena, text: str, shell: str) -> None:
    assert arena.violations(text, commands_of(text) or (), shell) == []


@pytest.mark.behaviour("permission")
@settings(max_examples=TEXTS_TRIED, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, st.sampled_from(SHELLS))
def test_a_shell_runs_only_what_is_told_of_any_text(arena: Arena, text: str, shell: str) -> None:
    told = commands_of(text)
    # Whatever the text, this must not fail.
    hints_of(text)
    if told is not None:
        assert arena.violations(text, told, shell) == []


@pytest.mark.parametrize(
    ("text", "told", "found"),
    [
        ("git diff; rm x", ("git diff",), ["rm x"]),
        ("git diff $(rm 'a b')", ("git diff \0",), ["rm a\\ b"]),
        ("g$(true)it diff", (), ["git diff"]),
        ("echo a > out", ("echo a",), ["> out"]),
        ("nobody knows", (), ["nobody knows"]),
        ("xargs rm < f2", ("xargs rm", "< f2"), ["rm x y"]),
        ("git diff", ("git diff",), []),
        ("jobs -rx rm x", ("jobs -rx rm x",), ["rm x"]),
        ("bash -c +x 'rm x'", ("bash -c +x rm\\ x", "+x"), ["rm x"]),
        ("xargs -I{} -L1 git diff < f2", ("xargs -I{} -L1 git diff", "git diff", "< f2"), ["git diff x", "git diff y"]),
    ],
)
def test_what_was_not_told_is_found(arena: Arena, text: str, told: tuple[str, ...], found: list[str]) -> None:
    assert arena.violations(text, told) == found
