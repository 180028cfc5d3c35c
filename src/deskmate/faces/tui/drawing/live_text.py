"""What a model is saying now."""

from deskmate.app import CallDelta, Delta, Entry, RetryDelta, TextDelta, ThinkingDelta
from deskmate.faces.common.progress_lines import retry_line
from deskmate.faces.tui.drawing.transcript_pieces import PieceKind, TranscriptPiece, words_piece

# While thinking streams in, only its end is shown.
_THOUGHT_CHARS = 400


class Live:
    """The part of an answer received so far. Recorded answers stay until their entry is shown."""

    def __init__(self) -> None:
        self._recorded: list[tuple[int, str]] = []
        self._shown = 0
        self._words, self._thought, self._tools, self._retry = "", "", list[str](), ""

    def hear(self, delta: Delta) -> None:
        """Add what was streamed."""
        match delta:
            case TextDelta(text):
                self._words, self._retry = self._words + text, ""
            case ThinkingDelta(text):
                self._thought, self._retry = (self._thought + text)[-_THOUGHT_CHARS:], ""
            case CallDelta(tool):
                self._tools.append(tool)
            case RetryDelta(seconds, reason, model):
                self._begin()
                self._retry = retry_line(seconds, reason, model)

    def record(self, number: int) -> None:
        """Assign what was received so far to the entry with this number. What follows is another answer."""
        if number > self._shown:
            self._recorded.append((number, self._words))
        self._begin()

    def show(self, number: int, entry: Entry) -> None:
        """Drop live text that a shown entry contains."""
        self._shown = number
        self._recorded = [one for one in self._recorded if one[0] > number]
        # For a teammate in another process, the event that its words were recorded may never arrive.
        words = entry.text if entry.type == "said" else entry.summary if entry.type == "compacted" else None
        if words is not None and self._words.strip() in words:
            self._begin()

    @property
    def pieces(self) -> list[TranscriptPiece]:
        """What to show of it."""
        found = [words_piece(f"live/{number}", words) for number, words in self._recorded if words.strip()]
        if self._thought and not self._words and not self._tools:
            found.append(TranscriptPiece("live/thought", PieceKind.THOUGHT, "thinking", self._thought))
        if self._words.strip():
            found.append(words_piece("live/words", f"{self._words.strip()}▍"))
        found += [TranscriptPiece(f"live/{i}", PieceKind.CALL, tool) for i, tool in enumerate(self._tools)]
        if self._retry:
            found.append(TranscriptPiece("live/retry", PieceKind.TOLD, self._retry))
        return found

    def _begin(self) -> None:
        self._words, self._thought, self._tools, self._retry = "", "", [], ""
