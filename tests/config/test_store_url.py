"""Which store the environment and the settings file choose."""

from pathlib import Path

import pytest

from deskmate.config import load, store_url
from deskmate.errors import BadSettings

SERVER = "postgresql://deskmate@db.example.org/teams"


def environ_of(folder: Path, text: str | None = None, **more: str) -> dict[str, str]:
    if text is not None:
        (folder / "deskmate").mkdir()
        (folder / "deskmate/settings.toml").write_text(text)
    return {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), **more}


def test_without_a_setting_teams_are_in_the_workspace(tmp_path: Path) -> None:
    assert store_url(environ_of(tmp_path)) is None
    assert load(environ_of(tmp_path)).store is None


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    environ = environ_of(tmp_path, 'store = "nats://localhost"\n')
    assert store_url(environ) == load(environ).store == "nats://localhost"
    assert store_url({**environ, "DESKMATE_STORE": SERVER}) == load({**environ, "DESKMATE_STORE": SERVER}).store
    assert store_url({**environ, "DESKMATE_STORE": SERVER}) == SERVER


def test_a_store_that_is_no_url_is_refused_and_not_shown(tmp_path: Path) -> None:
    for find in (store_url, load):
        with pytest.raises(BadSettings) as refused:
            find(environ_of(tmp_path, DESKMATE_STORE="secret at db"))
        assert "DESKMATE_STORE" in refused.value.message
        assert "secret" not in str(refused.value)


def test_settings_that_cannot_be_read_choose_no_store(tmp_path: Path) -> None:
    assert store_url(environ_of(tmp_path, "store = \n")) is None


def test_the_settings_do_not_show_the_password_of_a_store(tmp_path: Path) -> None:
    assert "secret" not in repr(load(environ_of(tmp_path, DESKMATE_STORE="postgresql://bob:secret@db/teams")))
