"""Which engine a URL chooses, and what is said if there is none."""

from pathlib import Path

import pytest

from deskmate.errors import BadSettings
from deskmate.stores.engines.engine_table import EngineKind, engine_of
from deskmate.stores.engines.engine_url import shown_url
from deskmate.stores.engines.file_engine import FileEngine

URL = "other://bob:secret@db.example.org:99/teams?password=hidden"


def test_without_a_url_the_workspace_keeps_its_teams(tmp_path: Path) -> None:
    assert isinstance(engine_of(None, tmp_path), FileEngine)


def test_an_unknown_scheme_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(BadSettings) as refused:
        engine_of(URL, tmp_path, {"known": EngineKind("nowhere:Engine", "known", "json")})
    assert "other://" in refused.value.message
    assert "known://" in refused.value.hint


def test_a_missing_package_is_named_with_the_line_that_installs_it(tmp_path: Path) -> None:
    with pytest.raises(BadSettings) as refused:
        engine_of(URL, tmp_path, {"other": EngineKind("nowhere:Engine", "other", "no_such_package")})
    assert "no_such_package" in refused.value.message
    assert "deskmate[other]" in refused.value.hint


def test_no_error_shows_a_password(tmp_path: Path) -> None:
    with pytest.raises(BadSettings) as refused:
        engine_of(URL, tmp_path, {})
    assert "secret" not in str(refused.value)
    assert shown_url(URL) == "other://bob@db.example.org:99/teams"
