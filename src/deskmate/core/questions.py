"""Questions: what waits for a person's word, told from the streams alone.

A member asks by mail: the user for a permission, the lead or the user for a word on a plan. A question is open until
its answer is in the asker's mailbox, or its call began or ended without one. `runtime.questions` above reads streams.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from deskmate.core.entries import Began, Did, read_entry
from deskmate.core.handshakes import Shake
from deskmate.core.members import Roster
from deskmate.core.messages import (
    Envelope,
    PermissionRequest,
    PermissionResponse,
    PlanRequest,
    PlanResponse,
    envelope_in,
)
from deskmate.core.names import IN_CHARGE, USER, log
from deskmate.core.records import Item, Record


@dataclass(frozen=True, slots=True)
class Question:
    """What a member wants to know: whether it may make exactly this call, or do what its plan says.

    `member`: the asker, a subagent under the id of the call that sent it. `rule`: what would allow all calls like it.
    """

    id: str
    member: str
    at: float
    shake: Shake
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    plan: str = ""
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Questions:
    """The fold of what was asked and answered. `over`: ids of what was; `ended`: calls that have a result."""

    asked: Mapping[str, Question] = field(default_factory=dict)
    over: frozenset[str] = frozenset()
    ended: frozenset[str] = frozenset()

    def open(self, roster: Roster) -> tuple[Question, ...]:
        """Return what waits for a word, in the order it was asked. Who left waits for nothing."""
        waiting = (one for one in self.asked.values() if one.id not in self.over | self.ended)
        return tuple(one for one in waiting if one.member not in self.ended and _asks(roster, one))


EMPTY = Questions()


def _asks(roster: Roster, question: Question) -> bool:
    """Tell whether the asker is here; one of the same name in a team before this one is not."""
    member = roster.members.get(question.member.partition(":")[0])
    return member is not None and member.here and (member.joined is None or member.joined.at <= question.at)


def read_mail(questions: Questions, items: Iterable[Item]) -> Questions:
    """Return the questions after these items of a mailbox: what was asked of its owner, and what it was answered."""
    asked, over = dict(questions.asked), set(questions.over)
    for envelope in filter(None, map(envelope_in, items)):
        if question := _question(envelope):
            # One who comes back after a crash asks again under the same id.
            asked.setdefault(question.id, question)
        elif id_ := _answered(envelope):
            over.add(id_)
    return replace(questions, asked=asked, over=frozenset(over))


def _question(envelope: Envelope) -> Question | None:
    sender, at = envelope.sender, envelope.timestamp
    match envelope.message:
        case PermissionRequest(request_id=id_, tool=tool, arguments=arguments, reason=reason, rule=rule) if (
            envelope.recipient == USER
        ):
            return Question(id_, sender, at, Shake.PERMISSION, tool, arguments, reason, rule=rule)
        case PlanRequest(request_id=id_, content=plan):
            return Question(id_, sender, at, Shake.PLAN, plan=plan)
    return None


def _answered(envelope: Envelope) -> str | None:
    match envelope.message:
        case PermissionResponse(request_id=id_) if envelope.sender == USER:
            return id_
        case PlanResponse(request_id=id_) if envelope.sender in IN_CHARGE:
            return id_
    return None


def read_log(questions: Questions, items: Iterable[Item]) -> Questions:
    """Return the questions after these items of the transcript of an asker, or of who sent it.

    A plan stays open when the call that handed it in has its result.
    """
    over, ended = set(questions.over), set(questions.ended)
    for item in items:
        entry = read_entry(item.body) if isinstance(item, Record) else None
        if isinstance(entry, Began):
            over.update(id_ for id_ in entry.calls if not _is_plan(questions, id_))
        elif isinstance(entry, Did) and not _is_plan(questions, entry.call):
            ended.add(entry.call)
    return replace(questions, over=frozenset(over), ended=frozenset(ended))


def _is_plan(questions: Questions, id_: str) -> bool:
    question = questions.asked.get(id_)
    return question is not None and question.shake is Shake.PLAN


def journals(question: Question) -> dict[str, int]:
    """Return the transcripts that tell what became of a question, and the record behind which to look.

    Those are the asker's and, for a subagent, that of who sent it.
    """
    asker = question.member
    sender = asker.partition(":")[0]
    told = {log(asker): _said(question.id, asker)}
    return told if sender == asker else {**told, log(sender): _said(asker, sender)}


def _said(call: str, caller: str) -> int:
    """Return the number that a call's id holds, of the record it was said in; 0 where it holds none."""
    number = call.removeprefix(f"{caller}:").partition(".")[0]
    return int(number) if number.isdecimal() and number.isascii() else 0
