"""The long fault runs: their table, also of a run that was interrupted."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.soak import FaultTests, Soak, Storm, main

ROOT = Path(__file__).parents[2]
SMALL = Storm(
    "claims, few", 3, ("claims", "--tasks", "4", "--processes", "2", "--kills", "1"), ("claims", "--tasks", "2")
)
# More rounds than anybody waits for.
MANY = """
import sys
from benchmarks.soak import Storm, FaultTests, main
small = ("mail", "--messages", "16", "--kills", "1")
sys.exit(main([], [Storm("mail, few", 100_000, small, small), FaultTests("fault tests", ("tests",), ("tests",))]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_prints_the_table_of_what_is_done(number: signal.Signals) -> None:
    command = [sys.executable, "-c", MANY]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        # The third round begins after two are done.
        said = [next(process.stderr) for _ in range(3)]
        process.send_signal(number)
        table, _ = process.communicate(timeout=60)
    assert "round 3 of 100,000" in said[-1]
    assert "left" in said[-1]
    assert process.returncode == 128 + number
    row = next(line.split() for line in table.splitlines() if line.startswith("  mail, few"))
    assert int(row[2]) >= 32
    assert "rounds done" in table
    assert "Not run: fault tests." in table
    assert list(ROOT.glob(".soak-*")) == []


def test_the_table_is_a_block_of_markdown_with_the_machine_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([], [SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Measured on ")
    assert lines[1:4] == ["", "```", "What the faults did"]
    assert lines[6].split()[:3] == ["claims,", "few", "12"]
    assert lines[-1] == "```"


def test_a_round_that_breaks_counts_as_failed_and_the_next_part_runs(tmp_path: Path) -> None:
    broken = Storm("broken", 1, ("claims", "--kills", "many"), ())
    soak = Soak(tmp_path)
    soak.run([broken, SMALL])
    assert [(row.title, row.harm, row.counts.get("done")) for row in soak.rows] == [
        ("broken", 1, None),
        ("claims, few", 0, 12),
    ]


def test_a_failed_test_is_counted(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_true(): pass\ndef test_false(): assert False\n")
    soak = Soak(tmp_path, quick=True)
    soak.run([FaultTests("fault tests", (), (str(tmp_path / "test_one.py"),))])
    assert soak.rows[0].counts == {"done": 2, "failed": 1}
    soak.run([FaultTests("no tests", (), (str(tmp_path / "test_none.py"),))])
    assert soak.rows[1].harm == 1
