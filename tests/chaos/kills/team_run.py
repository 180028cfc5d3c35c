"""Run a team of processes, and kill some of them once the team has written so many records.

`test_team_kills` says whom and when. The lead is a fork of the warm process; its teammates are started by the product.
"""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.chaos.files.independent_reader import look
from tests.chaos.kills.agent_evidence import ledger
from tests.chaos.kills.agent_story import HOLD, LEDGER
from tests.chaos.kills.team_evidence import GONE_SECONDS, players, survivors
from tests.scenarios.team import story
from tests.warm_program import ROOT, WarmRun, begin_deskmate

GOAL = "Let the service speak GraphQL."
LOOK_SECONDS = 0.002
ENOUGH_SECONDS = 90.0
# What verifies the last task signs for its call, and is not over at once. Who finds HOLD takes it away and never ends.
# It is taken away before the signature: who is killed at that leaves none for the next to find.
SIGNED = (
    f'rm {HOLD} 2>/dev/null && held=yes\necho "$DESKMATE_CALL" >> {LEDGER}\n[ -n "$held" ] && sleep 1000\nsleep 0.03\n'
)
BEFORE = {**story.BEFORE, "check.sh": SIGNED + story.CHECK}

Target = Literal["lead", "teammate", "everything"]


def fill(workspace: Path) -> None:
    """Put there what the story begins with."""
    for path, content in BEFORE.items():
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)


def typed(workspace: Path, launcher: str) -> list[str]:
    """Return what a person types who wants the goal reached: as much as was not said before."""
    team = workspace / ".teams" / "main"
    if not look(team / "roster.jsonl").records:
        deed = ["run", GOAL, "--new-team", "main"]
    elif not look(team / "lead_inbox.jsonl").records:
        deed = ["resume", "main", GOAL]
    else:
        deed = ["resume", "main"]
    return ["-C", str(workspace), *deed, "--permission-mode", "dontAsk", "--no-sandbox", "--launcher", launcher]


def records(workspace: Path) -> int:
    """Return how many records the team has written."""
    return sum(path.read_bytes().count(b"\n") for path in workspace.glob(".t*/*/*.jsonl"))


@dataclass(frozen=True)
class Kill:
    """Who is killed once there are so many records, and so many commands began: by its name where it is a teammate."""

    target: Target
    number: int = 0
    name: str = ""
    commands: int = 0

    def due(self, workspace: Path) -> bool:
        """Tell whether its time has come."""
        if records(workspace) < self.number or len(ledger(workspace)) < self.commands:
            return False
        return self.target != "teammate" or self.name in players(workspace).values()

    def strike(self, workspace: Path, lead: int) -> None:
        """Kill in no order in particular, and nobody's commands with them."""
        playing = players(workspace)
        if self.target == "teammate":
            pids = [pid for pid, name in playing.items() if name == self.name]
        else:
            pids = [lead, *(playing if self.target == "everything" else ())]
        for pid in random.Random(self.number).sample(pids, len(pids)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class KilledTeam:
    """A team in processes.

    `met`: how many kills met somebody. `left`: what still ran when the lead had been killed.
    """

    def __init__(self, workspace: Path, environ: Mapping[str, str], *, patient: bool = False) -> None:
        self._workspace, self._environ, self._patient = workspace, dict(environ), patient
        self._out, self._err = workspace.with_suffix(".stdout"), workspace.with_suffix(".stderr")
        self.met = 0
        self.left: list[int] = []

    def outlive(self, *kills: Kill) -> str:
        """Run, and resume after each kill that ended the lead, until it ends by itself; return what it printed.

        With `patient`, processes left by a killed lead must end before the next lead begins.
        """
        left = list(kills)
        while True:
            with self.lead() as lead:
                struck = self._strike(lead, left)
                code = lead.wait(ENOUGH_SECONDS)
            if code != -signal.SIGKILL:
                return self.printed(code)
            self.left += survivors(self._workspace)
            # Who was killed could not end what it ran; who was left can.
            if struck == "lead" and self._patient:
                gone = until(lambda: not survivors(self._workspace), GONE_SECONDS)
                assert gone, f"{players(self._workspace)} did not end with their lead"

    @contextmanager
    def lead(self) -> Iterator[WarmRun]:
        """Have the lead's process run meanwhile: the first, or one that resumes. It is killed at the end."""
        with open(os.devnull, "rb") as nothing, self._out.open("wb") as out, self._err.open("wb") as err:
            files = (nothing.fileno(), out.fileno(), err.fileno())
            process = begin_deskmate(typed(self._workspace, "process"), folder=ROOT, env=self._environ, files=files)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def printed(self, code: int) -> str:
        """Return what the lead's last process printed, which must have ended well."""
        assert code == 0, f"it ended with {code}: {self._out.read_text()} {self._err.read_text()}"
        return self._out.read_text()

    def _strike(self, lead: WarmRun, left: list[Kill]) -> Target | None:
        """Carry out the kills that are left, up to one that ends the lead; return whom that was aimed at."""
        while left:
            if not until(lambda: lead.poll() is not None or left[0].due(self._workspace)) or lead.poll() is not None:
                return None
            kill = left.pop(0)
            kill.strike(self._workspace, lead.pid)
            self.met += 1
            if kill.target != "teammate":
                return kill.target
        return None


def end_all(folder: Path) -> None:
    """Kill whatever still runs in the workspaces of a folder: a run that failed may leave something."""
    for pid in (pid for workspace in folder.iterdir() for pid in survivors(workspace)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def until(fact: Callable[[], bool], seconds: float = ENOUGH_SECONDS) -> bool:
    """Wait for a fact, bounded; tell whether it came about."""
    deadline = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_SECONDS)
    return True
