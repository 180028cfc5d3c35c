"""What waits for a person's answer.

A member asks by mail: the user for a permission or a choice, the lead or the user for approval of a plan. During a
call, an MCP server asks the user for input, or a command for a host that it wants to reach. A question is open until
its answer is in the asker's mailbox, or its call began or ended without one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any, Literal

from deskmate.core.agent.entries import Began, Did, Ended, Noticed, read_entry
from deskmate.core.log.names import IN_CHARGE, USER, log
from deskmate.core.log.records import Item, Record
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.members import RosterState
from deskmate.core.team.messages import (
    Envelope,
    InputRequest,
    InputResponse,
    PermissionRequest,
    PermissionResponse,
    PlanRequest,
    PlanResponse,
    envelope_in,
)
from deskmate.core.values import frozen


@frozen
class Question:
    """What a member asks: whether it may make exactly this call, or do what its plan says.

    `member`: the asker; for a subagent, the id of the call that started it. `rule`: the rule that would allow all calls
    like it. `input`: what an MCP server or a command asks for during a call of the asker, or the asker itself. `team`:
    the asker's, if the question was in the user's mailbox, which is for all teams of a lead.
    """

    id: str
    member: str
    at: float
    shake: Literal[Shake.PERMISSION, Shake.PLAN, Shake.INPUT]
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    plan: str = ""
    rule: str | None = None
    team: str = ""
    input: InputRequest | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What identifies it, even if a question in another team of the lead has the same id."""
        return self.id, str(self.at)

    @property
    def is_choice(self) -> bool:
        """Whether the asker itself wants an answer. Nothing is allowed by it, and nothing leaves the team."""
        return self.takes_values and not self.of_server

    @property
    def of_server(self) -> bool:
        """Whether an MCP server asks. Then a no needs no words."""
        return self.input is not None and bool(self.input.server)

    @property
    def takes_values(self) -> bool:
        """Whether a yes may need values."""
        return self.input is not None and self.input.host is None


@frozen
class QuestionFold:
    """The fold of what was asked and answered. `asked`: by id, without questions known to be over.

    The rest are ids: `answered` of questions, `began` and `ended` of calls that run and that have a result.
    """

    asked: Mapping[str, Question] = field(default_factory=dict)
    answered: frozenset[str] = frozenset()
    began: frozenset[str] = frozenset()
    ended: frozenset[str] = frozenset()

    def open(self, roster: RosterState) -> tuple[Question, ...]:
        """Return the open questions in the order they were asked. Members that left have none."""
        return tuple(one for one in self.asked.values() if _asks(roster, one))


EMPTY = QuestionFold()


def _asks(roster: RosterState, question: Question) -> bool:
    """Tell whether the asker is here. A member of the same name in an earlier team is not."""
    member = roster.members.get(question.member.partition(":")[0])
    return member is not None and member.here and (member.joined is None or member.joined.at <= question.at)


def read_mail(questions: QuestionFold, roster: RosterState, items: Iterable[Item]) -> QuestionFold:
    """Return the questions after these items of a mailbox: those asked of its owner, and the answers it got."""
    asked, answered = dict(questions.asked), set(questions.answered)
    for envelope in filter(None, map(envelope_in, items)):
        if (question := _question(envelope)) and question.team in ("", roster.team):
            # A member that comes back after a crash asks again under the same id. So does a member of that name in
            # another team.
            if question.id not in asked or not _asks(roster, asked[question.id]):
                asked = {id_: one for id_, one in asked.items() if id_ != question.id and not _replaces(question, one)}
                asked[question.id] = question
        elif id_ := answered_id(envelope):
            answered.add(id_)
    return _pruned(replace(questions, asked=asked, answered=frozenset(answered)))


def _replaces(question: Question, older: Question) -> bool:
    """Tell whether this is a newer plan of the same member."""
    return question.shake is older.shake is Shake.PLAN and question.member == older.member


def _pruned(questions: QuestionFold) -> QuestionFold:
    asked = {id_: one for id_, one in questions.asked.items() if not _is_over(questions, one)}
    return replace(questions, asked=asked)


def _is_over(questions: QuestionFold, question: Question) -> bool:
    if question.id in questions.answered or question.member in questions.ended:
        return True
    if question.input:
        return question.input.call in questions.ended
    # A plan stays open even after the call that submitted it has its result.
    is_plan = question.shake is Shake.PLAN
    return not is_plan and (question.id in questions.began or question.id in questions.ended)


def _question(envelope: Envelope) -> Question | None:
    sender, at = envelope.sender, envelope.timestamp
    match envelope.message:
        case PermissionRequest(request_id=id_, tool=tool, arguments=arguments, reason=reason, rule=rule) if (
            envelope.recipient == USER
        ):
            return Question(id_, sender, at, Shake.PERMISSION, tool, arguments, reason, rule=rule, team=envelope.team)
        case InputRequest(request_id=id_) as asked if envelope.recipient == USER:
            return Question(id_, sender, at, Shake.INPUT, rule=asked.rule, team=envelope.team, input=asked)
        case PlanRequest(request_id=id_, content=plan):
            return Question(id_, sender, at, Shake.PLAN, plan=plan, team=envelope.team)
    return None


def answered_id(envelope: Envelope) -> str | None:
    """Return the id of the question that a message answers; None if it answers none or its sender may not answer."""
    match envelope.message:
        case PermissionResponse(request_id=id_) | InputResponse(request_id=id_) if envelope.sender == USER:
            return id_
        case PlanResponse(request_id=id_) if envelope.sender in IN_CHARGE:
            return id_
    return None


def read_log(questions: QuestionFold, items: Iterable[Item]) -> QuestionFold:
    """Return the questions after these items of the transcript of an asker, or of the member that started it."""
    answered, began, ended = set(questions.answered), set(questions.began), set(questions.ended)
    for item in items:
        entry = read_entry(item.body) if isinstance(item, Record) else None
        if isinstance(entry, Began):
            began.update(entry.calls)
        elif isinstance(entry, Did):
            ended.add(entry.call)
        elif isinstance(entry, Ended):
            ended.add(entry.background)
        elif isinstance(entry, Noticed):
            answered.update(entry.closed or ())
    return _pruned(replace(questions, answered=frozenset(answered), began=frozenset(began), ended=frozenset(ended)))


def journals(question: Question) -> dict[str, int]:
    """Return the transcripts that tell what happened to a question, and after which record to look.

    These are the asker's and, for a subagent, that of the member that started it.
    """
    asker = question.member
    sender = asker.partition(":")[0]
    told = {log(asker): _said(question.id, asker)}
    return told if sender == asker else {**told, log(sender): _said(asker, sender)}


def _said(call: str, caller: str) -> int:
    """Return the number of the record in which a call was said, from the call's id; 0 if the id has none."""
    number = call.removeprefix(f"{caller}:").partition(".")[0]
    return int(number) if number.isdecimal() and number.isascii() else 0
