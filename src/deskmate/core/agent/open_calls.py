"""Tool calls that have no result yet."""

from collections.abc import Mapping
from typing import assert_never

from deskmate.core.agent.entries import Began, Call, Did, Entry, PermissionAsked, Said, Took
from deskmate.core.log.names import call_id
from deskmate.core.log.value_copies import replace
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.prompt.argument_names import with_our_names
from deskmate.core.team.messages import InputResponse, PermissionResponse
from deskmate.core.values import frozen

# At most this many calls of one answer are run.
CALLS_CAP = 128

# What a model is told of a call that began and did not end.
OUTCOME_UNKNOWN = "Its outcome is unknown. Check what it did before you repeat it."
INTERRUPTED = f"Interrupted. {OUTCOME_UNKNOWN}"
UNWRITTEN = (
    "Not run: its arguments contained a secret, which is never written to disk, and Deskmate was restarted since. "
    "Make the call again if you still need it."
)
CUT_UNWRITTEN = (
    f"{INTERRUPTED} Its arguments contained a secret, which is never written to disk, "
    "so it could not be finished after the restart."
)
TIME_IS_UP = f"Ended: the time limit of this run was reached. {OUTCOME_UNKNOWN}"
NOT_BEGUN_IN_TIME = "Not run: the time limit of this run was reached before this call began."


@frozen
class OpenCall:
    """A call without a result yet. `allowed`: a person's answer, once there is one. `redacted`: as in `Call`.

    `answer`: what the user answered, for the model. `surplus`: CALLS_CAP calls come before it in the same answer.
    `hook`: what hooks decided about it: allow, ask, deny or nothing, and `hook_reason` says why.
    """

    id: str
    tool: str
    arguments: Mapping[str, object]
    flaw: str = ""
    began: bool = False
    request: str | None = None
    allowed: bool | None = None
    why: str = ""
    answer: str = ""
    redacted: bool = False
    surplus: bool = False
    hook: str = ""
    hook_reason: str = ""

    @property
    def only_reads(self) -> bool:
        """Whether the call changes nothing, so that nobody minds if it runs twice."""
        return self.tool in TOOLS and TOOLS[self.tool].reads


def open_calls(name: str, number: int, said: Said) -> dict[str, OpenCall]:
    """Return the calls of what an agent said in a record, by id."""
    found = ((call_id(name, number, index), index, call) for index, call in enumerate(said.calls))
    return {id_: _opened(id_, call, surplus=index >= CALLS_CAP) for id_, index, call in found}


def _opened(id_: str, call: Call, *, surplus: bool) -> OpenCall:
    arguments = with_our_names(call.tool, call.arguments)
    return OpenCall(id_, call.tool, arguments, call.flaw, redacted=bool(call.redacted), surplus=surplus)


def answered(calls: Mapping[str, OpenCall], message: PermissionResponse | InputResponse) -> dict[str, OpenCall]:
    """Return the open calls after the user's answer to the one that asked."""
    match message:
        case PermissionResponse(request_id=id_, approve=approve, content=why):
            changed = (replace(call, allowed=approve, why=why) for call in calls.values() if call.request == id_)
        case InputResponse(request_id=id_):
            words = _words(message)
            changed = (replace(call, allowed=True, answer=words) for call in calls.values() if call.request == id_)
        case unreachable:
            assert_never(unreachable)
    return {**calls, **{call.id: call for call in changed}}


def _words(answer: InputResponse) -> str:
    """Return what the user answered to questions, for the model that asked."""
    if not answer.approve:
        return f"The user gave no answer{f' and says: {answer.content}' if answer.content else ''}. Decide yourself."
    given = (answer.values or {}).items()
    lines = (f"{name}: {'; '.join(map(str, one)) if isinstance(one, list) else one}" for name, one in given)
    return "\n".join(["The user answered:", *lines])


def answered_plan(entry: Did, call: OpenCall | None) -> str:
    """Return the plan that a call answered. Version 0.1 did not record it, so the call itself is read."""
    if entry.answered:
        return entry.answered.request_id
    if call and call.tool == "SendMessage" and entry.ok and call.arguments.get("type") == "plan_approval_response":
        return str(call.arguments.get("request_id", ""))
    return ""


def synced(entry: Entry, calls: Mapping[str, OpenCall]) -> bool:
    """Tell whether an entry must be on disk before anything follows from it. `calls`: those that were open before it.

    True for what the outside will see and what must never run twice. Other entries are synced with the next such entry,
    or within a second.
    """
    match entry:
        case Began(calls=ids):
            return not all(id_ in calls and calls[id_].only_reads for id_ in ids)
        case Took() | PermissionAsked():
            return True
        case _:
            return False
