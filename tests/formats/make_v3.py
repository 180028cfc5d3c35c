"""Make the golden files of the version after 0.2: only the kinds and fields that 0.2 does not have.

Run by hand from the top of the repository, only until that version is released:

    python -m tests.formats.make_v3

After that its folder is never made again.
"""

from pathlib import Path

from deskmate.core.agent.entries import Overflowed, Said, Started, SummaryDropped, SummaryRequested
from deskmate.core.team.roster_records import TeamFounded
from deskmate.core.team.tasks import Claimed, Completed, Created, Offered, Receipt, Returned
from tests.formats.make import Line, file_of

HERE = Path(__file__).parent / "v3"

LEAD: list[Line] = [
    Started(name="lead", prompt="Make the tests pass.", roster=1),
    Said(text="I read them all."),
    SummaryRequested(focus="the schema: größer 漢字"),
    SummaryDropped(),
    SummaryRequested(focus="the schema"),
    Overflowed(),
]

_AT = 1_700_000_000.0
_RECEIPT = Receipt(command="pytest -q", workspace="/trees/demo/alice", exit=0, output="3 passed")
_COMMITS = ("1f" * 20, "2e" * 20, "3d" * 20)
BOARD: list[Line] = [
    Created(by="lead", at=_AT, task=1, subject="Write the parser", owner="alice", verify="pytest -q"),
    Claimed(by="alice", at=_AT + 1, task=1, epoch=0),
    Offered(by="alice", at=_AT + 2, cause="alice:4.0", task=1, epoch=0, commit=_COMMITS[0], receipt=_RECEIPT),
    Returned(by="alice", at=_AT + 3, task=1, offer=3, reason="It conflicts with deskmate/demo in größe.py."),
    Offered(by="alice", at=_AT + 4, cause="alice:6.0", task=1, epoch=0, commit=_COMMITS[1], receipt=_RECEIPT),
    Completed(by="alice", at=_AT + 5, task=1, epoch=0, receipt=_RECEIPT, merged=_COMMITS[2]),
]

ROSTER: list[Line] = [TeamFounded(team="demo", fork_of="main", copied=2, at=_AT)]

STREAMS: dict[str, tuple[str, list[Line]]] = {
    "log/lead": ("teams/demo/lead_transcript.jsonl", LEAD),
    "board": ("tasks/demo/board.jsonl", BOARD),
    "roster": ("teams/demo/roster.jsonl", ROSTER),
}


def files() -> dict[str, bytes]:
    """Return every golden file: its path below the version's folder, and its bytes."""
    return {path: file_of(stream) for path, stream in STREAMS.values()}


def main() -> None:
    for path, data in files().items():
        (HERE / path).parent.mkdir(parents=True, exist_ok=True)
        (HERE / path).write_bytes(data)


if __name__ == "__main__":
    main()
