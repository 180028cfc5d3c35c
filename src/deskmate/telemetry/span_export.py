"""What is new in a team, sent in batches.

What could not be sent stays in the streams: memory holds one batch, and the rest is read when that was sent.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Protocol, TypeVar

from anyio.lowlevel import checkpoint

from deskmate.core.telemetry.projection import closing
from deskmate.core.telemetry.span_values import FinishedSpan, TeamIdentity
from deskmate.core.telemetry.team_metrics import Measured
from deskmate.errors import DeskmateError
from deskmate.telemetry.export_positions import ExportPositions
from deskmate.telemetry.team_reader import TeamReader

T = TypeVar("T")
BATCH = 256


class NotSent(DeskmateError):
    """Spans were not accepted. They are sent with the next try."""


class Sender(Protocol):
    """Something that sends spans and metrics. Both block, and return why they failed, empty if they did not."""

    @property
    def trouble(self) -> str:
        """What went wrong with what is being sent now, before all tries are over. Empty if nothing did."""

    def send_spans(self, spans: Sequence[FinishedSpan]) -> str:
        """Send spans."""

    def send_metrics(self, metrics: Sequence[Measured], at: float) -> str:
        """Send metrics as of a time."""


class SpanExport:
    """Sends what is new in a team. `make`, `load`: return what sends, and what was sent before; both may block.

    `batch`: how many spans are sent at once. `sent`: how many spans were sent so far. `metrics_failure`: why metrics
    were not accepted, empty if they were.
    """

    def __init__(
        self,
        reader: TeamReader,
        make: Callable[[TeamIdentity], Sender],
        load: Callable[[TeamIdentity], ExportPositions],
        batch: int = BATCH,
    ) -> None:
        self._reader, self._make, self._load, self._batch = reader, make, load, batch
        self._tools: tuple[Sender, ExportPositions] | None = None
        self._waiting: list[FinishedSpan] = []
        self.sent, self.metrics_failure = 0, ""

    @property
    def reader(self) -> TeamReader:
        """What reads the team."""
        return self._reader

    @property
    def trouble(self) -> str:
        """What went wrong with what is being sent now, empty if nothing did."""
        return self._tools[0].trouble if self._tools else ""

    @property
    def waiting(self) -> int:
        """How many spans were read and not sent."""
        return len(self._waiting)

    async def export(self, now: float, *, over: bool = False, unfinished: bool = False) -> None:
        """Send what is new, and the metrics. Raises NotSent, StoreError or OSError, and may be called again.

        `over`: the team does not run any more, so its last run has ended. `unfinished`: also turns that were cut.
        """
        sender, positions = await self._begun()
        # First what an earlier try left: nothing more is read while it is not accepted.
        await self._send(sender, upto=0)
        async with aclosing(self._reader.news()) as news:
            async for spans in news:
                self._waiting += [span for span in spans if not positions.has(span)]
                await self._send(sender, upto=self._batch - 1)
        projection = self._reader.projection
        ended = closing(projection, unfinished=unfinished) if over else []
        self._waiting += [span for span in ended if span.span_id not in positions.closed]
        await self._send(sender, upto=0)
        await on_own_thread(lambda: positions.save(projection.numbers, ended))
        metrics = projection.metrics
        # A collector that takes no metrics must not keep spans back.
        self.metrics_failure = await on_own_thread(lambda: sender.send_metrics(metrics, now))

    async def _begun(self) -> tuple[Sender, ExportPositions]:
        if self._tools is None:
            identity = (await self._reader.begin()).identity
            self._tools = await on_own_thread(lambda: (self._make(identity), self._load(identity)))
        return self._tools

    async def _send(self, sender: Sender, upto: int) -> None:
        """Send waiting spans in batches until at most `upto` wait."""
        while len(self._waiting) > upto:
            batch = self._waiting[: self._batch]
            if failure := await on_own_thread(lambda batch=batch: sender.send_spans(batch)):  # type: ignore[misc]
                raise NotSent(failure)
            del self._waiting[: len(batch)]
            self.sent += len(batch)
        await checkpoint()


async def on_own_thread(work: Callable[[], T]) -> T:
    """Return what `work` returns on a thread that nobody waits for: if cancelled, it is left to itself.

    The threads of `fs` are always waited for, and a collector may not answer for a long time.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(results: list[T], error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(results.pop())

    def run() -> None:
        results, trouble = list[T](), None
        try:
            results.append(work())
        except Exception as error:
            trouble = error
        try:
            loop.call_soon_threadsafe(settle, results, trouble)
        except RuntimeError:
            # The event loop has ended, so nobody waits for the result.
            return

    threading.Thread(target=run, name="deskmate-telemetry", daemon=True).start()
    return await done
