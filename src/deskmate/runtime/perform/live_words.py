"""What a model is saying now, for live display.

No secret is shown: the end of the text is held back while it may be the beginning of one. Mostly that is one word.
"""

from deskmate.core.policy.redaction import Redaction
from deskmate.core.prompt.prompts import CallDelta, Delta, RetryDelta, TextDelta, ThinkingDelta
from deskmate.runtime.events import Feed, Streamed


class LiveWords:
    """What one member's model says."""

    def __init__(self, member: str, feed: Feed, redaction: Redaction) -> None:
        self._member, self._feed, self._redaction = member, feed, redaction
        self._kind: type[TextDelta | ThinkingDelta] = TextDelta
        self._passing = redaction.passing()

    def say(self, delta: Delta) -> None:
        """Pass on what is certainly no secret. Held back text comes before anything of another kind."""
        match delta:
            case TextDelta(text=text) | ThinkingDelta(text=text):
                if type(delta) is not self._kind:
                    self.end()
                    self._kind = type(delta)
                self._tell(self._passing.add(text))
            case CallDelta(tool=tool):
                self.end()
                self._feed.tell(Streamed(self._member, CallDelta(self._redaction.text(tool))))
            case RetryDelta(seconds=seconds, reason=reason, model=model):
                self.drop()
                self._feed.tell(Streamed(self._member, RetryDelta(seconds, self._redaction.text(reason), model)))

    def end(self) -> None:
        """Pass on the held back text, because nothing follows it."""
        self._tell(self._passing.end())

    def drop(self) -> None:
        """Forget the held back text."""
        self._passing.end()

    def _tell(self, text: str) -> None:
        if text:
            self._feed.tell(Streamed(self._member, self._kind(text)))
