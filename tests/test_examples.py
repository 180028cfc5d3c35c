"""The examples run as they are, each in a new folder, with a provider that plays examples/scripts.py."""

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from deskmate.testing import FakeProvider
from examples.scripts import SCRIPT
from tests.test_docs import ROOT, snippets

pytestmark = pytest.mark.anyio
EXAMPLES = ROOT / "examples"
# Example → what it must print.
PRINTS = {
    "01_one_agent.py": ["In pyproject.toml.", "2 steps"],
    "02_custom_tool.py": ["Order 7 is late.", "['7'] in transit since Monday"],
    "03_team_with_roles.py": ["#1 completed by ada", "#2 completed by bob", "changed: page.html schema.sql"],
    "04_watch_events.py": ["lead calls glob", "lead: notes.txt, the only one.", "(steps: 1)"],
    "05_approve_in_code.py": ["'dollars': 20}: yes", "'dollars': 900}: no", "I may not refund order 8."],
    "06_resume.py": ["stopped", "It takes 42 ms."],
    "07_model_adapter.py": ["HELLO, WHO IS THERE?"],
}
SECONDS = 120


def test_every_numbered_example_is_tried_and_short() -> None:
    numbered = sorted(path.name for path in EXAMPLES.glob("[0-9]*.py"))
    assert numbered == [*PRINTS, "08_test_with_a_script.py"]
    assert [name for name in numbered if len((EXAMPLES / name).read_text().splitlines()) >= 60] == []


@pytest.mark.parametrize("name", PRINTS)
async def test_an_example_prints_what_it_promises(name: str, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "notes.txt").write_text("notes\n")
    (place / "pyproject.toml").write_text("[project]\n")
    printed = (await played(EXAMPLES / name, place, tmp_path)).stdout.decode()
    assert [line for line in PRINTS[name] if line not in printed] == [], printed


async def played(program: Path | str, place: Path, home: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a program in a folder, with a provider that plays the script, and return how it ended."""
    async with FakeProvider(SCRIPT) as provider:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "ANTHROPIC_API_KEY": "sk-test",
            "ANTHROPIC_BASE_URL": provider.url,
        }
        with anyio.fail_after(SECONDS):
            ended = await anyio.run_process([sys.executable, str(program)], cwd=place, env=environ, check=False)
    assert (ended.returncode, ended.stderr.decode(), provider.complaints) == (0, "", [])
    return ended


def test_the_example_of_a_test_passes(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLES / "08_test_with_a_script.py")]
    environ = {**os.environ, "HOME": str(tmp_path)}
    ended = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("page", ["README.md", "README.zh.md"])
async def test_the_program_on_the_first_page_runs(page: str, tmp_path: Path) -> None:
    (program,) = (one.text for one in snippets((ROOT / page).read_text()) if one.language == "python")
    (tmp_path / "program.py").write_text(program)
    ended = await played("program.py", tmp_path, tmp_path)
    assert ended.stdout.decode().startswith("Order 7 is late")
