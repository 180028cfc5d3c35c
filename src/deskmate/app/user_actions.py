"""What the user does to a team from any shell: mail, tasks, stop, accepted losses.

Each action appends records through the live objects of `runtime.streams`, under the same rules as any other append.
"""

import secrets
import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import anyio
from anyio import to_thread

from deskmate.app.user_answers import broadcast
from deskmate.config import environment, load, state_folder
from deskmate.core.agent import inbox
from deskmate.core.agent.rules.task_fit import untaken_text
from deskmate.core.log.names import ALL, LEAD, ROSTER, USER, mail, same_name, split_stream
from deskmate.core.team.board_rules import refusal
from deskmate.core.team.members import recipient_refusal
from deskmate.core.team.messages import Envelope, Plain, ShutdownRequest, ShutdownResponse, envelope_in
from deskmate.core.team.roster_records import MemberParked
from deskmate.core.team.status import status_detail, status_word
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Completed, Receipt, Task, blockers, freed_by, parse_id
from deskmate.core.values import frozen
from deskmate.errors import Refused, TaskRefused, ToolError, UnknownRecipient
from deskmate.queries.stream_reader import Reading, reading_of, telling
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.system_clock import SystemClock
from deskmate.tools.team.task_update import VERIFY_SECONDS, at_commit, failure, tail
from deskmate.trust.folders import current_folder, open_store
from deskmate.trust.known_secrets import redaction_of
from deskmate.trust.sandbox_choice import sandbox_of
from deskmate.trust.team_signature import Signing
from deskmate.workspace.local_workspace import LocalWorkspace

# A request is heard within 150 seconds and answered within 30 more. Then the process that runs the team ends it.
STOP_SECONDS = 200.0
_TOLD_SECONDS = 5.0
GO_ON_CUT = "The end of your transcript is lost. Continue without it."

Tell = Callable[[str], None]


@frozen
class Sent:
    """A message that is durably in its mailbox. `live`: whether a process runs the team."""

    team: str
    recipient: str
    live: bool


@frozen
class TaskChanged:
    """A task after the user's change. `waits_for`: the tasks that block it. `freed`: tasks that this unblocked.

    `untaken`: why nobody takes it, if so.
    """

    team: str
    task: Task
    waits_for: tuple[int, ...] = ()
    freed: tuple[int, ...] = ()
    untaken: str = ""


@frozen
class Stopped:
    """The result of a request to stop: the member left, refused with a reason, or neither in time."""

    team: str
    member: str
    end: Literal["left", "refused", "waiting"]
    words: str


async def send(folder: Path | None, team: str | None, name: str, text: str) -> Sent:
    """Send the user's text to a member, or to all. Raises UnknownRecipient with who is there."""
    if same_name(name, USER):
        raise UnknownRecipient("'user' is you", "Name a recipient, such as lead.")
    team, name = _placed(team, name)
    with open_team(folder, team) as opened:
        live = opened.reading.holder() is not None
        if same_name(name, ALL):
            reached = await broadcast(opened.mailbox, await opened.roster.refresh(), text)
            return Sent(opened.reading.team, ", ".join(reached), live)
        envelope = await opened.mailbox.send(name, Plain(content=text))
        return Sent(opened.reading.team, envelope.recipient, live)


async def add_task(folder: Path | None, team: str | None, new: NewTask) -> TaskChanged:
    """Put a task on the board. Raises TaskRefused if the rules do not allow it."""
    with open_team(folder, team) as opened:
        owner = new.owner and (await opened.roster.refresh()).spelled(new.owner)
        task = await opened.board.create(USER, replace(new, owner=owner))
        return replace(opened.changed(task), untaken=untaken_text(opened.roster.state, task))


async def assign_task(folder: Path | None, team: str | None, task: str, name: str) -> TaskChanged:
    """Give a task to a member. Raises TaskRefused if the member is not there or the task has ended."""
    with open_team(folder, team) as opened:
        owner = (await opened.roster.refresh()).spelled(name)
        return opened.changed(await opened.board.assign(USER, parse_id(task), owner))


async def drop_task(folder: Path | None, team: str | None, task: str) -> TaskChanged:
    """Delete a task and the dependencies on it. Raises TaskRefused if there is no such task."""
    id_ = parse_id(task)
    with open_team(folder, team) as opened:
        freed = freed_by(await opened.board.refresh(), id_)
        return opened.changed(await opened.board.delete(USER, id_), freed)


