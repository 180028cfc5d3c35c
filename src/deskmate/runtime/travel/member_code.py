"""A member's side of code that travels, and its tree on another machine than the lead's."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from anyio import to_thread

from deskmate.core.log.names import CODE, code_of
from deskmate.core.travel.code_records import CodeReady, CodeRefused, CodeWanted, Payload
from deskmate.errors import ToolError
from deskmate.ports import MemberTree
from deskmate.runtime.travel.code_exchange import CodeExchange


class TeamClone(Protocol):
    """The repository of this machine, for one team. Only `turn` is asynchronous: the others block."""

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Keep other processes of this machine out."""

    def ends(self) -> Sequence[str]:
        """Return commits that it has, with everything before them."""

    def begin(self, tip: str) -> None:
        """Make it if it is missing, for commits like this one."""

    def move_branch(self, tip: str) -> None:
        """Let the branch of the team be at a commit, unless it is further."""

    def includes(self, files: Payload | None) -> bool:
        """Tell whether new trees get exactly these ignored files."""

    def include(self, files: Payload | None, archive: Path | None) -> None:
        """Let new trees get these ignored files."""

    def keep(self, what: str, commit: str) -> None:
        """Keep a commit and all before it from being collected."""


class MemberCode:
    """The code of one team, for one member on this machine."""

    def __init__(self, me: str, exchange: CodeExchange, clone: TeamClone) -> None:
        self._me, self._exchange, self._clone = me, exchange, clone

    async def begin(self, make: Callable[[str], object]) -> str:
        """Get what a tree needs, let `make` make it at a commit, and return that commit. Waits for the lead.

        It is that of the branch, or what this member last offered, here or elsewhere, and is not merged. Raises
        ToolError if the lead cannot send the branch.
        """
        ready = await self._answer()
        async with self._clone.turn():
            await to_thread.run_sync(self._clone.begin, ready.tip)
            await self._bring(ready.tip)
            if not await to_thread.run_sync(self._clone.includes, ready.files):
                await self._include(ready.files)
            commit = await self._own_work(ready) or ready.tip
            await to_thread.run_sync(make, commit)
            return commit

    async def _include(self, files: Payload | None) -> None:
        archive = await self._exchange.fetch(files) if files else None
        await to_thread.run_sync(self._clone.include, files, archive.path if archive else None)
        if archive:
            archive.discard()

    async def _answer(self) -> CodeReady:
        """Ask the lead for the branch, and wait until it has sent it. A question without an answer is not repeated."""
        own, lead = await self._exchange.of(self._me), await self._exchange.of_lead()
        wanted = own.wanted
        if not own.wish or lead.answer(self._me, own.wanted):
            has = tuple(await to_thread.run_sync(self._clone.ends))
            wish = CodeWanted(has=has, at=self._exchange.writer.clock.timestamp())
            wanted = await self._exchange.say(code_of(self._me), wish)
        while (answer := lead.answer(self._me, wanted)) is None:
            await self._exchange.writer.store.changed({CODE: lead.number})
            lead = await self._exchange.of_lead()
        if isinstance(answer, CodeRefused):
            raise ToolError(answer.reason)
        return answer

    async def _own_work(self, ready: CodeReady) -> str | None:
        """Return what this member last sent or offered, if that is not merged."""
        sent = (await self._exchange.of(self._me)).bundles
        last = ready.own

        def keep(commit: str) -> None:
            self._clone.keep(f"offers/{self._me}", commit)

        if ready.own:
            await self._exchange.bring((await self._exchange.of_lead()).bundles, ready.own, keep)
        if sent:
            await self._exchange.bring(sent, sent[-1].tip, keep)
            # The lead may not have seen it yet.
            last = ready.own if ready.own and await self._is_in(sent[-1].tip, ready.own) else sent[-1].tip
        if last is None or await self._is_in(last, ready.tip):
            return None
        await to_thread.run_sync(keep, last)
        return last

    async def _is_in(self, commit: str, other: str) -> bool:
        return await to_thread.run_sync(self._exchange.bundles.is_in, commit, other)

    async def sync(self) -> str:
        """Bring the branch of the team to where the lead last said it is. Return that commit."""
        tip = (await self._exchange.of_lead()).tip
        if tip is None:
            raise ToolError("The lead has not sent the branch of the team. Try again later.")
        async with self._clone.turn():
            await self._bring(tip)
        return tip

    async def _bring(self, tip: str) -> None:
        await self._exchange.bring((await self._exchange.of_lead()).bundles, tip, self._clone.move_branch)
        await to_thread.run_sync(self._clone.move_branch, tip)

    async def send(self, commit: str) -> None:
        """Send the work that a commit has, unless the lead has it. Raises ToolError if it is too large."""
        tip = await self.sync()
        sent = [bundle.tip for bundle in (await self._exchange.of(self._me)).bundles]
        if commit in sent or await self._is_in(commit, tip):
            return
        await to_thread.run_sync(self._exchange.bundles.check_offer, commit, tip)
        needs = await to_thread.run_sync(self._exchange.bundles.bases, commit, [tip, *sent[-1:]])
        await self._exchange.send_bundle(code_of(self._me), commit, needs)


class TravellingTree:
    """A tree on another machine: what it offers is sent to the lead, and the branch comes from there."""

    def __init__(self, own: MemberTree, code: MemberCode) -> None:
        self._own, self._code = own, code

    @property
    def branch(self) -> str:
        """The branch that the work is merged into."""
        return self._own.branch

    async def offer(self, message: str) -> str:
        """Commit everything that is new, and send it. Return the commit of the tree."""
        await self._code.sync()
        commit = await self._own.offer(message)
        await self._code.send(commit)
        return commit

    async def is_merged(self, commit: str) -> bool:
        """Tell whether the work of a commit is in the branch."""
        await self._code.sync()
        return await self._own.is_merged(commit)

    async def update(self) -> bool:
        """Bring the tree to the tip of the branch. Return False if it has work that is not merged."""
        await self._code.sync()
        return await self._own.update()

    async def merge_branch(self) -> None:
        """Merge the branch into the tree, and leave conflicts in the files."""
        await self._code.sync()
        await self._own.merge_branch()
