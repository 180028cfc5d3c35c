"""Deskmate as users have it: its wheel, in an environment without the packages of developers.

Packages that only tests need would count as a part of the start: an HTTP client that finds trio imports it.
"""

import subprocess
import sys
from pathlib import Path

from benchmarks.measure import RunFailed
from benchmarks.stub import ROOT, environment

INSTALL_SECONDS = 150.0


def installed(folder: Path) -> Path:
    """Build the wheel and install it there, byte-compiled. Return the Python of that environment. Raises RunFailed."""
    home, python = folder / "environment", folder / "environment" / "bin" / "python"
    _uv("build", "--offline", "--no-build-isolation", "--wheel", "--python", sys.executable, "--out-dir", str(folder))
    _uv("venv", "--python", sys.executable, str(home))
    (wheel,) = folder.glob("deskmate-*.whl")
    locked = ("--constraints", str(ROOT / "requirements.txt"))
    _uv("pip", "install", "--python", str(python), "--compile-bytecode", *locked, str(wheel))
    return python.absolute()


def _uv(*words: str) -> None:
    command = [str(Path(sys.executable).with_name("uv")), words[0], "--quiet", *words[1:]]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunFailed(f"cannot install the wheel: {error}") from error
    if done.returncode:
        raise RunFailed(f"cannot install the wheel: uv {words[0]} failed:\n{done.stderr}")