async def complete_task(folder: Path | None, team: str | None, task: str, tell: Tell) -> TaskChanged:
    """Mark a task as done. Raises TaskRefused if the rules or its verification refuse that.

    Its verify command runs in the given folder, by default the current one. `tell` gets the command and its output. An
    agent may have written the command, so it runs in the same sandbox as theirs.
    """
    id_ = parse_id(task)
    with open_team(folder, team) as opened:
        board = await opened.board.refresh()
        found = board.tasks.get(id_, Task(id_, ""))
        receipt = None
        if found.verify is not None:
            at = _standing(folder)
            receipt = Receipt(command=found.verify, workspace=str(at), exit=0, output="")
            # Run nothing for a task that could not be completed even if the command succeeds.
            if why := refusal(board, Completed(by=USER, at=0.0, task=id_, epoch=found.epoch, receipt=receipt)):
                raise TaskRefused(why)
            receipt = await _verified(await _bench(opened, at), found, receipt, at, tell)
        freed = freed_by(await opened.board.refresh(), id_)
        return opened.changed(await opened.board.complete(USER, id_, found.epoch, receipt=receipt), freed)


async def accept(folder: Path | None, team: str | None, lost: Iterable[tuple[str, int]]) -> None:
    """Record that the user accepts losses, by stream and number. Raises Refused for a record that is not lost.

    A member whose transcript has lost its end continues without it. Raises Held while a process runs that member.
    """
    with open_team(folder, team) as opened:
        # Lines that were added by hand may share a number.
        for stream, number in dict.fromkeys(lost):
            match split_stream(stream):
                case ("log", name):
                    await _accept_cut(opened, name)
                case _:
                    await (opened.roster.accept(number) if stream == ROSTER else opened.board.accept(USER, number))


async def _accept_cut(opened: "OpenTeam", name: str) -> None:
    async with opened.writer.store.hold(name, "the user, to accept a loss"):
        await (await Transcript.load(opened.writer, name)).accept_cut()
    member = (await opened.roster.refresh()).members[name]
    if not member.only_user:
        return
    if name == LEAD:
        # The lead runs when somebody resumes the team. The accepted loss must not block that any more.
        at = opened.writer.clock.timestamp()
        await opened.roster.status(MemberParked(name=name, reason="the user accepted the loss of its records", at=at))
    elif not inbox.lets_continue(member, inbox.fold(inbox.EMPTY, await opened.writer.store.read(mail(name)))):
        # One id for each time it was parked: if two users accept at once, it hears one message.
        await opened.mailbox.send(name, Plain(content=GO_ON_CUT), id_=f"{USER}:cut-{member.status_in}")


def _standing(folder: Path | None) -> Path:
    return (folder or current_folder()).absolute()


async def _bench(opened: "OpenTeam", at: Path) -> LocalWorkspace:
    """Return the team's workspace for the user. Commands may also write in the user's folder."""
    sandbox = await to_thread.run_sync(sandbox_of, load(environment()))
    sandbox = replace(sandbox, writable=(*sandbox.writable, at))
    reading = opened.reading
    return LocalWorkspace(
        reading.workspace, reading.team, USER, environ=environment(), sandbox=sandbox, redaction=redaction_of()
    )


async def _verified(workspace: LocalWorkspace, task: Task, receipt: Receipt, at: Path, tell: Tell) -> Receipt:
    tell(f"in {at}: {receipt.command}")
    # Outputs are saved in the team's workspace. The command runs in the user's folder.
    command = f"cd -- {shlex.quote(str(at))} || exit\n{receipt.command}"
    try:
        before = await workspace.revision()
        ran = await workspace.run(
            command, timeout_seconds=VERIFY_SECONDS, blob=f"{USER}-{time.time_ns() // 1000}-0.txt"
        )
    except ToolError as error:
        raise TaskRefused(f"Task #{task.id} is not done: {error}") from error
    if output := ran.output.strip():
        tell(output)
    if ran.exit != 0:
        raise TaskRefused(failure(task, ran))
    commit = at_commit(before, await workspace.revision()) if at == Path(workspace.root) else {}
    return receipt.model_copy(update={"output": tail(ran.output), **commit})


