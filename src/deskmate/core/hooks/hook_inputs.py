"""The JSON that a hook reads on its stdin.

Fields that Claude Code has too have its names and its meaning.
"""

from collections.abc import Mapping
from typing import Any

from deskmate.core.hooks.tool_aliases import shown_arguments, shown_name
from deskmate.core.values import frozen


@frozen
class HookSession:
    """What the input of every hook says. `member`: empty for the lead."""

    session: str
    transcript: str
    folder: str
    mode: str
    member: str = ""
    team: str = ""


def input_of(event: str, session: HookSession, details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input of a hook. `details`: what is special to the event."""
    who = {"agent_id": session.member, "teammate_name": session.member} if session.member else {}
    return {
        "session_id": session.session,
        "transcript_path": session.transcript,
        "cwd": session.folder,
        "permission_mode": _MODES.get(session.mode, session.mode),
        "hook_event_name": event,
        "team_name": session.team,
        **who,
        **details,
    }


_MODES = {"bypass": "bypassPermissions"}


def call_details(call: str, tool: str, arguments: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return what the input says of a call: the tool in Claude Code's form, and under our names too."""
    return {
        "tool_name": shown_name(tool),
        "tool_input": shown_arguments(tool, arguments, folder),
        "tool_use_id": call,
        "deskmate_tool": tool,
    }


def response_details(text: str, arguments: Mapping[str, Any], folder: str, *, ok: bool) -> dict[str, Any]:
    """Return what the input says of the result of a call."""
    shown = shown_arguments("read_file", arguments, folder).get("file_path")
    path = {"filePath": shown} if isinstance(shown, str) else {}
    return {"tool_response": {"content": text, "success": ok, **path}}


def task_details(tool: str, call: str, arguments: Mapping[str, Any], subject: str, text: str) -> dict[str, Any]:
    """Return what the input says of a task that a call creates or completes."""
    id_ = str(arguments.get("taskId", "")).lstrip("#") if tool == "TaskUpdate" else ""
    return {"task_id": id_, "task_subject": subject, "task_description": text, "tool_use_id": call}


def example_of(event: str, tool: str, given: Mapping[str, Any], folder: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return an example of an event: what matchers are compared with, and what is special in the input.

    `given`: the input of the tool, or the values of fields that replace those of the example.
    """
    if event in ("PreToolUse", "PostToolUse", "PermissionRequest"):
        details = call_details("example", tool, given, folder)
        return (), details | (response_details("ok", given, folder, ok=True) if event == "PostToolUse" else {})
    examples: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
        "SessionStart": (("startup",), {"source": "startup"}),
        "UserPromptSubmit": ((), {"prompt": "Write a haiku."}),
        "Notification": (
            ("permission_prompt",),
            {"message": "Deskmate needs your permission to use bash", "title": "Deskmate"},
        ),
        "PreCompact": (("auto",), {"trigger": "auto", "custom_instructions": ""}),
        "SessionEnd": (("other",), {"reason": "other"}),
        "TaskCreated": ((), {"task_id": "", "task_subject": "Write tests", "task_description": ""}),
        "TaskCompleted": ((), {"task_id": "1", "task_subject": "Write tests", "task_description": ""}),
    }
    turn = (("general-purpose",), {"stop_hook_active": False, "last_assistant_message": "Done."})
    names, details = examples.get(event, turn)
    return names, {**details, **given}
