"""What it reads in a prompt.

Nothing here knows the state of a team. It reads the sentences and frames of the runtime in order and takes them
literally. A summary replaces everything before it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import Any

from deskmate.core.prompt.compaction import summary_request
from deskmate.core.prompt.prompts import CallBlock, Prompt, ResultBlock, Spoke, TextBlock

# What the agent writes into a summary to remember that it has created the tasks and the team.
GAVE_OUT = "I gave out the work."
_CALL = re.compile(r"\b([A-Za-z_]+)\((?=[A-Za-z_]+=)")
_ARGUMENT = re.compile(r"([A-Za-z_]+)=")
_FRAME = re.compile(r"<(teammate-message|deskmate-task)((?: [a-z_]+=\"[^\"]*\")*)>(.*?)</\1>(?:\n(.*))?", re.DOTALL)
_ATTRIBUTE = re.compile(r'([a-z_]+)="([^"]*)"')
_UNANSWERED = "Messages and notices that you have not answered yet"
_TITLES = frozenset({"On your team now", "The request", "Your mode", "Open requests", "Open tasks", _UNANSWERED})
_SECTION = re.compile(r"\n\n(?=[A-Z][^\n]*:\n- )")
_MEMBER = re.compile(r"(?:^|, )([^\s,(:]+)(?: \([^)]*\))?")
_JOINED = re.compile(r"^(?:- )?(\S+)(?: \([^)]*\))? joined the team", re.MULTILINE)
_LEFT = re.compile(r"^(?:- )?(\S+)(?: \([^)]*\))? (?:has )?left", re.MULTILINE)
_BESIDES = re.compile(r"^On the team besides you: (.*?)\.(?: |$)", re.MULTILINE)
_SPAWNED = re.compile(r"^agent_id (\S+)@\S+", re.MULTILINE)
_TAKEN = re.compile(r"^Task #(\d+) is yours now\.")
_LOST = re.compile(r"Task #(\d+) is no longer yours")
# Not the word in a printed call, which says how to complete a task.
_DONE = re.compile(r"#(\d+)[^\n]*(?<!\")\bcompleted\b|completed (?:task )?#(\d+)")


class Stuck(Exception):
    """The prompt does not say how to continue."""


@dataclass(frozen=True)
class PrintedCall:
    """A call as a text of ours prints it. `label`: the words before it, such as `To approve it`."""

    label: str
    tool: str
    arguments: tuple[tuple[str, Any], ...]

    def get(self, name: str) -> Any:
        """Return an argument, or None."""
        return dict(self.arguments).get(name)


@dataclass(frozen=True)
class Shutdown:
    """A request to leave. `refuse`: None if it cannot be refused."""

    agree: PrintedCall
    refuse: PrintedCall | None


@dataclass(frozen=True)
class PlanRead:
    """A plan of another member."""

    text: str
    approve: PrintedCall
    refuse: PrintedCall


@dataclass(frozen=True)
class TaskRead:
    """The task in progress."""

    number: int
    text: str
    complete: PrintedCall


def is_summary_request(prompt: Prompt) -> bool:
    """Return whether a prompt asks for a summary of the conversation."""
    wanted = summary_request().strip()[:80]
    last = prompt.passages[-1].blocks[-1]
    return isinstance(last, TextBlock) and wanted in last.text


def calls_in(text: str) -> list[PrintedCall]:
    """Return the calls that a text prints, in order."""
    return list(_calls(text))


def _calls(text: str) -> Iterator[PrintedCall]:
    decoder = json.JSONDecoder()
    for found in _CALL.finditer(text):
        at, arguments = found.end(), list[tuple[str, Any]]()
        try:
            while name := _ARGUMENT.match(text, at):
                value, at = decoder.raw_decode(text, name.end())
                arguments.append((name[1], value))
                at += 2 if text.startswith(", ", at) else 0
        except json.JSONDecodeError:
            continue
        if text.startswith(")", at):
            before = text[: found.start()].rstrip(": ")
            label = re.split(r"[.\n]\s*", before)[-1]
            yield PrintedCall(label.strip("- "), found[1], tuple(arguments))


@dataclass
class _Known:
    """What was told so far. `done`: numbers of tasks that were reported as completed."""

    members: dict[str, None] = field(default_factory=dict)
    task: TaskRead | None = None
    done: set[int] = field(default_factory=set)
    requests: dict[str, Shutdown] = field(default_factory=dict)
    plans: dict[str, PlanRead] = field(default_factory=dict)
    planning: bool = False
    plan_waits: bool = False
    refusals: list[str] = field(default_factory=list)
    asked_to_leave: set[str] = field(default_factory=set)
    began: bool = False
    how_to_plan: PrintedCall | None = None
    no_open_tasks: bool = False
    was_refused: bool = False
    has_mail: bool = False


class Page:
    """A prompt as a literal agent understands it."""

    def __init__(self, prompt: Prompt) -> None:
        self._system = prompt.system
        self._tools = {tool.name: frozenset(tool.schema.get("properties", {})) for tool in prompt.tools}
        self._texts = [prompt.system, *(tool.text for tool in prompt.tools)]
        self._known = _Known()
        self.successes: list[tuple[str, Mapping[str, Any]]] = []
        self.advice: PrintedCall | None = None
        self._failed: list[tuple[str, dict[str, Any], str]] = []
        self.request = ""
        self._read_members(_BESIDES.findall(prompt.system))
        self._read(prompt)

    def _read(self, prompt: Prompt) -> None:
        calls: dict[str, CallBlock] = {}
        for passage in prompt.passages:
            self.advice, self._failed = None, []
            if isinstance(passage, Spoke):
                calls = {block.id: block for block in passage.blocks if isinstance(block, CallBlock)}
                continue
            for block in passage.blocks:
                if isinstance(block, ResultBlock):
                    self._read_result(calls[block.id], block)
                else:
                    self._read_told(block.text)

    # -- what the agent did ---------------------------------------------------------------------

    def _read_result(self, call: CallBlock, result: ResultBlock) -> None:
        if not result.ok:
            self._failed.append((call.tool, dict(call.arguments), result.text))
            advised = [printed for printed in calls_in(result.text) if printed.tool in self._tools]
            self.advice = advised[0] if advised else None
            return
        known, arguments = self._known, call.arguments
        self.successes.append((call.tool, arguments))
        match call.tool:
            case "TaskCreate":
                known.began, known.no_open_tasks = True, False
            case "Task":
                known.members |= dict.fromkeys(_SPAWNED.findall(result.text))
            case "TaskUpdate" if known.task and known.task.number == arguments.get("taskId"):
                known.task = None
            case "ExitPlanMode":
                known.plan_waits = True
            case "SendMessage":
                self._read_sent(arguments)

    def _read_sent(self, arguments: Mapping[str, Any]) -> None:
        known, id_ = self._known, str(arguments.get("request_id", ""))
        known.requests.pop(id_, None)
        known.plans.pop(id_, None)
        if arguments.get("type") == "shutdown_request":
            known.asked_to_leave.add(str(arguments["recipient"]))

    # -- what it was told -----------------------------------------------------------------------

    def _read_told(self, text: str) -> None:
        known = self._known
        if "<summary>" in text:
            self._read_summary(unescape(text))
            return
        self.request = self.request or (text if "Team: " in text else "")
        if "You are in plan mode" in text:
            known.planning, known.how_to_plan = True, self._call(text, "ExitPlanMode") or known.how_to_plan
        for found in _FRAME.finditer(text):
            attributes = {name: unescape(value) for name, value in _ATTRIBUTE.findall(found[2])}
            self._read_frame(found[1], attributes, unescape(found[3]), found[4] or "", text)
        if not _FRAME.search(text):
            self._read_news(text)

    def _read_news(self, text: str) -> None:
        known = self._known
        known.members |= dict.fromkeys(_JOINED.findall(text))
        for name in _LEFT.findall(text):
            known.members.pop(name, None)
            known.plans = {id_: plan for id_, plan in known.plans.items() if plan.approve.get("recipient") != name}
        known.done |= {int(number) for found in _DONE.findall(text) for number in found if number}
        if known.task and str(known.task.number) in _LOST.findall(text):
            known.task = None
        if calls := [call for call in calls_in(text) if call.get("content") == "WORDS"]:
            self.advice = calls[0]

    def _read_frame(self, tag: str, attributes: dict[str, str], body: str, after: str, text: str) -> None:
        known, calls = self._known, calls_in(after)
        if tag == "deskmate-task":
            if found := _TAKEN.match(text):
                known.task = TaskRead(int(found[1]), body, _labelled(calls, "When it is done"))
            return
        match attributes.get("type"), attributes.get("approve"):
            case "message", _:
                known.has_mail = True
            case "shutdown_request", _:
                known.requests[attributes["request_id"]] = _shutdown(calls)
            case "plan_approval_request", _:
                known.plans[attributes["request_id"]] = _plan(body, calls)
            case "plan_approval_response", "yes":
                known.planning = known.plan_waits = False
            case "plan_approval_response", "no":
                known.plan_waits, known.how_to_plan = False, self._call(after, "ExitPlanMode")
                known.refusals.append(body)
            case "shutdown_response", "no":
                known.asked_to_leave.discard(attributes["sender"])
                known.was_refused = True

    def _read_summary(self, text: str) -> None:
        """Forget everything, and take what the summary says."""
        known = self._known = _Known(began=GAVE_OUT in text)
        self.successes, self.request = [], text
        parts = (part.split(":\n", 1) for part in _SECTION.split(text.removesuffix("</summary>"))[1:])
        sections = {title: lines for title, lines in parts if title in _TITLES}
        if "You are in plan mode" in text:
            known.planning, known.how_to_plan = True, self._call(text, "ExitPlanMode")
        self._read_members(
            line.removeprefix("- ").split(":")[0]
            for line in sections.get("On your team now", "").splitlines()
            if ":" in line
        )
        known.no_open_tasks = "Open tasks" not in sections
        self._read_open_tasks(sections.get("Open tasks", ""))
        self._read_open_requests(sections.get("Open requests", ""))
        for item in re.split(r"^- ", sections.get(_UNANSWERED, ""), flags=re.MULTILINE)[1:]:
            self._read_told(item.strip())

    def _read_open_tasks(self, lines: str) -> None:
        for item in re.split(r"^- ", lines, flags=re.MULTILINE)[1:]:
            if calls := calls_in(item):
                done = _labelled(calls, "When it is done")
                self._known.task = TaskRead(int(done.get("taskId")), item, done)

    def _read_open_requests(self, lines: str) -> None:
        known = self._known
        for item in re.split(r"^- ", lines, flags=re.MULTILINE)[1:]:
            calls = calls_in(item)
            if item.startswith("shutdown request") and calls:
                known.requests[str(calls[0].get("request_id"))] = _shutdown(calls)
            elif item.startswith("plan request") and calls:
                known.plans[str(calls[0].get("request_id"))] = _plan(item, calls)
            elif found := re.match(r"shutdown request \S+ to (\S+), waiting", item):
                known.asked_to_leave.add(found[1])
            elif item.startswith("plan request"):
                known.plan_waits = True

    def _read_members(self, lists: Iterator[str] | list[str]) -> None:
        for listed in lists:
            if listed != "nobody yet":
                self._known.members |= dict.fromkeys(_MEMBER.findall(listed))

    # -- what the agent knows -------------------------------------------------------------------

    @property
    def is_lead(self) -> bool:
        """Whether the agent leads a team."""
        return "the lead of team" in self._system

    @property
    def began(self) -> bool:
        """Whether the agent has given out the work."""
        return self._known.began

    @property
    def members(self) -> list[str]:
        """The teammates that are on the team, as far as the agent was told."""
        return [name for name in self._known.members if name not in ("lead", "user")]

    @property
    def asked_to_leave(self) -> set[str]:
        """The teammates that were asked to leave and have not refused."""
        return self._known.asked_to_leave

    @property
    def has_mail(self) -> bool:
        """Whether somebody has written to the agent."""
        return self._known.has_mail

    @property
    def was_refused(self) -> bool:
        """Whether a teammate has refused to leave."""
        return self._known.was_refused

    @property
    def task(self) -> TaskRead | None:
        """The task in progress."""
        return self._known.task

    @property
    def open_shutdown(self) -> Shutdown | None:
        """A request to leave that waits for an answer."""
        return next(iter(self._known.requests.values()), None)

    @property
    def open_plan(self) -> PlanRead | None:
        """A plan that waits for the agent's answer."""
        return next(iter(self._known.plans.values()), None)

    @property
    def plans(self) -> bool:
        """Whether the agent was told to plan."""
        return self._known.planning

    @property
    def plan_waits(self) -> bool:
        """Whether the agent's own plan waits for an answer."""
        return self._known.plan_waits

    @property
    def refusals(self) -> list[str]:
        """Why earlier plans were refused."""
        return self._known.refusals

    @property
    def how_to_plan(self) -> PrintedCall:
        """The call that submits a plan, as it was printed."""
        if self._known.how_to_plan is None:
            raise Stuck("I am in plan mode, and nothing says how to submit a plan")
        return self._known.how_to_plan

    def all_tasks_done(self, count: int) -> bool:
        """Return whether this many tasks were reported as completed, or none as open."""
        return self._known.no_open_tasks or len(self._known.done) >= count

    def how_to_dismiss(self, name: str) -> PrintedCall:
        """Return the call that asks a teammate to leave, as the prompt or a tool prints it."""
        calls = (call for text in self._texts for call in calls_in(text))
        for call in calls:
            if call.get("type") == "shutdown_request":
                return PrintedCall(
                    call.label, call.tool, (*(a for a in call.arguments if a[0] != "recipient"), ("recipient", name))
                )
        raise Stuck("nothing says how to ask a teammate to leave")

    def must_know(self, name: str) -> None:
        """Raise Stuck unless the agent was told that a member with this name exists."""
        if name not in self._known.members and name != "lead":
            raise Stuck(f"I am to write to {name}, and nothing says that {name} is on the team")

    def require(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Raise Stuck unless a tool is on offer, takes these arguments, and has not just refused them."""
        for failed, with_, text in self._failed:
            if (failed, with_) == (tool, arguments):
                raise Stuck(f"{tool} failed, and its result does not say what to do instead: {text}")
        if tool not in self._tools:
            raise Stuck(f"I am to call {tool}, and it is not on offer")
        if unknown := [name for name in arguments if name not in self._tools[tool]]:
            raise Stuck(f"I am to call {tool} with {', '.join(unknown)}, and its schema has no such argument")

    def _call(self, text: str, tool: str) -> PrintedCall | None:
        return next((call for call in calls_in(text) if call.tool == tool), None)


def _labelled(calls: list[PrintedCall], label: str) -> PrintedCall:
    found = next((call for call in calls if call.label.endswith(label)), None)
    if found is None:
        raise Stuck(f"no call is printed after '{label}'")
    return found


def _shutdown(calls: list[PrintedCall]) -> Shutdown:
    refuse = next((call for call in calls if call.label.endswith("To stay")), None)
    return Shutdown(_labelled(calls, "To leave"), refuse)


def _plan(text: str, calls: list[PrintedCall]) -> PlanRead:
    return PlanRead(text, _labelled(calls, "To approve it"), _labelled(calls, "To refuse it"))
