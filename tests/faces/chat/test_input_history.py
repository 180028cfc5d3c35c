"""What was typed before is there again, in a private file that does not grow without end."""

import stat
from pathlib import Path

import pytest

from deskmate.faces.common.chat.input_history import KEPT, InputHistory
from deskmate.fs.safe_files import NotRegular

pytestmark = pytest.mark.behaviour("repl")


def test_texts_come_back_as_they_were_typed_the_oldest_first(tmp_path: Path) -> None:
    texts = ["one", "two\nlines", "\x1b[31mred", "漢\udc80", 'quo"te\\']
    history = InputHistory(tmp_path / "state" / "history.jsonl", {})
    for text in texts:
        history.add(text)
    assert InputHistory(tmp_path / "state" / "history.jsonl", {}).read() == texts


def test_nothing_was_typed_before_the_first_time(tmp_path: Path) -> None:
    assert InputHistory(tmp_path / "history.jsonl", {}).read() == []


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    history = InputHistory.of_user({"HOME": str(tmp_path)})
    history.add("a secret")
    (file,) = tmp_path.rglob("history.jsonl")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_file_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text('"old"\n')
    file.chmod(0o644)
    InputHistory(file, {}).add("a secret")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_is_typed_is_neither_kept_nor_looked_for_where_a_link_leads(tmp_path: Path) -> None:
    elsewhere, link = tmp_path / "elsewhere", tmp_path / "history.jsonl"
    elsewhere.write_text('"theirs"\n')
    link.symlink_to(elsewhere)
    with pytest.raises(NotRegular):
        InputHistory(link, {}).add("a secret")
    with pytest.raises(NotRegular):
        InputHistory(link, {}).read()
    assert elsewhere.read_text() == '"theirs"\n'


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    history = InputHistory(tmp_path / "history.jsonl", {})
    for number in range(2 * KEPT + 1):
        history.add(str(number))
    expected = [str(number) for number in range(KEPT + 1, 2 * KEPT + 1)]
    assert history.read() == expected
    assert len((tmp_path / "history.jsonl").read_text().splitlines()) == KEPT
    assert stat.S_IMODE((tmp_path / "history.jsonl").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["history.jsonl"]


def test_lines_that_are_no_texts_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_bytes(b'"one"\n{"a": 1}\n"half\n\xff\xfe\n\n7\n""\n"two"\n')
    assert InputHistory(file, {}).read() == ["one", "two"]


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").mkdir()
    with pytest.raises(NotRegular):
        InputHistory(tmp_path / "history.jsonl", {}).read()
    with pytest.raises(NotRegular):
        InputHistory(tmp_path / "history.jsonl", {}).add("one")


def test_a_file_that_grew_too_large_is_read_from_its_end_and_shortened(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_bytes(b"x" * 16_000_000 + b'\n"one"\n')
    history = InputHistory(file, {})
    assert (history.read(), history.read()) == (["one"], ["one"])
    assert file.stat().st_size < 16_000_000


@pytest.mark.behaviour("secrets")
def test_a_secret_that_was_typed_is_not_kept(tmp_path: Path) -> None:
    history = InputHistory.of_user({"HOME": str(tmp_path), "A_TOKEN": "Zk3vQ9tRw7" + "Lx2MbN"})
    history.add("take Zk3vQ9tRw7Lx2MbN")
    assert history.read() == ["take [redacted: A_TOKEN]"]