async def stop(
    folder: Path | None, team: str | None, name: str, tell: Tell, patience_seconds: float = STOP_SECONDS
) -> Stopped:
    """Ask a teammate to leave, and wait until it has left or refused. Raises Refused if no process runs the team.

    `tell` gets the progress meanwhile.
    """
    team, name = _placed(team, name)
    with open_team(folder, team) as opened:
        roster = await opened.roster.refresh()
        name = roster.spelled(name)
        if why := recipient_refusal(roster, name):
            raise UnknownRecipient(why)
        _check_stoppable(opened, name)
        heard = (await opened.writer.store.read(mail(USER)))[-1:]
        request = ShutdownRequest(request_id=f"{USER}:{secrets.token_hex(8)}")
        await opened.mailbox.send(name, request, id_=request.request_id)
        waiting = _Waiting(opened, name, request.request_id, heard[0].number if heard else 0)
        with anyio.move_on_after(patience_seconds):
            return await waiting.ended(tell)
        return waiting.told(
            "waiting", f"it has not left within {patience_seconds:.0f} s, and the request is still open"
        )


def _check_stoppable(opened: "OpenTeam", name: str) -> None:
    team, holder = opened.reading.team, opened.reading.holder()
    if name == USER:
        raise Refused("'user' is you", "Name a teammate.")
    if name == LEAD:
        raise Refused(
            f"The lead of team '{team}' cannot be asked to leave. It stops when the team stops",
            f"To stop the team, press Ctrl-C in the terminal of {holder}."
            if holder
            else "The team is not running now.",
        )
    if holder is None:
        raise Refused(
            f"Team '{team}' is not running, so '{name}' would not get the request",
            f"To continue the team, run: deskmate resume {team}",
        )


class _Waiting:
    """Waits for the result of one request to leave."""

    def __init__(self, opened: "OpenTeam", name: str, request: str, heard: int) -> None:
        self._opened, self._name, self._request, self._heard = opened, name, request, heard
        self._told = ""

    async def ended(self, tell: Tell) -> Stopped:
        while True:
            member = (await self._opened.roster.refresh()).members[self._name]
            if not member.here:
                return self.told("left", status_detail(member.status))
            if (why := await self._refusal()) is not None:
                return self.told("refused", why)
            if self._opened.reading.holder() is None:
                return self.told("waiting", f"the team is no longer running. To continue it, run: {self._resume()}")
            if (word := status_word(member.status)) != self._told:
                self._told = word
                tell(f"asked '{self._name}' to leave. It is {word}")
            await self._news()

    def told(self, end: Literal["left", "refused", "waiting"], words: str) -> Stopped:
        return Stopped(self._opened.reading.team, self._name, end, words)

    def _resume(self) -> str:
        return f"deskmate resume {self._opened.reading.team}"

    async def _news(self) -> None:
        since = {ROSTER: self._opened.roster.state.number, mail(USER): self._heard}
        # Nothing is written if the process that runs the team is killed, so look again after a while.
        with anyio.move_on_after(_TOLD_SECONDS):
            await self._opened.writer.store.changed(since)

    async def _refusal(self) -> str | None:
        for item in await self._opened.writer.store.read(mail(USER), self._heard):
            self._heard = item.number
            match envelope_in(item):
                case Envelope(sender=self._name, message=ShutdownResponse(approve=False) as answer) if (
                    answer.request_id == self._request
                ):
                    return answer.content
        return None


class OpenTeam:
    """A team opened for the user. All records are written in the user's name."""

    def __init__(self, reading: Reading, writer: LogWriter) -> None:
        self.reading, self.writer = reading, writer
        self.roster = Roster(writer)
        self.board = Board(writer, self.roster)
        self.mailbox = Mailbox(USER, writer, self.roster)

    def changed(self, task: Task, freed: Iterable[Task] = ()) -> TaskChanged:
        """Return a task as it is now."""
        return TaskChanged(
            self.reading.team, task, tuple(blockers(self.board.state, task)), tuple(one.id for one in freed)
        )


@contextmanager
def open_team(folder: Path | None, team: str | None) -> Iterator[OpenTeam]:
    """Open a team for the user. Raises Refused for a team that somebody else began."""
    reading = reading_of(folder, team)
    signing(reading.workspace).check(reading.team)
    with telling(reading.workspace), open_store(reading.workspace, reading.team) as store:
        yield OpenTeam(reading, LogWriter(store, SystemClock(), redaction_of()))


def _placed(team: str | None, name: str) -> tuple[str | None, str]:
    """Return team and name of a member that may be given as `name@team`."""
    bare, at, other = name.partition("@")
    return (other.lower(), bare) if at and team in (None, other.lower()) else (team, name)


def signing(workspace: Path) -> Signing:
    """Return what shows which teams of a workspace are this user's own."""
    return Signing(state_folder(environment()), workspace)
