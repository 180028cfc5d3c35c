"""What an agent does for its team between two model calls.

For example: take a task, record news, report to the lead, agree to stop. Each can be repeated after a crash, because
its id is made of what caused it.
"""

from typing import assert_never

from deskmate.core.agent.actions import (
    Agree,
    Ask,
    Dismiss,
    Duty,
    Notice,
    Nudge,
    Permit,
    RemindOfCommands,
    RemindOfTeam,
    Report,
    Reread,
    SeeOff,
    Take,
)
from deskmate.core.agent.entries import Agreed, Noticed, Nudged, PermissionAsked, Reported, Said, WorkMode
from deskmate.core.agent.merge_texts import returned_text
from deskmate.core.agent.notices import (
    changes_text,
    digest,
    home_digest,
    lost_text,
    moved_text,
    no_plan_text,
    nudge_text,
    plan_nudge_text,
    reminder_text,
    taken,
    teammate_news,
)
from deskmate.core.agent.open_calls import OpenCall
from deskmate.core.agent.tool_results import Result
from deskmate.core.agent.work_mode import change_text
from deskmate.core.log.names import LEAD, USER
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import ASK_USER
from deskmate.core.team.handshakes import PlanVerdict
from deskmate.core.team.members import Member
from deskmate.core.team.messages import InputRequest, PermissionRequest, Plain, ShutdownResponse
from deskmate.core.team.roster_records import PolicySet
from deskmate.core.team.tasks import Task, TaskStatus
from deskmate.errors import BadInput, TaskRefused
from deskmate.ports import MemberTree
from deskmate.runtime.dismissal import dismiss
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_state import TeamState
from deskmate.texts import filled


def _question(call: OpenCall, asks: Ask) -> PermissionRequest | InputRequest:
    if call.tool == ASK_USER:
        from deskmate.core.user_questions import input_request

        return input_request(call.id, call.arguments)
    return PermissionRequest(
        request_id=call.id, tool=call.tool, arguments=dict(call.arguments), reason=asks.reason, rule=asks.rule
    )


