"""Measure Deskmate beside other designs and the raw limit: `python -m benchmarks`.

Tables go to the standard output, progress to the standard error. Ends with status 1 if Deskmate lost or
doubled anything; a missed speed is printed, not punished, for it may be the machine's.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks import agents, claims, commands, faces, growth, histories, mail, makespan, sandboxes, team, waking
from benchmarks.machine import facts, warnings
from benchmarks.measure import QUICK, RunFailed, Size
from benchmarks.report import Answer, Table, as_json, targets_table

Ask = Callable[[Path, Size, Callable[[str], None]], Answer]

OWN_FOLDER = Path(".bench")
QUESTIONS: dict[str, Ask] = {
    "mail": mail.ask,
    "growth": growth.ask,
    "wake": waking.ask,
    "claims": claims.ask,
    "start": commands.ask_start,
    "faces": faces.ask,
    "overhead": agents.ask_overhead,
    "history": agents.ask_history,
    "memory": commands.ask_memory,
    "records": histories.ask,
    "delivery": team.ask_delivery,
    "leaving": team.ask_leaving,
    "spawn": team.ask_spawn,
    "crowd": team.ask_crowd,
    "makespan": makespan.ask,
    "sandbox": sandboxes.ask,
}


def main() -> int:
    """Ask the questions that were chosen; print what they came to."""
    options = _options()
    chosen = [options.only] if options.only else list(QUESTIONS)
    size = QUICK if options.quick else Size()
    with _room(options.folder) as folder:
        machine = facts(folder)
        _print_machine(machine)
        answers = {name: _ask(name, folder, size) for name in chosen}
    targets = [target for answer in answers.values() for target in answer.targets]
    _print_table(targets_table(targets))
    if options.quick:
        print("  A quick run shows that everything runs; its figures are too short to judge by.")
    if options.json:
        options.json.write_text(json.dumps(as_json(machine, answers), indent=2) + "\n")
    return int(any(target.promise and not target.met for target in targets))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Deskmate beside other designs.")
    parser.add_argument("--only", choices=QUESTIONS, help="ask one question only")
    parser.add_argument("--quick", action="store_true", help="small counts, to see that everything runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there as well")
    parser.add_argument(
        "--folder",
        type=_existing,
        metavar="DIR",
        default=OWN_FOLDER,
        help="measure in a temporary folder in DIR, on the disk that matters to you (default: %(default)s)",
    )
    return parser.parse_args()


def _existing(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"'{text}' is no folder; make it first")
    return Path(text)


@contextmanager
def _room(parent: Path) -> Iterator[Path]:
    """Lend a temporary folder in `parent`; leave nothing behind."""
    if parent == OWN_FOLDER:
        parent.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
        if parent == OWN_FOLDER:
            # It stays while another run is at work in it; that one removes it.
            with suppress(OSError):
                parent.rmdir()


def _ask(name: str, folder: Path, size: Size) -> Answer:
    home = folder / name
    home.mkdir()
    answer = QUESTIONS[name](home, size, _say)
    shutil.rmtree(home)
    for table in answer.tables:
        _print_table(table)
    return answer


def _print_machine(machine: dict[str, object]) -> None:
    print("Machine: " + ", ".join(f"{name} {fact}" for name, fact in machine.items()), flush=True)
    for warning in warnings(machine):
        _say(f"warning: {warning}")


def _print_table(table: Table) -> None:
    print("\n" + "\n".join(table.lines()), flush=True)


def _say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RunFailed as error:
        _say(f"stopped: {error}")
        sys.exit(2)
    except KeyboardInterrupt:
        _say("stopped by the user; every process is ended and the folder removed")
        sys.exit(130)
