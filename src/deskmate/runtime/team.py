"""The team: the agents that run are kept equal to the members that have not left.

Spawning is a record on the roster; here it becomes somebody who plays. The lead is played by who opened the team.
"""

from collections.abc import Mapping
from typing import NoReturn

from anyio.abc import TaskGroup

from deskmate.core.members import Member
from deskmate.core.names import ROSTER
from deskmate.ports import Launcher
from deskmate.runtime.office import Office
from deskmate.runtime.supervisor import Supervisor


class Team:
    """Has every teammate played, each by the launcher it was spawned for."""

    def __init__(self, office: Office, launchers: Mapping[str, Launcher], tasks: TaskGroup) -> None:
        self._office, self._launchers, self._tasks = office, launchers, tasks
        self._kept: set[str] = set()

    async def keep(self) -> NoReturn:
        """Have whoever joins played, for as long as this runs."""
        roster, store = self._office.roster, self._office.pen.store
        while True:
            for member in (await roster.refresh()).teammates:
                if member.here and member.name not in self._kept:
                    self._kept.add(member.name)
                    self._tasks.start_soon(Supervisor(self._office, member.name, self._launcher(member)).keep)
            await store.changed({ROSTER: roster.state.number})

    def _launcher(self, member: Member) -> Launcher:
        # One that this version does not know is played here rather than not at all.
        name = member.joined.launcher if member.joined else ""
        return self._launchers.get(name, self._launchers["inline"])
