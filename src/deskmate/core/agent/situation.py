"""What an agent must know of its team at any moment.

A summary of its conversation ends with this, so that no summary can lose it. Tools ask here what is still open.
"""

from collections.abc import Mapping
from dataclasses import replace

from deskmate.core.agent.memory import Memory
from deskmate.core.agent.notices import runs, taken
from deskmate.core.agent.teams.addresses import addressed
from deskmate.core.agent.work_mode import mode_text
from deskmate.core.log.names import LEAD, USER, agent_id
from deskmate.core.prompt.call_texts import see_team, use_board, ways_to_answer, ways_to_end, ways_to_leave
from deskmate.core.prompt.task_lines import authored_line, one_line
from deskmate.core.radar.overlap_texts import overlaps_known
from deskmate.core.team.handshakes import OpenRequest, ShownPlan
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.status import status_detail, status_word
from deskmate.core.team.tasks import BoardState, Task, TaskStatus

ALONE = "Nobody is on your team besides you."
_LINES = 100


def open_plans(memory: Memory, roster: RosterState) -> tuple[ShownPlan, ...]:
    """Return the plans an agent may still answer: unanswered, and from members that are here."""
    return tuple(plan for plan in memory.plans.values() if _is_open(plan, roster.members.get(plan.planner)))


def _is_open(plan: ShownPlan, planner: Member | None) -> bool:
    if planner is None or not planner.here:
        return False
    return planner.verdict is None or planner.verdict.request_id != plan.id


def home_lines(home: RosterState) -> list[str]:
    """Return a line for each teammate in the home of a lead that works elsewhere, by the name to write to.

    Then how to use the board there. Empty if nobody is there.
    """
    here = [_member_line(member) for member in addressed(home).teammates if member.here]
    return [*_first(here, f"more members. {see_team(home.team)}"), use_board(home.team)] if here else []


def team_lines(name: str, roster: RosterState) -> list[str]:
    """Return a line for each other agent on the team: name, role, status. Empty if this agent is not a member."""
    if name not in roster.members:
        return []
    lines = [_member_line(member) for member in roster.members.values() if member.here and member.name != name]
    # A lead that delegates has no tool to see the rest.
    return lines if name == LEAD and roster.delegate else _first(lines, f"more members. {see_team(roster.team)}")


def _member_line(member: Member) -> str:
    role = f" ({one_line(member.role)})" if member.role not in ("", member.name) else ""
    said = one_line(status_detail(member.status))
    return f"{member.name}{role}: {status_word(member.status)}{f' ({said})' if said else ''}"


def task_lines(name: str, board: BoardState) -> list[str]:
    """Return a line for each open task, and the full text of the agent's task in progress below its line."""
    open_tasks = [task for task in board.tasks.values() if task.is_open]
    # Its own tasks come first, so that no cap cuts them.
    ordered = sorted(open_tasks, key=lambda task: (task.owner != name, task.id))
    return _first([_task_line(board, task, name) for task in ordered], "more open tasks. TaskList shows all tasks.")


def _task_line(board: BoardState, task: Task, name: str) -> str:
    line = authored_line(board, task)
    if task.owner != name or task.status is not TaskStatus.IN_PROGRESS:
        return line
    return f"{line}. This is your task in progress. {ways_to_end(task.id)} It says:\n{_indented(taken(task).text)}"


def overlap_lines(memory: Memory, board: BoardState, roster: RosterState) -> list[str]:
    """Return a line for each overlap of the agent's work with that of others that it was told, and that is still so."""
    return overlaps_known(board, roster, memory.noticed[1], memory.name, runs=runs(memory))


def mode_lines(memory: Memory) -> list[str]:
    """Return how an agent may work, as it was last told."""
    return mode_text(memory.name, memory.work_mode).splitlines()


def home_request_lines(memory: Memory, home: RosterState, cap: int) -> list[str]:
    """Return a line for each request between a lead that works elsewhere and its home that is still open."""
    known = memory.in_team(home.team)
    asked = (replace(one, asked=agent_id(one.asked, home.team)) for one in known.requests.values() if one.asked != USER)
    plans = (replace(plan, planner=agent_id(plan.planner, home.team)) for plan in open_plans(known, home))
    return [*map(_request_line, asked), *(_plan_line(plan, cap) for plan in plans)]


def request_lines(memory: Memory, roster: RosterState, reasons: Mapping[str, str], cap: int) -> list[str]:
    """Return a line for each open request: those this agent made, and those it may still answer.

    Below each line are the asker's words, at most `cap` characters. `reasons`: why the agent was asked to leave, by id.
    """
    yours = [_request_line(request) for request in memory.requests.values()]
    demands = [
        f"shutdown request {id_} from {sender}, waiting for your answer. "
        f"{ways_to_leave(id_, forced=id_ in memory.forced)}{_below(' The reason', reasons.get(id_, ''), cap)}"
        for id_, sender in memory.demands.items()
    ]
    plans = [_plan_line(plan, cap) for plan in open_plans(memory, roster)]
    return [*yours, *demands, *plans]


def _request_line(request: OpenRequest) -> str:
    return f"{request.shake} request {request.id} to {request.asked}, waiting for an answer"


def _plan_line(plan: ShownPlan, cap: int) -> str:
    answer = f"{ways_to_answer(plan.planner, plan.id)}{_below(' The plan', plan.text, cap)}"
    return f"plan request {plan.id} from {plan.planner}, waiting for your answer. {answer}"


def _below(title: str, words: str, cap: int) -> str:
    return f"{title}:\n{_indented(_cut(words, cap))}" if words.strip() else ""


def _indented(words: str) -> str:
    """Return what others wrote, indented so that no line of it looks like one of ours."""
    return "\n".join(f"    {line}" for line in words.splitlines())


def _cut(text: str, cap: int) -> str:
    return text if len(text) <= cap else f"{text[:cap]} (… {len(text) - cap} characters more were cut here)"


def _first(lines: list[str], rest: str) -> list[str]:
    more = len(lines) - _LINES
    return [*lines[:_LINES], f"… and {more} {rest}"] if more > 0 else lines
