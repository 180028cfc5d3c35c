"""What an agent is told about its tasks and its team.

`runtime.perform.team_duties` records these texts in the transcript. Nothing here decides whether they are told.
"""

from typing import assert_never

from deskmate.core.agent.entries import Took
from deskmate.core.agent.memory import Memory
from deskmate.core.agent.rules.task_fit import orphans_text
from deskmate.core.agent.teams.addresses import addressed
from deskmate.core.log.names import LEAD, USER
from deskmate.core.prompt.call_texts import call_text, see_team, submit_plan, use_board, ways_to_end, write_to
from deskmate.core.prompt.task_lines import authored_line, authors, listed, one_line, quoted
from deskmate.core.radar.overlap_texts import overlap_news
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.status import Idle, Left, Parked, Waiting, Working, status_detail, status_word
from deskmate.core.team.tasks import BoardState, Task, TaskStatus
from deskmate.texts import text

_LINES = 40
_WORDS = 400
_REPORT = 1_000
_NEWS = 20_000
_CUT = "… (cut here, ask for the rest with SendMessage)"
_DESCRIPTION = 8_000
_FIELDS = {"active_form": "activeForm", "blocked_by": "what it waits for"}


def taken(task: Task, board: int | None = None, changes: str = "") -> Took:
    """Return the entry by which the owner reads a task, new or changed, as of a board record."""
    verify = _cut(task.verify or "", _WORDS)
    return Took(
        task=task.id,
        epoch=task.epoch,
        text=task_words(one_line(task.subject), task.role, "", verify, _cut(task.description, _DESCRIPTION)),
        created_by=task.created_by,
        edited_by=task.editors or None,
        notes=tuple({"by": note.by, "text": _cut(note.text, _WORDS)} for note in task.notes[-3:]) or None,
        board=board,
        changes=changes or None,
    )


def changes_text(task: Task, owner: str, memory: Memory) -> str:
    """Return a sentence on what others changed in a task since its owner read it; empty if nothing."""
    known = memory.words_known.get(task.id)
    if known is None:
        return ""
    changed = [name for name, number in task.edited_in.items() if number > known and task.edits[name] != owner]
    authors = listed(list(dict.fromkeys(task.edits[name] for name in changed)))
    fields = listed([_FIELDS.get(name, name) for name in changed])
    return f"{authors} changed your task #{task.id}: {fields}. It now says:" if changed else ""


def task_words(subject: str, role: str | None, active_form: str, verify: str, description: str) -> str:
    """Return what members wrote in a task, ready for a frame. The description is last: it may look like anything."""
    parts = [
        subject,
        f"only for: {one_line(role)}" if role else "",
        f"status text: {one_line(active_form)}" if active_form else "",
        f"completing it runs this command, which must succeed: {verify}" if verify else "",
        description,
    ]
    return "\n".join(part for part in parts if part)


def _cut(text: str, cap: int) -> str:
    return text if len(text) <= cap else f"{text[:cap]}… (TaskGet has the rest)"


def nudge_text(task: Task) -> str:
    """Return the reminder for a teammate that ended its turn with a task in progress."""
    return (
        f"You stopped while task #{task.id} is still in progress. Continue with it now. {ways_to_end(task.id)} "
        "Before you give it back, tell the lead why with SendMessage."
    )


def plan_nudge_text(name: str) -> str:
    """Return the reminder for an agent that ended a turn in plan mode without submitting a plan."""
    whose = "the user" if name == LEAD else "your lead"
    return (
        "You are in plan mode and ended your turn without submitting a plan. Nobody can approve a plan that was not "
        f"submitted. If your plan is ready, submit it: {submit_plan()}. If you need an answer from {whose} first, "
        f"ask {'for it' if name == LEAD else 'with SendMessage'} and end your turn."
    )


def no_plan_text(name: str, words: list[str]) -> str:
    """Return the message to the approver of a planner that submitted no plan, with what the planner wrote instead."""
    if name == LEAD:
        return (
            "I am in plan mode and ended two turns without submitting a plan for you to approve. "
            "Tell me what to plan, or end plan mode with /mode default."
        )
    said = "\n\n".join(_cut_words(text) for text in words if text.strip())
    wrote = f" This is what I wrote instead:\n\n{said}" if said else ""
    return f"I am in plan mode and ended two turns without submitting a plan with ExitPlanMode.{wrote}"


def _cut_words(text: str) -> str:
    return text if len(text) <= _DESCRIPTION else f"{text[:_DESCRIPTION]}…"


def lost_text(board: BoardState, lost: tuple[int, ...]) -> str:
    """Return what happened to tasks that are no longer an agent's own."""
    return "\n".join(_lost(board.tasks.get(id_), id_) for id_ in lost)


def _lost(task: Task | None, id_: int) -> str:
    lost = f"Task #{id_} is no longer yours."
    if task is None:
        return f"{lost} It is no longer on the board."
    if not task.is_open:
        return f"{lost} It is {task.status}."
    now = f"It belongs to {task.owner} now." if task.owner else "It has no owner now."
    return f"{lost} {now} Do not work on it unless you take it again."


