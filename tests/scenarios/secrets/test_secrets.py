"""What is known to be a secret is written nowhere: canaries are planted, and every byte of a team is searched."""

import json
import stat
from pathlib import Path

import pytest

from deskmate.faces.common.chat.input_history import InputHistory
from deskmate.faces.common.error_log import keep
from deskmate.testing import Asked
from tests.scenarios.secrets.planted_secrets import CANARIES, SHAPED, found_in, written
from tests.scenarios.secrets.secret_run import KEYS, Stand, perform, stand

pytestmark = pytest.mark.behaviour("secrets")


def record_the_rest(play: Stand, environ: pytest.MonkeyPatch) -> None:
    """Keep an error and what was typed, as this process would in the home of the play."""
    for name, value in play.env.items():
        environ.setenv(name, value)
    keep(f"it failed with {SHAPED['error']}", ValueError(SHAPED["error"]))
    InputHistory.of_user(play.env).add(f"take {CANARIES['DB_PASSWORD']} and {SHAPED['typed']}")


def texts(play: Stand) -> dict[str, bytes]:
    """Return every byte that was written: files by their paths, outputs, and what the providers were asked."""
    files = {str(path): str(path).encode() + b"\n" + path.read_bytes() for path in written(play.folder, play.home)}
    asked = {f"request {one.number}": json.dumps(one.body).encode() for one in play.provider.requests}
    return {**files, **play.said, **asked}


def open_to_others(play: Stand) -> list[str]:
    """Return what Deskmate made and others than this user may look at."""
    ours = [play.folder / ".teams", play.folder / ".tasks", play.home / ".local" / "state" / "deskmate"]
    paths = [path for top in ours for path in (top, *top.rglob("*"))]
    assert len(paths) > 20
    return [str(path) for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o077]


def _key(asked: Asked) -> str:
    return asked.headers[KEYS[asked.format][0]].removeprefix("Bearer ")


def _results(play: Stand) -> list[str]:
    return [result.text for asked in play.provider.requests for result in asked.results]


@pytest.mark.parametrize("launcher", ["inline", "process"])
def test_no_byte_that_is_written_said_or_sent_to_a_model_holds_a_known_secret(
    launcher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stand(tmp_path, launcher) as play:
        codes = perform(play)
    record_the_rest(play, monkeypatch)

    # The run leaves work; the conversation ends with a lead that is parked; the last is no command.
    assert codes == [4, 0, 0, 1, 0, 0, 2]
    assert found_in(texts(play)) == {}
    assert open_to_others(play) == []
    assert play.provider.complaints == []
    assert {(one.format, _key(one)) for one in play.provider.requests} == {
        (name, key) for name, (_, key) in KEYS.items()
    }
    # It was run as it was meant, not as it is written.
    assert f"\n{len(SHAPED['argument'])}\n" in "\n".join(_results(play))


def test_without_redaction_the_same_search_finds_every_one(tmp_path: Path) -> None:
    with stand(tmp_path, "inline", careful=False) as play:
        perform(play)

    # What this process writes itself is redacted.
    assert CANARIES.keys() - found_in(texts(play)).keys() == {"error"}
