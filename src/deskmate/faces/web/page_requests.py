"""What the user does on the page, checked and carried out.

Each request is a class. Its fields are what may be sent, and nothing else is accepted.
"""

from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Any, Literal

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from deskmate.app import question_answers, user_actions
from deskmate.app.detached.client_limits import refuse_more
from deskmate.app.detached.lead_process import LeadOrder, start
from deskmate.core.team.task_fields import NewTask

# A cap on costs is for each team, so a page that is left alone must not start any number of them.
MOST_TEAMS = 8

Text = Annotated[str, Field(min_length=1, max_length=200_000)]
MemberName = Annotated[str, Field(min_length=1, max_length=64)]
Line = Annotated[str, Field(min_length=1, max_length=500)]


class PageRequest(BaseModel):
    """Something that the user wants done in a team."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @abstractmethod
    async def carry_out(self, folder: Path, team: str) -> dict[str, Any]:
        """Do it and return what came of it. Raises DeskmateError."""


class MessageRequest(PageRequest):
    """Send a message to a member, or to `all`."""

    to: MemberName
    text: Text

    async def carry_out(self, folder: Path, team: str) -> dict[str, Any]:
        """Send it."""
        sent = await user_actions.send(folder, team, self.to, self.text)
        return {"recipient": sent.recipient, "running": sent.live}


class AnswerRequest(PageRequest):
    """Answer an open question. The first answer counts."""

    id: Annotated[str, Field(min_length=1, max_length=400)]
    answer: Literal["yes", "always", "no"]
    words: Annotated[str, Field(max_length=20_000)] = ""

    async def carry_out(self, folder: Path, team: str) -> dict[str, Any]:
        """Answer it."""
        seen = await question_answers.answer(folder, team, self.id, self.answer, self.words)
        return {"running": seen.live}


class TaskRequest(PageRequest):
    """Put a task on the board."""

    subject: Line
    description: Annotated[str, Field(max_length=100_000)] = ""
    role: Line | None = None
    owner: MemberName | None = None
    blocked_by: Annotated[list[Annotated[int, Field(ge=1)]], Field(max_length=100)] = []

    async def carry_out(self, folder: Path, team: str) -> dict[str, Any]:
        """Add it."""
        new = NewTask(
            subject=self.subject,
            description=self.description,
            role=self.role,
            owner=self.owner,
            blocked_by=frozenset(self.blocked_by),
        )
        changed = await user_actions.add_task(folder, team, new)
        return {"task": changed.task.id, "untaken": changed.untaken}


class InterruptRequest(PageRequest):
    """Interrupt a member. It rests until the user or the lead writes to it."""

    member: MemberName

    async def carry_out(self, folder: Path, team: str) -> dict[str, Any]:
        """Send the interrupt."""
        sent = await user_actions.interrupt(folder, team, self.member)
        return {"recipient": sent.recipient, "running": sent.live}


class StopRequest(PageRequest):
    """Ask a teammate to leave."""

    member: MemberName

    async def carry_out(self, folder: Path, team: str) -> dict[str, Any]:
        """Send the request. The page shows when the teammate has left, or why it refused."""
        sent = await user_actions.ask_to_stop(folder, team, self.member)
        return {"recipient": sent.recipient, "running": sent.live}


class ResumeRequest(PageRequest):
    """Continue a team that is not running, in a process of its own. Without text, its members go on with their work."""

    text: Text | None = None

    async def carry_out(self, folder: Path, team: str) -> dict[str, Any]:
        """Start its process."""
        return await _started(folder, {"goal": self.text, "team": team, "continues": True})


class TeamRequest(PageRequest):
    """Start a team in a process of its own. It goes on if the page is closed. Limits can only narrow the settings."""

    goal: Text
    name: MemberName | None = None
    permission_mode: Literal["plan", "default", "acceptEdits", "dontAsk"] | None = None
    max_cost: Annotated[float, Field(gt=0, le=1_000_000)] | None = None

    async def carry_out(self, folder: Path, team: str) -> dict[str, Any]:
        """Start its process. `team` is not used: a new team chooses its name."""
        asked = self.model_dump(include={"permission_mode", "max_cost"}, exclude_none=True)
        return await _started(folder, {"goal": self.goal, "team": self.name, "limits": asked})


async def _started(folder: Path, order: dict[str, Any]) -> dict[str, Any]:
    await to_thread.run_sync(refuse_more, folder, MOST_TEAMS)
    begun = await start(folder, LeadOrder.model_validate(order))
    return {"team": begun.team, "mode": begun.mode, "notes": list(begun.notes)}


# By the last part of the address, below `/api/teams/TEAM/`.
REQUESTS: dict[str, type[PageRequest]] = {
    "messages": MessageRequest,
    "answers": AnswerRequest,
    "tasks": TaskRequest,
    "interrupts": InterruptRequest,
    "stops": StopRequest,
    "resumes": ResumeRequest,
}
