"""What hooks did, as items. A hook that had no effect is not shown."""

from collections.abc import Iterator

from deskmate.core.agent.entries import Hooked
from deskmate.faces.common.items.transcript_items import NoticeItem

_WORDS = {"allow": "allowed a call", "ask": "wants a call to be asked about", "deny": "blocked"}
_BLOCKED = {
    "UserPromptSubmit": "blocked your message",
    "PreToolUse": "blocked a call",
    "PermissionRequest": "refused a call",
    "PostToolUse": "objects to a call",
    "TaskCreated": "blocked a new task",
    "TaskCompleted": "blocked the end of a task",
}


def hook_items(key: str, entry: Hooked) -> Iterator[NoticeItem]:
    """Yield what hooks of an event did."""
    name = f"{entry.event} hook"
    if entry.decision:
        words = _BLOCKED.get(entry.event, "wants more work") if entry.decision == "deny" else _WORDS[entry.decision]
        yield NoticeItem(f"{key}/decision", f"{name} {words}", entry.reason or "")
    if entry.arguments is not None:
        yield NoticeItem(f"{key}/change", f"{name} changed a call", _listed(entry.arguments))
    if entry.stop is not None:
        yield NoticeItem(f"{key}/stop", f"{name} stopped the work", entry.stop)
    if entry.context:
        yield NoticeItem(f"{key}/context", f"{name} added context", "\n".join(entry.context), minor=True)
    for index, line in enumerate(entry.shown or ()):
        yield NoticeItem(f"{key}/shown{index}", f"{name} says", line)


def _listed(arguments: dict[str, object]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in arguments.items())
