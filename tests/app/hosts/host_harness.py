"""HostSpace: hosts as processes, and a lead in this one, around a server and a provider on this machine.

The story: the lead puts tasks on the board and starts teammates. Each teammate writes the number of its task into a
file, unless it is there, and completes the task. A script depends on its conversation alone, so it continues after a
kill.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from deskmate.app import Feed, Outcome, RunRequest, load, run
from deskmate.app.hosts.host_actions import look_at_hosts
from deskmate.core.hosts.placement import SeenHost
from deskmate.core.log.names import BOARD, ROSTER
from deskmate.core.log.records import Item, Record
from deskmate.core.prompt.prompts import CallBlock, ResultBlock, Spoke, Told
from deskmate.core.team import members, roster_fold
from deskmate.core.team.members import RosterState
from deskmate.runtime.events import TeamEvent
from deskmate.stores.engines.engine_table import engine_of
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.scripts import Script
from deskmate.testing.team_scripts import all_texts, step
from deskmate.trust.chosen_engine import close_engines

SOON = 120
TEAM, RESULTS = "main", "results.txt"
AT_THE_GATE = "until [ -e gate ]; do sleep 0.1; done"

# -- the story ------------------------------------------------------------------------------------


def starts(tasks: int, teammates: Sequence[dict[str, object]]) -> Callable[[Asked], Say]:
    """Return a lead that creates tasks and starts teammates, and then waits."""
    made = [Use("TaskCreate", {"subject": f"number {number}"}) for number in range(1, tasks + 1)]
    started = [Use("Task", {"prompt": "You work.", **teammate}) for teammate in teammates]

    # An answer has at most 128 calls.
    parts = [Say("I create tasks.", made[begin : begin + 100]) for begin in range(0, tasks, 100)]
    says = [*parts, Say("I start the team.", started)]

    def lead(asked: Asked) -> Say:
        return says[step(asked)] if step(asked) < len(says) else Say("I wait.")

    return lead


def works(before: str = "true") -> Callable[[Asked], Say]:
    """Return a teammate that does its tasks, each after a command. What was interrupted, it does again."""

    def teammate(asked: Asked) -> Say:
        given = re.findall(r"Task #(\d+) is yours now", "\n".join(all_texts(asked)))
        done = Use("TaskUpdate", {"taskId": given[-1], "status": "completed"}) if given else None
        if done is None or has_done(asked, done):
            return Say("Ready.")
        command = f"{before}; grep -qx {given[-1]} {RESULTS} 2>/dev/null || echo {given[-1]} >> {RESULTS}"
        work = Use("bash", {"command": command})
        return Say(calls=[done]) if has_done(asked, work) else Say("I work.", [work])

    return teammate


def has_done(asked: Asked, use: Use) -> bool:
    """Return whether a model was told that a call of its succeeded."""
    same = set[str]()
    for passage in asked.prompt.passages:
        match passage:
            case Spoke(blocks=spoken):
                calls = [one for one in spoken if isinstance(one, CallBlock)]
                same |= {one.id for one in calls if (one.tool, one.arguments) == (use.tool, use.arguments)}
            case Told(blocks=told):
                if any(isinstance(one, ResultBlock) and one.ok and one.id in same for one in told):
                    return True
    return False


def story(lead: Script, teammate: Script) -> dict[str, Script]:
    """Return the script of both."""
    return {"the lead of team": lead, "teammate on team": teammate}


# -- where it is played ---------------------------------------------------------------------------


@dataclass
class HostSpace:
    """Hosts and leads with one store. `place`: the folder that all of them work in."""

    url: str
    place: Path
    home: Path
    provider: FakeProvider
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    events: list[TeamEvent] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a user whose models are at the provider."""
        dropped = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL")
        kept = {key: value for key, value in os.environ.items() if key not in dropped}
        own = {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": self.provider.url}
        named = {"DESKMATE_MODEL": "anthropic:claude-sonnet-4-5", "DESKMATE_STORE": self.url}
        return {**kept, **own, **named, "HOME": str(self.home)}

    def start(self, name: str, *more: str, slots: int = 4, inside: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start a host. What it prints goes to a file."""
        return self._begin(name, [*inside, *self._words("host", "--name", name, "--slots", str(slots), *more)])

    def lead(self, goal: str) -> subprocess.Popen[bytes]:
        """Start a lead in a process of its own."""
        return self._begin("lead", self._words("run", goal, "--permission-mode", "bypass"))

    def _words(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "deskmate", "-C", str(self.place), *words, "--no-sandbox"]

    def _begin(self, name: str, words: list[str]) -> subprocess.Popen[bytes]:
        with self.printed(name).open("ab") as file:
            process = subprocess.Popen(
                words,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self.processes.append(process)
        return process

    def printed(self, name: str) -> Path:
        """Return the file with what a host printed."""
        return self.home / f"{name}.txt"

    async def up(self, *names: str) -> None:
        """Return once these hosts offer slots."""
        await self.fact(lambda seen: {one.name for one in seen if one.state == "up"} >= set(names))

    async def fact(self, is_so: Callable[[list[SeenHost]], bool]) -> list[SeenHost]:
        """Return the hosts once something is so of them, bounded."""
        with anyio.fail_after(SOON):
            while not is_so(seen := await look_at_hosts(self.place)):  # noqa: ASYNC110 - it is in another process
                await anyio.sleep(0.2)
        return seen

    async def eventually(self, is_so: Callable[[], bool]) -> None:
        """Return once something is so of what is on the server, bounded."""
        with anyio.fail_after(SOON):
            while not await anyio.to_thread.run_sync(is_so):  # noqa: ASYNC110 - it is on the server
                await anyio.sleep(0.2)

    async def run(self, goal: str | None = "Do it.", *, soon: float = SOON, **more: object) -> Outcome:
        """Run the lead in this process to its end."""
        feed = Feed()
        feed.listen(self.events.append)
        flags = {"permission_mode": "bypass", "sandbox": False, "isolation": "shared", **more}
        request = RunRequest(self.place, goal, None, load(self.environ, flags), continues=goal is None)
        with anyio.fail_after(soon):
            return await run(request, feed)

    def items(self, stream: str) -> list[Item]:
        """Return a stream of the team."""
        engine = engine_of(self.url, self.place)
        try:
            return engine.look(TEAM, lambda words, kind="other": None).items(stream)
        finally:
            engine.close()

    def roster(self) -> RosterState:
        """Return the roster of the team."""
        return roster_fold.fold(members.EMPTY, self.items(ROSTER))

    def done(self) -> list[int]:
        """Return the tasks that were completed, once for each record that says so."""
        bodies = [item.body for item in self.items(BOARD) if isinstance(item, Record)]
        return sorted(int(str(body["task"])) for body in bodies if body["type"] == "task_completed")

    def results(self) -> list[int]:
        """Return the numbers in the file that the teammates wrote."""
        return sorted(map(int, (self.place / RESULTS).read_text().split()))

    def open_gate(self) -> None:
        """Let teammates go on that wait `AT_THE_GATE`."""
        (self.place / "gate").touch()

    async def has_results(self, least: int, soon: float = SOON) -> None:
        """Return once there are so many numbers in that file."""
        file = self.place / RESULTS
        with anyio.fail_after(soon):
            while not file.exists() or len(self.results()) < least:  # noqa: ASYNC110 - other processes write it
                await anyio.sleep(0.1)

    def where(self) -> dict[str, list[str]]:
        """Return the hosts that each teammate was placed on, in this order."""
        found: dict[str, list[str]] = {}
        for item in self.items(ROSTER):
            if isinstance(item, Record) and item.body["type"] == "member_placed":
                found.setdefault(str(item.body["name"]), []).append(str(item.body.get("host", "")))
        return found


@asynccontextmanager
async def host_space(
    url: str, tmp_path: Path, script: dict[str, Script], address: str = "127.0.0.1"
) -> AsyncIterator[HostSpace]:
    """Yield a space without hosts. Those that were started end with it."""
    place, home = tmp_path / "place", tmp_path / "home"
    place.mkdir()
    home.mkdir()
    async with FakeProvider(script, check=False, address=address) as provider:
        space = HostSpace(url, place, home, provider)
        os.environ["DESKMATE_STORE"] = url
        try:
            yield space
        finally:
            del os.environ["DESKMATE_STORE"]
            close_engines()
            for process in space.processes:
                process.send_signal(signal.SIGKILL)
                process.wait()
