"""What a command prints, as the model reads it."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.policy.redaction import Redaction
from deskmate.workspace.command_output import HEAD, TAIL, Output, clean

BLOB = ".teams/main/blobs/lead-1-0.txt"


@pytest.mark.parametrize(
    ("printed", "read"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "xlink"),
        ("\x1bPq#0\x1b\\x\x1b(B\x1b=y\x1b", "xy"),
        (" 10%\r 50%\r100%\nnext\r\n", "100%\nnext\n"),
        ("b\x08bold", "bold"),
        ("\x00\x07\x7f\x9bbell", "bell"),
        ("grüße 你好 🎉", "grüße 你好 🎉"),
    ],
)
def test_text_is_read_as_it_would_stand_on_paper(printed: str, read: str) -> None:
    assert clean(printed) == read


@given(st.text())
def test_no_control_is_left(text: str) -> None:
    assert not [char for char in clean(text) if (ord(char) < 32 and char not in "\n\t") or 127 <= ord(char) < 160]


@given(st.lists(st.binary(max_size=30), max_size=30), st.integers(1, 400))
def test_head_and_tail_are_those_of_all_that_was_printed(chunks: list[bytes], limit: int) -> None:
    output = Output(limit, head=20, tail=10)
    room = [*(output.add(chunk) for chunk in chunks), output.finish()]
    printed = b"".join(chunks)
    whole, taken = len(printed) <= limit, printed[:limit].decode("latin-1")
    assert all(room) == whole
    assert output.full != whole
    if len(taken) <= 30:
        assert output.text(BLOB) == clean(taken.encode("latin-1").decode("utf-8", "replace"))
    else:
        assert f"[{len(taken) - 30:,} bytes left out" in output.text(BLOB)


@pytest.mark.behaviour("large-output")
@pytest.mark.parametrize("size", [HEAD + TAIL, HEAD + TAIL + 1, 200_000])
@pytest.mark.parametrize("step", [7_919, 65_536])
def test_all_of_it_is_kept_once_it_is_more_than_is_shown(tmp_path: Path, size: int, step: int) -> None:
    printed = bytes(ord("a") + index % 26 for index in range(size))
    output = Output(10_000_000, lambda: os.open(tmp_path / "blob", os.O_WRONLY | os.O_CREAT))
    for at in range(0, size, step):
        assert output.add(printed[at : at + step])
    output.close()
    if size <= HEAD + TAIL:
        assert (output.kept, output.text(BLOB), list(tmp_path.iterdir())) == (False, printed.decode(), [])
        return
    gap = f"\n[{size - HEAD - TAIL:,} bytes left out. All of it is in {BLOB}]\n"
    assert output.text(BLOB) == printed[:HEAD].decode() + gap + printed[-TAIL:].decode()
    assert (output.kept, (tmp_path / "blob").read_bytes()) == (True, printed)


def test_a_character_cut_by_the_gap_is_left_out() -> None:
    output = Output(1_000, head=4, tail=4)
    output.add("äää€€€ää".encode()[1:])
    assert "�" not in output.text(BLOB).split("[")[0][1:]
    assert output.text(BLOB).endswith("]\nää")


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full to write to")
    output = Output(1_000_000, lambda: os.open(full, os.O_WRONLY))
    assert output.add(b"x" * 100_000)
    assert output.add(b"y" * 100_000)
    assert not output.kept
    assert "bytes left out. They could not be saved: No space left on device]" in output.text(BLOB)


@pytest.mark.behaviour("secrets")
@pytest.mark.parametrize("step", [1, 7, 40_000])
def test_a_secret_gets_neither_into_what_is_shown_nor_into_the_blob_in_whatever_pieces(
    tmp_path: Path, step: int
) -> None:
    secret, other = "ghp_" + "kL9x2mQ8vT4nR7wY1zB5cD3fG6hJ0pS8aE2u", "schlüßel 7ä"
    printed = f"{secret}\n{'x ' * 17_000}{other}{' y' * 2_000}{secret}".encode() + b"\xff\xc3"
    output = Output(
        10_000_000,
        lambda: os.open(tmp_path / "blob", os.O_WRONLY | os.O_CREAT),
        redaction=Redaction({"A_PASSPHRASE": other}),
    )
    for at in range(0, len(printed), step):
        assert output.add(printed[at : at + step])
    output.close()
    whole = printed.replace(secret.encode(), b"[redacted: GitHub token]").replace(
        other.encode(), b"[redacted: A_PASSPHRASE]"
    )
    assert (tmp_path / "blob").read_bytes() == whole
    assert output.text(BLOB).count("[redacted: GitHub token]") == 2
