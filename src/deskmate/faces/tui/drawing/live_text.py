"""What a model is saying now."""

from deskmate.app import CallDelta, Delta, Entry, RetryDelta, TextDelta, ThinkingDelta
from deskmate.faces.common.progress_lines import retry_line
from deskmate.faces.tui.drawing.transcript_pieces import PieceKind, TranscriptPiece, words_piece

# A thought is shown by its end while it comes.
_THOUGHT_CHARS = 400


class Live:
    """What came of an answer so far. Answers that are recorded stay until their entry is shown."""

    def __init__(self) -> None:
        self._recorded: list[tuple[int, str]] = []
        self._shown = 0
        self._words, self._thought, self._tools, self._retry = "", "", list[str](), ""

    def hear(self, delta: Delta) -> None:
        """Take in what came."""
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
        """Take what came so far as the entry of that number; what comes from now on is another answer."""
        if number > self._shown:
            self._recorded.append((number, self._words))
        self._begin()

    def show(self, number: int, entry: Entry) -> None:
        """Drop what an entry that is shown now says, too."""
        self._shown = number
        self._recorded = [one for one in self._recorded if one[0] > number]
        # Of a teammate in a process of its own it may never be told that its words were recorded.
        words = entry.text if entry.type == "said" else entry.summary if entry.type == "compacted" else None
        if words is not None and self._words.strip() in words:
            self._begin()

    @property
    def pieces(self) -> list[TranscriptPiece]:
        """What is to be seen of it."""
        found = [words_piece(f"live/{number}", words) for number, words in self._recorded if words.strip()]
        if self._thought and not self._words and not self._tools:
            found.append(TranscriptPiece("live/thought", PieceKind.THOUGHT, "thinks", self._thought))
        if self._words.strip():
            found.append(words_piece("live/words", f"{self._words.strip()}▍"))
        found += [TranscriptPiece(f"live/{i}", PieceKind.CALL, tool) for i, tool in enumerate(self._tools)]
        if self._retry:
            found.append(TranscriptPiece("live/retry", PieceKind.TOLD, self._retry))
        return found

    def _begin(self) -> None:
        self._words, self._thought, self._tools, self._retry = "", "", [], ""
