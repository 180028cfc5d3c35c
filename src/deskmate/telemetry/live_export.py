"""The export of a team that runs in this process. It follows the streams, so it needs nothing from the agents."""

import logging
from typing import NoReturn

import anyio

from deskmate.core.log.names import BOARD, ROSTER, SPEND
from deskmate.errors import DeskmateError
from deskmate.ports import Clock, Store
from deskmate.telemetry.span_export import SpanExport

EVERY_SECONDS = 5.0
# At the end of a run, and only if the collector has not failed before.
LAST_SECONDS = 2.0
_LOOK_SECONDS = 0.02
_LOG = logging.getLogger(__name__)


class LiveExport:
    """Exports one team for as long as this runs. A collector that does not answer is mentioned once and tried again.

    `place`: where the collector is, for people. `ends_run`: the team runs in this process, so its run is over when
    this ends.
    """

    def __init__(self, store: Store, clock: Clock, export: SpanExport, place: str, *, ends_run: bool) -> None:
        self._store, self._clock, self._span_export, self._place, self._ends_run = store, clock, export, place, ends_run
        self._failed, self._warned = False, False

    async def keep(self) -> NoReturn:
        """Export what is new, for as long as this runs, and once more at its end."""
        try:
            while True:
                await self._export()
                await self._clock.sleep(EVERY_SECONDS)
                reader = self._span_export.reader
                await self._store.changed({name: reader.number_of(name) for name in (ROSTER, BOARD, SPEND)})
        finally:
            if not self._failed:
                with anyio.move_on_after(LAST_SECONDS, shield=True) as scope:
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(self._cancel_on_trouble, scope)
                        await self._export(over=self._ends_run)
                        tasks.cancel_scope.cancel()
                if scope.cancelled_caught:
                    self._mention(self._span_export.trouble or "it does not answer in time")

    async def _cancel_on_trouble(self, scope: anyio.CancelScope) -> None:
        # The SDK tries again for seconds. A run that ends does not wait for that.
        while not self._span_export.trouble:  # noqa: ASYNC110 a thread of the SDK notices it
            await anyio.sleep(_LOOK_SECONDS)
        scope.cancel()

    async def _export(self, *, over: bool = False) -> None:
        try:
            await self._span_export.export(self._clock.timestamp(), over=over)
            self._failed = False
            self._mention(self._span_export.metrics_failure)
        except (OSError, DeskmateError) as error:
            self._failed = True
            self._mention(str(error))
        except Exception as error:
            # Such as a variable that the SDK cannot read. No run fails because of its telemetry.
            self._failed = True
            self._mention(f"{type(error).__name__}: {error}")

    def _mention(self, why: str) -> None:
        if why and not self._warned:
            self._warned = True
            _LOG.warning(
                "Telemetry does not reach %s: %s. The team continues, and Deskmate tries again. "
                "To send everything later, run: deskmate telemetry",
                self._place,
                why.rstrip("."),
            )