def cut_text() -> str:
    """Return the note for an agent that continues although the end of its transcript is lost."""
    return (
        "The latest part of your conversation is lost. The user knows this. You may have read messages and done work "
        "that you no longer remember. You may get the same messages and tasks again. Check files and tasks before you "
        "repeat anything."
    )


def forked_text(team: str, source: str) -> str:
    """Return what a lead is told whose conversation was copied to a new team."""
    return (
        f"The user went back to this point of your conversation. You continue it as the lead of a new team, '{team}'. "
        f"The teammates, tasks and background commands of team '{source}' are not here. Files may have changed since "
        "you read them: read them again before you edit them."
    )


def moved_text(roster: RosterState, home: RosterState | None = None) -> str:
    """Return what a lead is told of the team it works in from now on. `home`: its first team, if this is another."""
    if not roster.away:
        return f"You are back in team '{roster.team}', your own team."
    now = (
        f"You lead team '{roster.team}' now. Task, SendMessage and the task tools act on this team until you close "
        "it with TeamDelete."
    )
    names = [member.name for member in addressed(home).teammates if member.here] if home else []
    if not home or not names:
        return now
    goes_on = f"Team '{home.team}' goes on meanwhile: {', '.join(_first(names, 'more'))}."
    return (
        f"{now} {goes_on} You still get its mail and news. Write to its members by these names. {use_board(home.team)}"
    )


def reminder_text(roster: RosterState, home: RosterState | None = None) -> str:
    """Return the reminder for the lead of an unattended run whose teams are quiet. `home`: its first team, if it leads
    another one.
    """
    words = text("reminder")
    if not home or not home.has_company:
        return words
    too = "This team too" if roster.has_company else "Only this team of yours still has members"
    return f"{words}\n{too}: {home.team}. Ask its members by NAME@{home.team}."


def teammate_news(roster: RosterState, board: BoardState, memory: Memory) -> str:
    """Return what is new to a teammate: who joined and left, and whose work meets its own. Empty if nothing is."""
    since = memory.noticed
    # If the transcript does not say which members the agent started with, everyone would count as new. So it is told of
    # nobody.
    joins = joins_and_leaves(roster, board, since[0], memory.name) if since[0] else ""
    return "\n".join([*joins.splitlines(), *overlap_news(board, roster, since[1], memory.name, runs=runs(memory))])


def runs(memory: Memory) -> bool:
    """Tell whether an agent can run commands, as far as it was told."""
    return not memory.work_mode.planning and "bash" not in (memory.work_mode.barred or ())


def joins_and_leaves(roster: RosterState, board: BoardState, since: int, me: str) -> str:
    """Return who joined and left since a record, for a teammate, and which of its tasks nobody can take any more.

    Each fact is on its own line.
    """
    others = [member for member in roster.teammates if member.name != me]
    joined = [member for member in others if member.here and member.since > since]
    gone = [member for member in others if not member.here and member.status_in > since >= member.since]
    all_ = see_team(roster.team)
    came = _first([f"{_with_role(member)} joined the team." for member in joined], f"more joined the team. {all_}")
    went = _first([f"{_with_role(member)} left the team." for member in gone], f"more left the team. {all_}")
    orphans = orphans_text(roster, board, since, [me])
    return "\n".join([*came, *went, *([orphans] if orphans else [])])


def _with_role(member: Member) -> str:
    return f"{member.name} ({one_line(member.role)})" if member.role else member.name


def home_digest(roster: RosterState, board: BoardState, since: tuple[int, int]) -> str:
    """Return what changed at home since these records, for a lead that works elsewhere."""
    see_tasks = f"{call_text('TaskList', team_name=roster.team)} shows all tasks."
    lines = [*_member_lines(addressed(roster), since[0]), *_task_lines(roster, board, since, see_tasks)]
    return "\n".join([f"In team '{roster.team}', since you last looked:", *lines])


def digest(roster: RosterState, board: BoardState, since: tuple[int, int]) -> str:
    """Return what changed on roster and board since these records, for the lead, and how much did not."""
    lines = ["Since you last looked:", *_member_lines(roster, since[0]), *_task_lines(roster, board, since)]
    same = sum(task.is_open and not _is_task_news(board, task, since[1]) for task in board.tasks.values())
    return "\n".join([*lines, *([_unchanged(same)] if same else [])])


def _unchanged(count: int) -> str:
    tasks = "1 other open task has" if count == 1 else f"{count} other open tasks have"
    return f"{tasks} not changed. TaskList shows all tasks."


def is_news_for_lead(roster: RosterState, board: BoardState, since: tuple[int, int]) -> bool:
    """Tell whether anything since these records is worth a line. The start of a turn is not."""
    if any(not isinstance(member.status, Working) and member.status_in > since[0] for member in roster.teammates):
        return True
    if any(_user_verdict(member, since[0]) for member in roster.teammates):
        return True
    return board.number > since[1] and bool(_task_lines(roster, board, since))


