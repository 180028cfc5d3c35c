"""What does an agent cost beside its model? A run of two steps next to other runtimes, and a step as a talk grows."""

import http.client
import json
import shutil
import socket
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from benchmarks.desk import TEAM, desk
from benchmarks.measure import Size, alone, percentile, times
from benchmarks.ours import Unsynced
from benchmarks.peers import PEERS, Times
from benchmarks.peers.timed import timed
from benchmarks.report import Answer, Column, Table, Target, at_most, below
from benchmarks.stub import CALLS, CONTENT, FILE, TALKS, Stub, stub
from deskmate.core.agent.entries import Began, Call, Did, Said
from deskmate.core.log.names import LEAD, call_id
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.system_clock import SystemClock
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.stores.memory_store import MemoryStore

PROMPT = f"What does {FILE} say?"
# Old messages are sent again, but nothing else is done with them.
HISTORY_RATIO, STEP_MS = 1.2, 4.0
WIRES = ("openai", "anthropic")
STEPS_A_COPY = 5
COUNTED = {"input": 100, "output": 10}
RESULT = "1\tA line such as one finds in a source file, of middling length.\n" * 8

Run = Callable[[Stub, Path, int], Times]


@dataclass(frozen=True)
class Runtime:
    """Who runs, and whether it takes the answers in pieces, as who shows them at once must, or whole."""

    name: str
    streams: bool


@dataclass(frozen=True)
class Figures:
    """What one runtime came to, in milliseconds a run."""

    runtime: Runtime
    version: str
    p50: float
    p99: float
    cpu: float


OURS, RAW = Runtime("deskmate", True), Runtime("raw", False)
MANNERS = (True, False)


# -- overhead -------------------------------------------------------------------------------------


