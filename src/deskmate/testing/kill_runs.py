"""Processes killed at random, and the count of what was lost.

    python -m deskmate.testing.kill_runs mail --messages 20000 --kills 1000
    python -m deskmate.testing.kill_runs claims --tasks 1000 --kills 200
    python -m deskmate.testing.kill_runs mail --server postgres --server-kills 20

Each process is a fork that runs one member with the product's own code until its share is done. SIGKILL ends it at
any moment, and it is started again. With a server, that is killed and started again, too. Code that shares nothing with
the product then reads the files or the database, and `run_history` checks what it finds.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from deskmate.core.log.names import BOARD, log, mail
from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import claimable, in_progress_of
from deskmate.errors import TaskRefused
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.system_clock import SystemClock
from deskmate.stores.engines.engine import TeamStore
from deskmate.testing.run_history import Recorder, check_claims, check_mail, load, sends
from deskmate.testing.servers.storm_place import SERVERS, TEAM, StormPlace, StormServer, new_server

Job = Callable[[], None]


@dataclass(frozen=True, slots=True)
class KillCount:
    """The result of a storm."""

    kind: str
    done: int
    kills: int
    seconds: float
    lost: int
    doubled: int
    inverted: int
    violations: int
    examples: tuple[str, ...]
    server_kills: int = 0

    @property
    def clean(self) -> bool:
        """Whether nothing went wrong, and something was done at all."""
        return self.done > 0 and not (self.lost or self.doubled or self.inverted or self.violations)


# -- killing --------------------------------------------------------------------------------------


def storm(
    jobs: Mapping[str, Job], kills: int, rng: random.Random, server: StormServer | None = None, server_kills: int = 0
) -> int:
    """Run each job in its own process until it ends by itself, and kill random ones until `kills` are done.

    Meanwhile the server is killed and started again `server_kills` times. Returns how many kills of processes hit. A
    job that fails by itself ends the storm with RuntimeError. Call this from a process without threads, because it
    forks.
    """
    running = {_fork(job): name for name, job in jobs.items()}
    done, downs = 0, 0
    try:
        while running:
            if done < kills:
                time.sleep(rng.expovariate(1 / 0.008))
                os.kill(rng.choice(list(running)), signal.SIGKILL)
            if server is not None and downs < server_kills and done * server_kills >= (downs + 1) * kills - kills // 2:
                server.disturb()
                downs += 1
            for pid, code in _ended(block=done >= kills):
                name = running.pop(pid)
                if code == -signal.SIGKILL:
                    done += 1
                    running[_fork(jobs[name])] = name
                elif code:
                    raise RuntimeError(f"'{name}' failed by itself (status {code}); see its words above")
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return done


def _fork(job: Job) -> int:
    if pid := os.fork():
        return pid
    try:
        job()
        os._exit(0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    os._exit(1)


def _ended(*, block: bool) -> Iterator[tuple[int, int]]:
    """Yield the children that ended. With `block`, wait for one."""
    flags = 0 if block else os.WNOHANG
    while True:
        try:
            pid, status = os.waitpid(-1, flags)
        except ChildProcessError:
            return
        if not pid:
            return
        yield pid, os.waitstatus_to_exitcode(status)
        flags = os.WNOHANG


# -- mail -----------------------------------------------------------------------------------------


def mail_storm(
    folder: Path,
    *,
    messages: int,
    kills: int,
    senders: int,
    hearers: int,
    seed: int,
    server: StormServer | None = None,
    server_kills: int = 0,
) -> KillCount:
    """Let `senders` write to `hearers` while both are killed. Return what was lost, doubled or out of order."""
    place = StormPlace(folder, server)
    writing, hearing = [f"s{index}" for index in range(senders)], [f"h{index}" for index in range(hearers)]
    _found(place, [*writing, *hearing])
    each = messages // senders // hearers
    jobs = {name: _job(_send, place, name, each * hearers, hearing) for name in writing}
    jobs |= {name: _job(_hear, place, name, each * senders) for name in hearing}
    began = time.monotonic()
    killed = storm(jobs, kills, random.Random(seed), server, server_kills)
    toll = mail_toll(place, hearing, each * senders, kills=killed, seconds=time.monotonic() - began)
    return replace(toll, server_kills=server_kills)


def mail_toll(place: StormPlace, hearers: list[str], due: int, *, kills: int, seconds: float) -> KillCount:
    """Return the result of a mail storm from its records. `due`: what each hearer should have heard."""
    heard = {name: _heard(place, name) for name in hearers}
    sent, doubtful = sends(load(sorted(place.folder.glob("*.history"))))
    found = check_mail(sent, heard, doubtful)
    missing = sum(max(0, due - len(messages)) for messages in heard.values())
    return KillCount(
        kind="mail",
        done=sum(map(len, heard.values())),
        kills=kills,
        seconds=seconds,
        lost=max(found.lost, missing),
        doubled=found.doubled,
        inverted=found.inverted,
        violations=found.invented,
        examples=found.examples,
    )


async def _send(place: StormPlace, name: str, share: int, hearers: list[str]) -> None:
    """Send the rest of this sender's share. The message in doubt is sent again under its id."""
    recorder = Recorder(place.folder / f"{name}.history", name)
    doubtful, done = dict(recorder.in_doubt), recorder.count - len(recorder.in_doubt)
    with _opened(place) as store:
        writer = LogWriter(store, SystemClock())
        mailbox = Mailbox(name, writer, Roster(writer))
        for ordinal in range(done, share):
            hearer, id_ = hearers[ordinal % len(hearers)], f"{name}-{ordinal}"
            op = next(iter(doubtful), 0) or recorder.invoke("send", hearer, [name, ordinal, id_])
            doubtful.clear()
            await mailbox.send(hearer, Plain(content=f"{ordinal} " + "x" * 80), id_=id_)
            recorder.ok(op)