def _member_lines(roster: RosterState, since: int) -> list[str]:
    lines, room, unsaid = list[str](), _NEWS, list[Member]()
    for member in roster.teammates:
        news = [f"{member.name} said: {_quoted(words)}" for words in _reports(member, since)]
        news += [verdict] if (verdict := _user_verdict(member, since)) else []
        news += [_status(member)] if member.status_in > since else []
        room -= sum(map(len, news))
        if room >= 0:
            lines += news
        else:
            unsaid.append(member)
    if unsaid:
        lines += _first([_short_status(member) for member in unsaid], f"more members changed. {see_team(roster.team)}")
        lines.append("What they said is too long to show here. Use SendMessage to ask those who are still on the team.")
    return lines


def _short_status(member: Member) -> str:
    return f"{member.name} is {status_word(member.status)}" if member.here else f"{member.name} left"


def _user_verdict(member: Member, since: int) -> str:
    """Return that the user answered a member's plan since a record. A lead knows its own answers already."""
    verdict = member.verdict
    if verdict is None or verdict.by != USER or member.verdict_in <= since:
        return ""
    verb = "approved" if verdict.approve else "refused"
    return f"The user {verb} plan {one_line(verdict.request_id)} of {member.name}"


def _task_lines(
    roster: RosterState, board: BoardState, since: tuple[int, int], see_tasks: str = "TaskList shows all tasks."
) -> list[str]:
    """Return what others did to tasks since these records: completed, deleted, changed, or left without a taker.

    `see_tasks`: how to see those that are left out.
    """
    tasks = board.tasks.values()
    done = [_completed(task) for task in tasks if task.status is TaskStatus.COMPLETED and _is_by_others(task, since[1])]
    gone = [_deleted(task) for task in tasks if task.deleted_in > since[1] and task.deleted_by != LEAD]
    changed = [f"task {authored_line(board, task)}" for task in tasks if _is_task_news(board, task, since[1])]
    makers = {task.created_by for task in tasks} - {member.name for member in roster.teammates if member.here}
    orphans = orphans_text(roster, board, since[0], makers)
    return [
        *_first(done, "more tasks were completed"),
        *_first(gone, "more tasks were deleted"),
        *_first(changed, f"more tasks changed. {see_tasks}"),
        *([orphans] if orphans else []),
    ]


def _is_by_others(task: Task, since: int) -> bool:
    return task.changed_in > since and task.changed_by != LEAD


def _is_task_news(board: BoardState, task: Task, since: int) -> bool:
    """Tell whether an open task is news to the lead: others changed it, or completed what it waits for."""
    if not task.is_open:
        return False
    blockers = [board.tasks[id_] for id_ in task.blocked_by]
    return _is_by_others(task, since) or any(not one.is_open and _is_by_others(one, since) for one in blockers)


def _completed(task: Task) -> str:
    return f"{task.changed_by} completed task #{task.id} {authors(task)} {quoted(one_line(task.subject))}"


def _deleted(task: Task) -> str:
    return f"{task.deleted_by} deleted task #{task.id} {authors(task)} {quoted(one_line(task.subject))}"


def _first(lines: list[str], rest: str) -> list[str]:
    more = len(lines) - _LINES
    return [*lines[:_LINES], f"… and {more} {rest}"] if more > 0 else lines


def _reports(member: Member, since: int) -> list[str]:
    """Return what a member said since a record in turns with no other result, without what its status tells."""
    told = member.status_in if isinstance(member.status, Idle) else 0
    return [words for number, words in member.reports if number > since and number != told]


def _quoted(words: str) -> str:
    told = " ".join(words.split())
    return quoted(told if len(told) <= _REPORT else f"{told[:_REPORT]}{_CUT}")


def _unquoted(words: str) -> str:
    """Return words on one line that cannot start or end a quotation, to be used without quotes."""
    return one_line(words).replace('"', "'")


def _status(member: Member) -> str:
    if member.interrupted:
        return (
            f"The user interrupted {member.name}. It waits until the user writes to it. "
            "A message from you would start it again."
        )
    said = _unquoted(status_detail(member.status))
    detail = f" ({said})" if said else ""
    match member.status:
        case Left():
            return f"{member.name} left{detail}"
        case Idle():
            words = f": {_quoted(member.words)}" if member.words else ""
            peers = "".join(f"\n  {_peer_line(peer)}" for peer in member.peers[:5])
            return f"{member.name} is idle{words}{peers}"
        case Parked():
            return f"{member.name} is parked{detail}{_way_on(member)}"
        case Working() | Waiting():
            return f"{member.name} is {status_word(member.status)}{detail}"
        case unreachable:
            assert_never(unreachable)


def _peer_line(peer: str) -> str:
    """Return a line about mail for the lead: what a member sent, or what came back to it."""
    line = _unquoted(peer)
    return f"It wrote {line}" if line.startswith("to ") else line


def _way_on(member: Member) -> str:
    """Return how a parked member can continue."""
    if member.only_user:
        return ". Only the user can let it continue."
    return f". To let it continue: {write_to(member.name)}."


def unnoticed_words(roster: RosterState, seen: int) -> bool:
    """Tell whether a member ended a turn with only words after the last record the lead has noticed."""
    return any(number > seen for member in roster.teammates for number, _ in member.reports)
