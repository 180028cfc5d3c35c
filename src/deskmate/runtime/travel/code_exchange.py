"""Bundles sent and received, with what lead and members say about them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from anyio import to_thread

from deskmate.core.log.names import CODE, code_of
from deskmate.core.travel.code_records import EMPTY, BundleSent, CodeEvent, CodeState, Payload, fold
from deskmate.core.travel.code_routes import route
from deskmate.errors import ToolError
from deskmate.runtime.streams.log_writer import Folded, LogWriter
from deskmate.runtime.travel.payload_travel import receive, send
from deskmate.runtime.travel.travel_ports import Bundles, Incoming


class CodeExchange:
    """The code of one team, as one process sends and receives it.

    `incoming`: returns the file in which a payload arrives.
    """

    def __init__(self, writer: LogWriter, bundles: Bundles, incoming: Callable[[Payload], Incoming]) -> None:
        self.writer, self.bundles, self._incoming = writer, bundles, incoming
        self._streams = dict[str, Folded[CodeState]]()

    async def of_lead(self) -> CodeState:
        """Read what the lead has said."""
        return await self._folded(CODE).refresh()

    async def of(self, member: str) -> CodeState:
        """Read what a member has said."""
        return await self._folded(code_of(member)).refresh()

    def _folded(self, stream: str) -> Folded[CodeState]:
        return self._streams.setdefault(stream, Folded(self.writer.store, stream, EMPTY, fold))

    async def say(self, stream: str, event: CodeEvent) -> int:
        """Append a record, and return its number."""
        [record] = await self.writer.append(stream, event.body())
        return record.number

    async def send_bundle(self, stream: str, tip: str, needs: tuple[str, ...]) -> None:
        """Send everything that a commit has and others have not, and say so. Raises ToolError if it is too large."""
        with disk_trouble():
            file = await to_thread.run_sync(self.bundles.pack, tip, needs)
            await send(self.writer, file)
            at = self.writer.clock.timestamp()
            await self.say(stream, BundleSent(tip=tip, needs=needs, payload=file.payload, at=at))
            await to_thread.run_sync(self.bundles.sent)

    async def bring(
        self,
        bundles: Sequence[BundleSent],
        tip: str,
        keep: Callable[[str], None],
        within: Collection[str] | None = None,
    ) -> None:
        """Bring a commit into the repository from these bundles. Raises ToolError if that is not possible.

        `keep`: called with each commit that was brought. `within`: what a bundle may build on besides those before it,
        None if its sender is trusted.
        """
        named = {commit for bundle in bundles for commit in (bundle.tip, *bundle.needs)}
        known = await to_thread.run_sync(self.bundles.known, named | {tip})
        steps = route(bundles, known, tip)
        if steps is None:
            raise ToolError(f"Commit {tip[:12]} was not sent, or builds on commits that are not here.")
        for step in steps:
            file = await self.fetch(step.payload)
            try:
                with disk_trouble():
                    await to_thread.run_sync(self.bundles.take, file.path, step, within)
                    await to_thread.run_sync(keep, step.tip)
            finally:
                # If git refuses it, it is no better the next time.
                file.discard()
            within = None if within is None else [*within, step.tip]

    async def fetch(self, payload: Payload) -> Incoming:
        """Receive a file. Discard it after use."""
        file = self._incoming(payload)
        with disk_trouble():
            await receive(self.writer.store, file)
        return file


@contextmanager
def disk_trouble() -> Iterator[None]:
    """Turn an error of the disk, such as a full one, into a ToolError. It must not end an agent or the lead."""
    try:
        yield
    except OSError as error:
        raise ToolError(f"Code could not be sent or received: {error}. Tell the user.") from error
