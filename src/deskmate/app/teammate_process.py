"""One teammate in its own process.

`launchers` starts and ends it, with `deskmate play`. The teammate gets the same parts as in the lead's process.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio import TASK_STATUS_IGNORED, to_thread
from anyio.abc import TaskStatus
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deskmate.app.build import TeamParts, team_parts_of, team_state_of
from deskmate.app.parts.asked_models import sandbox_and_client
from deskmate.config import DEFAULT_MODELS, Settings, load
from deskmate.config.settings import Written
from deskmate.core.team.caps import Caps
from deskmate.core.values import frozen
from deskmate.errors import BadInput, Conflict, Held, Refused, StoreCorrupt, StoreError
from deskmate.launchers.process import CORRUPT_EXIT, ProcessLauncher
from deskmate.ports import Clock
from deskmate.runtime.event_lines import from_line
from deskmate.runtime.events import Feed
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState
from deskmate.trust.approvals import consent_to
from deskmate.trust.chosen_engine import engine_at, use_store
from deskmate.trust.folders import home_of, known_team, open_store, workspace_of
from deskmate.trust.team_signature import Signing

# A process is ended after six times this long without a sign of life.
BEAT_SECONDS = 10.0
# What `play` raises if the member's records were cut or changed, and how its process must end then.
CORRUPTIONS = (StoreCorrupt, Conflict)
__all__ = ["CORRUPTIONS", "CORRUPT_EXIT", "TeammateOrder", "TeammateRun", "count_other_team", "in_processes", "play"]


class TeammateOrder(BaseModel):
    """What a process gets on its stdin. `settings`: override the file and the environment, and include keys.

    `approved`: the project files that are used, by path, with the SHA-256 of each. None if the folder is not trusted.
    `wait`: wait for the seat. `seconds`: how long the run has taken.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    settings: dict[str, Any] = Field(default_factory=dict, repr=False)
    approved: dict[str, str] | None = None
    wait: bool = False
    seconds: float = 0.0


@frozen
class TeammateRun:
    """What one process runs. `workspace`: where to look for one, by default from the current folder."""

    workspace: Path | None
    team: str
    name: str
    settings: Settings
    approved: dict[str, str] | None = None
    wait: bool = False
    seconds: float = 0.0

    @classmethod
    def told(
        cls, workspace: Path | None, team: str, name: str, line: bytes, environ: Mapping[str, str]
    ) -> "TeammateRun":
        """Return the run that the first line on stdin describes. Raises BadInput or BadSettings."""
        try:
            order = TeammateOrder.model_validate_json(line)
        except ValidationError:
            # Without its cause, which may show a key.
            raise BadInput(
                "The first line on stdin must be a JSON object with settings",
                "This command is only for use by Deskmate itself.",
            ) from None
        return cls(workspace, team, name, load(environ, order.settings), order.approved, order.wait, order.seconds)


async def play(part: TeammateRun, feed: Feed, beat: Callable[[], None], finishing: anyio.Event | None = None) -> None:
    """Run a teammate until it leaves, or after its step once `finishing` is set.

    Calls `beat` at once and every ten seconds.

    Raises Refused if there is no such teammate, Held if another process runs it and `part.wait` is false.
    """
    place, settings = workspace_of(part.workspace), part.settings
    use_store(place, settings.store)
    team = known_team(place, part.team)
    Signing(settings.state, place).check(team)
    with open_store(place, team) as store:
        team_state = team_state_of(store, settings, feed, seconds=part.seconds)
        async with task_group() as tasks:
            tasks.start_soon(_beat, beat, team_state.writer.clock)
            await tasks.start(count_other_team, Signing(settings.state, place), team, team_state)
            teammates = {member.name for member in (await team_state.roster.refresh()).teammates}
            if part.name not in teammates:
                there = ", ".join(sorted(teammates)) or "nobody"
                raise Refused(f"There is no teammate '{part.name}' in team '{team}'", f"Teammates: {there}")
            sandbox, client = await sandbox_and_client(settings)
            consent = consent_to(place, part.approved)
            async with client:
                team_parts = team_parts_of(place, team, settings, team_state, client, sandbox, consent, part.name)
                await team_parts.play(part.name, wait=part.wait, alone=True, finishing=finishing)
            tasks.cancel_scope.cancel()


async def _beat(beat: Callable[[], None], clock: Clock) -> None:
    while True:
        beat()
        await clock.sleep(BEAT_SECONDS)


async def count_other_team(
    signing: Signing, team: str, team_state: TeamState, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED
) -> None:
    """Count what the lead's other team spends, which may begin and end while this runs, and what closed ones spent.

    Calls `started` after the first look.
    """
    place, home, budget = signing.workspace, home_of(signing.workspace, team), team_state.budget
    counted: str | None = None

    async def look(stores: ExitStack) -> str | None:
        other = signing.team_from(home) if team == home else home
        budget.elsewhere = await to_thread.run_sync(engine_at(place).spent_in_archive, home)
        if other != counted:
            store = stores.enter_context(open_store(place, other)) if other else None
            budget.count(Budget(team_state.writer.into(store), Caps()) if store else None)
        return other

    with ExitStack() as stores:
        counted = await look(stores)
        task_status.started()
        while True:
            await team_state.writer.clock.sleep(BEAT_SECONDS)
            # While a team is closed, its files move. It is looked at again after the next beat.
            with suppress(StoreError, Refused):
                counted = await look(stores)


def in_processes(team_parts: TeamParts) -> ProcessLauncher:
    """Return the launcher that runs teammates with the same parts, each in its own process."""
    team_state, place = team_parts.team_state, Path(team_parts.workspace.root)

    def order() -> str:
        # For each process: the user may have chosen another model since.
        settings = team_parts.settings.model_copy(update={"model": team_parts.models(None).name})
        written, approved = _written(settings), team_parts.consent.approved
        return TeammateOrder(
            settings=written, approved=approved, wait=True, seconds=team_state.budget.seconds
        ).model_dump_json()

    def hear(line: bytes) -> None:
        if (event := from_line(line)) is not None:
            team_state.feed.tell(event)

    async def sweep(name: str) -> None:
        # If somebody holds the seat again, that process has done this already.
        with suppress(Held):
            async with team_state.writer.store.hold(name, "the launcher, to end what was left running"):
                await team_parts.sweep(name)

    team = team_state.roster.state.team
    return ProcessLauncher(place, team, order, hear, sweep, team_state.writer.clock)


def _written(settings: Settings) -> dict[str, Any]:
    """Return settings as a file would have them."""
    written = settings.model_dump(mode="json", include=set(Written.model_fields), exclude_none=True)
    for name, provider in settings.described_providers.items():
        if provider.key:
            table = written if name in DEFAULT_MODELS else written["providers"]
            table[name]["key"] = provider.key.get_secret_value()
    return written