async def _hear(place: StormPlace, name: str, due: int) -> None:
    """Hear mail until everything due has been heard."""
    with _opened(place) as store:
        async with store.hold(name, f"process {os.getpid()}", wait=True):
            writer = LogWriter(store, SystemClock())
            mailbox, transcript = Mailbox(name, writer, Roster(writer)), await Transcript.load(writer, name)
            while len(transcript.memory.ids) < due:
                if await mailbox.hear(transcript) is None:
                    await store.changed({mail(name): transcript.memory.cursors.get(mail(name), 0)})


def _heard(place: StormPlace, name: str) -> list[tuple[str, str, int]]:
    """Return what a transcript says was heard, without using the product's code."""
    found: list[tuple[str, str, int]] = []
    for entry in place.records(log(name)):
        found += [(m["id"], m["sender"], int(m["content"].split()[0])) for m in entry.get("mail", [])]
    return found


# -- claims ---------------------------------------------------------------------------------------


def claim_storm(
    folder: Path,
    *,
    tasks: int,
    kills: int,
    workers: int,
    seed: int,
    server: StormServer | None = None,
    server_kills: int = 0,
) -> KillCount:
    """Let `workers` take and complete every task while they are killed. Return what was done twice or never."""
    place, names = StormPlace(folder, server), [f"w{index}" for index in range(workers)]
    _found(place, names, tasks)
    began = time.monotonic()
    jobs = {name: _job(_work, place, name) for name in names}
    killed = storm(jobs, kills, random.Random(seed), server, server_kills)
    toll = claim_toll(place, tasks, kills=killed, seconds=time.monotonic() - began)
    return replace(toll, server_kills=server_kills)


def claim_toll(place: StormPlace, tasks: int, *, kills: int, seconds: float) -> KillCount:
    """Return the result of a claim storm from its records."""
    violations = check_claims(load(sorted(place.folder.glob("*.history"))))
    claimed, done = (Counter(_tasks(place, kind)) for kind in ("task_claimed", "task_completed"))
    return KillCount(
        kind="claims",
        done=len(done),
        kills=kills,
        seconds=seconds,
        lost=tasks - len(done),
        doubled=sum(count - 1 for counts in (claimed, done) for count in counts.values()),
        inverted=0,
        violations=len(violations),
        examples=tuple(map(str, violations[:10])),
    )


async def _work(place: StormPlace, name: str) -> None:
    """Complete the task that a kill left open, then take and complete the lowest free task until there is none."""
    recorder = Recorder(place.folder / f"{name}.history", name)
    with _opened(place) as store:
        writer = LogWriter(store, SystemClock())
        roster = Roster(writer)
        board, member = Board(writer, roster), (await roster.refresh()).members[name]
        while True:
            state = await board.refresh()
            if mine := in_progress_of(state, name):
                op = recorder.invoke("complete", str(mine[0].id), [name, mine[0].epoch])
                await board.complete(name, mine[0].id, mine[0].epoch)
                recorder.ok(op)
            elif free := claimable(state, name=name, role="", reads_only=False):
                op = recorder.invoke("claim", str(free[0].id), name)
                try:
                    recorder.ok(op, (await board.claim(member, free[0].id)).epoch)
                except TaskRefused:
                    recorder.fail(op, board.state.tasks[free[0].id].owner)
            else:
                return


def _tasks(place: StormPlace, kind: str) -> list[int]:
    return [event["task"] for event in place.records(BOARD) if event["type"] == kind]


# -- around ---------------------------------------------------------------------------------------


def _found(place: StormPlace, names: list[str], tasks: int = 0) -> None:
    """Create the team in a separate process, so that this one stays without threads."""

    async def found() -> None:
        with _opened(place, create=True) as store:
            writer = LogWriter(store, SystemClock())
            roster = Roster(writer)
            board = Board(writer, roster)
            await roster.found(TEAM)
            for name in names:
                await roster.join(Joined(name=name, at=0))
            for index in range(tasks):
                await board.create("lead", NewTask(f"piece {index}"))

    storm({"founder": lambda: anyio.run(found)}, 0, random.Random(0))


@contextmanager
def _opened(place: StormPlace, *, create: bool = False) -> Iterator[TeamStore]:
    with closing(place.engine()) as engine, closing(engine.open(TEAM, create=create)) as store:
        yield store


def _job(play: Callable[..., Any], place: StormPlace, *args: Any) -> Job:
    return lambda: anyio.run(play, place, *args)


def main() -> None:
    """Run one storm and print its result as a line of JSON. Exit with 1 unless it is clean."""
    parser = argparse.ArgumentParser(prog="python -m deskmate.testing.kill_runs", description=__doc__.splitlines()[0])
    parser.add_argument("storm", choices=["mail", "claims"])
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--processes", type=int, default=8, help="how many run at once (mail: half of them send)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the team lives (default: a new temporary folder)")
    parser.add_argument("--server", choices=SERVERS, help="keep the team on a server of this kind")
    parser.add_argument("--server-kills", type=int, default=0, help="how often the server is killed and started again")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder, new_server(args.server) as server:
        where, half = Path(folder), max(1, args.processes // 2)
        way: dict[str, Any] = {
            "kills": args.kills,
            "seed": args.seed,
            "server": server,
            "server_kills": args.server_kills,
        }
        if args.storm == "mail":
            toll = mail_storm(where, messages=args.messages, senders=half, hearers=half, **way)
        else:
            toll = claim_storm(where, tasks=args.tasks, workers=args.processes, **way)
    print(json.dumps(asdict(toll)))
    sys.exit(0 if toll.clean else 1)


if __name__ == "__main__":
    main()