class TeamDuties:
    """Carries out the team duties of one member."""

    def __init__(
        self,
        team_state: TeamState,
        transcript: Transcript,
        mailbox: Mailbox,
        tree: MemberTree | None = None,
        home: TeamState | None = None,
    ) -> None:
        self._team_state, self._transcript, self._mailbox, self._tree = team_state, transcript, mailbox, tree
        # The first team of a lead that works in another one.
        self._home = home

    async def do(self, duty: Duty, me: Member) -> None:
        """Carry out a duty and record it."""
        match duty:
            case Ask():
                await self._ask(duty)
            case Agree(request_id=request_id):
                await self._agree(request_id)
            case Permit(mode=mode, verdict=verdict):
                await self._permit(mode, verdict, me.name)
            case Take(task=task):
                await self._take(task, me)
            case Notice(away=str(away)):
                await self._move(away)
            case Notice(work_mode=WorkMode() as work_mode, closed=closed):
                words = change_text(me.name, self._transcript.memory.work_mode, work_mode)
                await self._transcript.record(Noticed(text=words, work_mode=work_mode, closed=closed or None))
            case Notice(team=str()):
                await self._notice_home()
            case Notice(lost=lost):
                await self._notice(lost)
            case Reread(task=task):
                await self._reread(task)
            case Nudge(task=0):
                round_ = self._transcript.memory.plan_round
                await self._transcript.record(Nudged(task=0, epoch=round_, text=plan_nudge_text(me.name)))
            case Report(task=0):
                await self._report_no_plan(me.name)
            case Nudge(task=task):
                found = self._team_state.board.state.tasks[task]
                await self._transcript.record(Nudged(task=task, epoch=found.epoch, text=nudge_text(found)))
            case Report(task=task):
                await self._report(task)
            case RemindOfCommands():
                await self._remind_of_commands()
            case RemindOfTeam():
                await self._remind_of_team(duty)
            case Dismiss(members=members):
                words = filled("dismissed", {"names": ", ".join(members)}, ())
                await self._transcript.record(Noticed(text=words, dismissed=members))
            case SeeOff():
                await self._see_off()
            case unreachable:
                assert_never(unreachable)

    async def _ask(self, asks: Ask) -> None:
        id_, reason = asks.call, asks.reason
        call = self._transcript.memory.calls[id_]
        try:
            request = _question(call, asks)
            await self._mailbox.send(USER, request, id_=f"ask/{id_}")
        except BadInput as error:
            # For example, it is too large for a message. A call that nobody can be asked about is denied.
            text = f"Denied: {reason}. The user could not be asked. {error}"
            await self._transcript.record(Result(text, ok=False).did(id_))
        else:
            await self._transcript.record(PermissionAsked(call=id_, request_id=id_))

    async def _agree(self, request_id: str) -> None:
        asker = self._transcript.memory.demands[request_id]
        response = ShutdownResponse(request_id=request_id, approve=True)
        await self._mailbox.send(asker, response, id_=f"agreed/{request_id}")
        await self._transcript.record(Agreed(request_id=request_id))

    async def _permit(self, mode: Mode, verdict: PlanVerdict, name: str) -> None:
        roster, at = self._team_state.roster, self._team_state.writer.clock.timestamp()
        # The lead's mode is the team's mode, unless it has its own.
        member = None if name == LEAD and LEAD not in roster.state.modes else name
        await roster.permit(PolicySet(by=verdict.by, member=member, mode=mode, at=at))

    async def _take(self, id_: int, me: Member) -> None:
        # None if others were faster. The next decision then sees the board as it is now.
        if task := await self._begun(self._team_state.board.state.tasks[id_], me):
            changes = await self._ready_tree(self._tree, task) if self._tree else ""
            await self._transcript.record(taken(task, self._team_state.board.state.number, changes))

    async def _ready_tree(self, tree: MemberTree, task: Task) -> str:
        """Bring the member's tree up to date for a task. Return what it must know, if its work came back."""
        if not task.returned:
            await tree.update()
            return ""
        await tree.merge_branch()
        return returned_text(task.id, tree.branch, task.returned)

    async def _begun(self, task: Task, me: Member) -> Task | None:
        """Return a task that the member now owns and has begun, or None. For a free task, take the lowest free one."""
        board = self._team_state.board
        if task.owner == me.name and task.status is TaskStatus.IN_PROGRESS:
            return task
        try:
            # Any free task will do: many members may have woken for this one, and each takes another.
            return await (board.claim(me, task.id) if task.owner else board.claim_next(me))
        except TaskRefused:
            return None

    async def _reread(self, id_: int) -> None:
        board, memory = self._team_state.board.state, self._transcript.memory
        task = board.tasks[id_]
        await self._transcript.record(taken(task, board.number, changes_text(task, memory.name, memory)))

    async def _notice(self, lost: tuple[int, ...]) -> None:
        board, roster = self._team_state.board.state, self._team_state.roster.state
        if lost:
            await self._transcript.record(Noticed(text=lost_text(board, lost), tasks=lost))
            return
        memory = self._transcript.memory
        is_lead = self._transcript.name == LEAD
        text = digest(roster, board, memory.noticed) if is_lead else teammate_news(roster, board, memory)
        await self._transcript.record(Noticed(text=text, roster=roster.number, board=board.number))

    async def _notice_home(self) -> None:
        assert self._home, "only a lead that works away from home is told of its home"
        board, roster = self._home.board.state, self._home.roster.state
        text = home_digest(roster, board, self._transcript.memory.in_team(roster.team).noticed)
        await self._transcript.record(Noticed(text=text, roster=roster.number, board=board.number, team=roster.team))

    async def _remind_of_team(self, reminder: RemindOfTeam) -> None:
        words = reminder_text(self._team_state.roster.state, self._home.roster.state if self._home else None)
        await self._transcript.record(
            Noticed(text=words, roster=reminder.roster, board=reminder.board, quiet=True, home=reminder.home)
        )

    async def _see_off(self) -> None:
        """Ask all dismissed teammates to stop, at once in both teams of a lead, and wait until they have left."""
        async with task_group() as tasks:
            tasks.start_soon(dismiss, self._team_state, self._mailbox, "headless")
            if self._home and self._transcript.memory.dismissed_at_home:
                mailbox = Mailbox(LEAD, self._home.writer, self._home.roster)
                tasks.start_soon(dismiss, self._home, mailbox, "headless")

    async def _move(self, away: str) -> None:
        board, roster = self._team_state.board.state, self._team_state.roster.state
        text = moved_text(roster, self._home.roster.state if self._home else None)
        await self._transcript.record(Noticed(text=text, away=away, roster=roster.number, board=board.number))

    async def _remind_of_commands(self) -> None:
        commands = self._transcript.running
        lines = "\n".join(f"- {id_}: {command[:200]}" for id_, command in commands.items())
        words = filled("running", {"commands": lines}, ())
        await self._transcript.record(Noticed(text=words, running=tuple(commands)))

    async def _report_no_plan(self, name: str) -> None:
        """Tell the approver that there is no plan, with the texts of the turns that should have ended with one."""
        round_ = self._transcript.memory.plan_round
        said = [entry.text for _, entry in self._transcript.entries if isinstance(entry, Said) and not entry.calls]
        message = Plain(content=no_plan_text(name, said[-2:]), summary="in plan mode, submitted no plan")
        await self._mailbox.send(USER if name == LEAD else LEAD, message, id_=f"{name}:no-plan/{round_}")
        await self._transcript.record(Reported(task=0, epoch=round_))

    async def _report(self, id_: int) -> None:
        task = self._team_state.board.state.tasks[id_]
        # Mail contains only its sender's own words, so it gives the number of the task, not its subject.
        words = f"I am idle, and my task #{id_} is unfinished."
        summary = f"idle, #{id_} unfinished"
        await self._mailbox.send(LEAD, Plain(content=words, summary=summary), id_=f"rests/{id_}.{task.epoch}")
        await self._transcript.record(Reported(task=id_, epoch=task.epoch))
