"""Claude Code, installed from npm, for the part about starts. It is left out if node is missing."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers import ENVIRONMENTS, INSTALL_SECONDS
from benchmarks.stub import Stub, environment

NAME = "claude -p"
PACKAGE = "@anthropic-ai/claude-code"


def claude_code(say: Callable[[str], None], *, installs: bool) -> tuple[str, ...] | None:
    """Return the command that asks Claude Code something, or None after saying why it is left out."""
    folder = (ENVIRONMENTS / "claude-code").absolute()
    program = folder / "node_modules" / ".bin" / "claude"
    try:
        if not program.exists():
            _install(folder, say, installs=installs)
        _run(str(program), "--version")
    except (OSError, subprocess.SubprocessError) as error:
        say(f"start: {NAME} is left out: {error}")
        return None
    return (str(program), "-p", "hi")


def claude_environment(at: Stub, home: Path) -> dict[str, str]:
    """Return the environment of Claude Code: it asks the stub, and nothing else on the network."""
    inherited = {
        name: value for name, value in environment().items() if not name.startswith(("ANTHROPIC_", "CLAUDE", "AWS_"))
    }
    return {
        **inherited,
        "HOME": str(home),
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": at.url,
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def _install(folder: Path, say: Callable[[str], None], *, installs: bool) -> None:
    if not shutil.which("node") or not shutil.which("npm"):
        raise OSError("node and npm are not installed")
    if not installs:
        raise OSError("it is not installed, and a quick run installs nothing")
    say(f"start: installing {PACKAGE}")
    folder.mkdir(parents=True, exist_ok=True)
    _run("npm", "install", "--silent", "--prefix", str(folder), PACKAGE)


def _run(*command: str) -> None:
    subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=INSTALL_SECONDS, check=True)
