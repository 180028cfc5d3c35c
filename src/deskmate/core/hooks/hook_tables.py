"""The hooks that are in force, by event.

A file describes hooks in the form that Claude Code uses: `{EVENT: [{matcher, hooks: [{type, command, timeout}]}]}`.
What a file has and this version does not support is listed, never silently left out.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from deskmate.core.hooks.tool_aliases import names_of
from deskmate.core.values import frozen
from deskmate.errors import BadInput

# Event → what its matcher is compared with; None for an event without matcher.
EVENTS: Mapping[str, str | None] = {
    "SessionStart": "startup or resume",
    "UserPromptSubmit": None,
    "PreToolUse": "the tool",
    "PermissionRequest": "the tool",
    "PostToolUse": "the tool",
    "Notification": "the kind of notification",
    "Stop": None,
    "SubagentStop": "the agent type",
    "TeammateIdle": None,
    "TaskCreated": None,
    "TaskCompleted": None,
    "PreCompact": "manual or auto",
    "SessionEnd": "why the session ends",
}
_OF_LEAD = frozenset({"SessionStart", "UserPromptSubmit", "Notification", "SessionEnd"})
TOOL_EVENTS = frozenset(event for event, compared in EVENTS.items() if compared == "the tool")
DEFAULT_SECONDS, MOST_SECONDS = 60.0, 600.0
# Nobody has more than this in one file.
_MOST_HOOKS = 100
_PLAIN = re.compile(r"[A-Za-z0-9_.\-]+(?:\s*\|\s*[A-Za-z0-9_.\-]+)*")


@frozen
class Hook:
    """One hook. `file`: where it is described. `of_project`: that file is in the workspace.

    `command`: for a shell, or empty. `url`: where the JSON is posted instead, with `headers`, in
    which these `variables` of the environment are filled in. `is_async`: nobody waits for it, so it decides nothing.
    `agent_type`: it applies only to agents of this type, whose file describes it.
    """

    event: str
    matcher: str
    command: str
    seconds: float
    file: str
    of_project: bool
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    variables: tuple[str, ...] = ()
    is_async: bool = False
    agent_type: str = ""

    @property
    def label(self) -> str:
        """A short name for people."""
        # The rest of an address may contain a token.
        return " ".join((self.command or self.url.partition("?")[0]).split())[:80]

    def fits(self, names: Iterable[str]) -> bool:
        """Tell whether the matcher fits one of these names. An event without matcher has no names, and always fits."""
        names = tuple(names)
        return EVENTS[self.event] is None or any(fits(self.matcher, name) for name in names)


@frozen
class HookTable:
    """All hooks in force."""

    hooks: tuple[Hook, ...] = ()

    def of_type(self, agent_type: str) -> "HookTable":
        """Return the hooks of an agent of a type that a file describes, empty for other agents."""
        return HookTable(tuple(hook for hook in self.hooks if hook.agent_type in ("", agent_type)))

    def for_event(self, event: str, *names: str) -> tuple[Hook, ...]:
        """Return the hooks of an event whose matcher fits. One that is described twice runs once."""
        found: dict[tuple[str, str, bool], Hook] = {}
        for hook in self.hooks:
            if hook.event == event and hook.fits(names):
                found.setdefault((hook.command, hook.url, hook.of_project), hook)
        return tuple(found.values())

    def for_tool(self, event: str, tool: str) -> tuple[Hook, ...]:
        """Return the hooks of an event for a tool, by our name of it."""
        return self.for_event(event, *names_of(tool))


@frozen
class HookFile:
    """What a file describes. `problems`: what of it is not used, and why."""

    hooks: tuple[Hook, ...] = ()
    problems: tuple[str, ...] = ()


def fits(matcher: str, name: str) -> bool:
    """Tell whether a matcher fits a name: all (`*` or empty), one of the names between `|`, or a regular expression."""
    if matcher in ("", "*"):
        return True
    if _PLAIN.fullmatch(matcher) and "." not in matcher:
        return name in (part.strip() for part in matcher.split("|"))
    return re.search(rf"\A(?:{matcher})\Z", name) is not None


def hooks_in(described: object, file: str, *, of_project: bool) -> HookFile:
    """Return the hooks of the `hooks` part of a file. Never raises: what is wrong is a problem of the file."""
    problems: list[str] = []
    found = list(_hooks(described, file, of_project, problems))
    if len(found) > _MOST_HOOKS:
        problems.append(f"it has {len(found)} hooks, and only the first {_MOST_HOOKS} are used")
    return HookFile(tuple(found[:_MOST_HOOKS]), tuple(problems))


def agent_hooks_in(described: object, file: str, agent_type: str, *, of_project: bool) -> HookFile:
    """Return the hooks that an agent file describes, for agents of its type alone. Never raises.

    `Stop` is for the end of a turn of such an agent, whether it is a subagent or a teammate.
    """
    found = hooks_in(described, file, of_project=of_project)
    problems = [f"{event} is about the lead" for event in sorted({hook.event for hook in found.hooks} & _OF_LEAD)]
    ends = ("SubagentStop", "TeammateIdle")
    hooks = (
        replace(hook, event=event, agent_type=agent_type, matcher="" if hook.event == "Stop" else hook.matcher)
        for hook in found.hooks
        if hook.event not in _OF_LEAD
        for event in (ends if hook.event == "Stop" else (hook.event,))
    )
    return HookFile(tuple(hooks), (*found.problems, *problems))


def checked_hooks(described: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the same description, or raise BadInput for its first problem. For settings in our own format."""
    found = hooks_in(described, "", of_project=False)
    if found.problems:
        raise BadInput(found.problems[0])
    return described


