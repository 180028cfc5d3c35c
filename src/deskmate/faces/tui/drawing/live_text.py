"""What a model is saying now."""

from typing import assert_never

from deskmate.core.agent.entries import AgentParked, Compacted, Entry, Heard, Said
from deskmate.core.prompt.prompts import CallDelta, Delta, RetryDelta, TextDelta, ThinkingDelta
from deskmate.core.team.messages import Envelope, Interrupt, read_envelope
from deskmate.faces.common.items.call_summaries import retry_line
from deskmate.faces.common.items.transcript_items import CallItem, NoticeItem, ThoughtItem, TranscriptItem, WordsItem

# While thinking streams in, only its end is shown.
_THOUGHT_CHARS = 400
# Where the next word will be.
LIVE_END = "▍"


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
            case unreachable:
                assert_never(unreachable)

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
        words = entry.text if isinstance(entry, Said) else entry.summary if isinstance(entry, Compacted) else None
        # After parking or an interrupt, nothing more of this answer comes.
        if (
            isinstance(entry, AgentParked)
            or _is_interrupt(entry)
            or (words is not None and self._words.strip() in words)
        ):
            self._begin()

    @property
    def items(self) -> list[TranscriptItem]:
        """What to show of it."""
        found: list[TranscriptItem] = [
            WordsItem(f"live/{number}", words) for number, words in self._recorded if words.strip()
        ]
        if self._thought and not self._words and not self._tools:
            found.append(ThoughtItem("live/thought", self._thought, "thinking"))
        if self._words.strip():
            found.append(WordsItem("live/words", f"{self._words.strip()}{LIVE_END}"))
        found += [CallItem(f"live/{i}", tool) for i, tool in enumerate(self._tools)]
        if self._retry:
            found.append(NoticeItem("live/retry", self._retry))
        return found

    def _begin(self) -> None:
        self._words, self._thought, self._tools, self._retry = "", "", [], ""


def _is_interrupt(entry: Entry) -> bool:
    mail = map(read_envelope, entry.mail) if isinstance(entry, Heard) else ()
    return any(isinstance(one, Envelope) and isinstance(one.message, Interrupt) for one in mail)
