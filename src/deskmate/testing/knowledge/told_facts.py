"""Whether what a prompt tells is so.

`knowledge_checks` checks that needed facts are told. This module checks that what is told is true. `team_facts` does
both for the team.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from deskmate.core.agent.entries import Heard, Noticed, Took
from deskmate.core.agent.teams.addresses import addressed
from deskmate.core.log.names import USER, agent_id, is_call
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.prompt.call_texts import in_team
from deskmate.core.prompt.frames import message_text
from deskmate.core.prompt.rendering import told_mail, told_texts
from deskmate.core.prompt.task_lines import line
from deskmate.core.team.tasks import BoardState
from deskmate.testing.knowledge.overlap_facts import false_overlaps, overlaps_told_twice
from deskmate.testing.knowledge.prompt_parts import PromptPart, PromptParts, names
from deskmate.testing.knowledge.team_facts import new_notices
from deskmate.testing.knowledge.told_phrases import created_told, here_told, statuses_told, tasks_told
from deskmate.testing.knowledge.truth import Truth, call_of

# Tools whose names are not common words.
_TOOL = re.compile(rf"\b(?:{'|'.join(TOOLS.keys() - {'bash', 'glob', 'grep', 'Task', 'Skill'})})\b")
# A sentence that says what cannot be used.
_REFUSAL = re.compile(r"[^.\n]*\b(?:cannot use|does not work|have no)\b[^.\n]*")
_ADDRESSED = re.compile(r"\b(?:[Aa]sk|[Tt]ell|[Aa]gree with|[Ww]rite to|[Mm]essage|[Aa]nswer) (?:the )?'?([\w-]+)'?")
_BLOB = re.compile(r"(?<!\S)(\S*blobs/[\w.-]+\w)")
_REQUEST = re.compile(r"\brequest '?([\w-]+:\d+\.\d+)")
_WORKSPACE = re.compile(r"(?<!\S)(/\S*[^\s.,;])")


# -- K5 -------------------------------------------------------------------------------------------


def advice_that_fails(parts: PromptParts, truth: Truth) -> Iterator[str]:
    """Yield each tool, name, id or path that we tell the model to use and that does not exist for it."""
    me = truth.me
    ever = {*me.tools(), *me.tools(planning=True), *parts.offered}
    for tool in sorted(set(_TOOL.findall(parts.system)) - ever):
        yield f"the system prompt speaks of {tool}, which this agent never has"
    for part, text in parts.new_sentences():
        yield from _missing_tools(parts, truth, part, text)
        yield from _missing_names(truth, part, text)
        yield from _missing_ids(parts, truth, part, text)
        yield from _missing_blobs(parts, text)


def _missing_tools(parts: PromptParts, truth: Truth, part: PromptPart, text: str) -> Iterator[str]:
    # The reason why a call failed may name its tool.
    named = set(_TOOL.findall(_REFUSAL.sub("", text))) - parts.offered - {part.tool}
    for tool in sorted(named - _had_then(parts, truth, part) if named else ()):
        yield f"a {part.source} speaks of {tool}, which is not on offer: {_shown(text)}"


def _had_then(parts: PromptParts, truth: Truth, part: PromptPart) -> set[str]:
    """Return the tools that the agent had when a text was made, if a later text announces another mode."""
    later = {one.text for one in parts.parts[parts.parts.index(part) + 1 :] if one.source == "notice"}
    overtaken = (mode for mode, notice in truth.modes_before_notices() if later & set(told_texts(notice)))
    return {tool for mode in overtaken for tool in truth.tools_in(mode)}


def _missing_names(truth: Truth, part: PromptPart, text: str) -> Iterator[str]:
    _, truth = _of_team(part, truth)
    for name in (found[1] for found in _ADDRESSED.finditer(text)):
        if name in truth.roster.members and not truth.roster.here(name):
            yield f"{name} has left, and the model is told to write to it: {_shown(text)}"
    number = truth.roster_of_result(part.call)
    roster = truth.roster if number is None else truth.history.roster_at(number)
    here = {USER, *(member.name for member in roster.members.values() if member.here)}
    for told in here_told(text):
        if told != here:
            wrong = ", ".join(sorted(told ^ here))
            yield f"the model is told who is on the team, and that is wrong for {wrong}: {_shown(text)}"


def _missing_ids(parts: PromptParts, truth: Truth, part: PromptPart, text: str) -> Iterator[str]:
    own = call_of(part.call, truth.memory.name) if part.call else None
    for id_ in _REQUEST.findall(text):
        # A result may name the id that its call got wrong.
        asked = part.call and any(id_ in one.text for one in parts.parts if one.call == part.call and one is not part)
        if is_call(id_) and id_ != own and not asked and parts.told.count(id_) == part.text.count(id_):
            known = {*truth.memory.demands, *truth.memory.requests, *(truth.home.memory.requests if truth.home else ())}
            if id_ not in known:
                yield f"request {id_} is named and nobody made it: {_shown(text)}"


def _missing_blobs(parts: PromptParts, text: str) -> Iterator[str]:
    for path in _BLOB.findall(text):
        for root in map(Path, _WORKSPACE.findall(parts.system)):
            if (root / ".teams").is_dir() and not (root / path).exists():
                yield f"{path} is named and is not there: {_shown(text)}"


# -- K6 -------------------------------------------------------------------------------------------


def claims_that_are_false(parts: PromptParts, truth: Truth) -> Iterator[str]:
    """Yield each result or notice that says something was sent or done although the logs do not have it."""
    for part in parts.parts:
        if part.fresh and part.source == "result" and part.ok:
            yield from _false_result(part, truth)


def news_that_is_false(parts: PromptParts, truth: Truth) -> Iterator[str]:
    """Yield what new notices tell of tasks, and of work that meets, that was not so."""
    for notice in new_notices(parts, truth):
        yield from _false_tasks(notice, truth)
        yield from false_overlaps(notice, truth.history, truth.me.name)


def _false_result(part: PromptPart, truth: Truth) -> Iterator[str]:
    call = call_of(part.call, truth.memory.name)
    if part.tool in ("SendMessage", "ExitPlanMode") and call:
        yield from _unsent(part, call, truth)
    # If the lead has moved to another team since, the other board is not known here.
    if part.tool in ("TaskCreate", "TaskUpdate") and not truth.has_moved:
        yield from _false_task(part, truth)


def _unsent(part: PromptPart, call: str, truth: Truth) -> Iterator[str]:
    """Yield a result of a call that must have sent mail, if a member it names did not get it."""
    first = re.split(r"[.;] |\n", part.text, maxsplit=1)[0]
    got = [name for name, letters in truth.letters.items() if {call, f"{call}/{name}"} & letters.keys()]
    named = {name for name in (*truth.roster.members, USER) if names(first, name) and name != truth.me.name}
    if truth.home and f"@{truth.home.team}" in first:
        mailed = truth.home.letters.items()
        got = [agent_id(name, truth.home.team) for name, letters in mailed if call in letters]
        named = {name for name in addressed(truth.home.roster).members if name in first}
    missed = named - {*got} if first.startswith("sent to") else named
    if not got or (first.startswith("sent to") and missed):
        yield f"a result says {_shown(first)}, and {', '.join(sorted(missed)) or 'nobody'} has no such mail"


def _of_team(part: PromptPart, truth: Truth) -> tuple[str, Truth]:
    """Return what a result says, and the truth about the team that its call was for."""
    head, _, rest = part.text.partition("\n")
    if part.source == "result" and truth.home and head == in_team(truth.home.team):
        return rest, truth.home
    return part.text, truth


def _false_task(part: PromptPart, truth: Truth) -> Iterator[str]:
    text, truth = _of_team(part, truth)
    told = [(id_, "") for id_ in [created_told(text)] if id_] if part.tool == "TaskCreate" else []
    told += list(tasks_told(text.partition("\n")[0])) if part.tool == "TaskUpdate" else []
    if not told:
        yield f"a result of {part.tool} does not say which task it is about: {_shown(part.text)}"
    for id_, status in told:
        task = truth.board.tasks.get(id_)
        # Other members may have changed an open task since.
        if task is None or (status in ("completed", "deleted") and task.is_open):
            yield f"a result says {_shown(part.text)}, and the board does not"


def _false_tasks(notice: Noticed, truth: Truth) -> Iterator[str]:
    board = truth.history.board_at(notice.board)
    for one in notice.text.splitlines():
        for id_, status in tasks_told(one):
            task = board.tasks.get(id_)
            if task is None or task.status.replace("_", " ") != status:
                yield f"a notice says {_shown(one)}, and the board did not then"


# -- K8 -------------------------------------------------------------------------------------------


def told_twice(parts: PromptParts, truth: Truth) -> Iterator[str]:
    """Yield what is repeated in the same context although nothing has changed."""
    yield from _mail_twice(parts, truth)
    yield from _tasks_twice(truth)


def news_told_twice(parts: PromptParts, truth: Truth) -> Iterator[str]:
    """Yield the news in notices that is repeated although nothing has changed."""
    notices = truth.notices_of_this_team()
    news = {(notice.roster, notice.board) for notice in new_notices(parts, truth)}
    for place, notice in enumerate(notices):
        for earlier in notices[:place] if (notice.roster, notice.board) in news else ():
            yield from _lines_twice(earlier, notice, truth)
            yield from overlaps_told_twice(earlier, notice, truth.history, truth.me.name)


def _mail_twice(parts: PromptParts, truth: Truth) -> Iterator[str]:
    shown = Counter(part.text for part in parts.parts if part.source == "mail")
    if all(count == 1 for count in shown.values()):
        return
    heard = {
        (entry.box, one.id): one for _, entry in truth.entries if isinstance(entry, Heard) for one in told_mail(entry)
    }
    sent = Counter(map(message_text, heard.values()))
    for text, count in shown.items():
        if count > sent[text]:
            yield f"a message is told {count} times and came {sent[text]} times: {_shown(text)}"


def _tasks_twice(truth: Truth) -> Iterator[str]:
    entries = (entry for _, entry in truth.in_context)
    taken = Counter((one.task, one.epoch) for one in entries if isinstance(one, Took) and not one.changes)
    for (task, _), count in taken.items():
        if count > 1:
            yield f"task #{task} is told {count} times, and nothing changed"


def _lines_twice(earlier: Noticed, notice: Noticed, truth: Truth) -> Iterator[str]:
    told = set(earlier.text.splitlines())
    history = truth.history
    roster, old_board, new_board = (
        history.roster_at(notice.roster),
        history.board_at(earlier.board),
        history.board_at(notice.board),
    )
    for one in notice.text.splitlines():
        if one not in told:
            continue
        members = [roster.members[name] for name, _ in statuses_told(one, roster.members) if name in roster.members]
        if any(member.status_in <= earlier.roster for member in members):
            yield f"the model is told again, and nothing changed: {_shown(one)}"
        if any(_same_task(old_board, new_board, id_) for id_, _ in tasks_told(one)):
            yield f"the model is told again, and nothing changed: {_shown(one)}"


def _same_task(old: BoardState, new: BoardState, id_: int) -> bool:
    before, after = old.tasks.get(id_), new.tasks.get(id_)
    return before is not None and before == after and line(old, before) == line(new, before)


def _shown(text: str) -> str:
    words = " ".join(text.split())
    return f'"{words[:160]}"'
