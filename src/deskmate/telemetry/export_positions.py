"""How far a team was exported, kept between processes.

A file per team in the user's state folder. If it is lost, or a process dies before it is written, spans are sent again
with the same ids.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deskmate.core.telemetry.span_values import FinishedSpan
from deskmate.fs.safe_files import private_folder, read_regular, replace_file

_FOLDER = "telemetry"
_MOST_BYTES = 4_000_000


@dataclass
class ExportPositions:
    """Which spans were sent: those that ended with a record up to `numbers`, and those of `closed`, by their ids.

    `closed` has spans that ended with the process and not with a record. Without `state`, nothing is kept.
    """

    state: Path | None = None
    name: str = ""
    numbers: dict[str, int] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)

    @classmethod
    def load(cls, state: Path, trace_id: int, team: str) -> "ExportPositions":
        """Return the positions of a team. If there are none that can be read, nothing was sent."""
        positions = cls(state, f"{trace_id:032x}-{team}.json")
        try:
            kept = json.loads(read_regular(state / _FOLDER / positions.name, _MOST_BYTES))
            positions.numbers = {str(stream): int(number) for stream, number in kept["numbers"].items()}
            positions.closed = {int(id_, 16) for id_ in kept["closed"]}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            positions.numbers, positions.closed = {}, set()
        return positions

    def has(self, span: FinishedSpan) -> bool:
        """Tell whether a span was sent."""
        return span.number <= self.numbers.get(span.stream, 0) or span.span_id in self.closed

    def save(self, numbers: Mapping[str, int], closed: Iterable[FinishedSpan] = ()) -> None:
        """Keep that everything up to these records was sent, and these spans. Raises OSError."""
        ids = self.closed | {span.span_id for span in closed}
        if dict(numbers) == self.numbers and ids == self.closed:
            return
        if self.state is not None:
            self._write(self.state, numbers, ids)
        self.numbers, self.closed = dict(numbers), ids

    def _write(self, state: Path, numbers: Mapping[str, int], ids: Iterable[int]) -> None:
        kept = {"numbers": dict(numbers), "closed": [f"{id_:016x}" for id_ in sorted(ids)]}
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with private_folder(state, _FOLDER) as folder:
            replace_file(folder, self.name, json.dumps(kept).encode())
