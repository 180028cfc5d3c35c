"""What a run left behind, and what is wrong with it, read by code that the product does not share.

`test_agent_kills` gathers it at the end of a run, however often that was killed, and wants no flaw.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos.files.independent_reader import Found, look
from tests.chaos.kills.agent_story import HOLD, INTERRUPTED, LEDGER, SKIPPED

PROC = Path("/proc")
WITH_EFFECTS = {"bash", "write_file", "edit_file", "TaskStop", "TeamCreate", "TeamDelete"}
OURS = (".teams", ".tasks")


@dataclass(frozen=True)
class Evidence:
    """All that a run left behind.

    `transcripts`: by the name of the agent. `ran`: which call each command said it was, as they began. `files`: the
    user's own. `processes`: those that still run. `damage`: files of records with lines that are none.
    """

    transcripts: Mapping[str, Sequence[Found]]
    ran: Sequence[str]
    files: Mapping[str, bytes]
    processes: Sequence[int] = ()
    damage: Sequence[str] = ()


def gather(workspace: Path) -> Evidence:
    """Look at a workspace whose run has ended."""
    streams = {path: look(path) for top in OURS for path in sorted((workspace / top).rglob("*.jsonl"))}
    logs = [seen.records for path, seen in streams.items() if path.name.endswith("_transcript.jsonl")]
    return Evidence(
        transcripts={records[0].body["name"]: records for records in logs if records},
        ran=ledger(workspace),
        files=dict(_files(workspace)),
        processes=processes(workspace),
        damage=[path.name for path, seen in streams.items() if seen.bad or seen.tail],
    )


def ledger(workspace: Path) -> list[str]:
    """Return which calls ran a command, once for each time."""
    path = workspace / LEDGER
    return path.read_text().split() if path.exists() else []


def processes(workspace: Path) -> list[int]:
    """Return the processes that the lead of a workspace has running, by what their environment carries."""
    cookies = {b"DESKMATE_SEAT=main/lead", f"DESKMATE_ROOT={workspace.resolve()}".encode()}
    return [pid for pid in map(int, filter(str.isdigit, _names(PROC))) if cookies <= _environ(pid)]


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()] if folder.is_dir() else []


def _environ(pid: int) -> set[bytes]:
    try:
        return set((PROC / str(pid) / "environ").read_bytes().split(b"\0"))
    except OSError:
        # It ended while we looked, or is another user's.
        return set()


def _files(workspace: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(workspace.rglob("*")):
        name = path.relative_to(workspace)
        if path.is_file() and name.parts[0] not in OURS and name.name != LEDGER and not name.name.startswith(HOLD):
            yield str(name), path.read_bytes()


# -- what is wrong with it --------------------------------------------------------------------------


def flaws(found: Evidence, unkilled: Mapping[str, bytes]) -> list[str]:
    """Return all that a run which was never killed could not have left behind; `unkilled`: the files of such a run."""
    return [
        *(f"{name} holds lines that are no records" for name in found.damage),
        *(flaw for name, records in found.transcripts.items() for flaw in _repeated(name, records)),
        *(flaw for name, records in found.transcripts.items() for flaw in _unaccounted(name, records)),
        *_reruns(found),
        *(
            f"{name} is not as it would be: {found.files.get(name)!r}"
            for name in sorted({*found.files, *unkilled})
            if found.files.get(name) != unkilled.get(name)
        ),
        *(f"process {pid} still runs" for pid in found.processes),
    ]


def _repeated(name: str, records: Sequence[Found]) -> Iterator[str]:
    """Yield what an agent was told twice."""
    if (started := sum(record.body["type"] == "started" for record in records)) != 1:
        yield f"{name} was started {started} times"
    heard = Counter(message["id"] for record in records for message in record.body.get("mail", ()))
    yield from (f"{name} heard {id_} {count} times" for id_, count in heard.items() if count > 1)


def _unaccounted(name: str, records: Sequence[Found]) -> Iterator[str]:
    """Yield the calls of an agent that were not journalled once, or have not one honest result."""
    began, did = _by_call(records, "began"), _by_call(records, "did")
    for id_, call in calls_of(name, records).items():
        if len(did.get(id_, [])) != 1:
            yield f"{id_} has {len(did.get(id_, []))} results"
            continue
        (result,) = did[id_]
        skipped = not result.body["ok"] and result.body["text"].startswith(SKIPPED)
        if len(began.get(id_, [])) != (not skipped):
            yield f"{id_} was journalled {len(began.get(id_, []))} times"
        elif began.get(id_) and began[id_][0].number > result.number:
            yield f"{id_} ended before it began"
        elif began.get(id_) and call["tool"] in WITH_EFFECTS:
            yield from _dishonest(id_, began[id_][0], result)


def _dishonest(id_: str, began: Found, result: Found) -> Iterator[str]:
    """Yield it if a call with effects was ended by who did not begin it as if it had, or the other way round."""
    unknown = not result.body["ok"] and result.body["text"].startswith(INTERRUPTED)
    if began.body["run"] != result.body["run"] and not unknown:
        yield f"{id_} was ended by a process that did not begin it, and does not say so"
    if began.body["run"] == result.body["run"] and unknown:
        yield f"{id_} is told as interrupted by the process that ran it"


def _reruns(found: Evidence) -> Iterator[str]:
    """Yield the commands that ran twice, or unjournalled, or are told to have ended well without having run."""
    began: set[str] = set()
    finished: set[str] = set()
    for name, records in found.transcripts.items():
        commands = {id_ for id_, call in calls_of(name, records).items() if LEDGER in str(call["arguments"])}
        began |= {mark(id_) for id_ in commands & {*_by_call(records, "began")}}
        results = {id_: records_[0].body for id_, records_ in _by_call(records, "did").items() if id_ in commands}
        finished |= {mark(id_) for id_, body in results.items() if body["ok"] and not body.get("background")}
    times = Counter(found.ran)
    yield from (f"{mark} ran {count} times" for mark, count in times.items() if count > 1)
    yield from (f"{mark} ran without being journalled" for mark in sorted(times.keys() - began))
    yield from (f"{mark} never ran" for mark in sorted(finished - times.keys()))


def calls_of(name: str, records: Sequence[Found]) -> dict[str, Any]:
    """Return all calls of an agent, by id."""
    said = [record for record in records if record.body["type"] == "said"]
    return {
        f"{name}:{record.number}.{index}": call for record in said for index, call in enumerate(record.body["calls"])
    }


def _by_call(records: Sequence[Found], type_: str) -> dict[str, list[Found]]:
    found: dict[str, list[Found]] = {}
    for record in records:
        if record.body["type"] == type_:
            for id_ in record.body["calls"] if type_ == "began" else [record.body["call"]]:
                found.setdefault(id_, []).append(record)
    return found


def mark(id_: str) -> str:
    """Return how a command of this call signs."""
    return id_.replace(":", "-").replace(".", "-") + ".txt"
