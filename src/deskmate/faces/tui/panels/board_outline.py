"""The order and text of its tasks.

`board_panel` shows it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from deskmate.faces.common.listings import numbers, state_of
from deskmate.faces.common.text_tables import ago
from deskmate.faces.tui.drawing.piece_painter import style_of
from deskmate.faces.tui.drawing.styled_lines import Line, Span, folded, paragraphs, plain, spread, words
from deskmate.queries.team_view import SeenTask

_MOST_DEPTH = 4
_OUTPUT_LINES = 10
# From these widths on, show whom a task is for, how it is verified, and by which command.
_ROLE_CELLS, _PROOF_CELLS, _COMMAND_CELLS = 46, 60, 100
_MARKS = {"free": "○", "given": "◎", "blocked": "↳", "in progress": "●", "done": "✓"}


@dataclass(frozen=True, slots=True)
class Look:
    """What lines are made from: tasks by number, colours of members, the time."""

    tasks: Mapping[int, SeenTask]
    colours: Mapping[str, str]
    now: float


def outline(tasks: Sequence[SeenTask]) -> list[tuple[int, int]]:
    """Return open tasks as (number, depth), each task below all that block it.

    Of tasks that block each other in a cycle, the lowest number comes first.
    """
    to_do = {task.id: task for task in tasks if task.status != "completed"}
    waits = {id_: {other for other in task.waits_for if other in to_do} for id_, task in to_do.items()}
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


def head(task: SeenTask, depth: int, cells: int, look: Look) -> Line:
    """Return a task on one line: its state, its subject, and at the end its owner or what it waits for."""
    state = state_of(task)
    indent = "  " * min(depth, _MOST_DEPTH, cells // 12)
    owner = style_of(task.owner, look.colours) if task.owner else "dim"
    mark = {"done": "green", "in progress": owner}.get(state, "dim")
    faint = "dim" if state in ("done", "blocked") else ""
    left = ((f"{indent}{_MARKS[state]} ", mark), (f"#{task.id} ", "dim"), (words(task.subject), faint))
    return spread(left, _joined(_facts(task, state, cells, look)), cells, least=cells // 2)


def _facts(task: SeenTask, state: str, cells: int, look: Look) -> Iterator[Line]:
    owner: Line = ((f"@{words(task.owner)}", style_of(task.owner, look.colours)),) if task.owner else ()
    if state == "blocked":
        yield ((f"after {numbers(task.waits_for)}", "dim"),)
    elif state in ("free", "given"):
        yield ((state, "green" if state == "free" else "dim"),)
    if owner:
        yield owner
    if state == "in progress":
        yield ((ago(look.now - task.updated), "dim"),)
    if task.role and cells >= _ROLE_CELLS and state != "done":
        yield ((f"for {words(task.role)}", "dim"),)
    if task.verify is not None and cells >= _PROOF_CELLS:
        yield (_proof(task, cells),)


def _proof(task: SeenTask, cells: int) -> Span:
    if task.receipt:
        return ("verified ✓", "green") if not task.receipt.exit else (f"exit {task.receipt.exit}", "red")
    return (f"to verify: {words(task.verify or '')}" if cells >= _COMMAND_CELLS else "to verify"), "italic"


def _joined(facts: Iterator[Line]) -> Line:
    return tuple(span for fact in facts for span in ((" ", ""), *fact))[1:]


def below(task: SeenTask, cells: int, look: Look) -> list[Line]:
    """Return everything else that the board has of a task."""
    # Repeat the subject only if it was cut.
    cut_off = words(task.subject) not in plain(head(task, 0, cells, look))
    lines = [*_text(task.subject if cut_off else ""), *_text(task.description, "dim")]
    lines += [*_blocks(task, look), *_verified(task, look)]
    lines += [((note, ""),) for note in _notes(task)]
    given = f"for {words(task.role)}, " if task.role else ""
    created = f"{given}created {ago(look.now - task.created)} ago by {words(task.created_by)}"
    edited = f", edited by {words(', '.join(task.edited_by))}" if task.edited_by else ""
    times = f"{created}{edited}, changed {ago(look.now - task.updated)} ago"
    lines.append(((times, "dim"),))
    margin = "    "
    return [((margin, ""), *row) for line in lines for row in folded(line, max(cells - len(margin), 1), "  ")]


def _text(text: str, style: str = "") -> list[Line]:
    return [((line, style),) for line in paragraphs(text)]


def _notes(task: SeenTask) -> Iterator[str]:
    for by, note in zip(task.noted_by, task.notes, strict=True):
        yield from (f"      {line}" if n else f"note by {words(by)}: {line}" for n, line in enumerate(paragraphs(note)))


def _blocks(task: SeenTask, look: Look) -> Iterator[Line]:
    for id_ in task.blocked_by:
        other = look.tasks.get(id_)
        what = f" {words(other.subject)} ({state_of(other)})" if other else ""
        yield ((f"after #{id_}", "yellow" if id_ in task.waits_for else "dim"), (what, "dim"))


def _verified(task: SeenTask, look: Look) -> Iterator[Line]:
    receipt = task.receipt
    if receipt is None:
        yield from [(("to verify: ", "italic"), (words(task.verify), ""))] if task.verify is not None else []
        return
    proof = ("verified ✓ ", "green") if not receipt.exit else ("failed ✗ ", "red")
    yield proof, (words(receipt.command), "")
    commit = f" at {words(receipt.commit)[:12]}" if receipt.commit else ""
    yield ((f"exit {receipt.exit}, {ago(look.now - task.updated)} ago{commit} in {words(receipt.workspace)}", "dim"),)
    output = [line for line in paragraphs(receipt.output) if line]
    if len(output) > _OUTPUT_LINES:
        yield ((f"│ … {len(output) - _OUTPUT_LINES:,} lines before these", "dim"),)
    yield from ((("│ ", "dim"), (line, "")) for line in output[-_OUTPUT_LINES:])
