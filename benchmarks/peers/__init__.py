"""Other agent runtimes, each in a throwaway environment of its own, sent to the same stand-in.

`with_*.py` here are run by the Python of those environments; `timed.py` is what they and Deskmate are timed by. An
environment is made once and kept; delete its folder for newer versions.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from benchmarks.measure import RunFailed
from benchmarks.stub import CALLS, Stub, environment

ENVIRONMENTS = Path(".bench/peers")
INSTALL_SECONDS = 150.0
RUN_SECONDS = 60.0


@dataclass(frozen=True)
class Peer:
    """Another runtime: its name, what to install for it, which script runs it."""

    name: str
    packages: tuple[str, ...]
    script: str

    @property
    def python(self) -> Path:
        """The Python of its environment, there or not."""
        return (ENVIRONMENTS / self.name / "bin" / "python").absolute()

    @property
    def installed(self) -> bool:
        """Whether its environment is whole, and made for these packages."""
        return self._mark.exists() and self._mark.read_text() == " ".join(self.packages)

    @property
    def _mark(self) -> Path:
        return ENVIRONMENTS / self.name / "installed.txt"

    def install(self, say: Callable[[str], None]) -> bool:
        """Make its environment unless it is there; tell whether it is now."""
        if self.installed:
            return True
        say(f"overhead: installing {self.name}")
        folder = self._mark.parent
        rmtree(folder, ignore_errors=True)
        try:
            _call(sys.executable, "-m", "venv", str(folder))
            _call(str(self.python), "-m", "pip", "install", "--quiet", *self.packages)
        except (OSError, subprocess.SubprocessError) as error:
            say(f"overhead: {self.name} is left out: {_reason(error)}")
            return False
        self._mark.write_text(" ".join(self.packages))
        return True

    def run(self, at: Stub, home: Path, runs: int, *, streamed: bool) -> "Times":
        """Return what so many runs took; raise RunFailed."""
        script = (Path(__file__).parent / self.script).absolute()
        manner = "streamed" if streamed else "whole"
        command = [str(self.python), str(script), f"{at.url}/v1", CALLS, manner, str(runs)]
        done = subprocess.run(
            command, cwd=home, env=environment(), capture_output=True, text=True, timeout=RUN_SECONDS, check=False
        )
        if done.returncode:
            raise RunFailed(f"{self.name} failed:\n{done.stderr}")
        return Times(**json.loads(done.stdout.splitlines()[-1]))


@dataclass(frozen=True)
class Times:
    """Wall and processor time of each run, in nanoseconds, and the version that took it."""

    wall: list[int]
    cpu: list[int]
    version: str = ""


PEERS = (
    Peer("agno", ("agno", "openai"), "with_agno.py"),
    Peer("langgraph", ("langchain", "langgraph", "langchain-openai"), "with_langgraph.py"),
    Peer("openai-agents", ("openai-agents",), "with_openai_agents.py"),
    Peer("pydantic-ai-slim", ("pydantic-ai-slim[openai]",), "with_pydantic_ai.py"),
)


def _call(*command: str) -> None:
    subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=INSTALL_SECONDS, check=True)


def _reason(error: Exception) -> str:
    last = str(getattr(error, "stderr", "") or error).strip().splitlines()[-1:]
    return "".join(last) or type(error).__name__
