"""News: what an agent is told of its tasks and its team, in words. Bounded, and no more than is new.

`runtime.duties` records them in the transcript; nothing here decides whether they are told.
"""

from deskmate.core.members import Member, Roster
from deskmate.core.tasks import Board, Task, line, one_line

_LINES = 40
_WORDS = 400
_DESCRIPTION = 8_000


def task_text(task: Task) -> str:
    """Return a task as its new owner reads it."""
    parts = [f"Task #{task.id} is yours now: {one_line(task.subject)}", _cut(task.description, _DESCRIPTION)]
    parts += [f"Note from before: {_cut(note, _WORDS)}" for note in task.notes[-3:]]
    if task.verify:
        parts.append(f"Completing it runs `{_cut(task.verify, _WORDS)}`, which must succeed.")
    return "\n".join(part for part in parts if part)


def _cut(text: str, cap: int) -> str:
    return text if len(text) <= cap else f"{text[:cap]}… (TaskGet has the rest)"


def nudge_text(task: Task) -> str:
    """Return the reminder for who rests on a task."""
    return (
        f"You stopped while task #{task.id} ({one_line(task.subject)}) is still in progress. Go on with it; "
        "if it is done, mark it completed; if you cannot go on, say why to the lead or give it back."
    )


def lost_text(board: Board, lost: tuple[int, ...]) -> str:
    """Return what became of tasks that are no longer an agent's own."""
    return "\n".join(_lost(board.tasks.get(id_), id_) for id_ in lost)


def _lost(task: Task | None, id_: int) -> str:
    now = (
        "it is gone"
        if task is None or not task.is_open
        else f"it is {task.owner}'s now"
        if task.owner
        else "it is free"
    )
    return f"Task #{id_} is no longer yours: {now}. Leave it."


def delegate_text(delegating: bool) -> str:
    """Return what a lead is told when it begins to delegate, and when it no longer does."""
    if delegating:
        return (
            "You delegate from now on: the work itself is your teammates'. You have the tools for tasks, mail, "
            "teammates and what runs in the background, and no others."
        )
    return "You no longer delegate: all your tools are yours again."


def moved_text(roster: Roster) -> str:
    """Return what a lead is told of the team it works in from now on."""
    if roster.away:
        return f"You lead team '{roster.team}' now: Task, SendMessage and the task tools act on it until TeamDelete."
    return f"You are back in team '{roster.team}', your home."


def comings(roster: Roster, since: int) -> str:
    """Return who joined and who left since a record, in one line, for a teammate."""
    joined = [member for member in roster.teammates if member.here and member.since > since]
    gone = [member for member in roster.teammates if not member.here and member.status.number > since >= member.since]
    parts = [_names(joined, "joined the team"), _names(gone, "left the team")]
    return "; ".join(part for part in parts if part)


def _names(some: list[Member], what: str) -> str:
    names = [f"{member.name} ({one_line(member.role)})" if member.role else member.name for member in some[:_LINES]]
    more = [f"{len(some) - _LINES} more"] if len(some) > _LINES else []
    return f"{', '.join([*names, *more])} {what}" if some else ""


def digest(roster: Roster, board: Board, since: tuple[int, int]) -> str:
    """Return what changed on roster and board since these records, for the lead."""
    lines = ["Since you last looked:"]
    for member in roster.teammates:
        lines += [f"{member.name} said: {_quoted(words)}" for words in _reports(member, since[0])]
        lines += [_status(member)] if member.status.number > since[0] else []
    lines += [f"task {line(board, task)}" for task in board.tasks.values() if task.is_open]
    if len(lines) > _LINES:
        lines[_LINES:] = [f"… and {len(lines) - _LINES} more; TaskList has all tasks"]
    return "\n".join(lines)


def _reports(member: Member, since: int) -> list[str]:
    """Return what a member said since a record in turns that came to nothing else, but for what its status tells."""
    told = member.status.number if member.status.word == "idle" else 0
    return [words for number, words in member.reports if number > since and number != told]


def _quoted(words: str) -> str:
    return f'"{" ".join(words.split())[:_WORDS]}"'


def _status(member: Member) -> str:
    detail = f" ({one_line(member.status.detail)})" if member.status.detail else ""
    words = f": {_quoted(member.words)}" if member.status.word == "idle" and member.words else ""
    peers = "".join(f"\n  {one_line(peer)}" for peer in member.peers[:5])
    return f"{member.name} is {member.status.word}{detail}{words}{peers}"
