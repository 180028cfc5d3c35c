"""Headless: a run without a person ends only after every teammate has left.

A lead that rests on a quiet team is reminded once; if it rests again, all are asked to stop in its name, and it has one
last word.
"""

from deskmate.core.entries import Noticed
from deskmate.core.quiet import quiet
from deskmate.core.roles import Kind
from deskmate.core.view import View
from deskmate.runtime.dismissing import dismiss
from deskmate.runtime.mailbox import Mailbox
from deskmate.runtime.office import Office
from deskmate.runtime.transcript import Transcript
from deskmate.texts import text


class Headless:
    """How the lead of a run comes to its end. `dismissed`: its team was, and it gets no other."""

    def __init__(self, office: Office, transcript: Transcript, mailbox: Mailbox) -> None:
        self._office, self._transcript, self._mailbox = office, transcript, mailbox
        self._reminded = False
        self.dismissed = False

    def company(self, view: View) -> bool:
        """Tell whether the agent is a lead with teammates that have not left."""
        return view.me.kind is Kind.LEAD and any(member.here for member in view.roster.teammates)

    async def went_on(self, view: View) -> bool:
        """Do the next thing towards the end on a quiet team, and tell whether there was one."""
        if not quiet(view):
            return False
        if self._reminded:
            self.dismissed = True
            await dismiss(self._office, self._mailbox, "headless")
        else:
            self._reminded = True
            await self._transcript.record(
                Noticed(text=text("reminder"), roster=view.roster.number, board=view.board.number)
            )
        return True
