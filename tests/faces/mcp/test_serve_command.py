"""The command `mcp serve`: options, help, and its process from the outside."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faces.fake_app import Env, environment, run_command
from tests.faces.terminal import at_terminal

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}},
}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--http", "--host", "0.0.0.0"], "ssh -L"),
        (["--http", "--host", "192.0.2.1"], "ssh -L"),
        (["--port", "8000"], "need --http"),
        (["--token-file", "x"], "need --http"),
        (["--read-only", "--allow-answers"], "Choose one"),
        (["--http", "--port", "99999"], "99999"),
        (["--permission-mode", "root"], "root"),
        # The client could change the files after the start.
        (["--trust"], "--trust"),
    ],
)
def test_what_cannot_be_served_is_refused_before_anything_listens(
    env: Env, tmp_path: Path, options: list[str], words: str
) -> None:
    ended = run_command("-C", str(tmp_path), "mcp", "serve", *options, env=env)
    assert ended.code == 2
    assert words in ended.stderr


def test_the_help_shows_how_to_add_it_to_claude_code_and_it_can_be_read_as_json(env: Env) -> None:
    shown = run_command("mcp", "serve", "--help", env=env).stdout
    assert "claude mcp add deskmate -- deskmate mcp serve" in shown
    (line,) = [line for line in shown.splitlines() if "mcpServers" in line]
    assert json.loads(line)["mcpServers"]["deskmate"]["args"] == ["mcp", "serve"]


def serve(tmp_path: Path, *options: str) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-m", "deskmate", "-C", str(tmp_path), "mcp", "serve", *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=environment(tmp_path))


def test_only_answers_are_on_stdout_and_it_ends_with_its_stdin(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        out, _ = server.communicate(b"garbage\n" + json.dumps(INITIALIZE).encode() + b"\n", timeout=60)
    answers = [json.loads(line) for line in out.splitlines()]
    assert [one["result"]["protocolVersion"] for one in answers if one.get("id") == 1] == ["2025-06-18"]
    assert server.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_although_its_stdin_is_open(tmp_path: Path, number: int) -> None:
    with serve(tmp_path) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        server.stdin.flush()
        server.stdout.readline()
        server.send_signal(number)
        assert server.wait(60) == -number


def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    file = tmp_path / "token"
    file.write_text("t" * 43)
    os.chmod(file, 0o644)
    with serve(work, "--http", "--token-file", str(file)) as server:
        _, words = server.communicate(timeout=60)
    assert server.returncode == 2
    assert b"chmod 600" in words


def test_the_hidden_command_of_a_lead_is_not_for_people(tmp_path: Path) -> None:
    with at_terminal("play-lead", cwd=tmp_path, env=environment(tmp_path)) as terminal:
        terminal.see("only for use by Deskmate itself")
