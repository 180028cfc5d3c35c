"""ProcessTeam: a team on disk whose teammate runs in a process of its own, and a story for both."""

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from deskmate.app.build import team_parts_of, team_state_of
from deskmate.app.parts.asked_models import client_of
from deskmate.app.teammate_process import in_processes
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.prompt.prompts import CallBlock, ResultBlock, Spoke, TextBlock, Told
from deskmate.core.team.members import Member
from deskmate.core.team.roster_records import Joined, PolicySet
from deskmate.launchers.process import ProcessLauncher
from deskmate.runtime.events import Feed, TeamEvent
from deskmate.runtime.team_state import TeamState
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.scripts import Script
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from tests.scenarios.app_harness import TEAM, AppHarness

ALICE = "alice"
SOON = 60

# -- the story ------------------------------------------------------------------------------------


def told(asked: Asked) -> str:
    """Return all that a model was told so far, results included."""
    blocks = [block for passage in asked.prompt.passages if isinstance(passage, Told) for block in passage.blocks]
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock | ResultBlock))


def used(asked: Asked, tool: str) -> bool:
    """Tell whether a model has called a tool."""
    blocks = [block for passage in asked.prompt.passages if isinstance(passage, Spoke) for block in passage.blocks]
    return any(isinstance(block, CallBlock) and block.tool == tool for block in blocks)


def lead(asked: Asked) -> Say:
    """Give alice something to do, ask her to stop once she has written that she is done, and then answer."""
    if not used(asked, "Task"):
        task = Use("TaskCreate", {"subject": "build it"})
        return Say("Alice shall build it.", [task, Use("Task", {"name": ALICE, "prompt": "You build."})])
    if "it is built" in told(asked) and not used(asked, "SendMessage"):
        return Say(calls=[Use("SendMessage", {"type": "shutdown_request", "recipient": ALICE})])
    return Say("Alice has built it." if used(asked, "SendMessage") else "I wait for Alice.")


def builds(command: str) -> Callable[[Asked], Say]:
    """Return a teammate that runs a command for its task, whatever comes of it, says so to the lead and is done."""

    def alice(asked: Asked) -> Say:
        if "is yours now" not in told(asked):
            return Say("Ready.")
        if not used(asked, "bash"):
            return Say("I build.", [Use("bash", {"command": command})])
        if not used(asked, "TaskUpdate"):
            done = Use("TaskUpdate", {"taskId": "1", "status": "completed"})
            return Say(calls=[done, Use("SendMessage", {"recipient": LEAD, "content": "it is built"})])
        return Say("Done.")

    return alice


def story(alice: Script) -> dict[str, Script]:
    """Return the script of both."""
    return {"the lead of team": lead, "teammate on team": alice}


# -- processes ------------------------------------------------------------------------------------


async def fact(is_so: Callable[[], bool]) -> None:
    """Return once something is so, bounded."""
    for _ in range(SOON * 100):
        if is_so():
            return
        await anyio.sleep(0.01)
    raise AssertionError("it never came about")


def running(pid: int) -> bool:
    """Tell whether a process runs: one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (FileNotFoundError, ProcessLookupError):
        return False


async def number_in(path: Path) -> int:
    """Return the number in a file, once it is there whole."""
    await fact(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


def environment(home: Path, provider: FakeProvider) -> dict[str, str]:
    """Return the environment of a user whose models are at that provider."""
    own = {"HOME": str(home), "ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": provider.url}
    dropped = ("DESKMATE_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
    return {key: value for key, value in os.environ.items() if key not in dropped} | own


def typed(*words: str) -> list[str]:
    """Return the words of a command of ours."""
    return [sys.executable, "-m", "deskmate", *words]


# -- a team ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProcessTeam:
    """A team whose lead nobody plays, with alice on its roster."""

    team_state: TeamState
    launcher: ProcessLauncher
    events: list[TeamEvent]

    async def member(self) -> Member:
        """Return alice as the roster has her."""
        return (await self.team_state.roster.refresh()).members[ALICE]


@asynccontextmanager
async def process_team(harness: AppHarness, provider: FakeProvider, **flags: object) -> AsyncIterator[ProcessTeam]:
    """Have a team on disk, as the lead's process has it."""
    settings = harness.settings(provider, "anthropic", **flags)
    async with AsyncExitStack() as stack:
        store = JsonlStore.open(harness.place, TEAM, create=True)
        stack.callback(store.close)
        harness.sign()
        await stack.enter_async_context(store.hold(LEAD, "a test"))
        events: list[TeamEvent] = []
        feed = Feed()
        feed.listen(events.append)
        team_state = team_state_of(store, settings, feed)
        await team_state.roster.found(TEAM)
        await team_state.roster.permit(PolicySet(by=LEAD, mode=Mode.DONT_ASK, attended=False, at=0.0))
        await team_state.roster.join(Joined(name=ALICE, prompt="You build.", launcher="process", at=0.0))
        client = await stack.enter_async_context(client_of(settings))
        team_parts = team_parts_of(harness.place, TEAM, settings, team_state, client, Sandbox(Level.NONE))
        yield ProcessTeam(team_state, in_processes(team_parts), events)
