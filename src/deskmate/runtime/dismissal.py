"""Asking a whole team to stop."""

from contextlib import suppress

from deskmate.core.log.names import ROSTER
from deskmate.core.team.messages import ShutdownRequest
from deskmate.errors import UnknownRecipient
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.team_state import TeamState

WORDS = "The team is being closed. Finish now and approve this request. It cannot be refused."


async def dismiss(team_state: TeamState, mailbox: Mailbox, cause: str) -> None:
    """Ask every teammate to stop, and return once all have left and none runs. Each must stop within its deadline.

    Can be repeated with the same `cause` after a crash. Nobody is asked twice.
    """
    roster, store = team_state.roster, team_state.writer.store
    for member in (await roster.refresh()).teammates:
        if member.here:
            request = ShutdownRequest(request_id=f"{cause}/{member.name}", content=WORDS, force=True)
            # It may leave before this is sent: a request of an earlier process can reach it at any moment.
            with suppress(UnknownRecipient):
                await mailbox.send(member.name, request, id_=request.request_id)
    while any(member.here for member in (await roster.refresh()).teammates):
        await store.changed({ROSTER: roster.state.number})
    for member in roster.state.teammates:
        # A member that has left still returns its mail and tasks, and keeps its seat until that is done.
        async with store.hold(member.name, "the lead, to see it gone", wait=True):
            pass
