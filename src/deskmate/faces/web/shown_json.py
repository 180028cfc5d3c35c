"""Items as JSON. The page lays them out. It decides nothing about them."""

from typing import Any, TypeAlias, assert_never

from deskmate.core.team.members import RosterState
from deskmate.core.team.spending import Spending, Sum
from deskmate.core.team.status import Left, status_word
from deskmate.core.team.tasks import BoardState
from deskmate.faces.common.items.conflict_items import conflict_items
from deskmate.faces.common.items.mail_items import MailItem
from deskmate.faces.common.items.member_items import MemberItem, member_items, member_status, role_of
from deskmate.faces.common.items.question_items import QuestionItem
from deskmate.faces.common.items.task_items import TaskItem, TaskState
from deskmate.faces.common.items.transcript_items import (
    CallItem,
    Fold,
    NoticeItem,
    ParkedItem,
    SummaryItem,
    TakenTaskItem,
    ThoughtItem,
    TranscriptItem,
    WordsItem,
    fold_of,
    is_brief,
)
from deskmate.faces.web.markdown_tree import markdown_tree, plain_words
from deskmate.queries.team_view import SeenTeam

Shown: TypeAlias = dict[str, Any]

# Of one text, the page shows at most so many characters.
_TEXT_CHARS = 100_000
_SUMMARY_CHARS = 120


def team_json(team: SeenTeam) -> Shown:
    """Return a team of the list of teams."""
    return {
        "name": team.name,
        "title": team.title,
        "state": team.state,
        "live": bool(team.live),
        "home": team.home,
        "away": team.away,
        "members": sum(member.here for member in team.members),
        "done": team.done_tasks,
        "open": team.open_tasks,
        "spent": sum_json(team.spent),
        "written": team.written,
        "damage": list(team.damage),
    }


def members_json(roster: RosterState, board: BoardState, spending: Spending) -> dict[str, Shown]:
    """Return the members by name, in the order they joined."""
    return {item.name: member_json(item) for item in member_items(roster.members.values(), board, spending)}


def member_json(item: MemberItem) -> Shown:
    """Return a member."""
    member = item.member
    return {
        "name": member.name,
        "role": role_of(member),
        "colour": member.colour,
        "state": status_word(member.status),
        "status": member_status(member),
        "at": member.status_at,
        "here": not isinstance(member.status, Left),
        "own": member.isolated,
        "asks": member.waits_for_user,
        "task": item.task,
        "spent": sum_json(item.spent),
    }


def task_json(item: TaskItem) -> Shown:
    """Return a task."""
    task, receipt = item.task, item.task.receipt
    return {
        "id": task.id,
        "subject": task.subject,
        "description": task.description[:_TEXT_CHARS],
        "state": item.state.value,
        "column": _column(item.state),
        "owner": task.owner,
        "role": task.role,
        "author": task.created_by,
        "blockedBy": sorted(task.blocked_by),
        "waitsFor": list(item.waits_for),
        "proof": item.proof,
        "passed": receipt.exit == 0 if receipt else None,
        "output": receipt.output[-_TEXT_CHARS:] if receipt else "",
        "merged": task.merged,
        "merging": task.offer is not None,
        "returned": task.returned,
        "meets": item.meets,
        "notes": [{"by": note.by, "text": note.text} for note in task.notes],
        "updated": task.updated,
        "began": task.began,
        "ended": task.ended,
    }


def _column(state: TaskState) -> str:
    """Return the column of the board that a task is in."""
    match state:
        case TaskState.BLOCKED:
            return "blocked"
        case TaskState.FREE | TaskState.GIVEN:
            return "ready"
        case TaskState.IN_PROGRESS:
            return "in progress"
        case TaskState.DONE | TaskState.DROPPED:
            return "done"
        case unreachable:
            assert_never(unreachable)


def summary_json(roster: RosterState, board: BoardState, spent: Sum) -> Shown:
    """Return what is true of the team as a whole."""
    return {
        "name": roster.team,
        "mode": roster.mode.value,
        "founded": roster.founded,
        "home": roster.home,
        "sandbox": roster.sandbox,
        "tokens": spent.tokens,
        **sum_json(spent),
        "conflicts": [
            {"who": item.who, "what": item.what, "files": item.files, "conflict": item.is_conflict}
            for item in conflict_items(roster.team, board)
        ],
    }


def letter_json(item: MailItem) -> Shown:
    """Return a message. `unread`: who has not read it yet, of what the user wrote."""
    body = _body(item.text, is_markdown=item.is_markdown)
    words = plain_words(body) if item.is_markdown else item.text
    return {
        "key": item.key,
        "sender": item.sender,
        "recipients": list(item.recipients),
        "at": item.envelope.timestamp,
        "unread": [],
        "title": item.title,
        "body": body,
        "summary": str(getattr(item.envelope.message, "summary", "")) or words[:_SUMMARY_CHARS],
    }


def question_json(item: QuestionItem) -> Shown:
    """Return a question with everything that would be allowed."""
    question = item.question
    return {
        "id": question.id,
        "asker": item.asker,
        "sender": item.sender,
        "asks": item.asks,
        "at": question.at,
        "tool": question.tool,
        "arguments": item.arguments,
        "diff": item.diff,
        "plan": markdown_tree(question.plan) if question.plan else [],
        "reason": item.reason,
        "of_server": question.of_server,
        "fields": [field.model_dump(exclude_none=True) for field in item.fields],
        "choices": [{"answer": one.answer, "effect": one.effect} for one in item.choices],
    }


def entry_json(item: TranscriptItem) -> Shown:
    """Return an item of a transcript. `body`: Markdown as a tree, or a text. `fold`: never, open or closed."""
    shown: Shown = {"key": item.key, "title": item.title, "fold": fold_of(item).value}
    match item:
        case WordsItem():
            return {**shown, "kind": "words", "fold": Fold.NEVER.value, "body": _body(item.text, is_markdown=True)}
        case ThoughtItem():
            return {**shown, "kind": "thought", "body": _body(item.text, is_markdown=True)}
        case SummaryItem():
            return {**shown, "kind": "summary", "body": _body(item.text, is_markdown=True)}
        case CallItem():
            return {**shown, "kind": "call", **_call(item)}
        case MailItem():
            return {**shown, **letter_json(item), "key": item.key, "kind": "mail"}
        case TakenTaskItem():
            return {**shown, "kind": "task", "body": _body(item.text)}
        case NoticeItem():
            return {
                **shown,
                "kind": "notice",
                "minor": item.minor,
                "body": _body(item.text),
                "brief": is_brief(item.text),
            }
        case ParkedItem():
            return {**shown, "kind": "parked", "body": _body(item.text)}
        case unreachable:
            assert_never(unreachable)


def _call(item: CallItem) -> Shown:
    return {
        "tool": item.tool,
        "state": item.state.value,
        "failure": item.failure,
        "details": item.details[:_TEXT_CHARS],
        "diff": item.diff[:_TEXT_CHARS],
        "body": _body(item.plan, is_markdown=True) if item.plan and not item.is_over else _body(item.text),
    }


def _body(text: str, *, is_markdown: bool = False) -> Any:
    cut = text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]}\n… {len(text) - _TEXT_CHARS:,} more characters"
    return markdown_tree(cut) if is_markdown else cut


def sum_json(total: Sum) -> Shown:
    """Return what some calls cost."""
    usage = total.usage
    # A cost without the calls whose price is unknown would be wrong.
    cost = None if total.unpriced and not total.cost else total.cost
    return {"cost": cost, "calls": total.calls, "in": usage.prompt, "out": usage.output, "unpriced": total.unpriced}
