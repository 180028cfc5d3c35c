"""A sender and a receiver of a file, killed with SIGKILL between chunks and within them."""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.stores.jsonl_store import JsonlStore
from deskmate.workspace.trees.travel.travelling_files import IncomingFile, OutgoingFile
from tests.chaos.files.independent_reader import look

pytestmark = pytest.mark.behaviour("travel")
Eventually = Callable[[Callable[[], bool]], None]
SIZE = 2_000_000
LIVES = 40 if os.environ.get("DESKMATE_SOAK") else 6


def begin(deed: str, workspace: Path, file: Path, payload: str) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-m", "tests.chaos.kills.payload_program", deed, str(workspace), str(file), payload]
    return subprocess.Popen(words)


def killed_lives(
    begin_one: Callable[[], "subprocess.Popen[bytes]"], size: Callable[[], int], eventually: Eventually
) -> int:
    """Begin a process again and again, and kill it once it has got further. Return how many were killed."""
    chance = random.Random(7)

    def one_life(wanted: int) -> bool:
        with begin_one() as process:
            eventually(lambda: process.poll() is not None or size() >= wanted)
            process.kill()
            return process.wait() < 0

    killed = sum(one_life(size() + chance.randrange(1, SIZE // LIVES)) for _ in range(LIVES))
    with begin_one() as process:
        assert process.wait() == 0
    return killed


def test_a_file_arrives_once_though_both_sides_are_killed_again_and_again(
    tmp_path: Path, eventually: Eventually
) -> None:
    JsonlStore.open(tmp_path, "main", create=True).close()
    source, arrived = tmp_path / "source", tmp_path / "arrived"
    source.write_bytes(random.Random(3).randbytes(SIZE))
    payload, chunks = OutgoingFile(source).payload, tmp_path / ".teams/main/chunks"
    described = payload.model_dump_json()

    def stored() -> int:
        return sum(file.stat().st_size for file in chunks.glob("*.jsonl")) * 3 // 4

    def received() -> int:
        return sum(file.stat().st_size for file in arrived.glob(payload.sha256))

    assert killed_lives(lambda: begin("send", tmp_path, source, described), stored, eventually) > 1
    bodies = [body for file in sorted(chunks.glob("*.jsonl")) for body in look(file).bodies]
    starts = [int(str(body["start"])) for body in bodies]
    assert len(set(starts)) == len(starts), "no chunk is there twice"
    assert killed_lives(lambda: begin("receive", tmp_path, arrived, described), received, eventually) > 1
    file = IncomingFile(arrived, payload)
    file.check()
    assert file.path.read_bytes() == source.read_bytes()
