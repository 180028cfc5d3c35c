"""Runs the hooks of an event together. The runtime sees it as `HookRunner`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deskmate.core.hooks.hook_inputs import HookSession
from deskmate.core.hooks.hook_outputs import HookRun
from deskmate.core.hooks.hook_tables import Hook, HookTable
from deskmate.core.log.names import LEAD
from deskmate.hooks.hook_process import HookPlace, run_command_hook

if TYPE_CHECKING:
    from anyio import CapacityLimiter

# At most this many hooks run at once in a process, and as many that nobody waits for.
_TOGETHER = 16


async def _run(hook: Hook, told: bytes, place: HookPlace, member: str) -> HookRun:
    if not hook.url:
        return await run_command_hook(hook, told, place, member)
    # Imported only if there is such a hook.
    from deskmate.hooks.hook_request import run_http_hook

    return await run_http_hook(hook, told, place.user)


class MachineHooks:
    """The hooks of one process, and how they are run on this machine."""

    def __init__(self, table: HookTable, place: HookPlace) -> None:
        self.table, self._place = table, place
        self.session_told = False
        self._told = set[str]()
        self._rooms: dict[bool, CapacityLimiter] = {}

    async def run(self, hooks: tuple[Hook, ...], told: bytes, session: HookSession) -> tuple[HookRun, ...]:
        """Run hooks together and return how each ended, in the same order."""
        # Imported here because the command line lists hooks without running any.
        import anyio

        member = session.member or LEAD
        place = replace(self._place, folder=Path(session.folder), team=self._team_of(session.team, member))
        ends: dict[int, HookRun] = {}

        async def run(index: int, hook: Hook) -> None:
            async with self._rooms.setdefault(hook.is_async, anyio.CapacityLimiter(_TOGETHER)):
                ends[index] = await _run(hook, told, place, member)

        async with anyio.create_task_group() as tasks:
            for index, hook in enumerate(hooks):
                tasks.start_soon(run, index, hook)
        return tuple(ends[index] for index in sorted(ends))

    def new_only(self, failures: tuple[str, ...]) -> tuple[str, ...]:
        """Return the failures that the user was not told of yet."""
        fresh = tuple(dict.fromkeys(failure for failure in failures if failure not in self._told))
        self._told.update(fresh)
        return fresh

    def transcript_path(self, team: str, name: str) -> str:
        """Return the file with the transcript of a member."""
        return str(self._place.records / ".teams" / self._team_of(team, name) / f"{name}_transcript.jsonl")

    def _team_of(self, team: str, member: str) -> str:
        """Return the team whose folder has the records of a member: for a lead and its subagents, its first team."""
        return self._place.team if member.partition(":")[0] == LEAD else team
