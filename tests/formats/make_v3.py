"""Make the golden files of the version after 0.2: only the kinds and fields that 0.2 does not have.

Run by hand from the top of the repository, only until that version is released:

    python -m tests.formats.make_v3

After that its folder is never made again.
"""

from pathlib import Path

from deskmate.core.agent.entries import Overflowed, Said, Started, SummaryDropped, SummaryRequested
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

STREAMS: dict[str, tuple[str, list[Line]]] = {"log/lead": ("teams/demo/lead_transcript.jsonl", LEAD)}


def files() -> dict[str, bytes]:
    """Return every golden file: its path below the version's folder, and its bytes."""
    return {path: file_of(stream) for path, stream in STREAMS.values()}


def main() -> None:
    for path, data in files().items():
        (HERE / path).parent.mkdir(parents=True, exist_ok=True)
        (HERE / path).write_bytes(data)


if __name__ == "__main__":
    main()
