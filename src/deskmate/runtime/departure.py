"""A member leaves: its tasks, its record, its mail.

Each part can be repeated, so after a crash half-way the member simply leaves again.
"""

from deskmate.core.log.names import mail
from deskmate.core.team.status import status_detail
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript


async def leave(
    transcript: Transcript, writer: LogWriter, roster: Roster, board: Board, *, reason: str, agreed: bool = False
) -> None:
    """Let a member leave: its tasks become free, and mail that it had not heard goes back to its senders.

    Call it only while holding the member's seat.
    """
    name = transcript.name
    member = (await roster.refresh()).members.get(name)
    # For an unknown member, `roster.leave` raises Refused.
    if member is None or member.here:
        # Heard mail is not returned. So the record that it was heard must be durable before the member leaves.
        await transcript.make_last()
        heard = transcript.memory.cursors.get(mail(name), 0)
        # Tasks first: a reader who sees that it left finds them free. Tasks it is given meanwhile are freed below.
        await board.give_back(name, note=_note(name, reason))
        await roster.leave(name, reason, heard=heard, agreed=agreed)
    await give_back(name, writer, roster, board)


async def give_back(name: str, writer: LogWriter, roster: Roster, board: Board) -> None:
    """Free the tasks of a member that has left, and return its unheard mail, as far as that is not done yet.

    Call it only while holding the member's seat.
    """
    await board.give_back(name, note=_note(name, status_detail(roster.state.members[name].status)))
    await Mailbox(name, writer, roster).give_back()


def _note(name: str, reason: str) -> str:
    return f"{name} left: {reason}"