def _hooks(described: object, file: str, of_project: bool, problems: list[str]) -> Iterator[Hook]:
    if not isinstance(described, Mapping):
        problems.append("`hooks` must be a table of events")
        return
    for event, groups in described.items():
        if event not in EVENTS:
            near = difflib.get_close_matches(str(event), EVENTS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"supported are {', '.join(EVENTS)}"
            problems.append(f"event {str(event)[:60]} is not supported: {hint}")
        elif not isinstance(groups, list):
            problems.append(f"{event} must be a list of tables with `hooks`")
        else:
            for number, group in enumerate(groups, 1):
                yield from _group(event, f"{event}, number {number}", group, file, of_project, problems)


def _group(event: str, where: str, group: object, file: str, of_project: bool, problems: list[str]) -> Iterator[Hook]:
    if not isinstance(group, Mapping) or not isinstance(group.get("hooks"), list):
        problems.append(f"{where} must be a table with `hooks`, a list")
        return
    matcher = group.get("matcher", "")
    if not isinstance(matcher, str) or not _is_pattern(matcher):
        problems.append(f"{where}: the matcher {str(matcher)[:60]!r} is not a valid regular expression")
        return
    for hook in group["hooks"]:
        try:
            yield _hook(event, matcher, hook, file, of_project)
        except BadInput as error:
            problems.append(f"{where}: {error.message}")


def _is_pattern(matcher: str) -> bool:
    try:
        fits(matcher, "")
    except (re.error, RecursionError):
        return False
    return True


def _hook(event: str, matcher: str, hook: object, file: str, of_project: bool) -> Hook:
    if not isinstance(hook, Mapping):
        raise BadInput("a hook must be a table with `type` and `command`")
    kind, seconds = hook.get("type"), hook.get("timeout", DEFAULT_SECONDS)
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds <= MOST_SECONDS:
        raise BadInput(f"`timeout` must be a number of seconds, at most {MOST_SECONDS:g}")
    is_async = hook.get("async", False)
    if not isinstance(is_async, bool):
        raise BadInput("`async` must be true or false")
    if kind == "command":
        command = hook.get("command")
        if not isinstance(command, str) or not command.strip():
            raise BadInput("`command` must be a text for a shell")
        return Hook(event, matcher, command, float(seconds), file, of_project, is_async=is_async)
    if kind == "http":
        return replace(_http_hook(event, matcher, hook, float(seconds), file, of_project), is_async=is_async)
    raise BadInput(f"hooks of type {str(kind)[:40]!r} are not supported")


def _http_hook(event: str, matcher: str, hook: Mapping[str, Any], seconds: float, file: str, of_project: bool) -> Hook:
    if of_project:
        raise BadInput("hooks of type 'http' work only in your own settings")
    url, headers, variables = hook.get("url"), hook.get("headers", {}), hook.get("allowedEnvVars", [])
    if not isinstance(url, str) or not re.fullmatch(r"https?://[^/\s@]+(?:/\S*)?", url):
        raise BadInput("`url` must be an address such as https://example.org/hooks, without a password")
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise BadInput("`headers` must be a table of texts")
    if not isinstance(variables, list) or not all(isinstance(name, str) for name in variables):
        raise BadInput("`allowedEnvVars` must be a list of names of variables")
    return Hook(event, matcher, "", seconds, file, of_project, url, tuple(headers.items()), tuple(variables))
