"""How a run without a person ends.

A lead that rests while its own background commands run is reminded of them once. Then they are stopped. A lead that
rests while its team is quiet is reminded each time the team becomes quiet. Then all teammates are asked to stop in its
name, and it gives a final answer. Reminders are in its transcript, so a restart changes nothing.
"""

from enum import Enum

from deskmate.core.agent.actions import Rest
from deskmate.core.agent.entries import Noticed
from deskmate.core.agent.rules.quiet import quiet
from deskmate.core.agent.view import View
from deskmate.core.log.names import is_command
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.team.status import Parked, Waiting
from deskmate.runtime.dismissal import dismiss
from deskmate.runtime.perform.step_scope import LAST_SECONDS
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.transcript import Transcript
from deskmate.runtime.team_state import TeamState
from deskmate.texts import filled, text


class Course(Enum):
    """What a resting agent does next: end, take another step, wait, or park because the time is up."""

    END = "end"
    GO_ON = "go on"
    WAIT = "wait"
    PARK = "park"


class Headless:
    """Decides how one agent of a run ends."""

    def __init__(self, team_state: TeamState, transcript: Transcript, mailbox: Mailbox) -> None:
        self._team_state, self._transcript, self._mailbox = team_state, transcript, mailbox

    async def course(self, view: View, rest: Rest) -> Course:
        """Take the next step towards the end, if there is one, and return what comes next."""
        company = view.me.kind is AgentKind.LEAD and any(member.here for member in view.roster.teammates)
        if _is_over(view, rest):
            return Course.WAIT if company and self._ends_steps(view) else Course.END
        if company and view.time_is_up:
            return Course.PARK
        # It may be waiting for something that takes longer than the run may.
        course = await self._course(view, rest, company=company)
        return Course.PARK if course is Course.WAIT and view.time_is_up else course

    def _ends_steps(self, view: View) -> bool:
        """Return whether teammates are still recording what the time limit cut."""
        return view.time_is_up and self._team_state.budget.seconds_left > -LAST_SECONDS and not quiet(view)

    async def _course(self, view: View, rest: Rest, *, company: bool) -> Course:
        if company and not quiet(view):
            return Course.WAIT
        if isinstance(rest.status, Waiting):
            # Subagents in the background end by themselves.
            if rest.status.on != "background" or not all(map(is_command, view.memory.background)):
                return Course.WAIT
            # A lead that is over a limit cannot call its model, so it could not answer.
            if not view.memory.background <= view.memory.reminded_of and not view.over:
                await self._remind_of_commands()
                return Course.GO_ON
        if not company:
            return Course.END
        await self._part(view)
        return Course.GO_ON

    async def _remind_of_commands(self) -> None:
        commands = self._transcript.running
        lines = "\n".join(f"- {id_}: {command[:200]}" for id_, command in commands.items())
        words = filled("running", {"commands": lines}, ())
        await self._transcript.record(Noticed(text=words, running=tuple(commands)))

    async def _part(self, view: View) -> None:
        """Remind a lead of its quiet team. Dismiss the team if the lead was reminded and nobody did anything since."""
        roster, here = view.roster, [member.name for member in view.roster.teammates if member.here]
        if not view.memory.dismissed.issuperset(here):
            if _is_new(view):
                words = text("reminder")
                news = Noticed(text=words, roster=roster.number, board=view.board.number, quiet=True)
                await self._transcript.record(news)
                return
            words = filled("dismissed", {"names": ", ".join(here)}, ())
            await self._transcript.record(Noticed(text=words, dismissed=tuple(here)))
        await dismiss(self._team_state, self._mailbox, "headless")


def _is_over(view: View, rest: Rest) -> bool:
    # Only the user could approve a plan of the lead.
    planned = rest.status == Waiting("plan") and view.me.kind is AgentKind.LEAD and not view.roster.attended
    return planned or isinstance(rest.status, Parked) or view.memory.interrupted


def _is_new(view: View) -> bool:
    """Return whether a teammate worked or left since the lead was reminded, not counting interrupted ones.

    Other statuses do not count: a teammate that was restarted, or could not be, shows one without having worked.
    """
    reminded = view.memory.reminded
    return reminded is None or any(
        max(member.worked_in, 0 if member.here else member.status_in) > reminded and not member.held
        for member in view.roster.teammates
    )
