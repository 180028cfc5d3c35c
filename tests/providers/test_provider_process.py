"""A fake provider in a process of its own."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

SCRIPT = """
from deskmate.testing import Say

def alice(asked):
    return Say(f"hello {asked.texts[0]}")

short = []
"""
BODY = {"model": "m", "messages": [{"role": "user", "content": "bob"}]}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "talk.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def command(place: str) -> list[str]:
    return [sys.executable, "-m", "deskmate.testing.fake_provider", "--script", place]


@pytest.fixture
def start() -> Iterator[list[subprocess.Popen[str]]]:
    running: list[subprocess.Popen[str]] = []
    yield running
    for process in running:
        with process:
            process.kill()


def serve(running: list[subprocess.Popen[str]], place: str) -> tuple[subprocess.Popen[str], str]:
    pipe = subprocess.PIPE
    process = subprocess.Popen(command(place), stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    running.append(process)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_it_prints_its_url_answers_by_the_script_and_ends_with_its_input(
    script: Path, start: list[subprocess.Popen[str]]
) -> None:
    process, url = serve(start, f"{script}:alice")
    answer = httpx2.post(f"{url}/v1/chat/completions", json=BODY).json()
    assert answer["choices"][0]["message"]["content"] == "hello bob"
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0


def test_it_ends_when_asked_to(script: Path, start: list[subprocess.Popen[str]]) -> None:
    process, _ = serve(start, f"{script}:alice")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0


def test_a_complaint_is_printed_at_once_and_is_among_its_last_words(
    script: Path, start: list[subprocess.Popen[str]]
) -> None:
    process, url = serve(start, f"{script}:short")
    assert httpx2.post(f"{url}/v1/chat/completions", json=BODY).status_code == 400
    said = "request 0: the script has no reply left after 0; add what this request should get\n"
    assert process.stderr is not None
    assert process.stderr.readline() == said
    assert process.communicate(timeout=30) == ("", said)
    assert process.returncode == 1


@pytest.mark.parametrize("place", ["nowhere.py:alice", "talk.py:bob", "talk.py"])
def test_a_script_that_is_not_there_is_named(script: Path, place: str) -> None:
    ended = subprocess.run(command(place), cwd=script.parent, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "talk.py" in ended.stderr or "nowhere.py" in ended.stderr
