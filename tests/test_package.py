"""What is published: the wheel contains the package and nothing else, and its page has no dead links."""

import email
import email.message
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECONDS = 120


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and a source archive, built without a network."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(next(built.glob("*.whl")))


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> email.message.Message:
    name = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
    return email.message_from_bytes(wheel.read(name))


def package_files(folder: Path) -> set[str]:
    """Return all files below a folder except what Python compiled."""
    return {
        str((Path(where) / name).relative_to(folder))
        for where, _, names in os.walk(folder)
        for name in names
        if Path(where).name != "__pycache__"
    }


def test_the_wheel_contains_every_file_of_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert inside == package_files(ROOT / "src")
    assert {"deskmate/py.typed", "deskmate/texts/lead.md", "deskmate/faces/tui/screen.tcss"} <= inside


def test_the_source_archive_contains_what_the_tests_need_and_no_environment(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"src/deskmate/py.typed", "tests/test_package.py", "pyproject.toml", "Makefile", "LICENSE", "README.md"}
    assert needed <= inside
    assert not [name for name in inside if name.startswith((".venv", "build", "dist", ".git/", ".teams"))]


def test_the_page_on_the_index_links_only_to_addresses(metadata: email.message.Message) -> None:
    page = metadata.get_payload()
    assert isinstance(page, str)
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert len(links) > 10
    assert [link for link in links if not link.startswith("https://")] == []


def test_a_headless_installation_needs_no_package_of_the_terminal_ui(metadata: email.message.Message) -> None:
    needed = metadata.get_all("Requires-Dist", [])
    required = [line for line in needed if "extra ==" not in line]
    assert not [line for line in required if line.startswith(("textual", "rich"))]
    assert any(line.startswith("textual") and "extra == 'tui'" in line for line in needed)
    assert any(line.startswith("tree-sitter-bash") for line in required)


def test_every_make_target_that_a_workflow_or_a_page_for_contributors_names_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    places = [*(ROOT / ".github").rglob("*.*"), ROOT / ".ci/run", ROOT / "CONTRIBUTING.md", ROOT / "README.md"]
    named = {
        target
        for place in places
        if place.exists()  # A source archive has no workflows.
        for target in re.findall(r"(?:run: |^|`)make ([a-z-]+)", place.read_text(), re.MULTILINE)
    }
    assert {"lint", "test", "try-dist"} <= named
    assert named <= targets


def test_the_package_the_makefile_and_the_workflow_name_the_same_versions_of_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert project["requires-python"] == f">={versions[0]}"
    assert f"PYTHONS := {' '.join(versions)}\n" in (ROOT / "Makefile").read_text()
    workflow = ROOT / ".github/workflows/ci.yml"
    if workflow.exists():  # A source archive has no workflows.
        matrix = ", ".join(f'"{version}"' for version in versions)
        assert f"python: [{matrix}]\n" in workflow.read_text()


def test_every_test_that_pre_commit_runs_exists() -> None:
    config = ROOT / ".pre-commit-config.yaml"
    if not config.exists():
        pytest.skip("a source archive has no hooks")
    named = re.findall(r"tests/\S+\.py", config.read_text())
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
