"""The process of a lead that nobody has a window on.

`start` starts it with the hidden command `deskmate play-lead`, and `run_detached` is what that command does. The
process belongs to nobody: it ends when the team has nothing left to do and no question is open. All that happens is in
the streams, so every face can show the team, answer its questions and continue it later.
"""

import json
import select
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deskmate.app.run_request import RunRequest
from deskmate.app.session import attended
from deskmate.app.session_events import Turns
from deskmate.app.sessions.team_session import TeamSession
from deskmate.config import load
from deskmate.config.project_settings import Project, limited
from deskmate.core.values import frozen
from deskmate.errors import BadInput, Refused
from deskmate.launchers.process import DESKMATE
from deskmate.runtime.events import Feed

# More than any goal and settings need.
ORDER_CAP = 2**20
# A repository of 50,000 files takes some seconds to save before the lead starts.
START_SECONDS = 120.0


class LeadOrder(BaseModel):
    """What the process of a lead gets as the first line on its stdin.

    `settings`: override the file and the environment. `limits`: what the client asked for, which can only narrow them.
    `continues`: continue the team, or the last one, instead of starting one. `by_clock`: only because something is due,
    so members that are parked or were interrupted do not continue.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    goal: str | None = None
    team: str | None = None
    continues: bool = False
    by_clock: bool = False
    settings: dict[str, Any] = Field(default_factory=dict)
    limits: Project = Project()

    @classmethod
    def told(cls, line: bytes) -> "LeadOrder":
        """Return the order on a line. Raises BadInput."""
        try:
            return cls.model_validate_json(line)
        except ValidationError:
            raise BadInput(
                "The first line on stdin must be a JSON object with an order",
                "This command is only for use by Deskmate itself.",
            ) from None

    def request(self, workspace: Path | None, environ: Mapping[str, str]) -> RunRequest:
        """Return the request of this order. Raises BadSettings."""
        settings = limited(load(environ, self.settings), self.limits, begins=not self.continues)
        return RunRequest(workspace, self.goal, self.team, settings, self.continues, watched=False)


@frozen
class StartedLead:
    """A lead that runs in a process of its own. `notes`: what the user should be told."""

    team: str
    mode: str
    notes: tuple[str, ...]


# -- in the process that starts it ----------------------------------------------------------------


async def start(place: Path, order: LeadOrder) -> StartedLead:
    """Start the process of a lead, and return once its team exists and its goal is recorded.

    Raises Refused with the reason if it could not start.
    """
    return await to_thread.run_sync(_start, place, order, abandon_on_cancel=True)


def _start(place: Path, order: LeadOrder) -> StartedLead:
    words = [*DESKMATE, "-C", str(place), "play-lead"]
    # Nothing here ends it: not a signal to this group of processes, nor the end of this process.
    with subprocess.Popen(
        words,
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(order.model_dump_json(exclude_defaults=True).encode() + b"\n")
            process.stdin.close()
        ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
        line = process.stdout.readline(ORDER_CAP) if ready else b""
    return _started(line)


def _started(line: bytes) -> StartedLead:
    try:
        match json.loads(line):
            case {"team": str(team), "mode": str(mode), "notes": list(notes)}:
                return StartedLead(team, mode, tuple(map(str, notes)))
            case {"error": str(error), "hint": str(hint)}:
                raise Refused(error, hint)
    except ValueError:
        pass
    raise Refused(
        "The process of the team ended or did not answer before it started",
        "To see which teams run, use: deskmate teams. To check the machine, run: deskmate doctor",
    )


# -- in the process of the lead -------------------------------------------------------------------


async def run_detached(request: RunRequest, tell: Callable[[TeamSession], None], *, by_clock: bool = False) -> str:
    """Run a team until it has nothing left to do and asks nothing. Calls `tell` once it runs. Return its name.

    `by_clock`: let nobody continue that is parked or was interrupted.
    """
    feed = Feed()
    async with attended(request, feed) as session:
        if request.continues and not request.goal and not by_clock:
            await _go_on(session)
        tell(session)
        turns = Turns(session)
        feed.listen(turns.hear)
        session.listen(turns.look)
        await nothing_left(session, turns)
        return session.home


async def nothing_left(session: TeamSession, turns: Turns) -> None:
    """Return when nobody has anything left to do, and no answer of the user would let somebody continue."""
    while True:
        asked = _waits(session)
        await turns.over()
        await session.look()
        if _waits(session):
            await session.looked()
        # A question that was answered just now is not open any more, and its member has not begun to continue yet.
        elif not asked and await turns.is_still() and not _waits(session):
            return


def _waits(session: TeamSession) -> bool:
    """Return whether an answer of the user would let somebody continue. It does not for interrupted members."""
    held = {member.name for member in session.members if member.held}
    return any(question.member.partition(":")[0] not in held for question in session.questions)


async def _go_on(session: TeamSession) -> None:
    """Let members continue that are parked or that the user interrupted."""
    for member in session.members:
        if member.here:
            with suppress(Refused):
                await session.go_on(member.name)


def answer_line(fields: Mapping[str, object]) -> str:
    """Return what the process tells the one that started it."""
    return json.dumps(fields) + "\n"
