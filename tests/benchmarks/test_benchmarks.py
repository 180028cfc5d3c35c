"""The command that measures: what it teaches, and what it says of a part that fails."""

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.__main__ import PARTS, Part, main
from benchmarks.measure import RunFailed, Size
from benchmarks.report import Answer, Column, Table, none_of


def figures(title: str, lost: int = 0) -> Part:
    """Return a part that measures one row."""
    table = Table(title, [Column("design"), Column("per second", "{:,}")], [("ours", 1_000)])
    return Part(lambda *_: Answer([table], [none_of(f"{title}: lost", lost)]), "a row")


def failing(error: Exception) -> Part:
    """Return a part that leaves a file behind and fails."""

    def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
        (folder / "left").write_text("behind")
        raise error

    return Part(ask, "nothing")


def test_the_help_says_what_each_part_measures(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0
    assert [name for name, part in PARTS.items() if f"{part.what}\n" not in text] == []
    assert "Exit status:" in text


@pytest.mark.parametrize("error", [RunFailed("a measured process died"), ValueError("not a figure")])
def test_a_part_that_fails_is_named_and_the_others_are_measured(
    error: Exception, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = {"first": figures("First"), "broken": failing(error), "last": figures("Last")}
    status = main(["--quick", "--folder", str(tmp_path)], parts)
    told = capsys.readouterr()
    assert status == 2
    assert "First\n" in told.out
    assert "Last\n" in told.out
    assert str(error) in told.err
    assert "failed: broken;" in told.err
    assert list(tmp_path.iterdir()) == []


def test_only_the_chosen_parts_are_measured_each_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = {name: figures(name.title()) for name in ("first", "second", "third")}
    chosen = [word for name in ("third", "first", "third") for word in ("--only", name)]
    assert main(["--folder", str(tmp_path), *chosen], parts) == 0
    tables = [line for line in capsys.readouterr().out.splitlines() if line in ("First", "Second", "Third")]
    assert tables == ["Third", "First"]


def test_something_lost_changes_the_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--folder", str(tmp_path)], {"mail": figures("Mail", lost=1)}) == 1
    assert main(["--folder", str(tmp_path)], {"mail": figures("Mail")}) == 0
    assert "MISS" in capsys.readouterr().out
