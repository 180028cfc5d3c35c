"""Commands and subagents that run in the background.

When a job ends, the agent is woken and records the end when it next listens. No job outlives the process. The model
is told which jobs a restart cut off.
"""

import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

import anyio

from deskmate.core.agent.entries import Ended
from deskmate.core.agent.tool_results import Result
from deskmate.core.policy.redaction import Redaction
from deskmate.core.prompt.call_texts import call_text
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.errors import ToolError
from deskmate.ports import Workspace
from deskmate.runtime.perform.calls.tool_calls import keep, outcome
from deskmate.runtime.task_groups import PlayTasks

_TOLD = 2_000
_CUT = "It was cut off when Deskmate stopped. Start it again if you still need it."


@dataclass(slots=True)
class Job:
    """One job in the background, while it runs and after."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)
    end: Ended | None = None
    result: Result | None = None
    printed: LiveOutput | None = None


class BackgroundJobs:
    """The jobs of one agent. They run while it plays."""

    def __init__(
        self,
        member: str,
        tasks: PlayTasks,
        workspace: Workspace,
        wake: Callable[[], None],
        redaction: Redaction,
        seconds_left: Callable[[], float],
    ) -> None:
        self._member, self._tasks, self._workspace, self._wake = member, tasks, workspace, wake
        self._redaction, self._seconds_left = redaction, seconds_left
        self._jobs: dict[str, Job] = {}

    def ended(self, open_: Iterable[str]) -> list[Ended]:
        """Return the ends of these jobs, as far as they have ended. A job unknown in this process was cut off."""
        jobs = {id_: self._jobs.get(id_) for id_ in sorted(open_)}
        ends = [job.end if job else Ended(background=id_, status="cut off", text=_CUT) for id_, job in jobs.items()]
        return [end for end in ends if end]

    def start(self, kind: str, work: Callable[[str], Awaitable[Result]], printed: LiveOutput | None = None) -> str:
        """Start work and return its id."""
        id_ = kind + secrets.token_hex(3)
        job = self._jobs[id_] = Job(printed=printed)
        self._tasks.start_soon(self._go_on, id_, job, work)
        return id_

    async def output(self, id_: str, *, block: bool, timeout_seconds: float) -> Result:
        """Return the result of a job, or what it has printed so far. With `block`, wait for its end first."""
        job = self._job(id_)
        if block:
            # Never wait longer than the run may still take.
            with anyio.move_on_after(max(0.0, min(timeout_seconds, self._seconds_left()))):
                await job.ended.wait()
        return job.result or Result(f"{id_} is still running.{self._so_far(job)}")

    def _so_far(self, job: Job) -> str:
        """Return a sentence with what a job has printed, if it is a job that prints."""
        if job.printed is None:
            return ""
        printed = self._redaction.text(job.printed.tail())
        return f" It has printed so far:\n{printed}" if printed else " It has printed nothing yet."

    async def stop(self, id_: str) -> Result:
        """Stop a job and return once it has ended. Raises ToolError if it had ended before."""
        job = self._job(id_)
        if job.result:
            raise ToolError(f"{id_} has already ended. To see its result: {call_text('TaskOutput', task_id=id_)}.")
        job.scope.cancel()
        await job.ended.wait()
        return Result(f"{id_} is stopped.")

    def _job(self, id_: str) -> Job:
        if id_ not in self._jobs:
            known = f"You started {', '.join(self._jobs)}." if self._jobs else "You have started no background work."
            raise ToolError(f"There is no background work '{id_[:40]}'. {known}")
        return self._jobs[id_]

    async def _go_on(self, id_: str, job: Job, work: Callable[[str], Awaitable[Result]]) -> None:
        status, result = "stopped", Result(f"{id_} was stopped.", ok=False)
        with job.scope:
            result = await outcome(id_, work(id_), self._redaction)
            status = "completed" if result.ok else "failed"
        if job.scope.cancelled_caught:
            result = Result(f"{result.text}{self._so_far(job)}", ok=False)
        job.end, job.result = await self._end(id_, status, result.text), result
        job.ended.set()
        self._wake()

    async def _end(self, id_: str, status: str, text: str) -> Ended:
        """Return the end of a job. Of a long text it has the beginning, and says where the whole text is."""
        if len(text) <= _TOLD:
            return Ended(background=id_, status=status, text=text)
        blob, rest = await keep(self._workspace, f"{self._member}-{id_}", text)
        told = f"{text[:_TOLD]}\n… {len(text) - _TOLD:,} more characters. {rest}"
        return Ended(background=id_, status=status, text=told, blob=blob)
