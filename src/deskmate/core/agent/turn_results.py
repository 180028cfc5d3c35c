"""What came of the last turn."""

from collections.abc import Collection, Sequence
from itertools import islice

from deskmate.core.agent.entries import Call, Did, Entry, Heard, Reported, Said
from deskmate.core.agent.memory import Memory
from deskmate.core.log.names import call_id
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.team.handshakes import plans_among
from deskmate.core.team.messages import Envelope, Undeliverable, read_envelope, summarise
from deskmate.core.team.tasks import TaskStatus
from deskmate.core.values import frozen

_LINES = 10


@frozen
class Turn:
    """The result of a turn. `only_words`: it completed and sent nothing; its last words are the only result."""

    peers: tuple[str, ...] = ()
    only_words: bool = False


@frozen
class OpenPlan:
    """A plan that waits for an answer. `is_last`: the agent has said nothing since."""

    text: str
    is_last: bool


def open_plan(memory: Memory, entries: Sequence[tuple[int, Entry]]) -> OpenPlan | None:
    """Return the plan that an agent submitted and nobody has answered, if any."""
    asked = plans_among(memory.requests.values())
    said = [(number, entry) for number, entry in entries if isinstance(entry, Said)]
    for number, entry in reversed(said) if asked else ():
        for index, call in enumerate(entry.calls):
            if call_id(memory.name, number, index) in asked:
                return OpenPlan(str(call.arguments.get("plan", "")), is_last=number == said[-1][0])
    return None


def edited_files(name: str, entries: Sequence[tuple[int, Entry]]) -> set[str]:
    """Return the files that an agent changed with a tool that edits files, by path."""
    edits: set[str] = set()
    files: set[str] = set()
    for number, entry in entries:
        match entry:
            case Said(calls=calls):
                made = (call_id(name, number, i) for i, call in enumerate(calls) if _edits(call.tool))
                edits.update(made)
            case Did(call=call, ok=True) if call in edits:
                files.update(entry.files)
    return files


def _edits(tool: str) -> bool:
    return tool in TOOLS and TOOLS[tool].edits


def last_turn(name: str, entries: Sequence[tuple[int, Entry]]) -> Turn:
    """Return the result of the last turn, even if it has not ended yet.

    It has a line for each message that was sent, and for each that came back.
    """
    # Entries are read backwards, and so are the calls and the lines until the end.
    calls: list[tuple[str, Call]] = []
    done: set[str] = set()
    returned: list[str] = []
    told = words = False
    for number, entry in reversed(entries):
        match entry:
            case Said(calls=(), unfinished=False) if words:
                break
            case Said():
                words = True
                calls += reversed([(call_id(name, number, index), call) for index, call in enumerate(entry.calls)])
            case Did(call=call, ok=True):
                done.add(call)
            case Heard():
                returned += reversed(_bounced(name, entry))
            case Reported():
                told = True
    effects = [call for id_, call in reversed(calls) if id_ in done]
    sent = [call for call in effects if call.tool in ("SendMessage", "ExitPlanMode")]
    completed = any(
        call.tool == "TaskUpdate" and call.arguments.get("status") == TaskStatus.COMPLETED for call in effects
    )
    lines = islice((_line(call) for call in sent if call.tool == "SendMessage"), _LINES)
    return Turn((*lines, *returned[::-1][:_LINES]), only_words=words and not (sent or completed or told))


def _bounced(name: str, entry: Heard) -> list[str]:
    """Return a line for each message of a member that came back to it."""
    found = (read_envelope(body) for body in entry.mail)
    notes = (one.message for one in found if isinstance(one, Envelope) and isinstance(one.message, Undeliverable))
    returned = (read_envelope(note.original) for note in notes)
    mine = (one for one in returned if isinstance(one, Envelope) and one.sender == name)
    return [f"mail to {one.recipient} came back: {summarise(getattr(one.message, 'content', ''))}" for one in mine]


def background_calls(name: str, entries: Sequence[tuple[int, Entry]], ids: Collection[str]) -> dict[str, str]:
    """Return what each background command or subagent was started with: its command or its prompt."""
    made = {entry.call: entry.background for _, entry in entries if isinstance(entry, Did) and entry.background in ids}
    found: dict[str, str] = {}
    for number, entry in entries:
        for index, call in enumerate(entry.calls if isinstance(entry, Said) else ()):
            if id_ := made.get(call_id(name, number, index)):
                found[id_] = " ".join(str(call.arguments.get("command") or call.arguments.get("prompt", "")).split())
    return found


def _line(call: Call) -> str:
    kind, to = str(call.arguments.get("type", "message")), str(call.arguments.get("recipient", ""))
    # A broadcast goes to everyone. An answer goes to the agent that asked.
    whom = "to all" if kind == "broadcast" else f"to {to:.80}" if to else ""
    what = whom if kind in ("message", "broadcast") else f"{kind:.40} {whom}".rstrip()
    words = summarise(str(call.arguments.get("content", "")), str(call.arguments.get("summary", "")))
    return f"{what}: {words}" if words else what
