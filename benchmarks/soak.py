"""The long fault runs, and their figures in one table: `python -m benchmarks.soak`.

A tenth of it runs with the ordinary tests. Everything is bounded and ends by itself; half an hour on two cores.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as Xml
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import Column, Table

MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Storm:
    """One kind of storm, repeated in rounds with a seed each."""

    title: str
    rounds: int
    args: tuple[str, ...]
    in_memory: bool = False


STORMS = (
    Storm("mail, memory file system", 50, ("mail", "--messages", "20000", "--kills", "100"), in_memory=True),
    Storm("mail, synced on disk", 5, ("mail", "--messages", "10000", "--kills", "100")),
    Storm("claims, synced on disk", 10, ("claims", "--tasks", "1000", "--processes", "16", "--kills", "50")),
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


def tolls(storm: Storm, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the toll of each round."""
    where = MEMORY if storm.in_memory and MEMORY.is_dir() else folder
    for number in range(storm.rounds):
        command = [sys.executable, "-m", "deskmate.testing.kills", *storm.args, "--seed", str(number)]
        ended = subprocess.run([*command, "--folder", str(where)], capture_output=True, text=True, check=False)
        if not ended.stdout:
            sys.exit(f"{storm.title}, round {number} failed:\n{ended.stderr}")
        toll = json.loads(ended.stdout)
        print(f"{storm.title}: round {number + 1} of {storm.rounds}, {toll['kills']} kills", file=sys.stderr)
        for example in toll["examples"]:
            print(f"  {example}", file=sys.stderr)
        yield toll


def run_storm(storm: Storm, folder: Path) -> list[Any]:
    """Run all rounds of a storm; return its row. What no order of operations explains counts as failed."""
    rounds = list(tolls(storm, folder))
    total = {key: sum(toll[key] for toll in rounds) for key in rounds[0] if key not in ("kind", "examples")}
    twice = (total["doubled"], total["inverted"], None) if storm.args[0] == "mail" else (None, None, total["doubled"])
    return [
        *(storm.title, total["done"], total["kills"], total["lost"]),
        *(*twice, total["violations"], total["seconds"]),
    ]


def run_tests(title: str, paths: list[str], folder: Path) -> list[Any]:
    """Run fault tests at ten times their ordinary counts. Damage that goes unreported fails one."""
    report = folder / "report.xml"
    began = time.monotonic()
    environment = {**os.environ, "DESKMATE_SOAK": "1", "HYPOTHESIS_PROFILE": "soak"}
    # Those marked for here alone, too, which an ordinary run leaves out.
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "", f"--junitxml={report}", *paths]
    print(f"{title}: {' '.join(paths)}", file=sys.stderr)
    subprocess.run(command, env=environment, stdout=sys.stderr, check=False)
    suite = Xml.parse(report).getroot().find("testsuite")
    assert suite is not None
    tests, failed = int(suite.attrib["tests"]), int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    return [title, tests, None, None, None, None, None, failed, time.monotonic() - began]


def main() -> None:
    """Run everything, print the table, exit 1 unless every count of harm is zero."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["mail", "claims", "tests"], help="run one part")
    parser.add_argument("--quick", action="store_true", help="one round each, to see that everything runs")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".soak-") as folder:
        for storm in STORMS:
            if args.only in (None, storm.args[0]):
                rounds = 1 if args.quick else storm.rounds
                rows.append(run_storm(Storm(storm.title, rounds, storm.args, storm.in_memory), Path(folder)))
        if args.only in (None, "tests") and not args.quick:
            paths = ["tests/attacks", "tests/chaos", "tests/core", "tests/runtime"]
            rows.append(run_tests("fault and property tests, ten times as many", paths, Path(folder)))
    print(*Table("What the faults did", COLUMNS, rows).lines(), sep="\n")
    sys.exit(any(count for row in rows for count in row[3:8]))


if __name__ == "__main__":
    main()
