"""The order and text of its tasks.

`board_panel` shows it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from deskmate.core.prompt.task_lines import authors
from deskmate.core.team.tasks import Task
from deskmate.faces.common.items.conflict_items import short_words
from deskmate.faces.common.items.task_items import TaskItem, TaskState
from deskmate.faces.common.terminal_text import cut_middle
from deskmate.faces.common.text_tables import ago
from deskmate.faces.tui.drawing.item_painter import style_of
from deskmate.faces.tui.drawing.styled_lines import Line, folded, paragraphs, plain, spread, words

_MOST_DEPTH = 4
_OUTPUT_LINES = 10
# From these widths on, show whom a task is for, how it is verified, and by which command.
_ROLE_CELLS, _PROOF_CELLS, _COMMAND_CELLS = 46, 60, 100
_LEAST_NAME_CELLS = 8
_MARKS = {
    TaskState.FREE: "○",
    TaskState.GIVEN: "◎",
    TaskState.BLOCKED: "↳",
    TaskState.IN_PROGRESS: "●",
    TaskState.DONE: "✓",
    TaskState.DROPPED: "✗",
}


@dataclass(frozen=True, slots=True)
class Look:
    """What lines are made from: tasks by number, colours of members, the time."""

    tasks: Mapping[int, TaskItem]
    colours: Mapping[str, str]
    now: float


def outline(items: Sequence[TaskItem]) -> list[tuple[int, int]]:
    """Return open tasks as (number, depth), each task below all that block it.

    Of tasks that block each other in a cycle, the lowest number comes first.
    """
    to_do = {item.task.id: item for item in items if item.task.is_open}
    waits = {id_: {other for other in item.waits_for if other in to_do} for id_, item in to_do.items()}
    blocks: dict[int, list[int]] = defaultdict(list)
    for id_ in sorted(to_do, reverse=True):
        for other in waits[id_]:
            blocks[other].append(id_)
    depths: dict[int, int] = {}
    lowest = iter(sorted(to_do))
    free = [(id_, 0) for id_ in sorted(to_do, reverse=True) if not waits[id_]]
    while len(depths) < len(to_do):
        id_, depth = free.pop() if free else (next(one for one in lowest if one not in depths), 0)
        if id_ in depths:
            continue
        depths[id_] = depth
        for other in blocks[id_]:
            waits[other].discard(id_)
            free += [] if waits[other] else [(other, depth + 1)]
    return list(depths.items())


def head(item: TaskItem, depth: int, cells: int, look: Look) -> Line:
    """Return a task on one line: its state, its subject, and at the end its owner or what it waits for."""
    task, state = item.task, item.state
    indent = "  " * min(depth, _MOST_DEPTH, cells // 12)
    owner = style_of(task.owner, look.colours) if task.owner else "dim"
    mark = {TaskState.DONE: "green", TaskState.IN_PROGRESS: owner}.get(state, "dim")
    faint = "dim" if state in (TaskState.DONE, TaskState.BLOCKED) else ""
    left = ((f"{indent}{_MARKS[state]} ", mark), (f"#{task.id} ", "dim"), (words(task.subject), faint))
    return spread(left, _joined(_facts(item, cells, look)), cells, least=cells // 2)


def _facts(item: TaskItem, cells: int, look: Look) -> Iterator[Line]:
    task = item.task
    match item.state:
        case TaskState.BLOCKED:
            yield ((item.blocked, "dim"),)
        case TaskState.FREE | TaskState.GIVEN:
            yield ((item.state, "green" if item.state is TaskState.FREE else "dim"),)
    if task.owner:
        # Names often differ only at their ends, so the end must not be cut.
        name = cut_middle(words(task.owner), max(_LEAST_NAME_CELLS, cells // 3))
        yield ((f"@{name}", style_of(task.owner, look.colours)),)
    if item.state is TaskState.IN_PROGRESS:
        yield ((ago(look.now - task.updated), "dim"),)
    if item.meets:
        yield ((words(item.meets) if cells >= _ROLE_CELLS else "!", "yellow"),)
    if item.role and cells >= _ROLE_CELLS and item.state is not TaskState.DONE:
        yield ((words(item.role), "dim"),)
    if item.proof and cells >= _PROOF_CELLS:
        yield ((words(item.proof if cells >= _COMMAND_CELLS else item.verified), _proof_style(item)),)


def _proof_style(item: TaskItem) -> str:
    receipt = item.task.receipt
    return "italic" if receipt is None else "red" if receipt.exit else "green"


def _joined(facts: Iterator[Line]) -> Line:
    return tuple(span for fact in facts for span in ((" ", ""), *fact))[1:]


def below(item: TaskItem, cells: int, look: Look) -> list[Line]:
    """Return everything else that the board has of a task."""
    task = item.task
    # Repeat the subject only if it was cut.
    cut_off = words(task.subject) not in plain(head(item, 0, cells, look))
    lines = [*_text(task.subject if cut_off else ""), *_text(task.description, "dim")]
    lines += [*_blocks(item, look), *_meets(item), *_verified(item, look)]
    lines += [((note, ""),) for note in _notes(task)]
    given = f"{words(item.role)}, " if item.role else ""
    created = f"{given}created {ago(look.now - task.created)} ago {words(authors(task))}"
    lines.append(((f"{created}, changed {ago(look.now - task.updated)} ago", "dim"),))
    margin = "    "
    return [((margin, ""), *row) for line in lines for row in folded(line, max(cells - len(margin), 1), "  ")]


def _text(text: str, style: str = "") -> list[Line]:
    return [((line, style),) for line in paragraphs(text)]


def _notes(task: Task) -> Iterator[str]:
    for by, note in task.notes:
        yield from (f"      {line}" if n else f"note by {words(by)}: {line}" for n, line in enumerate(paragraphs(note)))


def _blocks(item: TaskItem, look: Look) -> Iterator[Line]:
    for id_ in sorted(item.task.blocked_by):
        other = look.tasks.get(id_)
        what = f" {words(other.task.subject)} ({other.state})" if other else ""
        yield ((f"blocked by #{id_}", "yellow" if id_ in item.waits_for else "dim"), (what, "dim"))


def _meets(item: TaskItem) -> Iterator[Line]:
    for overlap in item.overlaps:
        how = short_words(item.task.owner or "", (overlap,))
        yield ((how, "yellow"), (f" in {words(', '.join(overlap.files))}", "dim"))


def _verified(item: TaskItem, look: Look) -> Iterator[Line]:
    if item.proof:
        yield ((words(item.proof), _proof_style(item)),)
    receipt = item.task.receipt
    if receipt is None:
        return
    commit = f" at {words(receipt.commit)[:12]}" if receipt.commit else ""
    yield ((f"{ago(look.now - item.task.updated)} ago{commit} in {words(receipt.workspace)}", "dim"),)
    output = [line for line in paragraphs(receipt.output) if line]
    if len(output) > _OUTPUT_LINES:
        yield ((f"│ … {len(output) - _OUTPUT_LINES:,} lines before these", "dim"),)
    yield from ((("│ ", "dim"), (line, "")) for line in output[-_OUTPUT_LINES:])
