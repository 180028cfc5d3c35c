"""Which line belongs to which piece.

Unchanged pieces are not laid out again, so appending to a long conversation costs only what is appended.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rich.text import Text

from deskmate.faces.tui.drawing.transcript_pieces import PieceKind, TranscriptPiece

_SMALL = (PieceKind.CALL, PieceKind.TOLD, PieceKind.THOUGHT)


def _is_small(piece: TranscriptPiece) -> bool:
    """Return whether a piece needs no blank line between itself and another small one."""
    return piece.kind in _SMALL or (piece.kind is PieceKind.MAIL and not piece.body)


@dataclass(frozen=True, slots=True)
class Laid:
    """A piece as it was laid out."""

    piece: TranscriptPiece
    folded: bool
    spaced: bool
    lines: list[Text]


class Layout:
    """Pieces below each other. `paint`: makes the lines of a piece, folded or not."""

    def __init__(self, paint: Callable[[TranscriptPiece, bool], list[Text]]) -> None:
        self._paint = paint
        self._laid: list[Laid] = []
        self._starts: list[int] = []
        self.height = 0

    def lay(self, pieces: Sequence[TranscriptPiece], is_folded: Callable[[TranscriptPiece], bool]) -> None:
        """Lay out pieces. Unchanged pieces keep their lines."""
        before = {one.piece.key: one for one in self._laid}
        laid: list[Laid] = []
        for piece in pieces:
            spaced = bool(laid) and not (_is_small(piece) and _is_small(laid[-1].piece))
            laid.append(self._kept(before.get(piece.key), piece, is_folded(piece), spaced))
        self._laid = laid
        ends = list(accumulate(len(one.lines) for one in laid))
        self._starts = [0, *ends[:-1]] if ends else []
        self.height = ends[-1] if ends else 0

    def forget(self) -> None:
        """Lay out everything again next time, because the width or a colour changed."""
        self._laid = []

    def _kept(self, before: Laid | None, piece: TranscriptPiece, folded: bool, spaced: bool) -> Laid:
        if before and before.piece == piece and (before.folded, before.spaced) == (folded, spaced):
            return before
        lines = self._paint(piece, folded)
        return Laid(piece, folded, spaced, [Text(), *lines] if spaced else lines)

    def at(self, line: int) -> Laid | None:
        """Return the piece at a line."""
        return self._laid[bisect_right(self._starts, line) - 1] if 0 <= line < self.height else None

    def line(self, line: int) -> Text | None:
        """Return a line, or None below the last."""
        if not 0 <= line < self.height:
            return None
        index = bisect_right(self._starts, line) - 1
        return self._laid[index].lines[line - self._starts[index]]

    def span(self, key: str) -> tuple[int, int] | None:
        """Return the first line of a piece, without the space above it, and the line after its last."""
        for one, start in zip(self._laid, self._starts, strict=True):
            if one.piece.key == key:
                return start + one.spaced, start + len(one.lines)
        return None

    @property
    def pieces(self) -> list[TranscriptPiece]:
        """The pieces that are laid out."""
        return [one.piece for one in self._laid]
