"""A server that cannot be reached, or takes no request, is named, and the run ends soon with the reason."""

import socket
import time
from pathlib import Path

import pytest

from deskmate.testing import Asked, Say
from deskmate.testing.provider_faults import ErrorStatus
from tests.faces.chat_program import chat_program

MODEL = "anthropic:claude-sonnet-4-5"


def hello(asked: Asked) -> Say:
    return Say("Hello.")


@pytest.fixture
def dead() -> str:
    """An address where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def test_a_server_that_was_never_reached_is_named_and_given_up_soon(tmp_path: Path, dead: str) -> None:
    with chat_program(tmp_path, hello) as place:
        began = time.monotonic()
        end = place.own(tmp_path / "own", ANTHROPIC_BASE_URL=dead).piped("", "run", "hi")
    assert end.code == 1
    assert time.monotonic() - began < 40
    reason = f"Cannot connect to {dead} (from ANTHROPIC_BASE_URL): Connection refused"
    assert f"deskmate: stopped: {reason} (tries: " in end.stderr
    assert "Check the address, and that the server is running." in end.stderr
    assert "again in 0 s" not in end.stderr
    assert all(line.count(MODEL) <= 1 for line in end.stderr.splitlines())


def test_an_address_of_the_settings_is_named_by_its_setting(tmp_path: Path, dead: str) -> None:
    with chat_program(tmp_path, hello) as place:
        file = Path(place.env["HOME"]) / ".config/deskmate/settings.toml"
        file.write_text(f'sandbox = false\n[anthropic]\nbase_url = "{dead}"\n')
        bare = {name: value for name, value in place.env.items() if name != "ANTHROPIC_BASE_URL"}
        end = type(place)(place.folder, bare).piped("", "run", "hi")
    assert f"Cannot connect to {dead} (from anthropic.base_url in {file}): " in end.stderr


def test_a_request_that_is_too_large_in_itself_is_not_blamed_on_the_conversation(tmp_path: Path) -> None:
    refused = ErrorStatus(413, message="Request Entity Too Large")
    with chat_program(tmp_path, hello, lambda number, asked: refused) as place:
        end = place.piped("", "run", "hi")
    assert end.code == 1
    assert f"The prompt is too long for {MODEL}: Request Entity Too Large. Even a request" in end.stderr
    assert "Use another model: --model" in end.stderr
