"""The lead's side of code that travels: it answers members, takes in their work and shows them the branch.

The branch moves only in the merge queue. What a member sends is kept under the name of that member, whatever the
bundle says, and the queue merges it as it merges work from a tree on this machine.
"""

import logging
import re
from collections.abc import Sequence
from typing import Protocol

import anyio
from anyio import to_thread

from deskmate.core.log.names import CODE, ROSTER, code_of
from deskmate.core.travel.code_records import BranchAt, CodeReady, CodeRefused, CodeState, Payload
from deskmate.core.travel.code_routes import is_reached
from deskmate.errors import ToolError
from deskmate.runtime.team_state import TeamState
from deskmate.runtime.travel.code_exchange import CodeExchange, disk_trouble
from deskmate.runtime.travel.payload_travel import send
from deskmate.runtime.travel.travel_ports import Outgoing

_LOG = logging.getLogger(__name__)
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# A member offers its last work. Its older bundles are merged, or it has built on them.
_MOST_BUNDLES = 200


class BranchSource(Protocol):
    """The branch of the team on the lead's machine."""

    async def begin(self) -> str:
        """Return the commit that it is at. Let it begin if it does not exist."""

    def tip(self) -> str | None:
        """Return the commit that it is at, or None if there is no such branch. Blocks."""

    def kept(self, what: str) -> str | None:
        """Return the commit that is kept under a name, or None. Blocks."""

    def keep(self, what: str, commit: str) -> None:
        """Keep a commit and all before it from being collected. Blocks."""

    def files(self) -> Outgoing | None:
        """Return the ignored files that every tree gets, if there are any. They are kept until `files_sent`. Blocks."""

    def files_sent(self) -> None:
        """Delete what was kept for sending. Blocks."""


class LeadCode:
    """The code of one team."""

    def __init__(self, team_state: TeamState, exchange: CodeExchange, branch: BranchSource) -> None:
        self._team_state, self._exchange, self._branch = team_state, exchange, branch
        self._turn = anyio.Lock()

    async def keep(self) -> None:
        """Answer what members want, until cancelled."""
        roster, store = self._team_state.roster, self._exchange.writer.store
        while True:
            members = [one.name for one in (await roster.refresh()).members.values() if one.isolated and one.here]
            since = {ROSTER: roster.state.number}
            for name in members:
                state = await self._exchange.of(name)
                since[code_of(name)] = state.number
                if state.wish and not (await self._exchange.of_lead()).answer(name, state.wanted):
                    await self._answer(name, state)
            await store.changed(since)

    async def _answer(self, member: str, wanted: CodeState) -> None:
        async with self._turn:
            at = self._exchange.writer.clock.timestamp()
            answer: CodeReady | CodeRefused
            try:
                tip = await self._branch.begin()
                # First for those that have the branch as it was.
                await self._publish(tip)
                await self._send(tip, wanted.wish.has if wanted.wish else ())
                own = await self._own_work(member, tip)
                files = await self._send_files()
                answer = CodeReady(member=member, wanted=wanted.wanted, tip=tip, own=own, files=files, at=at)
            except ToolError as error:
                answer = CodeRefused(member=member, wanted=wanted.wanted, reason=str(error), at=at)
                _LOG.warning("The code could not be sent to '%s': %s", member, error)
            await self._exchange.say(CODE, answer)

    async def _send(self, tip: str, has: Sequence[str]) -> None:
        """Send a commit to those that have others, unless bundles that were sent before are enough."""
        if not is_reached((await self._exchange.of_lead()).bundles, has, tip):
            needs = await to_thread.run_sync(self._exchange.bundles.bases, tip, has)
            # Nothing is new if it is before a commit that they have.
            if tip not in needs:
                await self._exchange.send_bundle(CODE, tip, needs)

    async def _own_work(self, member: str, tip: str) -> str | None:
        """Send what a member last offered, if that is not merged. It may come from another machine."""
        own = await to_thread.run_sync(self._branch.kept, f"offers/{member}")
        if own is None or await to_thread.run_sync(self._exchange.bundles.is_in, own, tip):
            return None
        await self._send(own, [tip])
        return own

    async def _send_files(self) -> Payload | None:
        with disk_trouble():
            files = await to_thread.run_sync(self._branch.files)
            if files is None:
                return None
            await send(self._exchange.writer, files)
            await to_thread.run_sync(self._branch.files_sent)
        return files.payload

    async def publish(self, tip: str) -> None:
        """Show the branch to members on other machines. If it cannot be sent, they stay where they are for now."""
        async with self._turn:
            try:
                await self._publish(tip)
            except ToolError as error:
                _LOG.warning("The branch could not be sent to other machines: %s", error)

    async def _publish(self, tip: str) -> None:
        state = await self._exchange.of_lead()
        if state.tip is None or state.tip == tip or not await self._somebody_is_away():
            return
        await self._send(tip, [state.tip])
        await self._exchange.say(CODE, BranchAt(tip=tip, at=self._exchange.writer.clock.timestamp()))

    async def _somebody_is_away(self) -> bool:
        members = (await self._team_state.roster.refresh()).members.values()
        isolated = [member.name for member in members if member.isolated and member.here]
        return any([(await self._exchange.of(name)).wish for name in isolated])

    async def bring(self, member: str, commit: str) -> None:
        """Bring the work that a member offers into the repository. Does nothing for a member on this machine.

        Raises ToolError if it was not sent, is damaged, or has anything that the member may not send.
        """
        state = await self._exchange.of(member)
        if not state.number:
            return
        if not _COMMIT.fullmatch(commit):
            raise ToolError(f"{ascii(commit)[:80]} is not a commit.")
        offers = f"offers/{member}"
        kept = await to_thread.run_sync(self._branch.kept, offers)
        if kept == commit:
            # It was brought before, or its member offered it on this machine.
            return
        tip = await to_thread.run_sync(self._branch.tip)
        if tip and await self._has(commit) and await to_thread.run_sync(self._exchange.bundles.is_in, commit, tip):
            return
        bundles = state.bundles[-_MOST_BUNDLES:]
        if commit not in {bundle.tip for bundle in bundles}:
            raise ToolError(f"'{member}' has not sent commit {commit[:12]}.")
        within = [one for one in (tip, kept) if one]

        def keep(step: str) -> None:
            self._branch.keep(offers, step)

        await self._exchange.bring(bundles, commit, keep, within)
        await to_thread.run_sync(keep, commit)

    async def _has(self, commit: str) -> bool:
        return bool(await to_thread.run_sync(self._exchange.bundles.known, [commit]))
