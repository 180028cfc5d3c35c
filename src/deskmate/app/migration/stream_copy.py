"""The copy of one team: record by record, continued after a kill, and compared at the end."""

from collections.abc import Iterator, Sequence

from deskmate.core.log.names import ROSTER
from deskmate.core.log.records import Item, Json, Record, encode
from deskmate.core.values import frozen
from deskmate.errors import Refused, StoreError
from deskmate.ports import Store

# What is appended together, so that a kill costs little and a message of any server is large enough.
_MOST_RECORDS, _MOST_BYTES = 200, 500_000


@frozen
class Copied:
    """What became of a team. `new`: how many of its records were not there before."""

    team: str
    streams: int
    records: int
    new: int


async def copy_team(team: str, streams: Sequence[str], source: Store, target: Store) -> Copied:
    """Copy the streams of a team to another store, then read both and compare them.

    What an earlier try has copied is compared and kept. The roster is copied last: without it, nobody can run the copy.
    Raises Refused if a stream is damaged or if the target has other records, and StoreError.
    """
    records = new = 0
    ordered = sorted(streams, key=lambda stream: stream == ROSTER)
    for stream in ordered:
        added = await _copy(team, stream, source, target)
        new += added
    for stream in ordered:
        wanted, found = await _whole(team, stream, source), await target.read(stream)
        _compare(team, stream, wanted, found)
        if len(found) < len(wanted):
            raise StoreError(
                f"{stream} of team '{team}' has {len(wanted)} records, but only {len(found)} are in the copy",
                "Somebody is still writing to the team. Stop that, then repeat the command.",
            )
        records += len(wanted)
    return Copied(team, len(ordered), records, new)


async def _copy(team: str, stream: str, source: Store, target: Store) -> int:
    """Append what the target does not have yet. Return how many records that were."""
    wanted, found = await _whole(team, stream, source), await target.read(stream)
    _compare(team, stream, wanted, found)
    last = found[-1].number if found else 0
    for batch in _batches(wanted[len(found) :]):
        numbers = await target.append(stream, *(record.body for record in batch), expect=last)
        if numbers != [record.number for record in batch]:
            raise StoreError(f"The records of {stream} of team '{team}' got other numbers in the copy")
        last = numbers[-1]
    return len(wanted) - len(found)


async def _whole(team: str, stream: str, store: Store) -> list[Record]:
    """Return a stream, which must not be damaged: a copy would hide that."""
    records = list[Record]()
    for item in await store.read(stream):
        if not isinstance(item, Record) or item.number != len(records) + 1:
            raise Refused(
                f"Record {len(records) + 1} of {stream} of team '{team}' cannot be read, so the team cannot be copied",
                f"To see what is damaged, run: deskmate doctor {team}",
            )
        records.append(item)
    return records


def _compare(team: str, stream: str, wanted: Sequence[Record], found: Sequence[Item]) -> None:
    """Raise Refused unless everything that was found is at its place in what is wanted."""
    for number, (item, record) in enumerate(zip(found, wanted, strict=False), 1):
        if item != record:
            raise Refused(
                f"Record {number} of {stream} differs: there is another team '{team}' already where it should go",
                "Remove that one first.",
            )
    if len(found) > len(wanted):
        raise Refused(
            f"Team '{team}' was continued where it should go: {stream} has {len(found)} records there and {len(wanted)}"
            " here",
            "Continue it there, or remove it there and copy it again.",
        )


def _batches(records: Sequence[Record]) -> Iterator[list[Record]]:
    batch, size = list[Record](), 0
    for record in records:
        length = _length(record.body)
        if batch and (len(batch) == _MOST_RECORDS or size + length > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += length
    if batch:
        yield batch


def _length(body: Json) -> int:
    return len(encode(body))
