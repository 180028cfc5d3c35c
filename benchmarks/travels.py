"""What does it cost to bring code to another machine through the store, beside `git clone`?

Both machines are this one, and the store is files. So this is what bundles, chunks, hashes and checks cost, without a
network.
"""

import hashlib
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio

from benchmarks.measure import Size
from benchmarks.report import Answer, Column, Table, at_most
from benchmarks.trees import FILE_BYTES, repository, run_git
from deskmate.core.log.names import CODE
from deskmate.core.travel.payload_chunks import CHUNK_BYTES
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.system_clock import SystemClock
from deskmate.runtime.travel.code_exchange import CodeExchange
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.workspace.trees.git_program import GitProgram
from deskmate.workspace.trees.travel.code_bundles import CodeBundles
from deskmate.workspace.trees.travel.host_clone import HostClone
from deskmate.workspace.trees.travel.travelling_files import IncomingFile

FILES = 5_000
TEAM = "bench"
# How much slower than `git clone --bare` of the same repository.
RATIO = 6.0
_CLONE, _ALL = "git clone --bare", "through the store: all"


class _Row(NamedTuple):
    """One timing. `size`: the bytes that were copied or stored."""

    way: str
    seconds: float
    size: int


def ask(folder: Path, size: Size, say: Callable[[str], None]) -> Answer:
    """Measure the way of a repository, and of one more commit, to another machine."""
    files = min(FILES, size.tree_files)
    say(f"travel: a repository with {files:,} files")
    folder = folder.resolve()
    work = repository(folder / "work", files, _text)
    rows = list[_Row]()
    for number in range(size.passes):
        say(f"travel: pass {number + 1} of {size.passes}")
        rows += anyio.run(_pass, folder, work, number)
    ways = list(dict.fromkeys(row.way for row in rows))
    best = {way: min((row for row in rows if row.way == way), key=lambda row: row.seconds) for way in ways}
    columns = [Column("way"), Column("seconds", "{:.2f}"), Column("kB that travel", "{:,.0f}")]
    shown = [(way, best[way].seconds, best[way].size / 1e3) for way in ways]
    notes = (f"Chunks of {CHUNK_BYTES:,} bytes, in base64. All: made, sent, received, checked, a part of the clone.",)
    table = Table(f"Code to another machine: {files:,} files", columns, shown, notes)
    ratio = best[_ALL].seconds / best[_CLONE].seconds
    return Answer([table], [at_most("code through the store, beside git clone", ratio, RATIO, "times")])


def _text(number: int) -> str:
    """Return text that packs about as well as source code."""
    words = (hashlib.sha256(f"{number}/{line}".encode()).hexdigest()[:20] for line in range(FILE_BYTES // 50))
    return "".join(f"    value_of_{word} = compute({word})\n" for word in words)


async def _pass(folder: Path, work: Path, number: int) -> list[_Row]:
    path, place = folder / f"clone{number}", folder / f"team{number}"
    place.mkdir()
    rows = list[_Row]()

    async def timed(way: str, do: Callable[[], Awaitable[object]], *files: Path) -> None:
        before, began = _size(*files), time.monotonic_ns()
        await do()
        rows.append(_Row(way, (time.monotonic_ns() - began) / 1e9, _size(*files) - before))

    clone = partial(run_git, folder, "clone", "-q", "--bare", "--no-local", str(work), str(path))
    await timed(_CLONE, partial(anyio.to_thread.run_sync, clone), path / "objects/pack")
    with closing(JsonlStore.open(place, TEAM, create=True)) as store:
        writer, sent = LogWriter(store, SystemClock()), place / ".teams" / TEAM / "chunks"
        lead = CodeExchange(
            writer, CodeBundles(GitProgram(work / ".git", os.environ), place / "out", thin=True), _nothing
        )
        there = HostClone(place / "state", place, os.environ)
        bundles = CodeBundles(there.git, place / "unused", thin=False)
        host = CodeExchange(writer, bundles, partial(IncomingFile, place / "in"))

        async def receive(tip: str) -> None:
            there.begin(TEAM, tip)
            await host.bring((await host.of_lead()).bundles, tip, partial(there.move_branch, TEAM))

        first = run_git(work, "rev-parse", "HEAD")
        await timed("through the store: made and sent", partial(lead.send_bundle, CODE, first, ()), sent)
        await timed("through the store: received", partial(receive, first), sent)
        rows.append(_Row(_ALL, rows[-1].seconds + rows[-2].seconds, rows[-2].size))
        (work / "folder0/file0.txt").write_text(f"changed {number}\n")
        run_git(work, "commit", "-q", "-a", "-m", "One more")
        second = run_git(work, "rev-parse", "HEAD")

        async def one_more() -> None:
            await lead.send_bundle(CODE, second, (first,))
            await receive(second)

        await timed("one more commit, with one changed file", one_more, sent)
    return rows


def _size(*folders: Path) -> int:
    return sum(file.stat().st_size for folder in folders for file in folder.glob("*") if file.is_file())


def _nothing(_: object) -> IncomingFile:
    raise AssertionError("the lead receives nothing here")
