"""TeamRunner: one scenario after another in the same folder, in one call each. See `deskmate.testing.scenario`."""

from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from types import MappingProxyType

import anyio
import pytest

from deskmate.app import Listener
from deskmate.core.team.messages import Message
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.system_clock import SystemClock
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing import FakeProvider, Scenario, TeamRun
from deskmate.testing.provider_faults import Plan
from deskmate.testing.team_run import FIRST_TEAM as TEAM
from deskmate.testing.team_scripts import MemberScript, TeamScripts

GOAL = "Go."
# For a run that hangs. On a machine with much else to do, twenty teammates can take a minute.
SOON = 240
NO_FAULTS: Plan = MappingProxyType({})


@dataclass(frozen=True)
class TeamRunner:
    """Runs scenarios in one folder, with teammates launched in one way."""

    folder: Path
    launcher: str
    environ: pytest.MonkeyPatch

    async def play(
        self,
        scripts: TeamScripts | MemberScript,
        *listeners: Listener,
        faults: Plan = NO_FAULTS,
        team: str = TEAM,
        goal: str = GOAL,
        **settings: object,
    ) -> TeamRun:
        """Run a new team to its end."""
        async with self.scenario(scripts, faults, settings) as scenario:
            return await scenario.run(goal, *listeners, team=team)

    async def resume(
        self,
        scripts: TeamScripts | MemberScript,
        *listeners: Listener,
        faults: Plan = NO_FAULTS,
        goal: str | None = None,
        **settings: object,
    ) -> TeamRun:
        """Resume the first team and run it to its end."""
        async with self.scenario(scripts, faults, settings) as scenario:
            return await scenario.resume(goal, *listeners)

    def scenario(
        self,
        scripts: TeamScripts | MemberScript = MappingProxyType({}),
        faults: Plan = NO_FAULTS,
        settings: dict[str, object] | None = None,
    ) -> Scenario:
        """Return a scenario in this folder that is not open yet."""
        return Scenario(self.folder, scripts, launcher=self.launcher, faults=faults, seconds=SOON, **(settings or {}))

    @property
    def place(self) -> Path:
        """The workspace."""
        return self.folder / "work"

    def file(self, path: str) -> str:
        """Return the text of a file in the workspace."""
        return (self.place / path).read_text()

    def connect(self, provider: FakeProvider) -> None:
        """Let every process that is started from here on ask this provider."""
        self.environ.setenv("ANTHROPIC_API_KEY", "sk-test")
        self.environ.setenv("ANTHROPIC_BASE_URL", provider.url)

    def in_between(self, deed: Callable[[LogWriter, Roster], Awaitable[object]]) -> None:
        """Do something to the team's streams as another process would, while this one waits."""

        async def do() -> None:
            with closing(JsonlStore.open(self.place, TEAM)) as store:
                writer = LogWriter(store, SystemClock())
                await deed(writer, Roster(writer))

        # A loop of its own: an agent that tells a listener something waits until the listener returns.
        thread = Thread(target=anyio.run, args=(do,))
        thread.start()
        thread.join()

    def send(self, sender: str, recipient: str, message: Message) -> None:
        """Send something in a member's name, while this process waits."""
        self.in_between(lambda writer, roster: Mailbox(sender, writer, roster).send(recipient, message))
