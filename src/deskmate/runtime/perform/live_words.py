"""What a model is saying and a command is printing now, for live display.

No secret is shown: the end of the text is held back while it may be the beginning of one. Mostly that is one word.
"""

import logging
from typing import NoReturn

import anyio

from deskmate.core.policy.redaction import Redaction
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.core.prompt.prompts import CallDelta, Delta, RetryDelta, TextDelta, ThinkingDelta
from deskmate.errors import ALSO_AN_EVENT
from deskmate.runtime.events import Feed, Printed, Streamed

# How often to look at what a command has printed, and how much of its end is shown.
_LOOK_SECONDS = 0.5
_SHOWN_CHARS = 2_000
_LOG = logging.getLogger(__name__)


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
                reason = self._redaction.text(reason)
                when = f"Trying {model} again in {seconds:.0f} s" if seconds else f"Asking {model} instead"
                _LOG.warning("%s: %s. %s", self._member, reason, when, extra=ALSO_AN_EVENT)
                self._feed.tell(Streamed(self._member, RetryDelta(seconds, reason, model)))

    def end(self) -> None:
        """Pass on the held back text, because nothing follows it."""
        self._tell(self._passing.end())

    def drop(self) -> None:
        """Forget the held back text."""
        self._passing.end()

    def _tell(self, text: str) -> None:
        if text:
            self._feed.tell(Streamed(self._member, self._kind(text)))


async def tell_output(member: str, call: str, printed: LiveOutput, feed: Feed, redaction: Redaction) -> NoReturn:
    """Tell what a command has printed whenever there is more, for as long as this runs."""
    told = ""
    while True:
        await anyio.sleep(_LOOK_SECONDS)
        # Before it is cut: half a secret would not be recognised.
        text = redaction.text(printed.look()[0])[-_SHOWN_CHARS:]
        if text != told:
            told = text
            feed.tell(Printed(member, call, text))
