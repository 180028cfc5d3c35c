"""What a tool call is about, why it failed, and why a model is asked again."""

import re
from collections.abc import Mapping

from deskmate.core.policy.tool_table import TOOLS
from deskmate.faces.common.terminal_text import clean, gist, one_line

# The arguments that say most about a call.
TELLING = ("path", "file_path", "command", "pattern")
# What a message is, in the words that its recipient sees too.
_KINDS = {"shutdown_request": "shutdown request", "shutdown_response": "shutdown", "plan_approval_response": "plan"}
_TRACEBACK = re.compile(r"\s*(?:[+|]\s*)*(?:Exception Group )?Traceback \(most recent call last\):")
# Each line of an exception group has a margin.
_MARGIN = re.compile(r"^(?:\s*[|+](?=[ -]))*\s?")
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:: .*)?")
_STATUS = re.compile(r"exit status \d+")
# `1 failed, 2 passed in 0.12s`, with or without the rule around it.
_SUMMARY = re.compile(
    r"=*\s*((?:\d+ (?:failed|passed|errors?|skipped|xfailed|xpassed|deselected|warnings?)(?:, )?)+ in [\d.]+s.*?)\s*=*"
)
_FAILED = re.compile(r"(?:FAILED|ERROR) (\S+.*)")
_FAULTY = re.compile(
    r"\b(?:error|fatal|fail(?:ed|ure)?|cannot|can't|no such|not found|denied|refused|undefined)\b", re.IGNORECASE
)


def reason(text: str) -> str:
    """Return one line that says why a call failed: a traceback's error, pytest's summary, or a line about an error."""
    lines = [line for line in clean(text).splitlines() if line.strip()]
    status = one_line(lines.pop()) if len(lines) > 1 and _STATUS.fullmatch(lines[-1].strip()) else ""
    why = one_line(_summary(lines) or _raised(lines) or _telling(lines))
    return f"{why} ({status})" if status and why else why or status


def _summary(lines: list[str]) -> str:
    """Return how many tests failed, and the first of them."""
    counts = [found[1] for line in lines if (found := _SUMMARY.fullmatch(line.strip()))]
    if not counts or not re.search(r"failed|error", counts[-1]):
        return ""
    first = next((found[1] for line in lines if (found := _FAILED.match(line))), "")
    return f"{counts[-1]}: {first}" if first else counts[-1]


def _raised(lines: list[str]) -> str:
    """Return the error at the end of the last traceback."""
    starts = [index for index, line in enumerate(lines) if _TRACEBACK.match(line)]
    if not starts:
        return ""
    rest = [_MARGIN.sub("", line, count=1) for line in lines[starts[-1] + 1 :]]
    # Frames are indented. The first line that is not begins the error.
    return next((line for line in rest if line[:1].strip() and _RAISED.fullmatch(line)), "")


def _telling(lines: list[str]) -> str:
    """Return the last line that mentions an error, or the gist of the text if none does."""
    if len(lines) < 2:
        return lines[0] if lines else ""
    return next((line for line in reversed(lines) if _FAULTY.search(line)), "") or gist("\n".join(lines))


def call_label(tool: str, arguments: Mapping[str, object]) -> str:
    """Return one line that says what a call is about."""
    if tool == "SendMessage":
        kind = str(arguments.get("type", "message"))
        to = "all" if kind == "broadcast" else arguments.get("recipient") or _asker(arguments)
        answer = f": {'yes' if arguments['approve'] is True else 'no'}" if "approve" in arguments else ""
        what = f" ({_KINDS[kind]}{answer})" if kind in _KINDS else ""
        said = arguments.get("summary") or arguments.get("content")
        return f"{tool} {to}{what}: {said}" if said else f"{tool} {to}{what}"
    if tool == "TaskUpdate":
        return f"{tool} {_task(arguments)} {arguments.get('status', '')}"
    if tool in TOOLS and TOOLS[tool].home == "task":
        about = arguments.get("subject") or (_task(arguments) if "taskId" in arguments else "")
        return " ".join(filter(None, [tool, str(about), _team(arguments)]))
    if tool == "AskUser":
        return f"{tool} {_asked(arguments)}".rstrip()
    telling = [arguments.get(name) for name in TELLING] + list(arguments.values())
    first = next((value for value in telling if isinstance(value, str)), "")
    about = arguments.get("description") if tool == "bash" else None
    return f"{tool} {first}{f'  # {about}' if isinstance(about, str) and about else ''}".rstrip()


def _asked(arguments: Mapping[str, object]) -> str:
    """Return the questions of a call. What a model wrote may have any shape."""
    given = arguments.get("questions")
    questions = [one.get("question") for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    return " ".join(one for one in questions if isinstance(one, str))


def _asker(arguments: Mapping[str, object]) -> str:
    """Return who made the request that a message answers. The id of a request begins with that name."""
    name, colon, _ = str(arguments.get("request_id", "")).partition(":")
    return name if name and colon else "the asker"


def begun(tool: str, arguments: Mapping[str, object]) -> str:
    """Return the line for a call that was requested or has started. A task is not completed yet."""
    return f"completing {_task(arguments)} …" if ends(tool, arguments) else call_label(tool, arguments)


def ends(tool: str, arguments: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the lines for success and for failure of a call, or None if its first line already says it."""
    if tool != "TaskUpdate" or arguments.get("status") != "completed":
        return None
    return f"{_task(arguments)} completed", f"{_task(arguments)} not completed"


def _task(arguments: Mapping[str, object]) -> str:
    return " ".join(filter(None, [f"#{str(arguments.get('taskId', '')).lstrip('#')}", _team(arguments)]))


def _team(arguments: Mapping[str, object]) -> str:
    """Return the team whose board a call names, if it names one."""
    team = arguments.get("team_name")
    return f"({team})" if team else ""


def retry_line(seconds: float, reason: str, model: str) -> str:
    """Return a line saying that a model is asked again, and when. The model is named only once."""
    if not seconds:
        return f"asking {model} instead: {reason}"
    when = f"in {seconds:.0f} s" if seconds >= 1 else "in less than 1 s"
    return f"{reason}. Trying again {when}" if model in reason else f"trying {model} again {when}: {reason}"
