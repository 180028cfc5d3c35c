"""The items of a transcript.

Every item has a key, a title of one line (empty for words) and a text. An item that changes keeps its key: a call that
runs and then has a result is one item.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias, assert_never

from deskmate.core.log.names import LEAD
from deskmate.core.prompt.user_frames import UserCommand
from deskmate.core.values import frozen
from deskmate.faces.common.items.call_summaries import begun, ends, reason
from deskmate.faces.common.items.mail_items import MailItem
from deskmate.faces.common.text_tables import CleanLine

# A diff or message with more lines is closed at first, and so is a text with a longer line.
_SHORT_LINES = 40
LINE_CHARS = 2000
# A command of the user shows so many of its last lines.
COMMAND_LINES = 30
# A longer text is below its title, not beside it.
_BRIEF_CHARS = 400


class CallState(StrEnum):
    """How far a call is."""

    SAID = "said"
    ASKED = "asked"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@frozen
class WordsItem:
    """What a member said, in Markdown."""

    key: str
    text: str
    title: ClassVar[str] = ""


@frozen
class ThoughtItem:
    """What a member's model thought."""

    key: str
    text: str
    title: str = "thought"


@frozen
class CallItem:
    """A tool call and its result. `diff`: what it changes, if it edits a file. `text`: its result.

    `lines`: how many lines a command printed, if the text does not have all of them. `seconds`: how long it has been
    running, if that is known; its text is then what it has printed so far.
    """

    key: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    state: CallState = CallState.SAID
    text: str = ""
    diff: str = ""
    lines: int | None = None
    seconds: int | None = None

    @property
    def title(self) -> str:
        """What it is about. For a call that completes a task, also whether it did."""
        told = ends(self.tool, self.arguments)
        match self.state:
            case CallState.DONE if told:
                return told[0]
            case CallState.FAILED if told:
                return told[1]
        return begun(self.tool, self.arguments)

    @property
    def tells_end(self) -> bool:
        """Whether its title says how it ended."""
        return ends(self.tool, self.arguments) is not None

    @property
    def is_over(self) -> bool:
        """Whether it has its result."""
        return self.state in (CallState.DONE, CallState.FAILED)

    @property
    def failure(self) -> str:
        """Why it failed, in one line; empty if it did not."""
        return reason(self.text) if self.state is CallState.FAILED else ""

    @property
    def prints(self) -> bool:
        """Whether it runs a command, whose last lines say how it went."""
        return self.tool in ("bash", "TaskOutput")

    @property
    def path(self) -> str:
        """The file that it is about; empty if there is none."""
        path = self.arguments.get("path", self.arguments.get("file_path", ""))
        return path if isinstance(path, str) else ""

    @property
    def plan(self) -> str:
        """The plan that it submits, in Markdown; empty if it submits none."""
        plan = self.arguments.get("plan")
        return plan if self.tool == "ExitPlanMode" and isinstance(plan, str) else ""

    @property
    def details(self) -> str:
        """Its arguments, one below the other; empty if the diff shows them."""
        return "" if self.diff else "\n".join(f"{name}: {_value(value)}" for name, value in self.arguments.items())


def _value(value: object) -> str:
    text = (value if isinstance(value, str) else str(value)).strip("\n")
    return "\n  " + text.replace("\n", "\n  ") if "\n" in text else text


@frozen
class TakenTaskItem:
    """A task that a member took, or read again because somebody else changed it.

    `authors`: teammates that wrote it. `changes`: what somebody else changed.
    """

    key: str
    task: int
    authors: str
    text: str
    changes: str = ""

    @property
    def title(self) -> str:
        """Which task, and which teammates wrote it."""
        read = f"read task #{self.task} again" if self.changes else f"took task #{self.task}"
        return f"{read} ({self.authors})" if self.authors else read


@frozen
class NoticeItem:
    """Something else that happened to a member. `minor`: of no interest to those who watch the whole team."""

    key: str
    title: str
    text: str = ""
    minor: bool = False


@frozen
class ParkedItem:
    """A member cannot continue by itself. `text`: why."""

    key: str
    text: str
    member: str = LEAD
    title: ClassVar[str] = "parked"


@frozen
class SummaryItem:
    """A summary that replaces everything before it in a member's context, in Markdown."""

    key: str
    text: str
    title: ClassVar[str] = "made room: a summary replaces everything before"


@frozen
class NoteItem:
    """Words of the program in a conversation."""

    key: str
    lines: tuple[CleanLine, ...]
    title: ClassVar[str] = ""

    @property
    def text(self) -> str:
        """The lines without colours."""
        return "\n".join("".join(cell.text for cell in line) for line in self.lines)


@frozen
class CommandItem:
    """A command that the user runs or has run. `seconds`: how long it has been running, while it does."""

    key: str
    ran: UserCommand
    seconds: int | None = None

    @property
    def title(self) -> str:
        """The command, as it is typed in a shell."""
        return self.ran.title

    @property
    def text(self) -> str:
        """What it has printed."""
        return self.ran.text


TitledItem: TypeAlias = ThoughtItem | TakenTaskItem | NoticeItem | ParkedItem | SummaryItem
TranscriptItem: TypeAlias = WordsItem | CallItem | MailItem | TitledItem
ShownItem: TypeAlias = TranscriptItem | NoteItem | CommandItem


class Fold(StrEnum):
    """Whether the text of an item may be hidden, and whether it is at first."""

    NEVER = "never"
    OPEN = "open"
    CLOSED = "closed"


def fold_of(item: ShownItem) -> Fold:
    """Return whether the text of an item may be hidden. Of words, only the ends of very long lines are."""
    match item:
        case WordsItem():
            return Fold.CLOSED if _has_long_line(item.text) else Fold.NEVER
        case MailItem():
            return Fold.CLOSED if item.additions or _is_long(item.text) else Fold.NEVER
        case CommandItem():
            return Fold.CLOSED if item.text.count("\n") >= COMMAND_LINES else Fold.NEVER
        case CallItem() if item.diff:
            return Fold.CLOSED if _is_long(item.diff) else Fold.OPEN
        case CallItem() if item.plan:
            return Fold.CLOSED if _is_long(item.plan) else Fold.OPEN
        case CallItem():
            return Fold.CLOSED if item.text.strip() or item.arguments else Fold.NEVER
        case TakenTaskItem() | NoticeItem():
            return Fold.NEVER if is_brief(item.text) else Fold.CLOSED
        case ThoughtItem() | SummaryItem():
            return Fold.CLOSED
        case ParkedItem() | NoteItem():
            return Fold.NEVER
        case unreachable:
            assert_never(unreachable)


def source_of(item: ShownItem) -> str:
    """Return what a copy of an item is: its text as it was written."""
    if not isinstance(item, CallItem):
        return item.text or item.title
    return item.diff or item.plan or item.text or item.details or item.title


def is_brief(text: str) -> bool:
    """Return whether a text is a single short line, which is shown beside the title."""
    text = text.strip()
    return "\n" not in text and len(text) <= _BRIEF_CHARS


def _is_long(text: str) -> bool:
    return text.count("\n") > _SHORT_LINES or _has_long_line(text)


def _has_long_line(text: str) -> bool:
    return len(text) > LINE_CHARS and any(len(line) > LINE_CHARS for line in text.splitlines())
