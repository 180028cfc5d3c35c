"""The user's answers to questions, first words to the lead, and messages to all."""

import secrets
from typing import Literal, TypeAlias, get_args

from deskmate.core.log.names import LEAD, USER
from deskmate.core.mcp.forms import read_values
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.members import RosterState
from deskmate.core.team.messages import Broadcast, InputResponse, PermissionResponse, Plain, PlanResponse, SentImage
from deskmate.core.team.open_questions import Question
from deskmate.errors import BadInput, Refused
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.team_state import TeamState

Answer: TypeAlias = Literal["yes", "always", "no"]


def answer_to(question: Question, answer: Answer, words: str) -> PermissionResponse | PlanResponse | InputResponse:
    """Return the message that answers a question. Raises Refused for `always` if no rule can cover it.

    `words`: why not or, for a form, its values. Raises BadInput for anything that is not an answer, so that nothing is
    allowed by mistake.
    """
    if answer not in get_args(Answer):
        raise BadInput(f"{answer!r} does not answer a question", "Answer 'yes', 'always' or 'no'.")
    approve = answer != "no"
    if question.shake is Shake.PLAN:
        edits = True if answer == "always" else None
        return PlanResponse(request_id=question.id, approve=approve, accept_edits=edits, content=words)
    if answer == "always" and question.rule is None:
        raise Refused("'always' does not work here, because no rule can cover this question. Answer yes or no.")
    if question.input and approve:
        values = read_values(question.input.fields, words) if question.input.fields is not None else None
        return InputResponse(request_id=question.id, approve=True, values=values)
    if question.input:
        return InputResponse(request_id=question.id, approve=False, content=words)
    return PermissionResponse(request_id=question.id, approve=approve, content=words)


async def broadcast(mailbox: Mailbox, roster: RosterState, text: str) -> tuple[str, ...]:
    """Send text to every member of a team in the user's name. Return who was reached."""
    here = [name for name, member in roster.members.items() if member.here]
    id_ = f"{USER}:{secrets.token_hex(8)}"
    return (await mailbox.broadcast(here, Broadcast(content=text), id_=id_)).reached


async def tell(team_state: TeamState, words: str | None, images: tuple[SentImage, ...] | None = None) -> None:
    """Send words to the lead in the user's name, if there are any."""
    if words:
        await Mailbox(USER, team_state.writer, team_state.roster).send(LEAD, Plain(content=words, images=images))


def mailbox_in(team_state: TeamState) -> Mailbox:
    """Return the user's mailbox, to write to members of a team."""
    return Mailbox(USER, team_state.writer, team_state.roster)
