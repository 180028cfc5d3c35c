"""Without the packages of the terminal UI, everything else works, and one line says how to install them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faces.chat_program import ChatProgram
from tests.faces.fake_app import environment
from tests.faces.terminal import SECONDS, at_terminal

# Python runs this file at its start. A module that is None cannot be imported.
BLOCKED = "import sys\nfor name in ('textual', 'rich', 'pygments', 'markdown_it'):\n    sys.modules[name] = None\n"


@pytest.fixture
def blocked(tmp_path: Path) -> str:
    """A folder for PYTHONPATH that makes the terminal UI impossible to import."""
    folder = tmp_path / "blocked"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BLOCKED)
    return str(folder)


@pytest.mark.behaviour("repl")
def test_a_conversation_at_a_terminal_falls_back_to_the_plain_chat(
    shared: ChatProgram, tmp_path: Path, blocked: str
) -> None:
    place = shared.own(tmp_path, NO_COLOR="1", PYTHONPATH=blocked)
    with at_terminal(cwd=place.folder, env=place.env, columns=200, warm=False) as terminal:
        terminal.say("hello")
        terminal.see("I am here.")
        terminal.prompted()
        terminal.type("\x04")
        assert terminal.end() == 0
    notices = [line for line in terminal.screen.lines if "[all]" in line]
    assert len(notices) == 1
    assert notices[0].startswith("The terminal UI is not installed")
    assert "Traceback" not in terminal.raw


def test_the_plain_chat_is_no_reason_for_a_notice(shared: ChatProgram, tmp_path: Path, blocked: str) -> None:
    place = shared.own(tmp_path, NO_COLOR="1", PYTHONPATH=blocked)
    with at_terminal("--plain", cwd=place.folder, env=place.env, columns=200, warm=False) as terminal:
        terminal.prompted()
        terminal.type("\x04")
        assert terminal.end() == 0
    assert "not installed" not in terminal.raw


def test_the_demo_at_a_terminal_falls_back_to_lines(tmp_path: Path, blocked: str) -> None:
    env = environment(tmp_path, PYTHONPATH=blocked, TMPDIR=str(tmp_path))
    with at_terminal("demo", "--fast", cwd=tmp_path, env=env, columns=200, warm=False) as terminal:
        terminal.see("What you just saw")
        assert terminal.end() == 0
    assert "\x1b[?1049h" not in terminal.raw


def test_no_other_command_imports_it(tmp_path: Path, blocked: str) -> None:
    env = environment(tmp_path, PYTHONPATH=blocked, ANTHROPIC_API_KEY="sk-test")
    for args in (["--version"], ["--help"], ["doctor"], ["demo", "--fast"]):
        ran = subprocess.run(
            [sys.executable, "-m", "deskmate", *args],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=4 * SECONDS,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        if args == ["doctor"]:
            assert "warn  terminal UI" in ran.stdout
