"""Measure Deskmate beside other designs and the raw limit: `python -m benchmarks`.

Tables go to the standard output, progress to the standard error. A part that fails is reported and the others go on.
Ends with status 1 if Deskmate lost or doubled anything, 2 if a part failed. A missed speed is printed and changes no
status: it may be the machine's.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks import (
    agents,
    claims,
    commands,
    faces,
    growth,
    histories,
    mail,
    makespan,
    pages,
    rewinds,
    sandboxes,
    screens,
    sizing,
    stores,
    team,
    travels,
    trees,
    waking,
)
from benchmarks.machine import facts, warnings
from benchmarks.measure import QUICK, RunFailed, Size
from benchmarks.report import Answer, Table, as_json, targets_table

Ask = Callable[[Path, Size, Callable[[str], None]], Answer]

OWN_FOLDER = Path(".bench")


@dataclass(frozen=True)
class Part:
    """One question, and what it measures in a line."""

    ask: Ask
    what: str


PARTS: dict[str, Part] = {
    "mail": Part(mail.ask, "messages per second, and messages lost, doubled or refused"),
    "growth": Part(growth.ask, "one append and one read, with little and with much stored before"),
    "wake": Part(waking.ask, "what waiting costs, and how fast another process wakes"),
    "claims": Part(claims.ask, "claims per second, and tasks given twice"),
    "start": Part(commands.ask_start, "from the start of `deskmate run` to its first request"),
    "faces": Part(faces.ask, "--version, --help, board and other commands on a large team"),
    "screen": Part(screens.ask, "the screen: processor time while all rest, and how soon a key is seen while all talk"),
    "page": Part(pages.ask, "the page of a large team in a browser: first view, events, memory"),
    "overhead": Part(agents.ask_overhead, "what a run of two steps costs, beside other runtimes"),
    "history": Part(agents.ask_history, "what a long conversation adds to a step"),
    "memory": Part(commands.ask_memory, "the most memory that `deskmate run` takes"),
    "records": Part(histories.ask, "the memory that a long history takes once it is read"),
    "delivery": Part(team.ask_delivery, "from a message to the request of the teammate that was idle"),
    "leaving": Part(team.ask_leaving, "from a request to shut down until the teammate has left"),
    "spawn": Part(team.ask_spawn, "from the spawn of a teammate to its first request"),
    "crowd": Part(team.ask_crowd, "memory and processor time of many idle teammates"),
    "makespan": Part(makespan.ask, "a graph of tasks, done by 1 to 32 teammates"),
    "stores": Part(stores.ask, "append, claim, wake and a graph of tasks on files, PostgreSQL and NATS"),
    "sizing": Part(sizing.ask, "one team of up to 1,000 teammates in 4 processes, on files, PostgreSQL and NATS"),
    "rewind": Part(rewinds.ask, "a checkpoint and a rewind of 1,000 changed files, beside plain git"),
    "sandbox": Part(sandboxes.ask, "what the sandbox adds to one command"),
    "merges": Part(trees.ask_merges, "merges per second, and what a tree adds to completing a task"),
    "travel": Part(travels.ask, "code to another machine through the store: time and bytes, beside git clone"),
    "trees": Part(trees.ask_trees, "a tree of a large repository: time and disk, beside git worktree and a clone"),
}


def main(arguments: Sequence[str] | None = None, parts: Mapping[str, Part] = PARTS) -> int:
    """Measure the parts that were chosen and print their tables; return the exit status."""
    options = _options(arguments, parts)
    chosen = list(dict.fromkeys(options.only)) if options.only else list(parts)
    size = QUICK if options.quick else Size()
    answers: dict[str, Answer] = {}
    with _room(options.folder) as folder:
        machine = facts(folder)
        _print_machine(machine)
        for number, name in enumerate(chosen, 1):
            _say(f"{name}: part {number} of {len(chosen)}")
            if answer := _ask(parts[name].ask, folder / name, size):
                answers[name] = answer
    targets = [target for answer in answers.values() for target in answer.targets]
    _print_table(targets_table(targets))
    if options.quick:
        print("  A quick run shows that everything runs; its figures are too short to judge by.")
    if options.json:
        options.json.write_text(json.dumps(as_json(machine, answers), indent=2) + "\n")
    if failed := [name for name in chosen if name not in answers]:
        _say(f"failed: {', '.join(failed)}; see above, and try again with: python -m benchmarks --only {failed[0]}")
        return 2
    return int(any(target.promise and not target.met for target in targets))


def _options(arguments: Sequence[str] | None, parts: Mapping[str, Part]) -> argparse.Namespace:
    width = max(map(len, parts))
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measure Deskmate beside other designs, and print a table for each part, then the targets.",
        epilog="Parts:\n"
        + "".join(f"  {name.ljust(width)}  {part.what}\n" for name, part in parts.items())
        + """
Examples:
  python -m benchmarks                         every part, about 11 minutes on two idle cores
  python -m benchmarks --quick                 every part in small counts, about 2 minutes
  python -m benchmarks --only mail --json mail.json
  python -m benchmarks --only overhead --only history --only start --only memory
  python -m benchmarks.soak --help             the long fault runs

Exit status: 0 if everything ran, 1 if Deskmate lost or doubled anything, 2 if a part failed, 130 after Ctrl-C.
A missed target is printed as MISS and does not change the status: the machine may be busy.""",
    )
    parser.add_argument(
        "--only", action="append", choices=list(parts), metavar="PART", help="measure this part only; may be repeated"
    )
    parser.add_argument("--quick", action="store_true", help="use small counts, to see that everything runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there as well")
    parser.add_argument(
        "--folder",
        type=_existing,
        metavar="DIR",
        default=OWN_FOLDER,
        help="measure in a temporary folder in DIR, on the disk that matters to you (default: %(default)s)",
    )
    return parser.parse_args(arguments)


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
        with _own_state(folder.resolve() / "state"):
            yield folder
    finally:
        shutil.rmtree(folder)
        if parent == OWN_FOLDER:
            # It stays while another run is at work in it; that one removes it.
            with suppress(OSError):
                parent.rmdir()


@contextmanager
def _own_state(folder: Path) -> Iterator[None]:
    """Let this process and all it starts keep their state there: measured teams are not signed with the user's key."""
    name = "XDG_STATE_HOME"
    before = os.environ.get(name)
    os.environ[name] = str(folder)
    try:
        yield
    finally:
        os.environ.pop(name)
        os.environ.update({name: before} if before is not None else {})


def _ask(ask: Ask, home: Path, size: Size) -> Answer | None:
    """Measure one part and print its tables; return None if it failed, after printing why."""
    home.mkdir()
    try:
        answer = ask(home, size, _say)
    except RunFailed as error:
        _say(f"{home.name} failed: {error}")
        return None
    except Exception:
        _say(f"{home.name} failed:\n{traceback.format_exc()}")
        return None
    finally:
        shutil.rmtree(home, ignore_errors=True)
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


def _stop(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        _say("stopped by the user; every process is ended and the folder removed")
        sys.exit(130)
