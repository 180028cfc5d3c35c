"""The long fault runs and their figures: `python -m benchmarks.soak`.

Progress goes to the standard error. The table goes to the standard output, in the form of docs/explanation/promises.md.
After Ctrl-C or SIGTERM the table says what was done until then. Everything is bounded and ends by itself.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as Xml
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.machine import facts
from benchmarks.report import Cell, Column, Table

MEMORY = Path("/dev/shm")
# How long a run may take to end after it was interrupted.
LEAVE_SECONDS = 30.0


@dataclass(frozen=True)
class Storm:
    """One kind of storm, repeated in rounds with a seed each. `quick` are the arguments of a quick run, one round."""

    title: str
    rounds: int
    args: tuple[str, ...]
    quick: tuple[str, ...]
    in_memory: bool = False


@dataclass(frozen=True)
class FaultTests:
    """Fault tests at ten times their ordinary counts. `quick` are the paths of a quick run."""

    title: str
    paths: tuple[str, ...]
    quick: tuple[str, ...]


STORMS = (
    Storm(
        "mail, memory file system",
        50,
        ("mail", "--messages", "20000", "--kills", "100"),
        ("mail", "--messages", "1000", "--kills", "10"),
        in_memory=True,
    ),
    Storm(
        "mail, synced on disk",
        5,
        ("mail", "--messages", "10000", "--kills", "100"),
        ("mail", "--messages", "500", "--kills", "10"),
    ),
    Storm(
        "claims, synced on disk",
        10,
        ("claims", "--tasks", "1000", "--processes", "16", "--kills", "50"),
        ("claims", "--tasks", "50", "--processes", "4", "--kills", "5"),
    ),
)
TESTS = FaultTests(
    "fault and property tests, ten times as many",
    ("tests/attacks", "tests/chaos", "tests/core", "tests/runtime", "tests/scenarios", "tests/workspace"),
    ("tests/core/team/test_handshakes.py",),
)
COLUMNS = (
    Column("run"),
    Column("done", "{:,}"),
    Column("kills", "{:,}"),
    Column("lost", "{:,}"),
    Column("doubled", "{:,}"),
    Column("inverted", "{:,}"),
    Column("double claims", "{:,}"),
    Column("failed", "{:,}"),
    Column("seconds", "{:,.0f}"),
)


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM: stop, and tell what there is."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


@dataclass
class Row:
    """What one run came to so far. What no order of operations explains counts as failed."""

    title: str
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, **counts: int) -> None:
        """Add the counts of a round."""
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count

    @property
    def harm(self) -> int:
        """How much went wrong."""
        return sum(count for name, count in self.counts.items() if name not in ("done", "kills"))

    def cells(self) -> list[Cell]:
        """Return the row of the table; a count that this run does not make is None."""
        heads = [column.head for column in COLUMNS[1:-1]]
        return [self.title, *(self.counts.get(head) for head in heads), self.seconds]


@dataclass
class Soak:
    """The runs of a soak, one after the other, and what they came to so far."""

    folder: Path
    quick: bool = False
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def run(self, parts: Sequence[Storm | FaultTests]) -> None:
        """Run all parts; on Interrupted, note what is missing and raise it again."""
        for index, part in enumerate(parts):
            try:
                if isinstance(part, Storm):
                    self._run_storm(part)
                else:
                    self._run_tests(part)
            except Interrupted:
                missing = [later.title for later in parts[index + 1 :]]
                if missing:
                    self.notes.append(f"Not run: {'; '.join(missing)}.")
                raise

    def lines(self) -> Iterator[str]:
        """Yield the table and what it was measured on, as Markdown."""
        machine = ", ".join(f"{name} {fact}" for name, fact in facts(self.folder).items())
        yield f"Measured on {time.strftime('%Y-%m-%d')}: {machine}."
        yield from ("", "```")
        yield from Table("What the faults did", COLUMNS, [row.cells() for row in self.rows], self.notes).lines()
        yield "```"

    def _row(self, title: str) -> Row:
        self.rows.append(Row(title))
        return self.rows[-1]

    def _run_storm(self, storm: Storm) -> None:
        rounds = 1 if self.quick else storm.rounds
        row, began = self._row(storm.title), time.monotonic()
        number = 0
        try:
            for number in range(rounds):
                remaining = left(number, rounds, time.monotonic() - began)
                say(f"{storm.title}: round {number + 1:,} of {rounds:,}{remaining}")
                self._run_round(storm, number, row)
        except Interrupted:
            self.notes.append(f"Interrupted: {storm.title}, {number:,} of {rounds:,} rounds done.")
            raise

    def _run_round(self, storm: Storm, number: int, row: Row) -> None:
        folder = MEMORY if storm.in_memory and MEMORY.is_dir() else self.folder
        args = storm.quick if self.quick else storm.args
        command = [sys.executable, "-m", "deskmate.testing.kill_runs", *args, "--seed", str(number)]
        out = self.folder / "toll.json"
        with out.open("wb") as stdout:
            run_to_end([*command, "--folder", str(folder)], stdout=stdout)
        if not out.stat().st_size:
            # What it said is above, on the standard error.
            say(f"{storm.title}: round {number + 1} failed without a result")
            row.add(failed=1)
            return
        toll = json.loads(out.read_text())
        for example in toll["examples"]:
            say(f"  {example}")
        row.add(done=toll["done"], kills=toll["kills"], lost=toll["lost"], failed=toll["violations"])
        if args[0] == "mail":
            row.add(doubled=toll["doubled"], inverted=toll["inverted"])
        else:
            row.add(**{"double claims": toll["doubled"]})
        row.seconds += toll["seconds"]

    def _run_tests(self, tests: FaultTests) -> None:
        """Damage that goes unreported fails one."""
        paths = tests.quick if self.quick else tests.paths
        row, began, report = self._row(tests.title), time.monotonic(), self.folder / "report.xml"
        profile = {} if self.quick else {"DESKMATE_SOAK": "1", "HYPOTHESIS_PROFILE": "soak"}
        # Those marked for here alone, too, which an ordinary run leaves out.
        marks = [] if self.quick else ["-m", ""]
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *marks, f"--junitxml={report}", *paths]
        say(f"{tests.title}: {' '.join(paths)}")
        try:
            ended = run_to_end(command, environment={**os.environ, **profile}, stdout=sys.stderr)
        except Interrupted:
            self.notes.append(f"Interrupted: {tests.title}.")
            row.add(**counts_of(report))
            raise
        finally:
            row.seconds = time.monotonic() - began
        row.add(**counts_of(report))
        if ended and not row.harm:
            say(f"{tests.title}: pytest ended with status {ended}")
            row.add(failed=1)


def counts_of(report: Path) -> dict[str, int]:
    """Return how many tests a report of pytest has, and how many of them failed; nothing if there is no report."""
    suite = Xml.parse(report).getroot().find("testsuite") if report.exists() else None
    if suite is None:
        return {}
    failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    return {"done": int(suite.attrib["tests"]), "failed": failed}


def run_to_end(command: Sequence[str], *, stdout: Any, environment: dict[str, str] | None = None) -> int:
    """Run a command and return its status. Interrupted, it is interrupted too, and killed if it does not end."""
    # In a session of its own: Ctrl-C of the terminal then reaches this process alone, which passes it on once.
    process = subprocess.Popen(command, stdout=stdout, env=environment, start_new_session=True)
    try:
        return process.wait()
    except Interrupted:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        raise


def left(done: int, rounds: int, seconds: float) -> str:
    """Return how long the remaining rounds will take if they go on like this; nothing before the first is done."""
    return f", about {seconds / done * (rounds - done) / 60:.0f} minutes left" if done else ""


def say(text: str) -> None:
    """Print progress."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn the first Ctrl-C or SIGTERM into Interrupted, and ignore further ones: what follows is bounded."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        for one in before:
            signal.signal(one, signal.SIG_IGN)
        raise Interrupted(number)

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main(arguments: Sequence[str] | None = None, parts: Sequence[Storm | FaultTests] = (*STORMS, TESTS)) -> int:
    """Run the parts and print their table; return 0 if nothing was harmed, 1 otherwise, 128 + signal if interrupted."""
    options = _options(arguments)
    chosen = [part for part in parts if options.only in (None, _kind(part))]
    status = 0
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".soak-") as folder, interruptible():
        soak = Soak(Path(folder), quick=options.quick)
        try:
            soak.run(chosen)
        except Interrupted as interrupted:
            say("interrupted: the table says what was done until now")
            status = interrupted.status
        if options.quick:
            soak.notes.append("A quick run shows that everything runs; its counts are too small to judge by.")
        print(*soak.lines(), sep="\n", flush=True)
    return status or int(any(row.harm for row in soak.rows))


def _kind(part: Storm | FaultTests) -> str:
    return part.args[0] if isinstance(part, Storm) else "tests"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak",
        description="Kill processes while they send mail and claim tasks, run the fault tests at ten times their "
        "counts, and print what was lost.",
        epilog="The whole run takes about an hour and a half on two cores. Press Ctrl-C to stop it and get the table "
        "of what is done. It ends with status 0 if nothing was lost, doubled or failed, else with 1.",
    )
    parser.add_argument("--only", choices=["mail", "claims", "tests"], help="run one part")
    parser.add_argument("--quick", action="store_true", help="one small round each, to see that everything runs")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