def ask_overhead(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure every runtime that is there, in turns, against one stand-in."""
    peers = [peer for peer in PEERS if (peer.install(say) if size.installs else peer.installed)]
    runtimes: dict[Runtime, Run] = {
        OURS: partial(_ours, on_disk=True),
        Runtime("deskmate, in memory", True): partial(_ours, on_disk=False),
        **{Runtime(peer.name, streams): partial(peer.run, streamed=streams) for peer in peers for streams in MANNERS},
        RAW: _raw,
    }
    taken: dict[Runtime, list[Times]] = defaultdict(list)
    with stub() as at:
        for number in range(size.passes):
            for runtime, run in runtimes.items():
                say(f"overhead: {runtime.name}, {'streamed' if runtime.streams else 'whole'}, pass {number + 1}")
                home = _home(folder / f"{runtime.name}-{runtime.streams}-{number}")
                taken[runtime].append(run(at, home, size.runs))
    figures = [_figures(runtime, found) for runtime, found in taken.items()]
    missing = [peer.name for peer in PEERS if peer not in peers]
    return Answer([_overhead_table(figures, missing)], _overhead_targets(figures, {peer.name for peer in peers}))


def _figures(runtime: Runtime, taken: list[Times]) -> Figures:
    wall = [nanoseconds for one in taken for nanoseconds in one.wall]
    cpu = [nanoseconds for one in taken for nanoseconds in one.cpu]
    return Figures(runtime, taken[0].version, percentile(wall, 0.5), percentile(wall, 0.99), percentile(cpu, 0.5))


def _home(folder: Path) -> Path:
    folder.mkdir()
    (folder / FILE).write_text(CONTENT)
    return folder


def _ours(at: Stub, home: Path, runs: int, *, on_disk: bool) -> Times:
    return alone(partial(anyio.run, _run_ours, at, home, runs, on_disk))


async def _run_ours(at: Stub, home: Path, runs: int, on_disk: bool) -> Times:
    with closing(JsonlStore.open(home, TEAM, create=True)) as store:
        async with desk(home, store if on_disk else MemoryStore(), at, CALLS) as ours:
            return _times(await timed(ours.prepare(PROMPT), runs))


def _raw(at: Stub, home: Path, runs: int) -> Times:
    return alone(partial(anyio.run, _run_raw, at, home, runs))


async def _run_raw(at: Stub, home: Path, runs: int) -> Times:
    """Do the same by hand: two requests on one connection, and the file read in between."""
    connection = http.client.HTTPConnection("127.0.0.1", at.port)

    def post(*messages: dict[str, object]) -> dict[str, object]:
        connection.request("POST", "/v1/chat/completions", json.dumps({"model": CALLS, "messages": messages}))
        message: dict[str, object] = json.loads(connection.getresponse().read())["choices"][0]["message"]
        return message

    async def once() -> str:
        asked: dict[str, object] = {"role": "user", "content": PROMPT}
        said = post(asked)
        answer = post(asked, said, {"role": "tool", "content": (home / FILE).read_text()})
        return str(answer["content"])

    return _times(await timed(once, runs))


def _times(taken: dict[str, list[int]]) -> Times:
    return Times(taken["wall"], taken["cpu"])


def _overhead_table(figures: list[Figures], missing: list[str]) -> Table:
    columns = [
        Column("runtime"),
        Column("version"),
        Column("streams"),
        Column("p50 ms", "{:.2f}"),
        Column("p99 ms", "{:.2f}"),
        Column("CPU p50 ms", "{:.2f}"),
        Column("x raw", "{:.2f}"),
        Column("x deskmate", "{:.2f}"),
    ]
    p50 = {one.runtime: one.p50 for one in figures}
    rows = [
        (
            one.runtime.name,
            one.version,
            "yes" if one.runtime.streams else "no",
            *(one.p50, one.p99, one.cpu),
            times(one.p50, p50[RAW]),
            times(one.p50, p50[OURS]),
        )
        for one in figures
    ]
    notes = [
        "Deskmate's first row writes every step to disk and syncs it as it always does; the others keep nothing.",
        "Tracing and telemetry of the others are off, by their own switches. `raw` is two requests and no agent.",
        *([f"Not installed, so not measured: {', '.join(missing)}."] if missing else []),
    ]
    return Table("Overhead: a run of two steps and one call, with a model that answers at once", columns, rows, notes)


def _overhead_targets(figures: list[Figures], peers: set[str]) -> list[Target]:
    ours = next(one.p50 for one in figures if one.runtime == OURS)
    found = []
    for streams, words in ((True, "every peer that streams too"), (False, "every peer that does not stream")):
        theirs = [one for one in figures if one.runtime.name in peers and one.runtime.streams is streams]
        if theirs:
            best = min(theirs, key=lambda one: one.p50)
            found.append(below(f"overhead: below {words} ({best.runtime.name})", ours, round(best.p50, 2), "ms"))
    return found


# -- history --------------------------------------------------------------------------------------


def ask_history(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure one step with little and with much said before, in both formats, and what its bytes take at least."""
    taken: dict[str, dict[int, float]] = {wire: {} for wire in WIRES}
    bare: dict[str, dict[int, float]] = {f"{wire}, bare bytes": {} for wire in WIRES}
    with stub() as at:
        for wire in WIRES:
            for messages in size.conversations:
                say(f"history: {messages:,} messages, {wire}")
                home = _home(folder / f"{wire}-{messages}")
                alone(partial(anyio.run, _converse, home, at, wire, messages))
                steps = alone(partial(anyio.run, _steps, home, at, wire, size.steps))
                taken[wire][messages] = percentile(steps, 0.5)
                exchanges = alone(partial(_bare_exchanges, at, size.steps))
                bare[f"{wire}, bare bytes"][messages] = percentile(exchanges, 0.5)
    return Answer([_history_table(taken | bare)], _history_targets(taken))


async def _converse(home: Path, at: Stub, wire: str, messages: int) -> None:
    """Leave a talk of so many messages in a folder: calls and their results."""
    with closing(JsonlStore.open(home, TEAM, create=True)) as store:
        async with desk(home, Unsynced(store), at, TALKS, wire=wire) as ours:
            await ours.lead()
            transcript = await Transcript.load(LogWriter(Unsynced(store), SystemClock()), LEAD)
            for number in range(messages // 2):
                call = Call(tool="read_file", arguments={"path": f"src/module_{number}.py"})
                # With a count of the stand-in, as all its answers have, no talk is too long for the window.
                said = Said(text="Let me look at the next file.", calls=(call,), usage=COUNTED)
                id_ = call_id(LEAD, await transcript.record(said), 0)
                await transcript.record(Began(calls=(id_,)))
                await transcript.record(Did(call=id_, text=RESULT, files={call.arguments["path"]: f"{number:064x}"}))


async def _steps(home: Path, at: Stub, wire: str, steps: int) -> list[int]:
    """Return the processor time of single steps, a few in each fresh copy, so that the talk is as long for all."""
    count = max(1, steps // STEPS_A_COPY)
    copies = (shutil.copytree(home, home / f"copy-{number}", ignore=_copies) for number in range(count))
    return [taken for copy in copies for taken in await _steps_in(copy, at, wire)]


def _copies(_: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith("copy-")]


async def _steps_in(home: Path, at: Stub, wire: str) -> list[int]:
    taken = []
    with closing(JsonlStore.open(home, TEAM)) as store:
        async with desk(home, store, at, TALKS, wire=wire) as ours:
            lead = await ours.lead()
            # The first step renders what was loaded and opens the connection; the next are like all that follow.
            for _ in range(1 + STEPS_A_COPY):
                await ours.tell(PROMPT)
                worked = time.process_time_ns()
                await lead.play(until_rest=True)
                taken.append(time.process_time_ns() - worked)
    return taken[1:]


def _bare_exchanges(at: Stub, count: int) -> list[int]:
    """Return the processor time that it takes to send the bytes of the last request and receive those of its answer.

    The kernel does a part of the sending while the answer is awaited.
    """
    request, taken = at.last(), []
    with socket.create_connection(("127.0.0.1", at.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(1 + count):
            worked = time.process_time_ns()
            connection.sendall(request)
            answer = b""
            while not answer.endswith(b"0\r\n\r\n"):
                answer += connection.recv(2**16)
            taken.append(time.process_time_ns() - worked)
    return taken[1:]


def _history_table(taken: dict[str, dict[int, float]]) -> Table:
    first = min(min(spent) for spent in taken.values())
    columns = [
        Column("format"),
        Column("messages", "{:,}"),
        Column("CPU p50 ms", "{:.2f}"),
        Column(f"x {first}", "{:.2f}"),
    ]
    rows = [
        (wire, messages, spent, times(spent, by_length[first]))
        for wire, by_length in taken.items()
        for messages, spent in by_length.items()
    ]
    notes = [
        "Every answer is streamed. The last request of the longest talk has about two megabytes.",
        "Bare bytes: the same request is written to a socket, and its answer is read. Nothing else is done.",
    ]
    return Table("History: the processor time of one step, by what was said before", columns, rows, notes)


def _history_targets(taken: dict[str, dict[int, float]]) -> list[Target]:
    found = []
    for wire, spent in taken.items():
        few, many = min(spent), max(spent)
        ratio, most = spent[many] / spent[few], max(spent.values())
        found += [
            at_most(f"history, {wire}: {many:,} messages", ratio, HISTORY_RATIO, f"x {few} messages"),
            at_most(f"history, {wire}: one step", most, STEP_MS, "ms of CPU"),
        ]
    return found
