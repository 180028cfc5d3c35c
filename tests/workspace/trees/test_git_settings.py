"""Settings of git, read with one command and written as one text: git understands the same."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.workspace.trees.git_program import GitProgram
from deskmate.workspace.trees.git_settings import settings_text
from tests.workspace.trees.deadly_git import DeadlyGit
from tests.workspace.trees.tree_repository import TreeRepository

# A name of a section and a value may have anything that git lets in: no NUL, and no newline in a name.
ANY = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
NAMES = st.text(ANY.filter(lambda char: char != "\n"), min_size=1, max_size=8)
KEYS = st.builds("filter.{}.clean".format, NAMES) | st.sampled_from(["user.name", "core.eol", "remote.origin.url"])


def _written(folder: Path, settings: Mapping[str, str]) -> GitProgram:
    git = GitProgram(folder, {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"})
    git.run("init", "--quiet", "--template=")
    (folder / "config").write_text((folder / "config").read_text() + settings_text(settings))
    return git


@given(settings=st.dictionaries(KEYS, st.text(ANY, max_size=12), max_size=4))
def test_git_reads_what_was_written(tmp_path_factory: pytest.TempPathFactory, settings: dict[str, str]) -> None:
    folder = tmp_path_factory.mktemp("git")
    found = _written(folder, settings).settings()
    assert {one.key: one.value for one in found if one.key in settings} == settings
    shutil.rmtree(folder)


def test_the_last_value_counts_and_a_setting_without_one_is_on(tmp_path: Path) -> None:
    git = _written(tmp_path, {"core.eol": "lf"})
    with (tmp_path / "config").open("a") as file:
        file.write("[core]\n\teol = crlf\n\tignoreCase\n")
    found = git.settings()
    assert (found.last("core.eol"), found.is_on("core.ignoreCase"), found.last("user.name")) == ("crlf", True, "")


def test_a_tree_takes_few_processes(repository: TreeRepository, tmp_path: Path) -> None:
    deadly = DeadlyGit(tmp_path / "bin", {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"})
    places = repository.places_with(deadly.environ)
    places.create("main", "ann", repository.git("rev-parse", "HEAD"))
    assert len(deadly.steps) <= 12
